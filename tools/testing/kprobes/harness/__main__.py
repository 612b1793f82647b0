# SPDX-License-Identifier: GPL-2.0
"""Rust kprobes: build, boot, test. `make help` lists the commands."""

import cli

cli.end(cli.main())

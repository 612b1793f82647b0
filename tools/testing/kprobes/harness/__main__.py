# SPDX-License-Identifier: GPL-2.0
"""Rust kprobes: build, boot, test. `make help` lists the commands."""

import sys

import cli

sys.exit(cli.main())

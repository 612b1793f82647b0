# SPDX-License-Identifier: GPL-2.0
"""Host tests of the harness; `make host-test` runs them."""

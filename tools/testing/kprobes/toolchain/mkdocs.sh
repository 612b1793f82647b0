#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes the root that pages are written in: mkdocs.sh TARGET. debian.sh tells
# how; its packages stand in `docs-packages` beside this file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/testing/kprobes/toolchain/common.sh
. "$here/common.sh"
# shellcheck source=tools/testing/kprobes/toolchain/debian.sh
. "$here/debian.sh"

target=$1
called="the root of make docs"
room=500000
room_called="500 MiB"
mapfile -t include < <(listed "$here/docs-packages")
works="All other commands work without this root."

make_debian
mkdir -p "$target/work"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes the toolchain root: mkroot.sh TARGET. debian.sh tells how; the packages
# and their suites stand in `packages` and `apt-preferences` beside this file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/testing/kprobes/toolchain/common.sh
. "$here/common.sh"
# shellcheck source=tools/testing/kprobes/toolchain/debian.sh
. "$here/debian.sh"

target=$1
called="the toolchain root"
room=3000000
room_called="3 GiB"
mapfile -t include < <(listed "$here/packages")
suites=(trixie-backports)
extra_suites+=(forky)
extra_include=(systemtap)
without="make test-clients"
preferences=$here/apt-preferences

make_debian
mkdir -p "$target"/{repo,cache,work,ksrc,module,run/host}
touch "$target/run/host/ca.crt"

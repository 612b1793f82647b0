#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes the root that the guest of `make test-clients` runs: mkclients.sh
# TARGET. debian.sh tells how; its packages and their suites stand in
# `clients-packages` and `clients-preferences` beside this file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/testing/kprobes/toolchain/common.sh
. "$here/common.sh"
# shellcheck source=tools/testing/kprobes/toolchain/debian.sh
. "$here/debian.sh"

target=$1
called="the root of make test-clients"
room=1500000
room_called="1.5 GiB"
mapfile -t include < <(listed "$here/clients-packages")
suites=(trixie-backports forky)
preferences=$here/clients-preferences
works="All other commands work without this root."

make_debian
mkdir -p "$target"/{work,results}

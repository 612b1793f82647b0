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
foreign=(armhf ppc64el s390x)
# As mkclients.sh: a mirror that lags behind is as good.
suites=(trixie-backports "forky check-valid-until=no")
preferences=$here/apt-preferences
# The guests' programs and the kernel's source come with it as plain package
# files, so that nothing after this needs apt. The source may be gone from
# backports one day: then it is fetched from elsewhere later.
busybox=$(printf ' busybox-static:%s' amd64 "${foreign[@]}")
commands=("mkdir -p /opt/guest && cd /opt/guest && apt-get download$busybox"
	"mkdir -p /opt/source && cd /opt/source && apt-get download linux-source-7.3 || true")

make_debian
mkdir -p "$target"/{repo,cache,work,ksrc,module,run/host}
touch "$target/run/host/ca.crt"

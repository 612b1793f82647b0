#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes the toolchain root: mkroot.sh TARGET. Runs with the rights of
# common.sh's mapped(). The packages and their suites stand in `packages` and
# `apt-preferences` beside this file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/testing/kprobes/toolchain/common.sh
. "$here/common.sh"

target=$1
log=$target.log
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${DEBIAN_SECURITY:-http://deb.debian.org/debian-security}
include=$(grep -v -e '^#' -e '^$' "$here/packages" | paste -sd,)
guest="busybox-static:amd64 busybox-static:armhf busybox-static:ppc64el busybox-static:s390x"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

have mmdebstrap || refuse "mmdebstrap, which makes a Debian root" "none in PATH" \
	"sudo apt-get install mmdebstrap"
[ -e $keyring ] || refuse "Debian's archive keys in $keyring" "none" \
	"sudo apt-get install debian-archive-keyring"

# room: refuses a disk that the root does not fit on.
room() {
	local free
	free=$(free_kib "$(dirname "$target")")
	[ "$free" -ge "$1" ] || refuse "$2 for the toolchain root" \
		"$((free / 1024)) MiB free in $(dirname "$target")" \
		"free some space, or choose another place with CACHE="
}

rm -rf "$target"
room 3000000 "3 GiB free"
status=0
# The guests' programs and the kernel's source come with it as plain package
# files, so that nothing after this needs apt. The source may be gone from
# backports one day: then it is fetched from elsewhere later.
mmdebstrap --variant=minbase --mode=root \
	--architectures=amd64,armhf,ppc64el,s390x \
	--aptopt='APT::Install-Recommends "false"' \
	--aptopt='Acquire::Languages "none"' \
	--aptopt='Acquire::Retries "3"' \
	--dpkgopt=force-unsafe-io \
	--dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	--setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\" && cp '$here/apt-preferences' \"\$1/etc/apt/preferences.d/toolchain\"" \
	--include="$include" \
	--customize-hook="mkdir -p \"\$1/opt/guest\" && chroot \"\$1\" sh -c 'cd /opt/guest && apt-get download $guest'" \
	--customize-hook="mkdir -p \"\$1/opt/source\" && chroot \"\$1\" sh -c 'cd /opt/source && apt-get download linux-source-7.3' || true" \
	trixie "$target" \
	"deb $mirror trixie main" \
	"deb [arch=amd64] $mirror trixie-updates main" \
	"deb [arch=amd64] $mirror trixie-backports main" \
	"deb [arch=amd64] $security trixie-security main" \
	>"$log" 2>&1 || status=$?
if [ $status != 0 ]; then
	tail -n 15 "$log" >&2
	# Asked before the deletion, which makes room again.
	(room 100000 "3 GiB free") || {
		rm -rf "$target"
		exit 2
	}
	rm -rf "$target"
	refuse "mmdebstrap to make a Debian trixie root from $mirror" \
		"exit status $status; its log: $log" \
		"look at the lines above; is $mirror reachable (proxy variables)? another mirror: DEBIAN_MIRROR="
fi
mkdir -p "$target"/{repo,cache,work,ksrc,module,run/host}
touch "$target/run/host/ca.crt"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes the root that pages are written in: mkdocs.sh TARGET. Runs with the
# rights of common.sh's mapped(). Its packages stand in `docs-packages`; it is
# made as mkroot.sh makes the other one, of one suite and for one machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/testing/kprobes/toolchain/common.sh
. "$here/common.sh"

target=$1
log=$target.log
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${DEBIAN_SECURITY:-http://deb.debian.org/debian-security}
mapfile -t include < <(grep -v -e '^#' -e '^$' "$here/docs-packages")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || [ ! -e "${keyring%.gpg}.pgp" ] || keyring=${keyring%.gpg}.pgp
sources=("deb [signed-by=$keyring] $mirror trixie main"
	"deb [signed-by=$keyring] $mirror trixie-updates main"
	"deb [signed-by=$keyring] $security trixie-security main")
apt_options=('APT::Install-Recommends "false"' 'Acquire::Languages "none"'
	'Acquire::Retries "3"')
dpkg_options=(force-unsafe-io 'path-exclude=/usr/share/man/*'
	'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/locale/*')

with_mmdebstrap() {
	mmdebstrap --variant=minbase --mode=root --architectures=amd64 \
		"${apt_options[@]/#/--aptopt=}" "${dpkg_options[@]/#/--dpkgopt=}" \
		--include="$(IFS=,; echo "${include[*]}")" \
		trixie "$target" "${sources[@]}"
}

inside() {
	PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$target" "$@"
}

# with_debootstrap: only the base comes by that, as it knows one suite.
with_debootstrap() {
	debootstrap --variant=minbase --arch=amd64 --keyring="$keyring" trixie "$target" "$mirror" ||
		return
	printf '%s\n' "${sources[@]}" >"$target/etc/apt/sources.list"
	printf '%s;\n' "${apt_options[@]}" >"$target/etc/apt/apt.conf.d/99docs"
	printf '%s\n' "${dpkg_options[@]}" >"$target/etc/dpkg/dpkg.cfg.d/docs"
	if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
		mkdir -p "$target/etc/ssl/certs"
		cp -L /etc/ssl/certs/ca-certificates.crt "$target/etc/ssl/certs/"
	fi
	mountpoint -q "$target/proc" || mount -t proc proc "$target/proc" || return
	inside sh -ec 'apt-get -q update; apt-get -qy dist-upgrade; apt-get -qy install "$@"' \
		sh "${include[@]}" &&
		inside apt-get clean
}

tool=mmdebstrap
have mmdebstrap || tool=debootstrap
have $tool || refuse "mmdebstrap, which makes a Debian root, or debootstrap" \
	"neither in PATH" "sudo apt-get install mmdebstrap"
if [ $tool = debootstrap ]; then
	# Device nodes: root of a user namespace may not make them.
	read -r _ outside _ </proc/self/uid_map
	[ "$outside" = 0 ] || refuse "mmdebstrap: an ordinary user's debootstrap fails at mknod" \
		"only debootstrap" "sudo apt-get install mmdebstrap, or run this as root"
fi
[ -e "$keyring" ] || refuse_keys "$keyring" "no such file"

room() {
	local free
	free=$(free_kib "$(dirname "$target")")
	[ "$free" -ge "$1" ] || refuse "500 MiB free for the root of make docs" \
		"$((free / 1024)) MiB free in $(dirname "$target")" \
		"free some space, or choose another place with CACHE="
}

rm -rf "$target"
room 500000
status=0
"with_$tool" >"$log" 2>&1 || status=$?
if [ $status != 0 ]; then
	tail -n 15 "$log" >&2
	# Asked before the deletion, which makes room again.
	(room 50000) || {
		rm -rf "$target"
		exit 2
	}
	rm -rf "$target"
	root_failed $tool $status "$log" "$mirror" "$keyring"
fi
mkdir -p "$target/work"

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
mapfile -t include < <(grep -v -e '^#' -e '^$' "$here/packages")
foreign=(armhf ppc64el s390x)
# Whose signature counts is said of each source: the apt of a machine that is
# not Debian's need not trust Debian. From forky on the keys are a .pgp file.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || [ ! -e "${keyring%.gpg}.pgp" ] || keyring=${keyring%.gpg}.pgp
sources=("deb [signed-by=$keyring] $mirror trixie main"
	"deb [arch=amd64 signed-by=$keyring] $mirror trixie-updates main"
	"deb [arch=amd64 signed-by=$keyring] $mirror trixie-backports main"
	"deb [arch=amd64 signed-by=$keyring] $security trixie-security main")
apt_options=('APT::Install-Recommends "false"' 'Acquire::Languages "none"'
	'Acquire::Retries "3"')
dpkg_options=(force-unsafe-io 'path-exclude=/usr/share/man/*'
	'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/locale/*')
# The guests' programs and the kernel's source come with it as plain package
# files, so that nothing after this needs apt. The source may be gone from
# backports one day: then it is fetched from elsewhere later.
busybox=$(printf ' busybox-static:%s' amd64 "${foreign[@]}")
take_guest="mkdir -p /opt/guest && cd /opt/guest && apt-get download$busybox"
take_source="mkdir -p /opt/source && cd /opt/source && apt-get download linux-source-7.3 || true"

if have mmdebstrap; then
	tool=mmdebstrap
else
	tool=debootstrap
	have debootstrap || refuse "mmdebstrap, which makes a Debian root, or debootstrap" \
		"neither in PATH" "sudo apt-get install mmdebstrap"
	# Device nodes: root of a user namespace may not make them.
	read -r _ outside _ </proc/self/uid_map
	[ "$outside" = 0 ] || refuse "mmdebstrap: an ordinary user's debootstrap fails at mknod" \
		"only debootstrap" "sudo apt-get install mmdebstrap, or run this as root"
fi
[ -e "$keyring" ] || refuse_keys "$keyring" "no such file"

# room: refuses a disk that the root does not fit on.
room() {
	local free
	free=$(free_kib "$(dirname "$target")")
	[ "$free" -ge "$1" ] || refuse "$2 for the toolchain root" \
		"$((free / 1024)) MiB free in $(dirname "$target")" \
		"free some space, or choose another place with CACHE="
}

# with_mmdebstrap: all in one step.
with_mmdebstrap() {
	mmdebstrap --variant=minbase --mode=root \
		--architectures="$(IFS=,; echo "amd64,${foreign[*]}")" \
		"${apt_options[@]/#/--aptopt=}" "${dpkg_options[@]/#/--dpkgopt=}" \
		--setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\" && cp '$here/apt-preferences' \"\$1/etc/apt/preferences.d/toolchain\"" \
		--include="$(IFS=,; echo "${include[*]}")" \
		--customize-hook="chroot \"\$1\" sh -c '$take_guest'" \
		--customize-hook="chroot \"\$1\" sh -c '$take_source'" \
		trixie "$target" "${sources[@]}"
}

# inside CMD...: in the root, whatever the PATH outside.
inside() {
	PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$target" "$@"
}

# with_debootstrap: that knows one suite only. So the rest comes by the apt of
# the root itself, which trusts whom this machine trusts.
with_debootstrap() {
	local name
	debootstrap --variant=minbase --arch=amd64 --keyring="$keyring" trixie "$target" "$mirror" ||
		return
	printf '%s\n' "${sources[@]}" >"$target/etc/apt/sources.list"
	printf '%s;\n' "${apt_options[@]}" >"$target/etc/apt/apt.conf.d/99toolchain"
	printf '%s\n' "${dpkg_options[@]}" >"$target/etc/dpkg/dpkg.cfg.d/toolchain"
	cp "$here/apt-preferences" "$target/etc/apt/preferences.d/toolchain"
	if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
		mkdir -p "$target/etc/ssl/certs"
		cp -L /etc/ssl/certs/ca-certificates.crt "$target/etc/ssl/certs/"
	fi
	# No service of a package starts.
	printf '#!/bin/sh\nexit 101\n' >"$target/usr/sbin/policy-rc.d"
	chmod 755 "$target/usr/sbin/policy-rc.d"
	for name in "${foreign[@]}"; do
		inside dpkg --add-architecture "$name" || return
	done
	mountpoint -q "$target/proc" || mount -t proc proc "$target/proc" || return
	inside sh -ec \
		'apt-get -q update; apt-get -qy dist-upgrade; apt-get -qy install "$@"' \
		sh "${include[@]}" &&
		inside sh -c "$take_guest" &&
		inside sh -c "$take_source" &&
		inside apt-get clean &&
		rm "$target/usr/sbin/policy-rc.d"
}

rm -rf "$target"
room 3000000 "3 GiB free"
status=0
"with_$tool" >"$log" 2>&1 || status=$?
if [ $status != 0 ]; then
	tail -n 15 "$log" >&2
	# Asked before the deletion, which makes room again.
	(room 100000 "3 GiB free") || {
		rm -rf "$target"
		exit 2
	}
	rm -rf "$target"
	root_failed $tool $status "$log" "$mirror" "$keyring"
fi
mkdir -p "$target"/{repo,cache,work,ksrc,module,run/host}
touch "$target/run/host/ca.crt"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Enters the toolchain root: enter.sh ROOT CMD... Runs as process 1 of its own
# mount and process namespaces, so that everything started here ends with it
# and no mount outlives it. Reads KP_REPO, KP_CACHE, KP_WORK, KP_KSRC,
# KP_MODULE (paths on the host).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/testing/kprobes/toolchain/common.sh
. "$here/common.sh"
root=$1
shift
llvm=$(sed -n 's/^clang-//p' "$here/packages")

# place FROM TO [OPTIONS]: FROM of the host appears at TO inside.
place() {
	if [ -d "$1" ]; then
		mkdir -p "$root$2"
	elif [ ! -e "$root$2" ]; then
		mkdir -p "$root$(dirname "$2")"
		: >"$root$2"
	fi
	mount --bind "$1" "$root$2"
	[ -z "${3:-}" ] || mount -o "remount,bind,$3" "$root$2" 2>/dev/null || true
}

mount --bind "$root" "$root"
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
mount -t tmpfs -o mode=755 dev "$root/dev"
for node in null zero full random urandom tty kvm; do
	[ ! -e /dev/$node ] || place /dev/$node /dev/$node
done
mkdir -p "$root/dev/shm" "$root/dev/pts"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
place "$KP_REPO" /repo
place "$KP_CACHE" /cache
place "$KP_WORK" /work
[ -z "${KP_KSRC:-}" ] || place "$KP_KSRC" /ksrc
[ -z "${KP_MODULE:-}" ] || place "$KP_MODULE" /module

# Names and trust are the host's: it may sit behind a proxy whose authority a
# fresh root has never heard of.
for file in /etc/resolv.conf /etc/hosts; do
	[ ! -e $file ] || place "$(readlink -f $file)" $file ro
done
ca=
for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt \
	/etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
	[ -r "$file" ] || continue
	ca=/run/host/ca.crt
	place "$(readlink -f "$file")" $ca ro
	break
done

keep=("PATH=/usr/lib/llvm-$llvm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	HOME=/tmp LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
	KP_REPO=/repo KP_CACHE=/cache KP_WORK=/work
	${KP_KSRC:+KP_KSRC=/ksrc} ${KP_MODULE:+KP_MODULE=/module}
	"KP_MADE=${KP_MADE:-}" "KP_HOST_REPO=$KP_REPO" "KP_HOST_CACHE=$KP_CACHE" "KP_HOST_WORK=$KP_WORK"
	"KP_HOST_KSRC=${KP_KSRC:-}" "KP_HOST_MODULE=${KP_MODULE:-}")
for name in KP_ROOT "${!KP_DOCS@}" "${!KP_CLIENTS_@}"; do
	keep+=("$name=/cache/${!name##*/}")
done
keep_users
exec env -i "${keep[@]}" ${ca:+"SSL_CERT_FILE=$ca" "CARGO_HTTP_CAINFO=$ca" \
	"CURL_CA_BUNDLE=$ca" "GIT_SSL_CAINFO=$ca"} chroot "$root" "$@"

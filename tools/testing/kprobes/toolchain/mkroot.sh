#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes a Debian root: mkroot.sh NAME TARGET. debian.sh tells how; packages and
# their suites stand in the lists beside this file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/testing/kprobes/toolchain/common.sh
. "$here/common.sh"
# shellcheck source=tools/testing/kprobes/toolchain/debian.sh
. "$here/debian.sh"

target=$2
case $1 in
root)
	called="the toolchain root" room=3000000 room_called="3 GiB" list=packages
	preferences=$here/apt-preferences
	suites=(trixie-backports)
	extra_suites+=(forky)
	extra_include=(systemtap)
	without="make test-clients"
	folders=(repo cache work ksrc module run/host)
	;;
docs)
	called="the root of make docs" room=500000 room_called="500 MiB" list=docs-packages
	folders=(work)
	;;
clients_*)
	called="the root of make test-clients" room=1500000 room_called="1.5 GiB"
	list=clients-packages
	preferences=$here/clients-preferences
	suites=(trixie-backports forky)
	folders=(work results)
	;;&
clients_x86_64) ;;
clients_*)
	called+=" ARCH=${1#*_}" main=forky instead=trixie
	machine=$(sed -n "s/.* debian='\([^']*\)'.*/\1/p" "$here/../harness/arches/${1#*_}.py")
	suites=() extra_suites=(trixie)
	preferences=/dev/null # of each package the newest
	;;
esac
works="All but ${called#the root of } works without it; of make test-all, each other PIECE=."
[ "$1" != root ] || works="Without it only make help and make distclean work."
mapfile -t include < <(grep -v -e '^#' -e '^$' "$here/$list")
[ "$1" != root ] || mapfile -t -O ${#include[@]} include < <(tools)

make_debian
if [ "$machine" != amd64 ]; then
	# What scripts of the packages would have done.
	ln -s gawk "$target/usr/bin/awk"
	ln -s which.debianutils "$target/usr/bin/which"
	for file in passwd group; do
		cp "$target/usr/share/base-passwd/$file.master" "$target/etc/$file"
	done
fi
mkdir -p "${folders[@]/#/$target/}"

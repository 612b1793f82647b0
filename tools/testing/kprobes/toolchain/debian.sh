# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Makes a Debian trixie root. Sourced behind common.sh by the script of each
# root, which says what is in it and then calls make_debian, with the rights of
# common.sh's mapped().

# What a root is; what a script does not say is as here.
target=       # the folder that it becomes; the log is beside that
called=       # what people call it
room=         # how many KiB it needs,
room_called=  # and that in words
include=()    # its packages
foreign=()    # architectures beside amd64 that packages are fetched of
suites=()     # what there is beside trixie, its updates and its security; each may
              # have options for apt behind its name
preferences=  # a file for apt: which suite a package comes from
commands=()   # for a shell inside, one after another, behind all packages

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${DEBIAN_SECURITY:-http://deb.debian.org/debian-security}
apt_options=('APT::Install-Recommends "false"' 'Acquire::Languages "none"'
	'Acquire::Retries "3"')
dpkg_options=(force-unsafe-io 'path-exclude=/usr/share/man/*'
	'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/locale/*')

# Where this machine has keys, and what says whose root we are.
KEYRINGS=/usr/share/keyrings
UID_MAP=/proc/self/uid_map
# KiB; where less than this is left after a failure, that was the reason.
FULL=100000

# listed FILE: the packages in one of our lists.
listed() {
	grep -v -e '^#' -e '^$' "$1"
}

# choose_keyring: sets `keyring`. From forky on the keys are a .pgp file.
choose_keyring() {
	keyring=$KEYRINGS/debian-archive-keyring.gpg
	[ -e "$keyring" ] || [ ! -e "${keyring%.gpg}.pgp" ] || keyring=${keyring%.gpg}.pgp
}

# choose_tool: sets `tool`.
choose_tool() {
	local outside
	tool=mmdebstrap
	! have mmdebstrap || return 0
	tool=debootstrap
	have debootstrap || refuse "mmdebstrap, which makes a Debian root, or debootstrap" \
		"neither in PATH" "sudo apt-get install mmdebstrap"
	# Device nodes: root of a user namespace may not make them.
	read -r _ outside _ <"$UID_MAP"
	[ "$outside" = 0 ] || refuse "mmdebstrap: an ordinary user's debootstrap fails at mknod" \
		"only debootstrap" "sudo apt-get install mmdebstrap, or run this as root"
}

# choose_sources: sets `sources`. Whose signature counts is said of each: the
# apt of a machine that is not Debian's need not trust Debian. Of the other
# architectures trixie alone is asked for.
choose_sources() {
	local suite options signed="signed-by=$keyring"
	sources=("deb [$signed] $mirror trixie main")
	for suite in trixie-updates "${suites[@]}"; do
		read -r suite options <<<"$suite"
		sources+=("deb [arch=amd64 ${options:+$options }$signed] $mirror $suite main")
	done
	sources+=("deb [arch=amd64 $signed] $security trixie-security main")
}

# check_room KIB: refuses a disk that has less.
check_room() {
	local free
	free=$(free_kib "$(dirname "$target")")
	[ "$free" -ge "$1" ] || refuse "$room_called free for $called" \
		"$((free / 1024)) MiB free in $(dirname "$target")" \
		"free some space, or choose another place with CACHE="
}

# comma WORD...: as one word.
comma() {
	local IFS=,
	echo "$*"
}

# quoted TEXT: as one word of a shell.
quoted() {
	printf "'%s'" "${1//\'/\'\\\'\'}"
}

# with_mmdebstrap: all in one step.
with_mmdebstrap() {
	local command hooks=()
	# shellcheck disable=SC2016 # $1 is for the hook's shell: the root
	[ -z "$preferences" ] || hooks+=(--setup-hook='mkdir -p "$1/etc/apt/preferences.d" && cp '"$(
		quoted "$preferences")"' "$1/etc/apt/preferences.d/ours"')
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2016
		hooks+=(--customize-hook='chroot "$1" sh -c '"$(quoted "$command")")
	done
	mmdebstrap --variant=minbase --mode=root \
		--architectures="$(comma amd64 "${foreign[@]}")" \
		"${apt_options[@]/#/--aptopt=}" "${dpkg_options[@]/#/--dpkgopt=}" \
		--include="$(comma "${include[@]}")" "${hooks[@]}" \
		trixie "$target" "${sources[@]}"
}

# inside CMD...: in the root, whatever the PATH outside.
inside() {
	PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$target" "$@"
}

# with_debootstrap: that knows one suite only. So the rest comes by the apt of
# the root itself, which trusts whom this machine trusts.
with_debootstrap() {
	local mounted='' status=0
	debootstrap --variant=minbase --arch=amd64 --keyring="$keyring" trixie "$target" "$mirror" &&
		settle || return
	if ! mountpoint -q "$target/proc"; then
		mount -t proc proc "$target/proc" || return
		mounted=y
	fi
	fill || status=$?
	# A root with that in it cannot be deleted.
	[ -z "$mounted" ] || umount -l "$target/proc" || return
	return $status
}

# settle: what apt and dpkg of the root go by. The functions from here on are
# not left at a line that fails, as somebody asks for their status.
settle() {
	local etc=$target/etc ca=ssl/certs/ca-certificates.crt name
	printf '%s\n' "${sources[@]}" >"$etc/apt/sources.list" &&
		printf '%s;\n' "${apt_options[@]}" >"$etc/apt/apt.conf.d/99ours" &&
		printf '%s\n' "${dpkg_options[@]}" >"$etc/dpkg/dpkg.cfg.d/ours" || return
	[ -z "$preferences" ] || cp "$preferences" "$etc/apt/preferences.d/ours" || return
	if [ -r "/etc/$ca" ]; then
		mkdir -p "$etc/ssl/certs" && cp -L "/etc/$ca" "$etc/$ca" || return
	fi
	for name in "${foreign[@]}"; do
		inside dpkg --add-architecture "$name" || return
	done
	# No service of a package starts.
	printf '#!/bin/sh\nexit 101\n' >"$target/usr/sbin/policy-rc.d" &&
		chmod 755 "$target/usr/sbin/policy-rc.d"
}

# fill: all that is not the base.
fill() {
	local command
	# Without error-on a source that cannot be reached is left out.
	inside sh -ec 'apt-get -q --error-on=any update; apt-get -qy dist-upgrade
		apt-get -qy install "$@"' sh "${include[@]}" || return
	for command in "${commands[@]}"; do
		inside sh -c "$command" || return
	done
	inside apt-get clean && rm "$target/usr/sbin/policy-rc.d"
}

# keys_missing LOG: the keys that apt or debootstrap would have wanted, as LOG
# says: with gpgv, with sqv, and debootstrap itself.
keys_missing() {
	local asked='NO_PUBKEY|EXPKEYSIG|Missing key|signed by unknown key \(key id'
	{ grep -oE "($asked) [0-9A-F]{16,}" "$1" || :; } | awk '{ print $NF }' |
		sort -u | paste -sd' '
}

# refuse_keys FOUND: without the archive's keys there is no root.
refuse_keys() {
	local pool=https://deb.debian.org/debian/pool/main/d/debian-archive-keyring/
	refuse "the keys that Debian trixie is signed with, in $keyring" "$1" \
		"sudo apt-get update && sudo apt-get install debian-archive-keyring; where that brings no newer one, or there is no apt, take the newest .deb of $pool and sudo dpkg -i it (without dpkg: ar x it, then sudo tar -C / -xf data.tar.xz)"
}

# root_failed STATUS LOG: why there is no root.
root_failed() {
	local keys package
	keys=$(keys_missing "$2")
	if [ -n "$keys" ]; then
		package=$(dpkg-query -W -f '${Package} ${Version}' debian-archive-keyring \
			2>/dev/null) || package='not a package of this machine'
		refuse_keys "it has none that is still good of $keys ($package); the log: $2"
	fi
	refuse "$tool to make a Debian trixie root from $mirror" \
		"exit status $1; its log: $2" \
		"look at the lines above; is $mirror reachable (proxy variables)? another mirror: DEBIAN_MIRROR="
}

# make_debian: makes the root that the variables above tell of.
make_debian() {
	local log=$target.log status=0
	choose_tool
	choose_keyring
	[ -e "$keyring" ] || refuse_keys "no such file"
	choose_sources
	rm -rf "$target"
	check_room "$room"
	"with_$tool" >"$log" 2>&1 || status=$?
	[ $status != 0 ] || return 0
	tail -n 15 "$log" >&2
	# Asked before the deletion, which makes room again.
	(check_room $FULL) || {
		rm -rf "$target"
		exit 2
	}
	rm -rf "$target"
	root_failed $status "$log"
}

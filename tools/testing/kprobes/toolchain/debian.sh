# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Makes a Debian root. Sourced behind common.sh by the script of each root, which
# says what is in it and then calls make_debian, with the rights of common.sh's
# mapped().

# What a root is; what a script does not say is as here.
target=       # the folder that it becomes; the log is beside that
called=       # what people call it
room=         # how many KiB it needs,
room_called=  # and that in words
include=()    # its packages
machine=amd64 # the architecture of these; another one's are unpacked, not installed
main=trixie   # the suite it is made of
suites=()     # the suites it cannot do without, beside that
instead=      # a suite that does alone, where these are not to be had
extra_suites=(trixie-updates trixie-security)  # those it can do without,
extra_include=()  # and the packages that come from them alone
without=      # what does not work without those packages
works=        # what works without this root
preferences=  # a file for apt: which suite a package comes from

# archives FIELD: that field of each archive in `files`, see there.
archives() {
	awk -v field="$1" '$1 == "archive" { printf "%s ", $field }' \
		"$(dirname "${BASH_SOURCE[0]}")/files"
}

read -ra mirrors <<<"${DEBIAN_MIRROR:-$(archives 2)}"
read -ra securities <<<"${DEBIAN_SECURITY:-$(archives 3)}"
apt_options=('APT::Install-Recommends "false"' 'Acquire::Languages "none"'
	'Acquire::Retries "3"' 'Acquire::http::Timeout "30"')
dpkg_options=(force-unsafe-io 'path-exclude=/usr/share/man/*'
	'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/locale/*')

# Where this machine has keys.
KEYRINGS=/usr/share/keyrings
# KiB; where less than this is left after a failure, that was the reason.
FULL=100000
# Seconds before a mirror that may be in the middle of an update is asked again.
PAUSE=30

# choose_sources NUMBER [SUITE...]: sets `sources`: the main suite and the SUITEs, from the
# archive of that NUMBER. Each line names the keyring, because the apt of a
# machine that is not Debian's need not trust Debian. A suite that was last
# signed long ago is accepted: what counts is which packages it has.
choose_sources() {
	local suite number=$1 archive options="signed-by=$keyring check-valid-until=no"
	shift
	sources=()
	for suite in "$main" "$@"; do
		archive=${mirrors[number]}
		[ "$suite" != trixie-security ] || archive=${securities[number]:-}
		[ -z "$archive" ] || sources+=("deb [$options] $archive $suite main")
	done
}

# check_room KIB: refuses a disk that has less.
check_room() {
	local free
	free=$(free_kib "$(dirname "$target")")
	[ "$free" -ge "$1" ] || refuse "$room_called free for $called" \
		"$((free / 1024)) MiB free in $(dirname "$target")" \
		"free some space, or choose another place with CACHE="
}

# quoted TEXT: as one word of a shell.
quoted() {
	printf "'%s'" "${1//\'/\'\\\'\'}"
}

# make_once [AVOIDED]: one way to make it, from `sources`. AVOIDED is text for apt.
make_once() {
	# shellcheck disable=SC2016 # $1 is for the hook's shell: the root
	local hooks=() folder='"$1/etc/apt/preferences.d' variant=minbase
	# Nothing of another architecture can run here, nor its packages' scripts.
	if [ "$machine" != amd64 ]; then
		variant=extract
		hooks=('--include=?essential')
	fi
	# A record before another one prevails.
	[ -z "$preferences" ] || hooks+=(--setup-hook="mkdir -p $folder\" && cp $(
		quoted "$preferences") $folder/ours\" && echo $(quoted "$1") >$folder/avoided\"")
	mmdebstrap "--variant=$variant" --mode=root "--architectures=$machine" \
		"${apt_options[@]/#/--aptopt=}" "${dpkg_options[@]/#/--dpkgopt=}" \
		--include="${include[*]}" "${hooks[@]}" \
		"$main" "$target" "${sources[@]}"
}

# refuse_keys FOUND: without the archive's keys there is no root.
refuse_keys() {
	local pool=https://deb.debian.org/debian/pool/main/d/debian-archive-keyring/
	refuse "the keys that Debian $main is signed with, in $keyring" "$1" \
		"sudo apt-get update && sudo apt-get install debian-archive-keyring; where that brings no newer one, or there is no apt, take the newest .deb of $pool and sudo dpkg -i it (without dpkg: ar x it, then sudo tar -C / -xf data.tar.xz)"
}

# refuse_incurable LOG: refuses where no other way would do better: no key, or no
# room. Asked before what there is of the root is deleted, which makes room.
refuse_incurable() {
	local keys
	(check_room $FULL) || {
		rm -rf "$target"
		exit 2
	}
	keys=$(grep -oE '(NO_PUBKEY|EXPKEYSIG|Missing key) [0-9A-F]{16,}' "$1" |
		sort -u | paste -sd' ') || :
	[ -z "$keys" ] || refuse_keys "it has none that is still good ($keys); the log: $1"
}

# unfetched LOG: what could not be fetched, as apt says, on one line.
unfetched() {
	sed -nE 's/^E: Failed to fetch ([^ ]+) .*/\1/p; s/^E: Unable to locate package (.*)/\1/p' "$1" |
		sed 's|/by-hash/.*||' | sort -u | head -n 6 | paste -sd' '
}

# avoid: the versions of packages in URLs on standard input, which apt is not to
# take: another suite may have another version.
avoid() {
	tr ' ' '\n' | sed -nE 's/%2b/+/g; s/%7e/~/g
		s#.*/([^_]*)_([^_]*)_[^/]*\.deb$#\nPackage: \1\nPin: version *\2\nPin-Priority: -1#p'
}

# attempt NUMBER [SUITE...]: one way to make the root, see choose_sources. Says how it
# ended where it failed; what it says of each way stands in the array `tried`. What
# was `missing` the time before is not asked for.
attempt() {
	local log=$target.log status=0 archive=${mirrors[$1]}
	choose_sources "$@"
	rm -rf "$target"
	make_once "$(avoid <<<"$missing")" >"$log" 2>&1 || status=$?
	[ $status != 0 ] || return 0
	refuse_incurable "$log"
	missing=$(unfetched "$log")
	tail -n 15 "$log" >&2
	rm -rf "$target"
	tried+=("$archive (suites: $main $(shift && echo "$*"); exit status $status${missing:+; not to be had: $missing})")
	note "$called: that way failed${missing:+, for want of $missing}"
	return 1
}

# make_debian: makes the root that the variables above tell of: from the first
# archive; after a pause, as a mirror may be in the middle of an update, with other
# versions of packages that were not there; without the suites it can do without;
# then from the other archives.
make_debian() {
	local number all=("${suites[@]}" "${extra_suites[@]}") tried=() missing='' everything=("${include[@]}")
	have mmdebstrap || refuse "mmdebstrap, which makes a Debian root" "none in PATH" \
		"sudo apt-get install mmdebstrap"
	# From forky on the keys are a .pgp file.
	keyring=$KEYRINGS/debian-archive-keyring.gpg
	[ -e "$keyring" ] || [ ! -e "${keyring%.gpg}.pgp" ] || keyring=${keyring%.gpg}.pgp
	[ -e "$keyring" ] || refuse_keys "no such file"
	check_room "$room"
	include=("${everything[@]}" "${extra_include[@]}")
	! attempt 0 "${all[@]}" || return 0
	note "$called: once more in $PAUSE s"
	sleep "$PAUSE"
	! attempt 0 "${all[@]}" || return 0
	missing=
	note "$called: without ${extra_suites[*]}${extra_include[*]:+, and so without ${extra_include[*]}}"
	include=("${everything[@]}")
	if attempt 0 "${suites[@]}"; then
		mkdir -p "$target/opt"
		[ -z "${extra_include[*]}" ] || echo "${extra_include[*]}" >"$target/opt/without"
		note "$called: made without ${extra_suites[*]}.${without:+ $without does not work in it; make distclean, and it is made anew.}"
		return 0
	fi
	if [ -n "$instead" ]; then
		missing=
		note "$called: from $instead alone"
		! main=$instead attempt 0 || return 0
	fi
	include=("${everything[@]}" "${extra_include[@]}")
	for ((number = 1; number < ${#mirrors[@]}; number++)); do
		missing=
		note "$called: from ${mirrors[number]}"
		! attempt "$number" "${all[@]}" || return 0
	done
	refuse "mmdebstrap to make a Debian $main root for $called" \
		"$(printf '%s\n            ' "${tried[@]}")its log: $target.log" \
		"are they reachable (proxy variables)? If they are, they may be in the middle of an update: the same command in an hour, or another archive: DEBIAN_MIRROR=. $works"
}

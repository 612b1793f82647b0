# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scripts that make and enter the toolchain root. Sourced.
#
# These scripts run on the user's machine before any tool of ours is there:
# bash, coreutils, util-linux and tar are all they may use.

# Where chroot is; the PATH of an ordinary user need not name it.
PATH=$PATH:/usr/sbin:/sbin

# refuse EXPECTED FOUND DO: the one way these scripts give up.
refuse() {
	printf '\nkprobes: cannot go on\n  expected: %s\n  found:    %s\n  do:       %s\n' \
		"$1" "$2" "$3" >&2
	exit 2
}

# note TEXT: one plain line of progress.
note() {
	printf 'kprobes: %s\n' "$*" >&2
}

# tools: the packages that the toolchain root has for each architecture.
tools() {
	sed -n 's/^tool //p' "$(dirname "${BASH_SOURCE[0]}")"/files-*
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# free_kib DIR: what is free where DIR is.
free_kib() {
	df -Pk "$1" | awk 'NR == 2 { print $4 }'
}

# What the command line of make may set.
VARIABLES=(ARCH IMPL KSRC DIR ARGS PIECE TEST SEED UNDO FAST JOBS V CACHE
	DEBIAN_MIRROR DEBIAN_SECURITY)
PROXIES=(http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY)

# check_given TEXT: refuses a name that is none of ours. TEXT has NAME=VALUE as
# make hands them over: white space in a value stands behind a backslash, and
# so does a backslash.
check_given() {
	local text=$1 words word name
	text=${text//\\\\/}
	text=${text//\\[[:space:]]/}
	read -r -d '' -a words <<<"$text" || :
	for word in "${words[@]}"; do
		name=${word%%=*}
		while [[ $name == *[:+?!] ]]; do
			name=${name%?}
		done
		case " ${VARIABLES[*]} ${PROXIES[*]} " in
		*" $name "*) ;;
		*) refuse "one of the variables ${VARIABLES[*]}" "$name" \
			"make help tells what each is for" ;;
		esac
	done
}

# keep_users: adds to the array `keep` what of the user's environment reaches
# the harness. Nothing else does, or two people would build two kernels.
keep_users() {
	local name
	for name in TERM CI V JOBS ARGS UNDO PIECE TEST FAST SEED ARCH IMPL DEBIAN_MIRROR \
		"${PROXIES[@]}"; do
		[ -z "${!name:-}" ] || keep+=("$name=${!name}")
	done
}

# Who may have which ids in a user namespace; and how many of them we need: all
# that a Debian root has owners for.
SUBUID=/etc/subuid
SUBGID=/etc/subgid
IDS=65536
# The kernel's settings that may forbid namespaces.
SYSCTL=/proc/sys/kernel

# subid FILE: the first range that is large enough of those that FILE gives this
# user, as "start count".
subid() {
	awk -F: -v n="$(id -un)" -v u="$(id -u)" -v ids=$IDS \
		'($1 == n || $1 == u) && $3 >= ids { print $2 " " $3; exit }' "$1" 2>/dev/null || :
}

# check_ids: has this user such a range in both files?
check_ids() {
	local user file missing=()
	user=$(id -un)
	for file in "$SUBUID" "$SUBGID"; do
		[ -n "$(subid "$file")" ] || missing+=("$file")
	done
	[ ${#missing[@]} = 0 ] || refuse "a line '$user:START:$IDS' in $SUBUID and in $SUBGID" \
		"no such line in ${missing[*]}" \
		"sudo touch $SUBUID $SUBGID && sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $user (or other ids, where other lines there have these)"
}

# check_mapping: can this ordinary user have a user namespace with a range of
# ids in it? Each missing piece is named with the command that mends it.
check_mapping() {
	local knob
	if ! have newuidmap || ! have newgidmap; then
		refuse "newuidmap and newgidmap, which give a user namespace its ids" \
			"none in PATH" "sudo apt-get install uidmap"
	fi
	check_ids
	knob=$SYSCTL/apparmor_restrict_unprivileged_userns
	if [ -r $knob ] && [ "$(cat $knob)" != 0 ]; then
		refuse "user namespaces for ordinary users" \
			"AppArmor restricts them, as Ubuntu 24.04 does: kernel.apparmor_restrict_unprivileged_userns=$(cat $knob)" \
			"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (until the next boot), or run the same command as root"
	fi
	knob=$SYSCTL/unprivileged_userns_clone
	if [ -r $knob ] && [ "$(cat $knob)" = 0 ]; then
		refuse "user namespaces for ordinary users" \
			"kernel.unprivileged_userns_clone is 0" \
			"sudo sysctl -w kernel.unprivileged_userns_clone=1"
	fi
	unshare --user true 2>/dev/null || refuse \
		"user namespaces for ordinary users" \
		"unshare --user fails" \
		"sudo sysctl -w user.max_user_namespaces=65536; inside a chroot, or where a container forbids them, run as root"
}

# check_root: may this root mount and make namespaces? In a container it often
# may not.
check_root() {
	local output
	output=$(unshare --mount --pid --fork true 2>&1) ||
		refuse "a root that may make namespaces (CAP_SYS_ADMIN)" \
			"unshare --mount --pid: $output" \
			"run as an ordinary user of the machine itself; or in a container with --privileged"
}

# mapped CMD...: replaces this shell by CMD with the rights that making and
# entering a root need. root needs nothing. An ordinary user becomes uid 0 of
# a user namespace: its own files stay its own (0 is the user), every other id
# comes from the user's range in /etc/subuid, so that files of any owner can
# be made, and deleted again through the same mapping.
mapped() {
	local dir u g
	if [ "$(id -u)" = 0 ]; then
		check_root
		exec "$@"
	fi
	check_mapping
	u=$(subid "$SUBUID")
	g=$(subid "$SUBGID")
	dir=$(mktemp -d)
	mkfifo "$dir/pid" "$dir/go"
	# The map can only be written from outside: a helper waits for the
	# namespace's process id, writes the maps and lets it go on.
	# shellcheck disable=SC2086 # u and g are two words each
	(
		read -r pid <"$dir/pid"
		set -- $u
		newuidmap "$pid" 0 "$(id -u)" 1 1 "$1" 65535 && {
			set -- $g
			newgidmap "$pid" 0 "$(id -g)" 1 1 "$1" 65535
		} && echo ok >"$dir/go" || echo failed >"$dir/go"
		rm -rf "$dir"
	) &
	# shellcheck disable=SC2016 # expands in the inner shell
	exec unshare --user sh -c '
		dir=$1; shift
		echo $$ >"$dir/pid"
		read -r answer <"$dir/go"
		if [ "$answer" != ok ]; then
			echo "kprobes: newuidmap or newgidmap failed; see above" >&2
			exit 2
		fi
		exec "$@"' mapped "$dir" "$@"
}

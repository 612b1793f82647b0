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

have() {
	command -v "$1" >/dev/null 2>&1
}

# free_kib DIR: what is free where DIR is.
free_kib() {
	df -Pk "$1" | awk 'NR == 2 { print $4 }'
}

# What the command line of make may set.
VARIABLES=(ARCH IMPL KSRC DIR ARGS PIECE SEED UNDO FAST JOBS V CACHE HOST_TOOLS
	DEBIAN_MIRROR DEBIAN_SECURITY)
PROXIES=(http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY)

# distance A B: how many letters to put in, take out or change until A is B.
distance() {
	local a=$1 b=$2 i j cost least above=() now
	for ((j = 0; j <= ${#b}; j++)); do
		above[j]=$j
	done
	for ((i = 1; i <= ${#a}; i++)); do
		now=("$i")
		for ((j = 1; j <= ${#b}; j++)); do
			cost=1
			[ "${a:i-1:1}" != "${b:j-1:1}" ] || cost=0
			least=$((above[j - 1] + cost))
			((above[j] + 1 >= least)) || least=$((above[j] + 1))
			((now[j - 1] + 1 >= least)) || least=$((now[j - 1] + 1))
			now[j]=$least
		done
		above=("${now[@]}")
	done
	echo "${above[${#b}]}"
}

# What others call ours.
declare -A ELSEWHERE=([VERBOSE]=V [DEBUG]=V [M]=DIR [MODULE]=DIR [KDIR]=KSRC
	[KERNELDIR]=KSRC [SRC]=KSRC [J]=JOBS [NPROC]=JOBS [PARAMS]=ARGS
	[MIRROR]=DEBIAN_MIRROR)

# nearest NAME: which of our variables is called so elsewhere, or else is most
# like it.
nearest() {
	local known found least=99 best=
	best=${ELSEWHERE[${1^^}]:-}
	if [ -n "$best" ]; then
		echo "$best"
		return
	fi
	for known in "${VARIABLES[@]}"; do
		found=$(distance "${1^^}" "$known")
		[ "$found" -ge "$least" ] || { least=$found best=$known; }
	done
	echo "$best"
}

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
			"did you mean $(nearest "$name")=? make help tells what each is for" ;;
		esac
	done
}

# keep_users: adds to the array `keep` what of the user's environment reaches
# the harness. Nothing else does, or two people would build two kernels.
keep_users() {
	local name
	for name in TERM CI V JOBS ARGS UNDO PIECE FAST SEED ARCH IMPL HOST_TOOLS DEBIAN_MIRROR \
		"${PROXIES[@]}"; do
		[ -z "${!name:-}" ] || keep+=("$name=${!name}")
	done
}

# llvm_major PACKAGES: the LLVM major that the list of packages names.
llvm_major() {
	local found
	found=$(sed -nE 's/^(clang|lld|llvm|libclang)-([0-9]+)(-dev)?$/\2/p' "$1" |
		sort -u | paste -sd' ')
	case $found in
	'' | *' '*) refuse "clang-N, lld-N, llvm-N and libclang-N-dev of one N in $1" \
		"${found:-none of them}" "name the major that rustc -vV reports" ;;
	esac
	echo "$found"
}

# check_llvm ROOT MAJOR: is rustc in ROOT of that LLVM? With another one the
# kernel's C helpers could not be inlined into Rust, and bindgen would read
# another compiler's headers: a kernel like that builds, but is not ours.
check_llvm() {
	local said found
	[ "$(cat "$1/opt/llvm" 2>/dev/null)" != "$2" ] || return 0
	said=$(chroot "$1" rustc -vV 2>&1) || refuse "rustc -vV to run in $1" \
		"${said:-no word, but a failure}" \
		"if it is the root that is broken: make distclean, which deletes it, and again"
	found=$(sed -n 's/^LLVM version: \([0-9]*\).*/\1/p' <<<"$said")
	[ "$found" = "$2" ] || refuse "rustc of LLVM $2, which toolchain/packages names (clang-$2 …)" \
		"LLVM ${found:-that it does not tell} in $1" \
		"Debian has another rustc now: name clang-${found:-N}, lld-${found:-N}, llvm-${found:-N} and libclang-${found:-N}-dev in toolchain/packages; a new root is made then"
	mkdir -p "$1/opt"
	echo "$2" >"$1/opt/llvm"
}

# Who may have which ids in a user namespace; and how many of them we need: all
# that a Debian root has owners for.
SUBUID=/etc/subuid
SUBGID=/etc/subgid
IDS=65536

# subid FILE: a range that FILE gives this user, as "start count": the first one
# that is large enough, else the first.
subid() {
	[ -r "$1" ] || return 0
	awk -F: -v n="$(id -un)" -v u="$(id -u)" -v ids=$IDS '
		$1 == n || $1 == u {
			count = $3 + 0
			if (found == "" || count >= ids)
				found = $2 " " count
			if (count >= ids)
				exit
		}
		END { if (found != "") print found }' "$1"
}

# free_ids: the first range of ids, as FIRST-LAST, that is nobody's in either
# file, from where such ranges begin by custom.
free_ids() {
	{ cat "$SUBUID" "$SUBGID" 2>/dev/null || :; } | sort -t: -k2,2n |
		awk -F: -v ids=$IDS '
			BEGIN { first = 100000 }
			/^#/ || NF < 3 || $2 + 0 >= first + ids { next }
			$2 + $3 > first { first = $2 + $3 }
			END { printf "%.0f-%.0f\n", first, first + ids - 1 }'
}

# check_ids: has this user a range that is large enough, in both files?
check_ids() {
	local user file option range free found=() missing=() options=()
	user=$(id -un)
	free=$(free_ids)
	for file in "$SUBUID" "$SUBGID"; do
		option=--add-subuids
		[ "$file" = "$SUBUID" ] || option=--add-subgids
		range=$(subid "$file")
		if [ -z "$range" ]; then
			found+=("no line for $user in $file")
		elif ((${range#* } < IDS)); then
			found+=("a line for ${range#* } ids only in $file")
		else
			continue
		fi
		[ -e "$file" ] || missing+=("$file")
		options+=("$option $free")
	done
	[ ${#options[@]} = 0 ] || refuse "a line '$user:START:$IDS' in $SUBUID and in $SUBGID" \
		"$(printf '%s; ' "${found[@]}" | sed 's/; $//')" \
		"${missing[*]:+sudo touch ${missing[*]} && }sudo usermod ${options[*]} $user"
}

# check_mapping: can this ordinary user have a user namespace with a range of
# ids in it? Each missing piece is named with the command that mends it.
check_mapping() {
	local knob
	have unshare || refuse "the command unshare" "none" \
		"apt-get install util-linux"
	if ! have newuidmap || ! have newgidmap; then
		refuse "newuidmap and newgidmap, which give a user namespace its ids" \
			"none in PATH" "sudo apt-get install uidmap"
	fi
	check_ids
	knob=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
	if [ -r $knob ] && [ "$(cat $knob)" != 0 ]; then
		refuse "user namespaces for ordinary users" \
			"AppArmor restricts them (kernel.apparmor_restrict_unprivileged_userns)" \
			"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	fi
	knob=/proc/sys/kernel/unprivileged_userns_clone
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
	local said
	said=$(unshare --mount --pid --fork true 2>&1) ||
		refuse "a root that may make namespaces (CAP_SYS_ADMIN)" \
			"unshare --mount --pid: $said" \
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

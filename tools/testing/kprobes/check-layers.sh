#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The layers of the Rust kprobes: which file may import what, where cfg,
# #[path] and unsafe may stand, what each file starts with.
#
#   check-layers.sh [ROOT]      ROOT: the tree, by default the one it stands in
#
# Prints file:line, what was expected and what was found; 1 if anything was.
set -euo pipefail
cd "${1:-$(dirname "$0")/../../..}"

mapfile -t files < <(find rust/kprobes arch/*/kprobes -name '*.rs' | sort)
[ ${#files[@]} -gt 0 ] || {
	echo "check-layers: no .rs files below rust/kprobes and arch/*/kprobes in $PWD" >&2
	exit 2
}
failed=0

# report FILE:LINE EXPECTED FOUND
report() {
	echo "$1: expected $2, found: $3"
	failed=1
}

# layer FILE: the layer that a file belongs to.
layer() {
	case $1 in
	rust/kprobes/model/*) echo model ;;
	rust/kprobes/shared/*) echo shared ;;
	rust/kprobes/slot/*) echo slot ;;
	rust/kprobes/pool/*) echo pool ;;
	rust/kprobes/table/*) echo table ;;
	rust/kprobes/contract.rs) echo contract ;;
	arch/*/kprobes/isa/*) echo isa ;;
	rust/kprobes/arch.rs | arch/*/kprobes/mod.rs) echo arch ;;
	rust/kprobes/sys.rs | rust/kprobes/sys/*) echo sys ;;
	arch/*/kprobes/machine.rs | arch/*/kprobes/machine/* | arch/*/kprobes/poke.rs | arch/*/kprobes/frame.rs | arch/*/kprobes/detour.rs | arch/*/kprobes/jump.rs | arch/*/kprobes/jump/* | arch/*/kprobes/starts.rs | arch/*/kprobes/returns.rs | arch/*/kprobes/jprobes.rs) echo machine ;;
	rust/kprobes/life.rs | rust/kprobes/life/*) echo life ;;
	rust/kprobes/view.rs) echo view ;;
	rust/kprobes/abi.rs | rust/kprobes/abi/* | arch/*/kprobes/entry.rs) echo edge ;;
	rust/kprobes/rust_kprobes.rs) echo root ;;
	*) echo none ;;
	esac
}

# modules LAYER: the modules of the crate that the layer may name.
modules() {
	case $1 in
	model) echo model ;;
	shared) echo model shared ;;
	slot) echo slot ;;
	pool) echo pool ;;
	table) echo model table ;;
	contract) echo model ;;
	isa) echo model contract ;;
	arch) echo ;;
	sys) echo model shared slot pool table sys ;;
	machine) echo model contract sys ;;
	life) echo model shared contract arch sys life ;;
	view) echo model sys life ;;
	edge) echo model sys life view ;;
	root) echo ;;
	esac
}

# crates LAYER: the crates that the layer may name besides core and itself.
crates() {
	case $1 in
	model | shared | slot | pool | table | contract | isa | arch) echo ;;
	life | view) echo kernel ;;
	sys | machine | edge | root) echo kernel bindings pin_init ;;
	esac
}

# paths FILE: "line name" of each module after crate::, each crate named by a
# path (kernel, alloc, std, pin_init), and bindings, wherever they stand in
# code. `use crate::{a::{..}, b}` names a and b.
paths() {
	awk '
	function emit(n, w) { print n, w }
	{
		line = $0
		sub(/\/\/.*/, "", line)
		# The one macro of the kernel crate that pure code may name.
		gsub(/kernel::macros::kunit_tests\(/, "", line)
		if (!inside && match(line, /crate::\{/)) {
			inside = 1; depth = 1
			line = substr(line, RSTART + RLENGTH)
		}
		if (inside) {
			rest = line
			while (match(rest, /[{}]|[a-z_0-9]+/)) {
				tok = substr(rest, RSTART, RLENGTH)
				rest = substr(rest, RSTART + RLENGTH)
				if (tok == "{") depth++
				else if (tok == "}") { depth--; if (!depth) { inside = 0; break } }
				else if (depth == 1 && !tail) emit(NR, "crate::" tok)
				tail = (rest ~ /^::/)
				if (depth == 1 && tail && rest !~ /^::\{/) {
					# crate::{a::b}: b is below a.
					match(rest, /^(::[A-Za-z_0-9]+)+/)
					if (RLENGTH > 0) rest = substr(rest, RLENGTH + 1)
				}
				tail = 0
			}
			next
		}
		rest = line
		while (match(rest, /(^|[^A-Za-z_0-9:])(crate::[a-z_]+|(kernel|alloc|std|pin_init)::|bindings::|super::super)/)) {
			word = substr(rest, RSTART, RLENGTH)
			rest = substr(rest, RSTART + RLENGTH)
			sub(/^[^a-z]/, "", word)
			sub(/::$/, "", word)
			emit(NR, word)
		}
		if (line ~ /^[ \t]*bindings,/ || line ~ /kernel::bindings/) emit(NR, "bindings")
	}' "$1"
}

check_imports() {
	local file=$1 layer=$2 number name allowed word
	allowed=" $(for word in $(modules "$layer"); do
		printf 'crate::%s ' "$word"
	done)$(crates "$layer") "
	while read -r number name; do
		[[ $allowed == *" $name "* ]] || report "$file:$number" \
			"only${allowed}in the layer '$layer'" "$name"
	done < <(paths "$file")
}

# lines FILE REGEX [END]: "line text" of code, not comment, that matches, up to
# a line that matches END. The switch of the unit tests is not configuration.
lines() {
	awk -v re="$2" -v end="${3:-^$.}" '
		$0 ~ end { exit }
		{ code = $0; sub(/\/\/.*/, "", code)
		  gsub(/CONFIG_RUST_KPROBES_KUNIT_TEST/, "", code) }
		code ~ re { sub(/^[ \t]+/, ""); print NR, $0 }' "$1"
}

# forbid FILE REGEX EXPECTED [END]
forbid() {
	local number text
	while read -r number text; do
		report "$1:$number" "$3" "$text"
	done < <(lines "$1" "$2" "${4:-}")
}

for file in "${files[@]}"; do
	layer=$(layer "$file")
	if [ "$layer" = none ]; then
		report "$file:1" "a file of a known layer (see layer() in $0)" "a new name"
		continue
	fi
	check_imports "$file" "$layer"

	[[ $(head -n 1 "$file") == '// SPDX-License-Identifier: GPL-2.0' ]] ||
		report "$file:1" "// SPDX-License-Identifier: GPL-2.0" "$(head -n 1 "$file")"
	[[ $(sed -n 3p "$file") == '//! '* ]] ||
		report "$file:3" "//! and what the file is" "$(sed -n 3p "$file")"

	case $layer in
	model | shared | slot | pool | table | isa | contract)
		forbid "$file" 'CONFIG_|cfg[a-z_]*\(.*target_' \
			"no configuration in pure code (it arrives as a value)"
		;;
	esac
	forbid "$file" '(\.unwrap\(\)|\.expect\(|panic!\(|unreachable!\()' \
		"no way to panic (say Refusal)" '^mod tests'
	case $layer in
	arch) ;;
	*)
		forbid "$file" '#\[path|path *=' "#[path] in rust/kprobes/arch.rs only"
		forbid "$file" 'CONFIG_(X86|ARM|PPC|S390)([^A-Z_0-9]|(_64|64|32)[^A-Z_0-9])' \
			"the architecture chosen in rust/kprobes/arch.rs only"
		;;
	esac
	case $layer in
	model | shared | slot | pool | table | isa | life | view | arch | root)
		forbid "$file" '(^|[^a-z_])unsafe([^a-z_]|$)' \
			"no unsafe in the layer '$layer'"
		;;
	esac
	case $file in
	*/model/mod.rs | */shared/mod.rs | */slot/mod.rs | */pool/mod.rs | */table/mod.rs | */isa/mod.rs | rust/kprobes/life.rs)
		grep -qF '#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]' "$file" ||
			report "$file:1" \
				"#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]" \
				"none"
		;;
	esac
done

# The pure files of the safe interface.
for file in rust/kernel/kprobes/abi.rs rust/kernel/kprobes/signature.rs; do
	[ -e "$file" ] || continue
	forbid "$file" '(^|[^a-z_])(unsafe|crate|kernel|alloc|bindings)([^a-z_]|$)' \
		"nothing but core in a pure file" '^mod tests'
	forbid "$file" 'CONFIG_|cfg[a-z_]*\(.*target_' \
		"no configuration in pure code (it arrives as a value)"
	forbid "$file" '(\.unwrap\(\)|\.expect\(|panic!\(|unreachable!\()' \
		"no way to panic" '^mod tests'
done

# The host crate: #[path] to pure files only, and nothing of its own beside
# the tree's files that the kernel does not have.
lib=tools/testing/kprobes/host/src/lib.rs
if [ -e $lib ]; then
	while IFS=: read -r number text; do
		[[ $text =~ (rust/kernel/kprobes/(abi|signature)|rust/kprobes/(contract|model/mod|shared/mod|slot/mod|pool/mod|table/mod)|arch/[a-z0-9]+/kprobes/isa/mod)\.rs ]] ||
			report "$lib:$number" "#[path] to model, shared, slot, pool, table, contract, abi or an isa" "$text"
	done < <(grep -nF '#[path' $lib)
fi

exit $failed

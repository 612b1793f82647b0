#!/bin/awk -f
# SPDX-License-Identifier: GPL-2.0
# gen-opcodes.awk: Generates the opcode tables of the Rust kprobes' decoder
#
# Usage: awk -f gen-opcodes.awk x86-opcode-map.txt opcodes-supplement.txt
#
# Each opcode has an array of cells: one for each mandatory prefix (none, 66, F3,
# F2), memory or register, and value of the reg and rm fields of ModRM. Each
# instruction of the map writes its entry into the cells that select it. form.rs
# describes the entries.

BEGIN {
	VALID = 1; MODRM = 2; FIXED = 4; NO_REX2 = 8; IMMEDIATE = 16
	BY_PREFIX = 16384; BY_REG = 32768; BY_RM = 49152

	# Immediate kinds of form.rs
	immediate["Ib"] = immediate["Jb"] = immediate["Lx"] = immediate["Lo"] = 1
	immediate["Iw"] = 2
	immediate["Id"] = 3
	immediate["Iz"] = immediate["Jz"] = 4
	immediate["Iv"] = 5
	immediate["Iw,Ib"] = 6
	immediate["Ib,Ib"] = 7
	immediate["Ob"] = immediate["Ov"] = 8

	# The printed tables, and the table of the kernel's map for each
	count = split("PRIMARY TWO_BYTE THREE_BYTE_38 THREE_BYTE_3A THREE_D_NOW " \
		      "VEX_1 VEX_2 VEX_3 VEX_5 VEX_7 " \
		      "EVEX_1 EVEX_2 EVEX_3 EVEX_4 EVEX_5 EVEX_6 EVEX_7 " \
		      "XOP_8 XOP_9 XOP_10", names)
	split("0 1 2 3 none 1 2 3 5 7 1 2 3 4 5 6 7 XOP0 XOP1 XOP2", origins)
	for (i = 1; i <= count; i++)
		origin[names[i]] = origins[i]
}

function number(hex,    i, value) {
	for (i = 1; i <= length(hex); i++)
		value = value * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return value
}

# The kernel's map
FNR == NR && /^AVXcode:/ { table = NF > 1 ? $2 : 0 }
FNR == NR && /^XOPcode:/ { table = "XOP" $2 }
FNR == NR && /^GrpTable:/ { table = $2 }
FNR == NR && /^[0-9a-f]+:/ && $2 != "escape" {
	opcode = number(substr($1, 1, index($1, ":") - 1))
	$1 = ""
	map[table, opcode] = $0
}

# The supplement, whose lines replace lines of the map
FNR != NR && /^[A-Z]/ {
	colon = index($0, ":")
	text = substr($0, colon + 1)
	$0 = substr($0, 1, colon - 1)
	for (i = 1; i <= NF; i++) {
		if ($i ~ /^[A-Z]/) {
			name = $i
			if (!(name in origin)) {
				print FILENAME ":" FNR ": no table is called " name > "/dev/stderr"
				exit failed = 1
			}
			continue
		}
		dash = index($i, "-")
		last = number(dash ? substr($i, dash + 1) : $i)
		for (op = number(dash ? substr($i, 1, dash - 1) : $i); op <= last; op++)
			supplement[name, op] = supplement[name, op] text
	}
}

# Returns whether this instruction of the map exists in the encoding of table NAME.
function encoded(name, mnemonic, ext,    evex) {
	evex = ext ~ /\((ev|evo|es)\)/
	if (name ~ /^EVEX/)
		return evex || mnemonic ~ /^v/
	if (name ~ /^VEX/)
		return !evex && (mnemonic ~ /^[vk]/ || ext ~ /\(v1?\)/)
	return !evex && mnemonic !~ /^k/ && ext !~ /\(v\)/ &&
	       (mnemonic ~ /^v/ || ext !~ /\(v1\)/)
}

# Sets entry, and whether the rm field can be memory and can be a register
function read_operands(operands, ext, modrm,    n, i, list, m, j, kinds, kind, imm) {
	entry = VALID
	memory = register = 0
	n = split(operands, list, ",")
	for (i = 1; i <= n; i++) {
		if (list[i] in immediate)
			imm = imm (imm == "" ? "" : ",") list[i]
		m = split(list[i], kinds, "/")
		for (j = 1; j <= m; j++) {
			kind = kinds[j]
			if (kind ~ /^([CDEGMNPQRSUVW][a-z]+|M)$/)
				modrm = 1
			# Far pointers and the SIB operands of AMX are memory, tiles are not.
			if (kind ~ /^([EQW][a-z]+|M[a-z]*)$/ && kind != "Wt")
				memory = 1
			if (kind ~ /^[EQWNRU][a-z]+$/ && kind != "Ep" && kind != "Wsm")
				register = 1
			# MOV of control and debug registers ignores mod.
			if (kind ~ /^[CD]d$/) {
				entry += FIXED
				memory = 1
			}
		}
	}
	if (ext ~ /\((11|!11|[01]0|01)B\)/) {
		modrm = 1
		register = ext ~ /\(11B\)/
		memory = !register
	}
	if (!memory && !register)
		memory = register = 1
	# The operand-size prefix does not change the distance of near branches.
	if (imm == "Jz" && ext ~ /\(f64\)/)
		imm = "Id"
	entry += MODRM * modrm + NO_REX2 * (ext ~ /\(!REX2\)/) + IMMEDIATE * immediate[imm]
	return modrm
}

# Returns the digits after MARK in EXT: "(/0125)" has 0125 after "/".
function digits(ext, mark) {
	if (!match(ext, "[(]" mark "[0-7]+[)]"))
		return "01234567"
	return substr(ext, RSTART + 1 + length(mark), RLENGTH - 2 - length(mark))
}

# The mandatory prefixes that select an instruction: 0 is none, 1 to 3 are 66, F3, F2
function prefixes(ext) {
	return (ext ~ /\((NP|!F3|es)\)/ ? 0 : "") (ext ~ /\((66|!F3|es)\)/ ? 1 : "") \
	       (ext ~ /\(F3\)/ ? 2 : "") (ext ~ /\((F2|!F3|66&F2)\)/ ? 3 : "")
}

# Handles one instruction. In a group, REG is its number and OUTER the group's operands.
function instruction(name, text, reg, outer, outer_ext, \
		     n, word, i, mnemonic, operands, ext, modrm, regs, rms, bits, prefix) {
	n = split(text, word, " ")
	mnemonic = word[1]
	for (i = 2; i <= n; i++)
		if (word[i] ~ /^\(/)
			ext = ext word[i]
		else
			operands = operands word[i]
	ext = ext outer_ext
	if (ext ~ /\((Prefix|REX2|i64)\)/ || mnemonic ~ /^REX/)
		return
	if (mnemonic ~ /^Grp/) {
		for (i = 0; i < 8; i++)
			alternatives(name, map[mnemonic, i], i, operands, ext)
		return
	}
	if ((!supplied || reg != "") && !encoded(name, mnemonic, ext))
		return
	modrm = read_operands(operands == "" ? outer : operands, ext,
			      reg != "" || mnemonic == "ESC")
	regs = reg == "" ? digits(ext, "/") : reg
	rms = digits(ext, "rm")
	if (match(ext, /\([01][01][01]\)/)) {
		bits = int(index("000 001 010 011 100 101 110 111", substr(ext, RSTART + 1, 3)) / 4)
		if (reg == "")
			regs = bits
		else
			rms = bits
	}
	# Instructions that name their prefixes are handled first. The others have the remaining
	# prefixes, or no prefix: MMX and SSE, in small letters, and opcodes where a prefix
	# selects another instruction.
	prefix = prefixes(ext)
	if ((prefix == "") == named)
		return
	if (named)
		some_named = 1
	else if (name ~ /VEX/ || mnemonic ~ /^[a-z]/ ||
		 (some_named && modrm && length(regs) == 8))
		prefix = 0
	else
		prefix = "0123"
	fill(prefix, regs, rms)
}

function fill(prefix, regs, rms,    p, mod, r, m, c) {
	for (p = 1; p <= length(prefix); p++)
		for (mod = !memory; mod <= register; mod++)
			for (r = 1; r <= length(regs); r++)
				for (m = 1; m <= length(rms); m++) {
					c = substr(prefix, p, 1) mod substr(regs, r, 1) substr(rms, m, 1)
					if (!(c in cell))
						cell[c] = entry
					filled = 1
				}
}

function alternatives(name, text, reg, outer, outer_ext,    n, i, list) {
	n = split(text, list, " [|] ")
	for (i = 1; i <= n; i++)
		instruction(name, list[i], reg, outer, outer_ext)
}

# Returns the entry for a row of KIND that contains LIST, or the one entry that LIST repeats.
function lead(kind, list,    n, i, entries) {
	n = split(list, entries, ",")
	for (i = 2; i < n && entries[i] == entries[1]; i++)
		;
	if (i == n)
		return entries[1]
	if (!((kind, list) in row)) {
		row[kind, list] = rows[kind]++
		printed[kind] = printed[kind] "    [" list "],\n"
	}
	return kind + row[kind, list]
}

# Returns the entry of opcode OP in table NAME.
function opcode_entry(name, op,    text, p, mod, r, m, c, by_prefix, by_reg, by_rm) {
	supplied = (name, op) in supplement
	text = supplied ? supplement[name, op] : map[origin[name], op]
	split("", cell)
	filled = some_named = 0
	for (named = 1; named >= 0; named--)
		alternatives(name, text, "", "", "")
	if (!filled)
		return 0
	for (p = 0; p < 4; p++) {
		by_reg = ""
		for (mod = 0; mod < 2; mod++)
			for (r = 0; r < 8; r++) {
				by_rm = ""
				for (m = 0; m < 8; m++) {
					c = p mod r m
					by_rm = by_rm ((c in cell) ? cell[c] : 0) ","
				}
				by_reg = by_reg lead(BY_RM, by_rm) ","
			}
		by_prefix = by_prefix lead(BY_REG, by_reg) ","
	}
	return lead(BY_PREFIX, by_prefix)
}

function print_rows(name, kind, width) {
	printf "pub(super) static %s: [[u16; %d]; %d] = [\n%s];\n", name, width, rows[kind],
	       printed[kind]
}

# The tables of an encoding with a map field
function print_numbered(encoding,    i) {
	printf "pub(super) static %s: [Option<&[u16; 256]>; 11] = [", encoding
	for (i = 0; i < 11; i++)
		printf "%s, ", (encoding "_" i) in origin ? "Some(&" encoding "_" i ")" : "None"
	print "];"
}

END {
	if (failed)
		exit 1
	print "// Generated by gen-opcodes.awk from x86-opcode-map.txt and opcodes-supplement.txt."
	for (i = 1; i <= count; i++) {
		printf "pub(super) static %s: [u16; 256] = [", names[i]
		for (op = 0; op < 256; op++)
			printf "%s%d,", op % 8 ? " " : "\n    ", opcode_entry(names[i], op)
		print "\n];"
	}
	print_numbered("VEX")
	print_numbered("EVEX")
	print_numbered("XOP")
	print_rows("BY_PREFIX", BY_PREFIX, 4)
	print_rows("BY_REG", BY_REG, 16)
	print_rows("BY_RM", BY_RM, 8)
}

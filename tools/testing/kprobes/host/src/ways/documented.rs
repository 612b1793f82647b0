// SPDX-License-Identifier: GPL-2.0

//! The page that tells how each instruction runs, made from what the kernel decides with.
//!
//! `KPROBES_WRITE=1 cargo test documented` writes it anew.
//!
//! It asks for every opcode of the legacy maps with every mandatory prefix and ModRM, and puts
//! together what has the same answer. Names are iced's.

use super::{
    forms::{alike, ask, forms, lines, Line, PREFIXES},
    *,
};
use std::{fmt::Write, ops::Range};

const PAGE: &str = "../../../../../Documentation/trace/rust-kprobes/x86-instructions.rst";
const REASONS: &str = include_str!("../../../../../../rust/kprobes/model/refusal.rs");

const HEAD: &str = "\
.. SPDX-License-Identifier: GPL-2.0

===========================
How x86-64 instructions run
===========================

.. Made from arch/x86/kprobes/isa/classify.rs by the host tests, which fail if this page is not
   what they make.

A probed instruction does not run where it stands, since a breakpoint stands
there. It runs in one of these ways:

emulated
  What it does is done to the saved registers, in the trap.

stepped
  A copy runs with interrupts off, up to a second breakpoint after it.

boosted
  A copy runs as the original would and jumps back by itself. It is stepped
  instead if a probe has a post handler, if the exception table has an entry
  for the instruction, or while too many slots wait for Tasks RCU.

refused
  It cannot be probed.

Beyond the opcode: ``sti`` is refused right before an instruction that waits
(LetsNextWait). An instruction with LOCK is refused where it would be emulated,
and so is an indirect branch by one of the registers 16 to 31, which a trap
does not save (UnsavedRegister).

In the tables, 66, F3 and F2 are the mandatory prefix, /0 to /7 the reg field of
ModRM, mem and reg its forms with memory and with a register, and two more
digits the whole ModRM. Of several lines for an opcode the first that fits
counts.
";

/// A table of a whole map, with neighbours that are alike on one line.
fn table(escape: &[u8], opcode: fn(u8) -> Opcode) -> String {
    let mut rows: Vec<(u8, u8, Vec<Line>)> = Vec::new();
    for byte in 0..=u8::MAX {
        let lines = lines(&forms(escape, byte, opcode(byte)));
        if lines.is_empty() {
            continue;
        }
        match rows.last_mut() {
            Some((first, last, old))
                if *last + 1 == byte && *first >> 4 == byte >> 4 && alike(old, &lines) =>
            {
                *last = byte;
                for (old, new) in old.iter_mut().zip(lines) {
                    let names = new.names.into_iter();
                    let more: Vec<_> = names.filter(|name| !old.names.contains(name)).collect();
                    old.names.extend(more);
                }
            }
            _ => rows.push((byte, byte, lines)),
        }
    }
    let mut cells = vec![["Opcode", "Form", "Runs", "Instructions"].map(String::from)];
    for (first, last, lines) in rows {
        for line in lines {
            let range = if first == last {
                format!("{first:02X}")
            } else {
                format!("{first:02X}-{last:02X}")
            };
            cells.push([range, line.forms, line.way, line.names.join(" ")]);
        }
    }
    drawn(&cells)
}

/// The widest that a column gets; more goes to further lines.
const WIDTHS: [usize; 4] = [7, 24, 24, 36];

fn drawn(cells: &[[String; 4]]) -> String {
    let rule = WIDTHS.map(|width| "=".repeat(width)).join(" ") + "\n";
    let mut text = rule.clone();
    for (number, row) in cells.iter().enumerate() {
        let columns: Vec<_> = row
            .iter()
            .zip(WIDTHS)
            .map(|(cell, width)| wrapped(cell, width))
            .collect();
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let part = |(column, width): (&Vec<String>, usize)| {
                format!("{:width$}", column.get(line).cloned().unwrap_or_default())
            };
            let parts: Vec<_> = columns.iter().zip(WIDTHS).map(part).collect();
            writeln!(text, "{}", parts.join(" ").trim_end()).expect("room");
        }
        if number == 0 {
            text += &rule;
        }
    }
    text + &rule
}

fn wrapped(cell: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in cell.split(' ') {
        let line = lines.last_mut().expect("a line");
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(word.into());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// The opcode in a map that has nothing but copies.
fn in_map(opcode: Opcode) -> Option<u8> {
    match opcode {
        Opcode::ThreeByte38(byte) | Opcode::ThreeByte3A(byte) => Some(byte),
        Opcode::Vex(_, byte) | Opcode::Evex(_, byte) | Opcode::Xop(_, byte) => Some(byte),
        _ => None,
    }
}

/// One line for such a map: which opcodes run in which way. Nothing if there are none.
fn summary(name: &str, heads: &[Vec<u8>]) -> String {
    let mut ways = BTreeMap::<String, BTreeSet<u8>>::new();
    for head in heads {
        for byte in 0..=u8::MAX {
            // Each reg field, with memory and with a register.
            for modrm in (0..=u8::MAX).filter(|modrm| matches!(modrm & 0b11_000_111, 0 | 0xc0)) {
                let head = [&head[..], &[byte, modrm]].concat();
                if let Some((insn, way, _)) = ask(&head) {
                    if let Some(opcode) = in_map(insn.opcode) {
                        ways.entry(way).or_default().insert(opcode);
                    }
                }
            }
        }
    }
    if ways.is_empty() {
        return String::new();
    }
    let mut ways: Vec<_> = ways.into_iter().collect();
    ways.sort_by_key(|(_, opcodes)| usize::MAX - opcodes.len());
    let mut text = format!("* {name}:");
    for (number, (way, opcodes)) in ways.iter().enumerate() {
        if number == 0 {
            write!(text, " {way}").expect("room");
        } else {
            let opcodes: Vec<_> = opcodes.iter().map(|byte| format!("{byte:02X}")).collect();
            write!(text, "; forms of {} {way}", opcodes.join(" ")).expect("room");
        }
    }
    wrapped(&text, 78).join("\n  ") + "\n"
}

/// A name, which maps there may be, and what stands before an opcode in one of them, by the byte
/// with the selector and W.
type Encoding = (&'static str, Range<u8>, fn(u8, u8) -> Vec<u8>);

const ENCODINGS: [Encoding; 3] = [
    ("VEX", 0..32, |map, fields| vec![0xc4, 0xe0 | map, fields]),
    ("EVEX", 0..8, |map, fields| {
        vec![0x62, 0xf0 | map, fields | 0x04, 0x08]
    }),
    ("XOP", 8..32, |map, fields| vec![0x8f, 0xe0 | map, fields]),
];

fn summaries() -> String {
    let mut text = String::new();
    for (name, escape) in [("0F 38", 0x38), ("0F 3A", 0x3a)] {
        text += &summary(name, &PREFIXES.map(|it| [it, &[0x0f, escape]].concat()));
    }
    for (name, maps, head) in ENCODINGS {
        for map in maps {
            // Each selector and both W.
            let fields = [0x78, 0x79, 0x7a, 0x7b, 0xf8, 0xf9, 0xfa, 0xfb];
            let heads = fields.map(|fields| head(map, fields));
            text += &summary(&format!("{name} map {map}"), &heads);
        }
    }
    text
}

/// The reasons that `tables` name, in the words of their own documentation.
fn reasons(tables: &str) -> String {
    let mut text = String::new();
    let (_, all) = REASONS.split_once("\nrefusals! {\n").expect("a list");
    for (head, words) in all.split("\",\n").filter_map(|one| one.split_once('"')) {
        let name = head.split(['(', '=']).next().unwrap_or_default().trim();
        if !tables.contains(name) {
            continue;
        }
        let words: Vec<_> = words
            .lines()
            .map(|line| line.trim().trim_end_matches(" \\"))
            .collect();
        let mut words = words.join(" ");
        words[..1].make_ascii_uppercase();
        let lines = wrapped(&format!("{words}."), 76).join("\n  ");
        writeln!(text, "{name}\n  {lines}\n").expect("room");
    }
    text
}

fn page() -> String {
    let one = table(&[], Opcode::Primary);
    let two = table(&[0x0f], Opcode::TwoByte);
    let others = summaries();
    let tables = format!(
        "{HEAD}
One-byte opcodes
================

{one}
Opcodes after 0F
================

{two}
Other maps
==========

No branch is in these maps. Opcodes after REX2 run as those without it; A1 there
is JMPABS, which is emulated. All of 3DNow! is boosted.

{others}
Reasons to refuse
=================

"
    );
    let reasons = reasons(&tables);
    tables + reasons.trim_end() + "\n"
}

#[test]
fn rex2_does_not_change_how_an_insn_is_executed() {
    for (payload, escape) in [(0x00, &[][..]), (0x80, &[0x0f])] {
        for (byte, modrm) in (0..=u8::MAX).flat_map(|byte| (0..=u8::MAX).map(move |it| (byte, it)))
        {
            let extended = ask(&[0xd5, payload, byte, modrm]);
            let plain = ask(&[escape, &[byte, modrm]].concat());
            if let (Some((_, with, _)), Some((_, without, _))) = (extended, plain) {
                let is_jmpabs = escape.is_empty() && byte == 0xa1;
                let expected = if is_jmpabs { "emulated" } else { &without };
                assert_eq!(with, expected, "{payload:02x} {byte:02x} {modrm:02x}");
            }
        }
    }
}

#[test]
fn three_d_now_is_boosted() {
    let boosted = (0..=u8::MAX).filter_map(|byte| ask(&[0x0f, 0x0f, 0xc1, byte]));
    assert_eq!(boosted.filter(|(_, way, _)| way == "boosted").count(), 24);
}

#[test]
fn documented_ways_are_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(PAGE);
    let made = page();
    if env::var_os("KPROBES_WRITE").is_some() {
        fs::write(&path, &made).expect("the page to be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == made,
        "{}: expected what classify.rs says, found something else: run KPROBES_WRITE=1 cargo test documented",
        path.display()
    );
}

// SPDX-License-Identifier: GPL-2.0

//! Where a judge says another length and is not followed, and why.
//!
//! The list in `Documentation/trace/rust-kprobes/decoder.rst` says more about each.

use super::*;

struct Exception {
    judge: &'static str,
    reason: &'static str,
    /// Of the bytes, and our length.
    matches: fn(&Shape, Option<usize>) -> bool,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        judge: "llvm",
        reason: "a prefix that VEX, EVEX, XOP or REX2 forbids before it",
        matches: |shape, ours| {
            ours.is_none()
                && match shape.first {
                    0x62 | 0xc4 | 0xc5 | 0x8f => shape.prefixed(),
                    0xd5 => shape.rex != 0,
                    _ => false,
                }
        },
    },
    Exception {
        judge: "llvm",
        reason: "REX2 before an opcode that it makes invalid",
        matches: |shape, ours| ours.is_none() && shape.first == 0xd5 && no_rex2(shape),
    },
    Exception {
        judge: "llvm",
        reason: "a SIB base of 5 with the fifth bit of APX",
        matches: |shape, ours| {
            ours.is_some() && [0x62, 0xd5].contains(&shape.first) && shape.modrm & 0xc7 == 0x04
        },
    },
    Exception {
        judge: "llvm",
        reason: "MOV to CS, MOV of a control register that does not exist",
        matches: |shape, ours| {
            let control = two_byte(shape) && [0x20, 0x22].contains(&shape.opcode);
            let segment = shape.opcode == 0x8e && shape.modrm & 0x38 == 0x08;
            ours.is_none() && (control || segment)
        },
    },
    Exception {
        judge: "llvm",
        reason: "a prefix field of EVEX that selects nothing, in APX",
        matches: |shape, ours| {
            let bmi = shape.map == 2 && [0xf2, 0xf3, 0xf5].contains(&shape.opcode);
            ours.is_none() && shape.first == 0x62 && shape.pp != 0 && (shape.map == 4 || bmi)
        },
    },
    Exception {
        judge: "llvm",
        reason: "a mandatory prefix that selects nothing",
        matches: |shape, ours| {
            ours.is_none()
                && (shape.first == 0x0f || two_byte(shape))
                && (shape.operand_size || shape.repeat)
        },
    },
    Exception {
        judge: "llvm",
        reason: "the operand-size prefix before a near branch, as on AMD's CPUs",
        matches: |shape, ours| ours.is_some() && shape.operand_size && near_branch(shape),
    },
    Exception {
        judge: "llvm",
        reason: "EXTRQ and INSERTQ with prefixes besides the mandatory one",
        matches: |shape, ours| ours.is_some() && two_byte(shape) && shape.opcode == 0x78,
    },
    Exception {
        judge: "llvm",
        reason: "MOVDIR64B with the address-size prefix in place of its mandatory one",
        matches: |shape, ours| {
            let map = shape.first == 0x0f && shape.map == 0x38;
            ours.is_none() && map && shape.opcode == 0xf8 && shape.address_size
        },
    },
    Exception {
        judge: "insn.c",
        reason: "REX that is not the last prefix",
        matches: |shape, _| shape.dead_rex,
    },
    Exception {
        judge: "insn.c",
        reason: "MOV of control and debug registers, whose mod means nothing",
        matches: |shape, _| two_byte(shape) && (0x20..=0x23).contains(&shape.opcode),
    },
    Exception {
        judge: "insn.c",
        reason: "a reserved NOP",
        matches: |shape, _| two_byte(shape) && [0x19, 0x1d].contains(&shape.opcode),
    },
    Exception {
        judge: "insn.c",
        reason: "UD0, which has no ModRM on AMD's CPUs",
        matches: |shape, _| two_byte(shape) && shape.opcode == 0xff,
    },
    Exception {
        judge: "insn.c",
        reason: "EXTRQ and INSERTQ, whose immediates it does not know",
        matches: |shape, _| two_byte(shape) && shape.opcode == 0x78,
    },
    Exception {
        judge: "insn.c",
        reason: "a repeat prefix before CMOVcc, SETcc and MOVNTSS",
        matches: |shape, _| {
            let rows = [0x20, 0x40, 0x90];
            two_byte(shape) && shape.repeat && rows.contains(&(shape.opcode & 0xf0))
        },
    },
    Exception {
        judge: "insn.c",
        reason: "MOVRS, which it does not know",
        matches: |shape, _| {
            shape.first == 0x0f && shape.map == 0x38 && [0x8a, 0x8b].contains(&shape.opcode)
        },
    },
    Exception {
        judge: "insn.c",
        reason: "a mandatory prefix that is not the last prefix",
        matches: |shape, _| {
            let selects = |byte| [0x66, 0xf2, 0xf3].contains(&byte);
            (shape.first == 0x0f || two_byte(shape))
                && (shape.operand_size || shape.repeat)
                && (!selects(shape.last) || shape.repeat && shape.last == 0x66)
        },
    },
    Exception {
        judge: "insn.c",
        reason: "more than four different prefixes",
        matches: |shape, _| shape.different > 4,
    },
];

/// Is it in the two-byte map, after 0F or REX2?
fn two_byte(shape: &Shape) -> bool {
    shape.first == 0x0f && shape.map == 0 || shape.first == 0xd5 && shape.map == 1
}

fn near_branch(shape: &Shape) -> bool {
    match shape.first {
        0x0f => shape.map == 0 && shape.opcode & 0xf0 == 0x80,
        0xe8 | 0xe9 => true,
        _ => false,
    }
}

/// Opcodes that REX2 makes invalid: rows of each map, prefixes and escapes, XSAVE and the like.
fn no_rex2(shape: &Shape) -> bool {
    let reg = shape.modrm >> 3 & 7;
    if shape.map == 0 {
        return match shape.opcode {
            0x0f | 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3 => true,
            opcode => [0x40, 0x70, 0xa0, 0xe0].contains(&(opcode & 0xf0)),
        };
    }
    match shape.opcode {
        0xae => (4..=6).contains(&reg),
        0xc7 => (3..=5).contains(&reg),
        opcode => [0x30, 0x80].contains(&(opcode & 0xf0)),
    }
}

/// Why the judge is not followed here, if that is known.
pub(super) fn reason(judge: &str, shape: &Shape, ours: Option<usize>) -> Option<&'static str> {
    EXCEPTIONS
        .iter()
        .find(|one| one.judge == judge && (one.matches)(shape, ours))
        .map(|one| one.reason)
}

/// Is this what no judge knows, for a reason?
pub(super) fn is_ours_alone(entry: &Shape) -> bool {
    // UDB has that name only since all judges were written.
    let udb = entry.opcode == 0xd6 && [0xd5, 0xd6].contains(&entry.first);
    // MPX has four registers; without MPX, as on CPUs now, these are NOPs.
    let bounds = two_byte(entry) && [0x1a, 0x1b].contains(&entry.opcode);
    udb || bounds
}

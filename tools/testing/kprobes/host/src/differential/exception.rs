// SPDX-License-Identifier: GPL-2.0

//! Where a judge says another length and is not followed, and why.
//!
//! The list in `Documentation/trace/rust-kprobes/decoder.rst` says more about each.

use super::*;

/// Of the bytes, and our length.
type Matches = fn(&Shape, Option<usize>) -> bool;

/// The reasons not to follow a judge.
macro_rules! exceptions {
    ($name:ident $($reason:literal: $matches:expr;)*) => {
        const $name: &[(&str, Matches)] = &[$(($reason, $matches)),*];
    };
}

exceptions! { LLVM
    "a prefix that VEX, EVEX, XOP or REX2 forbids before it": |shape, ours| {
        ours.is_none()
            && match shape.first {
                0x62 | 0xc4 | 0xc5 | 0x8f => shape.prefixed(),
                0xd5 => shape.rex != 0,
                _ => false,
            }
    };
    "REX2 before an opcode that it makes invalid":
        |shape, ours| ours.is_none() && shape.first == 0xd5 && no_rex2(shape);
    "a SIB base of 5 with the fifth bit of APX": |shape, ours| {
        ours.is_some() && [0x62, 0xd5].contains(&shape.first) && shape.modrm & 0xc7 == 0x04
    };
    "MOV to CS, MOV of a control register that does not exist": |shape, ours| {
        let control = two_byte(shape) && [0x20, 0x22].contains(&shape.opcode);
        let segment = shape.opcode == 0x8e && shape.modrm & 0x38 == 0x08;
        ours.is_none() && (control || segment)
    };
    "a prefix field of EVEX that selects nothing, in APX": |shape, ours| {
        let bmi = shape.map == 2 && [0xf2, 0xf3, 0xf5].contains(&shape.opcode);
        ours.is_none() && shape.first == 0x62 && shape.pp != 0 && (shape.map == 4 || bmi)
    };
    "a mandatory prefix that selects nothing": |shape, ours| {
        ours.is_none()
            && (shape.first == 0x0f || two_byte(shape))
            && (shape.operand_size || shape.repeat)
    };
    "the operand-size prefix before a near branch, as on AMD's CPUs":
        |shape, ours| ours.is_some() && shape.operand_size && near_branch(shape);
    "EXTRQ and INSERTQ with prefixes besides the mandatory one":
        |shape, ours| ours.is_some() && two_byte(shape) && shape.opcode == 0x78;
    "MOVDIR64B with the address-size prefix in place of its mandatory one": |shape, ours| {
        let map = shape.first == 0x0f && shape.map == 0x38;
        ours.is_none() && map && shape.opcode == 0xf8 && shape.address_size
    };
}

exceptions! { INSN_C
    "REX that is not the last prefix": |shape, _| shape.dead_rex;
    "MOV of control and debug registers, whose mod means nothing":
        |shape, _| two_byte(shape) && (0x20..=0x23).contains(&shape.opcode);
    "a reserved NOP": |shape, _| two_byte(shape) && [0x19, 0x1d].contains(&shape.opcode);
    "UD0, which has no ModRM on AMD's CPUs": |shape, _| two_byte(shape) && shape.opcode == 0xff;
    "EXTRQ and INSERTQ, whose immediates it does not know":
        |shape, _| two_byte(shape) && shape.opcode == 0x78;
    "a repeat prefix before CMOVcc, SETcc and MOVNTSS": |shape, _| {
        let rows = [0x20, 0x40, 0x90];
        two_byte(shape) && shape.repeat && rows.contains(&(shape.opcode & 0xf0))
    };
    "MOVRS, which it does not know": |shape, _| {
        shape.first == 0x0f && shape.map == 0x38 && [0x8a, 0x8b].contains(&shape.opcode)
    };
    "a mandatory prefix that is not the last prefix": |shape, _| {
        let selects = |byte| [0x66, 0xf2, 0xf3].contains(&byte);
        (shape.first == 0x0f || two_byte(shape))
            && (shape.operand_size || shape.repeat)
            && (!selects(shape.last) || shape.repeat && shape.last == 0x66)
    };
    "more than four different prefixes": |shape, _| shape.different > 4;
}

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
    let exceptions = match judge {
        "llvm" => LLVM,
        "insn.c" => INSN_C,
        _ => &[],
    };
    let exception = exceptions.iter().find(|(_, matches)| matches(shape, ours));
    exception.map(|(reason, _)| *reason)
}

/// Is this what no judge knows, for a reason?
pub(super) fn is_ours_alone(entry: &Shape) -> bool {
    // UDB has that name only since all judges were written.
    let udb = entry.opcode == 0xd6 && [0xd5, 0xd6].contains(&entry.first);
    // MPX has four registers; without MPX, as on CPUs now, these are NOPs.
    let bounds = two_byte(entry) && [0x1a, 0x1b].contains(&entry.opcode);
    udb || bounds
}

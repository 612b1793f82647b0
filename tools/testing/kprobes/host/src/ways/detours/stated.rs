// SPDX-License-Identifier: GPL-2.0

//! C's rule for jumps, written down from what C does, to be counted against ours.
//!
//! Of an instruction C looks at the opcode's byte, whatever its map, and at its escape bytes.

use super::image::Image;
use crate::{
    model::{
        addr::TextAddr,
        surroundings::Surroundings, //
    },
    x86::{
        decode::decode,
        insn::{
            Insn,
            Opcode,
            Prefix, //
        },
    },
};
use std::vec::Vec;

const JUMP_LEN: u64 = 5;

/// What C finds out about a function, each time.
pub(super) struct Function {
    end: u64,
    /// May any probe in it become a jump?
    any: bool,
    /// Where relative jumps lead, in order.
    targets: Vec<u64>,
}

impl Function {
    pub(super) fn of(image: &Image, start: u64, end: u64) -> Self {
        let mut function = Self {
            end,
            any: true,
            targets: Vec::new(),
        };
        let mut at = start;
        while at < end {
            let Ok(insn) = decode(image.bytes(at)) else {
                function.any = false;
                break;
            };
            let indirect = !image.build.no_jump_tables && is_indirect(&insn, image.bytes(at));
            if image.faults.contains(&at) || indirect {
                function.any = false;
                break;
            }
            if is_jump(&insn, image.bytes(at)) {
                let target = insn.target(TextAddr::new(at)).map(TextAddr::get);
                function.targets.extend(target);
            }
            at += insn.len() as u64;
        }
        function.targets.sort_unstable();
        function
    }

    /// Would C put a jump at `at`?
    pub(super) fn optimizes(&self, image: &Image, at: u64) -> bool {
        if !self.any || self.end - at < JUMP_LEN {
            return false;
        }
        let first = self.targets.partition_point(|&target| target < at + 1);
        let entered = self
            .targets
            .get(first)
            .is_some_and(|&target| target <= at + 5);
        if entered {
            return false;
        }
        let mut reached = at;
        while reached < at + JUMP_LEN {
            let bytes = image.bytes(reached);
            let Ok(insn) = decode(bytes) else {
                return false;
            };
            if image.faults.contains(&reached) || !is_boosted(&insn, bytes) {
                return false;
            }
            reached += insn.len() as u64;
        }
        image.owner(super::range(at, reached)).is_none()
    }
}

fn byte(insn: &Insn, bytes: &[u8]) -> u8 {
    bytes[usize::from(insn.opcode_field().offset)]
}

fn reg(insn: &Insn) -> Option<u8> {
    insn.modrm().map(|modrm| modrm.reg())
}

/// How many bytes the opcode has.
fn opcode_len(insn: &Insn) -> usize {
    match insn.opcode() {
        Opcode::TwoByte(_) | Opcode::ThreeDNow(_) => 2,
        Opcode::ThreeByte38(_) | Opcode::ThreeByte3A(_) => 3,
        _ => 1,
    }
}

fn is_indirect(insn: &Insn, bytes: &[u8]) -> bool {
    opcode_len(insn) == 1
        && match byte(insn, bytes) {
            0xff => matches!(reg(insn), Some(4 | 5)),
            other => other == 0xea,
        }
}

fn is_jump(insn: &Insn, bytes: &[u8]) -> bool {
    matches!(
        (opcode_len(insn), byte(insn, bytes)),
        (1, 0xe0..=0xe3 | 0xe9 | 0xeb | 0x70..=0x7f) | (2, 0x80..=0x8f)
    )
}

/// Second bytes of opcodes that C boosts.
const BOOSTED: [core::ops::RangeInclusive<u8>; 35] = [
    0x02..=0x03,
    0x06..=0x06,
    0x08..=0x09,
    0x1f..=0x1f,
    0x20..=0x23,
    0x31..=0x31,
    0x40..=0x4f,
    0x60..=0x6b,
    0x6e..=0x6f,
    0x74..=0x77,
    0x7e..=0x7f,
    0x90..=0x9f,
    0xa0..=0xa1,
    0xa3..=0xa5,
    0xa8..=0xa9,
    0xab..=0xad,
    0xaf..=0xaf,
    0xb0..=0xb7,
    0xbb..=0xbf,
    0xc0..=0xc1,
    0xc8..=0xcf,
    0xd1..=0xd3,
    0xd5..=0xd5,
    0xd8..=0xd9,
    0xdb..=0xdd,
    0xdf..=0xdf,
    0xe1..=0xe2,
    0xe5..=0xe5,
    0xe8..=0xe9,
    0xeb..=0xed,
    0xef..=0xef,
    0xf1..=0xf3,
    0xf5..=0xf5,
    0xf8..=0xfa,
    0xfc..=0xfe,
];

fn is_boosted(insn: &Insn, bytes: &[u8]) -> bool {
    let byte = byte(insn, bytes);
    match opcode_len(insn) {
        1 => {}
        2 => return BOOSTED.iter().any(|range| range.contains(&byte)),
        _ => return false,
    }
    if insn.has(Prefix::Cs) || insn.has(Prefix::AddressSize) {
        return false;
    }
    let reg = reg(insn);
    match byte {
        0x62 | 0x70..=0x7f | 0x9a | 0xcc..=0xce | 0xd6 | 0xd8..=0xdf => false,
        0xe0..=0xe3 | 0xe8 | 0xe9 | 0xeb | 0xf0..=0xf4 => false,
        0xc0 | 0xc1 | 0xd0..=0xd3 => reg != Some(6),
        0xf6 | 0xf7 => reg != Some(1),
        // It does not copy MOV to SS.
        0x8e => reg != Some(2),
        0xfe => matches!(reg, Some(0 | 1)),
        0xff => matches!(reg, Some(0 | 1 | 4)),
        _ => true,
    }
}

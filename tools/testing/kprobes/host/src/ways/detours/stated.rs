// SPDX-License-Identifier: GPL-2.0

//! C's rule for jumps, written down from what C does, to be counted against ours.
//!
//! iced says how long instructions are and where branches lead. Of an instruction C looks at the
//! opcode's byte, whatever its map, and at its escape bytes, which are looked for here.

use super::*;
use crate::differential::iced::target;

const JUMP_LEN: u64 = 5;

/// The longest instruction that there is room for beside a breakpoint.
const LONGEST: usize = 14;

/// What asks a hypervisor to emulate the next instruction.
const FORCED: [[u8; 5]; 2] = [*b"\x0f\x0bxen", *b"\x0f\x0bkvm"];

/// Why there is no jump, or no probe.
pub(super) type Reason = &'static str;

const NO_INSN: Reason = "the function has bytes that cannot be decoded";

/// An instruction, as C's decoder has it.
struct Insn {
    iced: Instruction,
    len: usize,
    /// How many bytes its opcode has, and the last of them.
    opcode: (usize, u8),
    /// Bits 3 to 5 of what is behind the opcode.
    reg: u8,
    /// CS, or addresses of another size.
    is_prefixed: bool,
    is_forced: bool,
}

impl Insn {
    fn of(bytes: &[u8], at: u64) -> Option<Self> {
        let before = if is_forced(bytes) { FORCED[0].len() } else { 0 };
        let bytes = &bytes[before..];
        let start = at + before as u64;
        let iced = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).decode();
        if iced.is_invalid() {
            return None;
        }
        let prefix = |byte: &u8| {
            matches!(
                byte,
                0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3
            )
        };
        let prefixes = bytes.iter().take_while(|byte| prefix(byte)).count();
        let mut place = prefixes + usize::from(matches!(bytes[prefixes], 0x40..=0x4f));
        let mut len = 1;
        match iced.encoding() {
            EncodingKind::Legacy | EncodingKind::D3NOW => {
                if bytes[place] == 0x0f {
                    len = match bytes[place + 1] {
                        0x38 | 0x3a => 3,
                        _ => 2,
                    };
                }
                place += len - 1;
            }
            EncodingKind::VEX if bytes[place] == 0xc5 => place += 2,
            EncodingKind::VEX | EncodingKind::XOP => place += 3,
            _ => place += 4,
        }
        Some(Self {
            iced,
            len: before + iced.len(),
            opcode: (len, bytes[place]),
            reg: bytes.get(place + 1).map_or(0, |modrm| modrm >> 3 & 7),
            is_prefixed: bytes[..prefixes].iter().any(|b| matches!(b, 0x2e | 0x67)),
            is_forced: before > 0,
        })
    }

    fn is_indirect_jump(&self) -> bool {
        match self.opcode {
            (1, 0xff) => matches!(self.reg, 4 | 5),
            (1, other) => other == 0xea,
            _ => false,
        }
    }

    /// Where it leads, if C takes it for a jump.
    fn jump(&self) -> Option<u64> {
        let is_jump = matches!(
            self.opcode,
            (1, 0xe0..=0xe3 | 0xe9 | 0xeb | 0x70..=0x7f) | (2, 0x80..=0x8f)
        );
        if !is_jump {
            return None;
        }
        if let Some(target) = target(&self.iced) {
            return Some(target);
        }
        // An opcode of another map: behind itself, and what stands there as an immediate.
        let mut kinds = (0..self.iced.op_count()).map(|op| self.iced.op_kind(op));
        let immediate = kinds.any(|kind| kind == OpKind::Immediate8);
        let distance = if immediate {
            self.iced.immediate8() as i8
        } else {
            0
        };
        Some(self.iced.next_ip().wrapping_add_signed(distance.into()))
    }

    fn can_be_copied(&self) -> bool {
        let masks_exceptions = match self.opcode {
            (1, 0x1f) => true,
            (1, 0x8e) => self.reg == 2,
            _ => false,
        };
        !self.is_forced && self.iced.code() != Code::Int3 && !masks_exceptions
    }

    fn is_boosted(&self) -> bool {
        let (len, byte) = self.opcode;
        match len {
            1 => {}
            2 => return is_boosted_after_0f(byte),
            _ => return false,
        }
        if self.is_prefixed {
            return false;
        }
        match byte {
            0x62 | 0x70..=0x7f | 0x9a | 0xcc..=0xce | 0xd6 | 0xd8..=0xdf => false,
            0xe0..=0xe3 | 0xe8 | 0xe9 | 0xeb | 0xf0..=0xf4 => false,
            0xc0 | 0xc1 | 0xd0..=0xd3 => self.reg != 6,
            0xf6 | 0xf7 => self.reg != 1,
            0xfe => matches!(self.reg, 0 | 1),
            0xff => matches!(self.reg, 0 | 1 | 4),
            _ => true,
        }
    }

    fn is_exception(&self) -> bool {
        matches!(
            self.opcode,
            (1, 0xcc..=0xce | 0xf1) | (2, 0x0b | 0xb9 | 0xff)
        )
    }

    /// Does C not know how to run it under a breakpoint?
    fn is_unsupported(&self) -> bool {
        let names_register = self.iced.op_count() > 0 && self.iced.op0_kind() == OpKind::Register;
        match self.opcode {
            (1, 0x9a | 0xea | 0xcc | 0xcf) => true,
            // With an operand that is no memory.
            (2, 0x01) => self.reg == 0 && !is_memory(&self.iced),
            (1, 0xff) => match self.reg {
                3 | 5 => true,
                2 | 4 => !names_register || self.is_prefixed,
                _ => false,
            },
            _ => false,
        }
    }
}

fn is_memory(insn: &Instruction) -> bool {
    (0..insn.op_count()).any(|op| insn.op_kind(op) == OpKind::Memory)
}

pub(super) fn is_forced(bytes: &[u8]) -> bool {
    FORCED.iter().any(|forced| bytes.starts_with(forced))
}

/// What C finds out about a function, each time.
pub(super) struct Function {
    end: u64,
    /// Why no probe in it becomes a jump.
    none: Option<Reason>,
    targets: Vec<u64>,
}

impl Function {
    pub(super) fn of(image: &Image, start: u64, end: u64) -> Self {
        let mut function = Self {
            end,
            none: None,
            targets: Vec::new(),
        };
        let mut at = start;
        while at < end {
            if image.faults.contains(&at) {
                function.none = Some("an instruction of the function is expected to fault");
                break;
            }
            let Some(insn) = Insn::of(image.bytes(at), at) else {
                function.none = Some(NO_INSN);
                break;
            };
            if image.indirect == Indirect::Anywhere(None) && insn.is_indirect_jump() {
                function.none = Some("the function has an indirect jump");
                break;
            }
            function.targets.extend(insn.jump());
            at += insn.len as u64;
        }
        function.targets.sort_unstable();
        function
    }

    /// Would C put a jump at `at`?
    pub(super) fn optimizes(&self, image: &Image, at: u64) -> Result<(), Reason> {
        if image.is_entry(at) {
            return Err("the way from user space");
        }
        if self.end - at < JUMP_LEN {
            return Err("too near the end of the function");
        }
        self.none.map_or(Ok(()), Err)?;
        let first = self.targets.partition_point(|&target| target < at + 1);
        let entered = self.targets.get(first);
        if entered.is_some_and(|&target| target <= at + 5) {
            return Err("a jump leads into the bytes of the jump, or behind them");
        }
        let mut reached = at;
        while reached < at + JUMP_LEN {
            let insn = Insn::of(image.bytes(reached), reached).ok_or(NO_INSN)?;
            let may_fault = image.faults.contains(&reached);
            if may_fault || !insn.can_be_copied() || !insn.is_boosted() {
                return Err("an instruction is not boosted");
            }
            reached += insn.len as u64;
        }
        match image.owner_but_bug(range(at, reached)) {
            Some(_) => Err("ftrace, a jump label or a static call changes the text"),
            None => Ok(()),
        }
    }
}

/// Says no if C takes no probe on the instruction itself.
pub(super) fn probes(image: &Image, at: u64) -> Result<(), Reason> {
    let insn = Insn::of(image.bytes(at), at).ok_or("no instruction")?;
    let calls_check = match insn.opcode {
        (1, 0xba) => image.is_call_check(TextAddr::new(at + 12)),
        (1, 0x03) => image.is_call_check(TextAddr::new(at + 6)),
        _ => false,
    };
    if insn.is_exception() {
        Err("INT or UD")
    } else if calls_check {
        Err("part of the check of an indirect call")
    } else if !insn.can_be_copied() {
        Err("it cannot be copied")
    } else if insn.is_unsupported() {
        Err("how it would run is not known")
    } else if insn.len > LONGEST {
        Err("no room for its copy")
    } else {
        Ok(())
    }
}

/// Does C boost the opcode with this second byte?
fn is_boosted_after_0f(byte: u8) -> bool {
    matches!(
        byte,
        0x02..=0x03 | 0x06 | 0x08..=0x09 | 0x1f | 0x20..=0x23 | 0x31 | 0x40..=0x4f | 0x60..=0x6b
        | 0x6e..=0x6f | 0x74..=0x77 | 0x7e..=0x7f | 0x90..=0x9f | 0xa0..=0xa1 | 0xa3..=0xa5
        | 0xa8..=0xa9 | 0xab..=0xad | 0xaf | 0xb0..=0xb7 | 0xbb..=0xbf | 0xc0..=0xc1
        | 0xc8..=0xcf | 0xd1..=0xd3 | 0xd5 | 0xd8..=0xd9 | 0xdb..=0xdd | 0xdf | 0xe1..=0xe2
        | 0xe5 | 0xe8..=0xe9 | 0xeb..=0xed | 0xef | 0xf1..=0xf3 | 0xf5 | 0xf8..=0xfa
        | 0xfc..=0xfe
    )
}

// SPDX-License-Identifier: GPL-2.0

//! What a detour is made of, from its first byte on.
//!
//! ```text
//!  0  where the word is that tells whose handlers are called
//!  8  push %rsp                  as ss, for the time being
//!  9  push (%rsp)                sp
//! 12  pushf                      flags
//! 13  push $__KERNEL_CS          cs
//! 15  push $A+1                  ip
//! 20  call rust_kprobes_detour   orig_ax, for the time being
//! 25  the copied part
//! ```
//!
//! The jump leads to the first PUSH. What follows it is what all detours have in common
//! (`trampoline.S`), and there once: it saves the other registers, finds the word by the address
//! that the call has left, calls the handlers, puts all back and returns to the copied part. So a
//! detour is 25 bytes longer than its copied part, and its CALL has a RET, by which CPUs predict
//! where that leads. See [`detour`](super::detour) for who may return to a detour.
//!
//! Who comes upon an address in a detour (an interrupt's unwinder) wants to know what it stands for
//! in the original, and how much is on the stack that is not there. [`Parts`] is what is noted for
//! that in half a word: how long each copied instruction was, and how it moved.

use super::{
    detour::{
        Copied,
        CAPACITY, //
    },
    encode,
    movable::Move,
    region::Region, //
};
use crate::prelude::*;

/// Where the jump leads, from the first byte on.
pub(crate) const ENTRY: u64 = 8;

/// Where the copied part is.
pub(crate) const COPIED: u64 = 25;

/// The length of the longest detour.
pub(crate) const MAX_LEN: usize = COPIED as usize + CAPACITY;

/// Where the instructions are that come before the copied part, and how much of the stack is used
/// when one is about to run.
const STEPS: [(u64, u64); 6] = [(8, 0), (9, 8), (12, 16), (13, 24), (15, 32), (20, 40)];

/// The kernel's code segment.
const KERNEL_CS: u8 = 0x10;

/// A detour's bytes.
#[derive(Clone, Copy)]
pub(crate) struct Detour {
    bytes: [u8; MAX_LEN],
    len: usize,
}

impl Detour {
    /// The detour of `region`, to be at `at`. `word` is where the word is, `common` what all have
    /// in common.
    pub(crate) fn of(
        region: &Region,
        at: TextAddr,
        word: u64,
        common: TextAddr,
    ) -> Result<Self, NotOptimized> {
        let far = |_| Reason::TooFar.at(region.at());
        let there = at.after(COPIED).map_err(far)?;
        let copied = Copied::of(region, there)?;
        let enter = enter(region.at(), at, common).map_err(far)?;
        let mut detour = Self {
            bytes: [0; MAX_LEN],
            len: 0,
        };
        for part in [&word.to_le_bytes()[..], enter.bytes(), copied.bytes()] {
            detour.put(part);
        }
        Ok(detour)
    }

    /// The code, and the word before it.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// There is room: the parts are as long as they are said to be.
    fn put(&mut self, part: &[u8]) {
        let end = self.len.saturating_add(part.len());
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(part);
            self.len = end;
        }
    }
}

/// What comes before the copied part in the detour of the place `of` that is at `at`.
fn enter(of: TextAddr, at: TextAddr, common: TextAddr) -> Result<Code, Refusal> {
    let ip = encode::push_address(of.after(encode::INT3_LEN)?)?;
    let call = encode::call32(at.after(20)?, common)?;
    Code::EMPTY
        .then(&[0x54])?
        .then(&[0xff, 0x34, 0x24])?
        .then(&[0x9c])?
        .then(&[0x6a, KERNEL_CS])?
        .then(ip.bytes())?
        .then(call.bytes())
}

/// What an address in a detour stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// So many bytes into the region, with so much on the stack besides.
    Original(u64, u64),
    /// The first instruction of what is called by the jump that is at this offset of the detour.
    Callee(u64),
}

/// How long each copied instruction was, and how it moved: six bits for each, the first one lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts(u32);

/// Bits of a part, and how many of them are its length.
const PART_BITS: u32 = 6;
const LEN_BITS: u32 = 4;
const LEN_MASK: u32 = (1 << LEN_BITS) - 1;

/// How they grow: as long as it was; to JMP; to Jcc; to PUSH and JMP.
const SAME: u32 = 0;
const JUMP: u32 = 1;
const JUMP_IF: u32 = 2;
const CALL: u32 = 3;

/// The length of PUSH and of JMP.
const LONG: u64 = 5;

impl Parts {
    /// Those of a region.
    pub(crate) fn of(region: &Region) -> Self {
        let mut all = 0;
        for (number, part) in region.parts().enumerate() {
            let kind = match part.way {
                Move::Copy | Move::Leave => SAME,
                Move::Jump => JUMP,
                Move::JumpIf => JUMP_IF,
                Move::Call => CALL,
            };
            let one = kind << LEN_BITS | part.insn.len() as u32 & LEN_MASK;
            all |= one.wrapping_shl(PART_BITS.wrapping_mul(number as u32));
        }
        Self(all)
    }

    /// As a number.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// From what [`bits`](Parts::bits) has given.
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// What it means to be `into` bytes behind the start of a detour; nothing before its code.
    pub(crate) fn means(self, into: u64) -> Option<Means> {
        let Some(left) = into.checked_sub(COPIED) else {
            let step = STEPS.iter().rev().find(|(start, _)| *start <= into);
            return step.map(|&(_, pushed)| Means::Original(0, pushed));
        };
        let (mut there, mut here, mut rest) = (0_u64, 0_u64, self.0);
        while rest & LEN_MASK != 0 {
            let len = u64::from(rest & LEN_MASK);
            let kind = rest >> LEN_BITS & ((1 << (PART_BITS - LEN_BITS)) - 1);
            let grown = match kind {
                SAME => len,
                JUMP => LONG,
                JUMP_IF => LONG + 1,
                _ => LONG + LONG,
            };
            if left < there.wrapping_add(grown) {
                let called = kind == CALL && left >= there.wrapping_add(LONG);
                return Some(if called {
                    Means::Callee(there.wrapping_add(COPIED + LONG))
                } else {
                    Means::Original(here, 0)
                });
            }
            there = there.wrapping_add(grown);
            here = here.wrapping_add(len);
            rest >>= PART_BITS;
        }
        Some(Means::Original(here, 0))
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_layout))]
mod tests {
    use super::{
        super::{
            decode::decode,
            pretend::{
                at,
                Pretend, //
            }, //
        },
        *, //
    };

    /// Where the detour is, and what all have in common, as offsets from the function.
    const THERE: u64 = 0x1000;
    const COMMON: u64 = 0x2000;

    /// As many kinds of instructions as there are.
    const TEXTS: [&[u8]; 6] = [
        // xor %ecx, %ecx; mov 0x1234(%rip), %eax
        &[0x31, 0xc9, 0x8b, 0x05, 0x34, 0x12, 0, 0],
        // je +0x10; jmp +0x20; int3
        &[0x74, 0x10, 0xeb, 0x20, 0xcc],
        // jg +0x100
        &[0x0f, 0x8f, 0, 1, 0, 0],
        // nop; nop; nop; nop; call +0x100
        &[0x90, 0x90, 0x90, 0x90, 0xe8, 0, 1, 0, 0],
        // pop %rbp; ret; int3
        &[0x5d, 0xc3, 0xcc, 0xcc, 0xcc],
        // je; jne; movabs with a segment's prefixes, as long as can be
        &[
            0x74, 0x40, 0x75, 0x40, 0x26, 0x26, 0x26, 0x26, 0x26, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7,
            8,
        ],
    ];

    fn detour(text: &[u8]) -> Result<Detour, NotOptimized> {
        Detour::of(
            &Pretend::of(text).region(0)?,
            at(THERE),
            0x1122_3344_5566_7788,
            at(COMMON),
        )
    }

    #[test]
    fn a_detour_begins_with_what_a_trap_saves() {
        let bytes = [
            0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x54, 0xff, 0x34, 0x24, 0x9c, 0x6a,
            0x10, 0x68, 0x01, 0, 0, 0x81, 0xe8, 0xe7, 0x0f, 0, 0, 0x31, 0xc9, 0x8b, 0x05, 0x1b,
            0x02, 0, 0, 0xe9, 0xe2, 0xef, 0xff, 0xff,
        ];
        assert!(detour(TEXTS[0]).is_ok_and(|detour| detour.bytes() == bytes));
    }

    #[test]
    fn the_longest_has_room_in_a_detour() {
        let detour = detour(TEXTS[5]);
        assert!(detour.is_ok_and(|detour| detour.bytes().len() == MAX_LEN));
    }

    #[test]
    fn what_is_on_the_stack_is_what_was_pushed() -> Result<(), NotOptimized> {
        let detour = detour(TEXTS[0])?;
        let (mut into, mut pushed) = (ENTRY, 0);
        while into < COPIED {
            let parts = Parts::from_bits(0);
            assert_eq!(parts.means(into), Some(Means::Original(0, pushed)));
            let rest = detour.bytes().get(into as usize..).unwrap_or_default();
            into += decode(rest).map_or(99, |insn| insn.len() as u64);
            pushed += 8;
        }
        assert_eq!(into, COPIED);
        assert_eq!(Parts::from_bits(0).means(ENTRY - 1), None);
        Ok(())
    }

    #[test]
    fn each_byte_means_what_the_copy_says() -> Result<(), NotOptimized> {
        for text in TEXTS {
            let region = Pretend::of(text).region(0)?;
            let copied = Copied::of(&region, at(THERE + COPIED))?;
            let parts = Parts::from_bits(Parts::of(&region).bits());
            let len = copied.bytes().len() as u64;
            // Behind RET nothing runs.
            let len = if text[0] == 0x5d { len - 1 } else { len };
            for into in 0..len {
                let original = copied.original(at(THERE + COPIED + into));
                let meant = match parts.means(COPIED + into) {
                    Some(Means::Original(here, 0)) => Some(at(here)),
                    Some(Means::Callee(jump)) => {
                        let from = (jump - COPIED) as usize;
                        let insn = decode(copied.bytes().get(from..).unwrap_or_default());
                        insn.ok().and_then(|insn| insn.target(at(THERE + jump)))
                    }
                    _ => None,
                };
                assert!(meant.is_some() && meant == original);
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_out_of_reach_is_refused_a_detour() {
        let region = Pretend::of(TEXTS[4]).region(0);
        let far = region.and_then(|region| {
            let detour = Detour::of(&region, at(1 << 40), 0, at(COMMON));
            detour.map(|detour| detour.bytes().len())
        });
        assert_eq!(far, Err(Reason::TooFar.at(at(0))));
    }
}

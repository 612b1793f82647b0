// SPDX-License-Identifier: GPL-2.0

//! The part of a detour that is copied: what the jump is over, for another place.
//!
//! ```text
//! A:        | jmp detour |
//!
//! detour:   ... calls the handlers, puts all registers back ...
//! copied:   | copy of insn 0 | copy of insn 1 | jmp A+length |
//! ```
//!
//! Or, where the last one does not go on, one of these:
//!
//! ```text
//! call f    | push $A+length | jmp f |          ret    | ret | int3 |
//! jmp g     | jmp g |                           jmp *m | jmp *m | int3 |
//! ```
//!
//! Nobody may return to a detour. A task may sleep in what was called for as long as it likes, with
//! the return address on its stack, and what waits until no task is in a detour does not look at
//! stacks. So what is put there is where the original would have returned. INT3 keeps a CPU from
//! guessing on behind an indirect branch, as compilers put it there.
//!
//! Unwinding knows the original's text only. [`Copied::original`] tells what an address in the
//! copied part stands for: the same instruction in the original, where the stack looks the same.
//! Between PUSH and JMP the stack already looks as it does where the call leads, so that stands for
//! the first instruction of what is called.

use super::{
    encode,
    insn::Insn,
    movable::Move,
    region::{
        Part,
        Region, //
    },
    relocate, //
};
use crate::prelude::*;

/// The most bytes: Jcc grows from two to six, twice before the longest instruction; then the jump.
pub(crate) const CAPACITY: usize = 6 + 6 + 15 + 5;

/// The most instructions: one for each byte of the jump, and the jump back or INT3.
const MOST: usize = 6;

/// Room for the longest copy must be there.
const _: () = assert!(CAPACITY >= super::region::MAX_REGION + encode::REL32_LEN as usize);

/// The jump at `at` to a detour.
pub(crate) fn jump(at: TextAddr, detour: TextAddr) -> Result<Code, NotOptimized> {
    encode::jmp32(at, detour).map_err(|_| Reason::TooFar.at(at))
}

/// The copied part of a detour.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    at: TextAddr,
    bytes: [u8; CAPACITY],
    len: usize,
    /// Where each instruction starts, and what it stands for.
    origins: [(usize, TextAddr); MOST],
    count: usize,
}

impl Copied {
    /// The instructions of `region`, to run at `at`.
    pub(crate) fn of(region: &Region, at: TextAddr) -> Result<Self, NotOptimized> {
        let mut copied = Self {
            at,
            bytes: [0; CAPACITY],
            len: 0,
            origins: [(0, at); MOST],
            count: 0,
        };
        let mut goes_on = true;
        for part in region.parts() {
            copied.put(region, part)?;
            goes_on = part.way.goes_on();
        }
        if goes_on {
            let next = region.at().after(region.bytes().len() as u64);
            let next = next.map_err(|_| Reason::NearEnd)?;
            copied.then(next, |here| encode::jmp32(here, next))?;
        }
        Ok(copied)
    }

    /// The code.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// What the instruction stands for that is at `at`, or that `at` is in.
    #[cfg_attr(
        not(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST)),
        expect(dead_code, reason = "what is noted of a detour is compared with it")
    )]
    pub(crate) fn original(&self, at: TextAddr) -> Option<TextAddr> {
        let into = at.get().checked_sub(self.at.get())?;
        let into = usize::try_from(into).ok().filter(|&into| into < self.len)?;
        let origins = self.origins.get(..self.count)?;
        let before = origins.partition_point(|&(start, _)| start <= into);
        let &(_, origin) = origins.get(before.checked_sub(1)?)?;
        Some(origin)
    }

    fn put(&mut self, region: &Region, part: &Part) -> Result<(), NotOptimized> {
        let Part { offset, insn, way } = part;
        let bytes = region.bytes().get(*offset..).unwrap_or_default();
        let near_end = |_| NotOptimized::from(Reason::NearEnd);
        let from = region.at().after(*offset as u64).map_err(near_end)?;
        let next = from.after(insn.len() as u64).map_err(near_end)?;
        let target = insn.target(from).unwrap_or(from);
        match way {
            Move::Copy => self.then(from, |here| relocate::copy(insn, bytes, from, here)),
            Move::Leave => {
                self.then(from, |here| relocate::leaving(insn, bytes, from, here))?;
                self.then(from, |_| encode::int3())
            }
            Move::Jump => self.then(from, |here| encode::jmp32(here, target)),
            Move::JumpIf => {
                let opcode = opcode(insn, bytes);
                self.then(from, |here| encode::jcc32(here, target, opcode))
            }
            Move::Call => {
                self.then(from, |_| encode::push_address(next))?;
                self.then(target, |here| encode::jmp32(here, target))
            }
        }
    }

    /// Puts an instruction behind the others, which `make` makes for where it is.
    fn then(
        &mut self,
        origin: TextAddr,
        make: impl FnOnce(TextAddr) -> Result<Code, Refusal>,
    ) -> Result<(), NotOptimized> {
        let too_far = |_| Reason::TooFar.at(origin);
        let here = self.at.after(self.len as u64).map_err(too_far)?;
        let code = make(here).map_err(|refusal| match refusal {
            Refusal::TooFar | Refusal::OutOfText => Reason::TooFar.at(origin),
            other => Reason::CannotMove(other).at(origin),
        })?;
        let end = self.len.saturating_add(code.bytes().len());
        let room = self.bytes.get_mut(self.len..end);
        let place = self.origins.get_mut(self.count);
        let (Some(room), Some(place)) = (room, place) else {
            return Err(Reason::CannotMove(Refusal::CodeTooLong).at(origin));
        };
        room.copy_from_slice(code.bytes());
        *place = (self.len, origin);
        self.len = end;
        self.count = self.count.saturating_add(1);
        Ok(())
    }
}

/// The byte of the opcode that has the condition.
fn opcode(insn: &Insn, bytes: &[u8]) -> u8 {
    let field = insn.opcode_field();
    bytes
        .get(usize::from(field.offset))
        .copied()
        .unwrap_or_default()
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_detour))]
mod tests {
    use super::{
        super::{
            indirect::Indirect,
            pretend::{
                at,
                Pretend, //
            }, //
        },
        *, //
    };

    /// Where the copied part is, as an offset from the function.
    const THERE: u64 = 0x1000;

    fn copied(text: &[u8]) -> Result<Copied, NotOptimized> {
        Copied::of(&Pretend::of(text).region(0)?, at(THERE))
    }

    fn is(text: &[u8], bytes: &[u8]) -> bool {
        copied(text).is_ok_and(|copied| copied.bytes() == bytes)
    }

    /// Does what starts at `there` in the copied part stand for what is at `here`?
    fn origins(text: &[u8], expected: &[(u64, u64)]) -> bool {
        copied(text).is_ok_and(|copied| {
            let right = expected
                .iter()
                .all(|&(there, here)| copied.original(at(THERE + there)) == Some(at(here)));
            let len = copied.bytes().len() as u64;
            let before = copied.original(at(THERE - 1));
            right && before.is_none() && copied.original(at(THERE + len)).is_none()
        })
    }

    #[test]
    fn the_jump_leads_to_the_detour() {
        let code = jump(at(0), at(0x1005));
        assert!(code.is_ok_and(|code| code.bytes() == [0xe9, 0, 0x10, 0, 0]));
        let far = jump(at(0), at(1 << 40));
        assert_eq!(far, Err(Reason::TooFar.at(at(0))));
    }

    #[test]
    fn copies_go_on_behind_the_region() {
        // xor %ecx, %ecx; mov 0x1234(%rip), %eax
        let text = [0x31, 0xc9, 0x8b, 0x05, 0x34, 0x12, 0, 0];
        let bytes = [
            0x31, 0xc9, 0x8b, 0x05, 0x34, 0x02, 0, 0, 0xe9, 0xfb, 0xef, 0xff, 0xff,
        ];
        assert!(is(&text, &bytes));
        assert!(origins(&text, &[(0, 0), (1, 0), (2, 2), (8, 8), (12, 8)]));
    }

    #[test]
    fn jumps_grow_and_lead_where_they_led() {
        // je +0x10; jmp +0x20; int3
        let text = [0x74, 0x10, 0xeb, 0x20, 0xcc];
        let bytes = [
            0x0f, 0x84, 0x0c, 0xf0, 0xff, 0xff, 0xe9, 0x19, 0xf0, 0xff, 0xff,
        ];
        assert!(is(&text, &bytes));
        assert!(origins(&text, &[(0, 0), (6, 2), (10, 2)]));
        // jg +0x100
        let text = [0x0f, 0x8f, 0, 1, 0, 0];
        let bytes = [
            0x0f, 0x8f, 0x00, 0xf1, 0xff, 0xff, 0xe9, 0xfb, 0xef, 0xff, 0xff,
        ];
        assert!(is(&text, &bytes));
    }

    #[test]
    fn branches_to_the_region_lead_to_the_original() {
        // dec %ecx; jne to the start; nop
        let text = [0xff, 0xc9, 0x75, 0xfc, 0x90];
        let bytes = [
            0xff, 0xc9, 0x0f, 0x85, 0xf8, 0xef, 0xff, 0xff, 0x90, 0xe9, 0xf7, 0xef, 0xff, 0xff,
        ];
        assert!(is(&text, &bytes));
    }

    #[test]
    fn nobody_returns_to_a_detour() {
        // nop; call +0x100
        let text = [0x90, 0xe8, 0, 1, 0, 0];
        let bytes = [0x90, 0x68, 0x06, 0, 0, 0x81, 0xe9, 0xfb, 0xf0, 0xff, 0xff];
        assert!(is(&text, &bytes));
        // Before the push it is the call, behind it where that leads.
        assert!(origins(&text, &[(0, 0), (1, 1), (5, 1), (6, 0x106)]));
    }

    #[test]
    fn what_leaves_does_not_come_back() {
        // pop %rbp; ret; int3
        let text = [0x5d, 0xc3, 0xcc, 0xcc, 0xcc];
        assert!(is(&text, &[0x5d, 0xc3, 0xcc]));
        assert!(origins(&text, &[(0, 0), (1, 1), (2, 1)]));
        // jmp *0x1234(%rip), in a kernel without jump tables
        let text = [0xff, 0x25, 0x34, 0x12, 0, 0];
        let mut pretend = Pretend::of(&text);
        pretend.build.indirect = Indirect::Marked;
        let copied = pretend
            .region(0)
            .and_then(|region| Copied::of(&region, at(THERE)));
        let bytes = [0xff, 0x25, 0x34, 0x02, 0, 0, 0xcc];
        assert!(copied.is_ok_and(|copied| copied.bytes() == bytes));
    }

    #[test]
    fn the_longest_has_room() {
        // je; jne; movabs with a segment's prefixes, as long as can be
        let text = [
            0x74, 0x40, 0x75, 0x40, 0x26, 0x26, 0x26, 0x26, 0x26, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7,
            8,
        ];
        let copied = copied(&text);
        assert!(copied.is_ok_and(|copied| copied.bytes().len() == CAPACITY));
        // As many instructions as can be.
        let text = [0x90, 0x90, 0x90, 0x90, 0xe8, 0, 1, 0, 0];
        let expected = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (9, 0x109)];
        assert!(origins(&text, &expected));
    }

    #[test]
    fn out_of_reach_is_refused() {
        let far = |text: &[u8]| {
            let region = Pretend::of(text).region(0)?;
            Copied::of(&region, at(1 << 40)).map(|copied| copied.bytes().len())
        };
        let too_far = |offset| Err(Reason::TooFar.at(at(offset)));
        // The jump back stands for what is behind; the others for themselves.
        assert_eq!(far(&TWO), too_far(7));
        assert_eq!(far(&[0x90, 0x8b, 0x05, 0, 0, 0, 0]), too_far(1));
        assert_eq!(far(&[0x90, 0x74, 0x10, 0x90, 0x90]), too_far(1));
        // What leaves needs no way back.
        assert_eq!(far(&[0x5d, 0xc3, 0xcc, 0xcc, 0xcc]), Ok(3));
    }

    // xor %ecx, %ecx; mov $7, %eax; ret
    const TWO: [u8; 8] = [0x31, 0xc9, 0xb8, 7, 0, 0, 0, 0xc3];
}

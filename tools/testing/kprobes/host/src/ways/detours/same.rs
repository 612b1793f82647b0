// SPDX-License-Identifier: GPL-2.0

//! Whether the copied part of a detour does what the region does, by what iced says of both.

use super::*;

/// Reads instructions one after the other.
struct Reader<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], at: u64) -> Self {
        Self { bytes, at }
    }

    fn next(&mut self) -> Option<Instruction> {
        let insn = iced(self.bytes, self.at)?;
        self.bytes = self.bytes.get(insn.len()..)?;
        self.at = insn.next_ip();
        Some(insn)
    }
}

/// What is wrong with `copied`, which stands at `there`, as a copy of `region`.
pub(super) fn wrong(region: &Region, copied: &Copied, there: TextAddr) -> Option<&'static str> {
    let mut here = Reader::new(region.bytes(), region.at().get());
    let mut there = Reader::new(copied.bytes(), there.get());
    let end = region.at().get() + region.bytes().len() as u64;
    loop {
        if here.at >= end {
            let back = there.next();
            if !back.is_some_and(|back| is_jump_to(&back, end)) {
                return Some("it does not go back");
            }
            if back.and_then(|back| original(copied, &back)) != Some(end) {
                return Some("the way back stands for something else");
            }
            return leftover(&there);
        }
        let from = here.next()?;
        let Some(to) = there.next() else {
            return Some("an instruction is missing");
        };
        if original(copied, &to) != Some(from.ip()) {
            return Some("an instruction stands for another one");
        }
        match from.flow_control() {
            FlowControl::Next => {
                if !is_same(&from, &to) {
                    return Some("an instruction is another one");
                }
            }
            FlowControl::ConditionalBranch => {
                let same = to.condition_code() == from.condition_code()
                    && to.mnemonic() == from.mnemonic()
                    && to.near_branch64() == from.near_branch64();
                if !same {
                    return Some("a conditional jump is another one");
                }
            }
            FlowControl::UnconditionalBranch => {
                if !is_jump_to(&to, from.near_branch64()) {
                    return Some("a jump is another one");
                }
                return leftover(&there);
            }
            FlowControl::Call => {
                let pushes = to.mnemonic() == Mnemonic::Push
                    && to.op0_kind() == OpKind::Immediate32to64
                    && to.immediate32to64() as u64 == from.next_ip()
                    && to.stack_pointer_increment() == -8;
                if !pushes || from.next_ip() != end {
                    return Some("a call does not return behind the region");
                }
                let Some(jump) = there.next() else {
                    return Some("a call is missing");
                };
                let target = from.near_branch64();
                if !is_jump_to(&jump, target) || original(copied, &jump) != Some(target) {
                    return Some("a call is another one");
                }
                return leftover(&there);
            }
            FlowControl::Return | FlowControl::IndirectBranch => {
                if !is_same(&from, &to) {
                    return Some("what leaves is another instruction");
                }
                if there.next().map(|trap| trap.mnemonic()) != Some(Mnemonic::Int3) {
                    return Some("nothing stops who guesses on");
                }
                return leftover(&there);
            }
            _ => return Some("what cannot be copied was"),
        }
    }
}

fn leftover(there: &Reader<'_>) -> Option<&'static str> {
    (!there.bytes.is_empty()).then_some("there is more than should be")
}

fn original(copied: &Copied, insn: &Instruction) -> Option<u64> {
    let first = copied.original(TextAddr::new(insn.ip()))?;
    let last = copied.original(TextAddr::new(insn.next_ip() - 1))?;
    (first == last).then_some(first.get())
}

fn is_jump_to(insn: &Instruction, target: u64) -> bool {
    insn.mnemonic() == Mnemonic::Jmp
        && insn.flow_control() == FlowControl::UnconditionalBranch
        && insn.near_branch64() == target
}

fn is_same(from: &Instruction, to: &Instruction) -> bool {
    let mut to = *to;
    let same_memory = !from.is_ip_rel_memory_operand()
        || from.ip_rel_memory_address() == to.ip_rel_memory_address();
    to.set_ip(from.ip());
    same_memory && to == *from
}

/// The other tests would show nothing if the comparison saw no differences.
#[test]
fn wrong_copies_are_not_taken_for_the_same() {
    // xor %ecx, %ecx; mov 0x1234(%rip), %eax; and what differs from its copy in one byte.
    let text = [0x31, 0xc9, 0x8b, 0x05, 0x34, 0x12, 0, 0];
    let (from, to) = (AT, AT + 0x1000);
    let same = |copy: &[u8]| {
        let mut here = Reader::new(&text, from);
        let mut there = Reader::new(copy, to);
        let mut pairs = [here.next().zip(there.next()), here.next().zip(there.next())];
        let all = |pair: &mut Option<(Instruction, Instruction)>| {
            pair.is_some_and(|(here, there)| is_same(&here, &there))
        };
        pairs.iter_mut().all(all)
    };
    assert!(same(&[0x31, 0xc9, 0x8b, 0x05, 0x34, 0x02, 0, 0]));
    assert!(!same(&[0x31, 0xc9, 0x8b, 0x05, 0x34, 0x12, 0, 0]));
    assert!(!same(&[0x31, 0xd1, 0x8b, 0x05, 0x34, 0x02, 0, 0]));
    let jump = iced(&[0xe9, 0, 1, 0, 0], from).expect("a jump");
    assert!(is_jump_to(&jump, from + 0x105) && !is_jump_to(&jump, from + 0x104));
}

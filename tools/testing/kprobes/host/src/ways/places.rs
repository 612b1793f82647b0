// SPDX-License-Identifier: GPL-2.0

//! Where operands are and branches lead: the same as iced says, here and after a copy.

use super::*;

const SHORT: usize = 300_000;

/// Shows what of the random instructions of `make` is emulated: the bytes, what they are for iced,
/// their length, and a machine before and after. `change` comes before.
fn each(
    make: fn(&mut Random) -> [u8; MAX_INSN],
    change: fn(&mut Machine, &mut Random),
    mut look: impl FnMut(&[u8], &Instruction, usize, &Machine, &Machine),
) {
    let mut random = Random::new();
    for _ in 0..runs(SHORT) {
        let bytes = make(&mut random);
        let (Some(theirs), Some((op, len))) = (iced(&bytes, AT), op(&bytes)) else {
            continue;
        };
        let mut before = Machine::random(&mut random);
        change(&mut before, &mut random);
        let mut after = before.clone();
        let next = TextAddr::new(AT + len as u64);
        assert_eq!(emulate(&op, next, &mut after), Ok(()));
        look(&bytes, &theirs, len, &before, &after);
    }
}

#[test]
fn indirect_branches_read_what_iced_says() {
    let mut seen = 0;
    each(
        Random::indirect,
        |_, _| (),
        |bytes, theirs, len, before, after| {
            let operand = before.operand(theirs);
            assert_eq!(after.loaded.get(), operand, "{bytes:02x?}");
            let register = || before.registers[theirs.op0_register().full_register().number()];
            let to = operand.map_or_else(register, word);
            let is_canonical = to >> 47 == 0 || to >> 47 == (1 << 17) - 1;
            let expected = if is_canonical { to } else { to | !0 << 47 };
            assert_eq!(after.ip, expected, "{bytes:02x?}");
            let is_call = theirs.mnemonic() == Mnemonic::Call;
            let pushed = is_call.then_some(AT + len as u64);
            assert_eq!(after.pushed, pushed, "{bytes:02x?}");
            seen += 1;
        },
    );
    assert!(seen > runs(SHORT) / 2, "{seen}");
}

#[test]
fn direct_branches_lead_and_stacks_move_as_iced_says() {
    let (mut seen, mut moves) = ([0; 4], 0);
    let change = |machine: &mut Machine, random: &mut Random| {
        // Few counts of loops are near their end.
        machine.registers[1] = random.one_of(&[0, 1, 2, 1 << 32, u64::MAX]);
    };
    each(Random::any, change, |bytes, theirs, len, before, after| {
        let moved = after.sp().wrapping_sub(before.sp());
        let expected = theirs.stack_pointer_increment() as i64 as u64;
        assert_eq!(moved, expected, "{bytes:02x?}");
        moves += 1;
        let (kind, always) = match theirs.flow_control() {
            FlowControl::UnconditionalBranch => (0, true),
            FlowControl::Call => (1, true),
            FlowControl::ConditionalBranch => (2, false),
            _ => return,
        };
        let jumped = after.ip == theirs.near_branch64();
        let goes_on = !always && after.ip == AT + len as u64;
        assert!(jumped || goes_on, "{bytes:02x?}");
        seen[kind + usize::from(kind == 2 && !jumped)] += 1;
    });
    assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
    assert!(moves > runs(SHORT) / 50, "{moves}");
}

#[test]
fn copies_refer_to_the_same_memory() {
    let mut random = Random::new();
    let (mut seen, mut far) = (0, 0);
    for _ in 0..runs(SHORT) {
        let bytes = random.rip_relative();
        let Some(original) = iced(&bytes, AT) else {
            continue;
        };
        if !original.is_ip_rel_memory_operand() {
            continue;
        }
        let Ok(insn) = decode(&bytes) else { continue };
        // Near, and on both sides of what is too far.
        let distance = random.one_of(&[0x1000, 0x7fff_0000, 0x8000_1000, 1 << 40]);
        let to = AT.wrapping_sub(0x4000_0000).wrapping_add(distance);
        let copy = relocate::copy(&insn, TextAddr::new(AT), TextAddr::new(to));
        match copy {
            Ok(code) => {
                let mut copy = iced(code.bytes(), to).expect("an instruction");
                assert_eq!(code.bytes().len(), original.len(), "{bytes:02x?}");
                let memory = original.ip_rel_memory_address();
                assert_eq!(copy.ip_rel_memory_address(), memory, "{bytes:02x?}");
                // Nothing else changed.
                copy.set_ip(original.ip());
                assert_eq!(copy, original, "{bytes:02x?}");
                seen += 1;
            }
            Err(Refusal::TooFar) => {
                let end = to.wrapping_add(original.len() as u64);
                let needed = original.ip_rel_memory_address().wrapping_sub(end) as i64;
                assert!(i32::try_from(needed).is_err(), "{bytes:02x?}");
                far += 1;
            }
            Err(Refusal::BoundToPlace) => {
                assert!(original.flow_control() != FlowControl::Next, "{bytes:02x?}");
            }
            Err(other) => panic!("{other:?} {bytes:02x?}"),
        }
    }
    let few = runs(SHORT) / 10;
    assert!(seen > few && far > few, "{seen} {far}");
}

#[test]
fn probing_loads_read_what_the_branch_reads() {
    let mut random = Random::new();
    let mut seen = 0;
    for _ in 0..runs(SHORT) {
        let bytes = random.indirect();
        let (Some(original), Ok(insn)) = (iced(&bytes, AT), decode(&bytes)) else {
            continue;
        };
        let to = AT - 0x1000_0000;
        let Ok(code) = relocate::probing_load(&insn, TextAddr::new(AT), TextAddr::new(to)) else {
            continue;
        };
        let load = iced(code.bytes(), to).expect("an instruction");
        assert_eq!(load.len(), code.bytes().len(), "{bytes:02x?}");
        assert_eq!(load.mnemonic(), Mnemonic::Test);
        assert_eq!(load.op1_register(), Register::RAX);
        let machine = Machine::random(&mut random);
        let operand = machine.operand(&original);
        assert_eq!(machine.operand(&load), operand, "{bytes:02x?}");
        seen += 1;
    }
    assert!(seen > runs(SHORT) / 3, "{seen}");
}

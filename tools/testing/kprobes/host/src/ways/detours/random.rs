// SPDX-License-Identifier: GPL-2.0

//! Regions of random functions: nothing leads into them, and their copies do what they do.

use super::*;
use crate::{model::text_metadata::Alone, x86::flow::Flow};

const SHORT: usize = 40_000;

/// Something short that kernels are full of, or a branch, mostly to nearby.
fn frequent(random: &mut Random) -> Vec<u8> {
    let near = random.one_of(&[-40i8, -20, -9, -7, -5, -3, 0, 1, 2, 3, 5, 9, 30]);
    let [a, b, c, d] = i32::from(near).to_le_bytes();
    let [e, f, g, h] = (random.next() as i32 >> 4).to_le_bytes();
    let condition = random.next() as u8 & 0xf;
    let kind = random.next() >> 60;
    let mut one_of = |choices: &[&[u8]]| random.one_of(choices).to_vec();
    match kind {
        0 => Vec::from([0x70 | condition, near as u8]),
        1 => Vec::from([0x0f, 0x80 | condition, a, b, c, d]),
        2 => Vec::from([0x0f, 0x80 | condition, e, f, g, h]),
        3 => Vec::from([0xeb, near as u8]),
        4 => Vec::from([0xe9, e, f, g, h]),
        5 => Vec::from([0xe8, e, f, g, h]),
        6 => Vec::from([0xe8, a, b, c, d]),
        7 => Vec::from([0xc3]),
        8 => Vec::from([0x50 | condition]),
        9 => Vec::from([0x48, 0x89, 0xc0 | condition]),
        10 => Vec::from([0x48, 0x8b, 0x05, e, f, g, h]),
        11 => one_of(&[&[0x9c], &[0x9d], &[0xfa], &[0xfb]]),
        12 => one_of(&[b"\x90", b"\x66\x90", b"\x0f\x1f\x40\0", b"\xf3\x0f\x1e\xfa"]),
        13 => one_of(&[&[0xff, 0xe0], &[0xff, 0xd0], &[0xe2, 3], &[0xc2, 8, 0]]),
        14 => Vec::from([0xff, 0x25, e, f, g, h]),
        _ => Vec::from([0x90 | condition & 7]),
    }
}

/// Shows the answer to each instruction of random functions.
fn each(mut look: impl FnMut(&[u8], &[usize], usize, Result<Region, NoJump>, &mut Random)) {
    let mut random = Random::new();
    for _ in 0..runs(SHORT) {
        let code = RandomCode::of(|| match random.next() >> 62 {
            0 => random.any().into(),
            _ => frequent(&mut random),
        });
        let mut read = |from: TextAddr, into: &mut [u8]| code.read(from, into);
        let text = range(AT, AT + code.bytes.len() as u64);
        let mut function = Function::of(text, Indirect::Endbr, &mut read);
        for &start in &code.starts {
            let region = function.region(AT + start as u64, &Alone, &mut read);
            look(&code.bytes, &code.starts, start, region, &mut random);
        }
    }
}

/// Where the branches of a function lead, by iced.
fn targets(code: &[u8], starts: &[usize]) -> Vec<u64> {
    let insns = starts
        .iter()
        .filter_map(|&start| iced(&code[start..], AT + start as u64));
    let near = insns.filter(|insn| insn.near_branch_target() != 0);
    near.map(|insn| insn.near_branch_target()).collect()
}

#[test]
fn regions_with_branches_into_the_jump_are_refused() {
    let (mut seen, mut refused) = (0, 0);
    each(|code, starts, start, region, _| {
        let at = AT + start as u64;
        let entered = targets(code, starts)
            .iter()
            .any(|&target| at < target && target < at + 5);
        match region {
            Ok(_) => {
                assert!(!entered, "{start} of {code:02x?}");
                seen += 1;
            }
            Err(no) if no.reason == NoJumpReason::LocalBranch => {
                assert!(entered, "{start} of {code:02x?}");
                let from = no.at.map(|from| (from.get() - AT) as usize);
                let is_insn = from.is_some_and(|from| starts.contains(&from));
                assert!(is_insn, "{start} of {code:02x?}");
                refused += 1;
            }
            Err(_) => {}
        }
    });
    let enough = seen > runs(SHORT) && refused > runs(SHORT) / 2;
    assert!(enough, "{seen} {refused}");
}

#[test]
fn regions_are_whole_instructions() {
    let mut reasons = BTreeMap::<String, usize>::new();
    each(|code, starts, start, region, _| match region {
        Ok(region) => {
            let len = region.bytes().len();
            assert!(len >= 5, "{start} of {code:02x?}");
            assert_eq!(region.bytes(), &code[start..start + len]);
            let ends_an_instruction = starts.contains(&(start + len)) || start + len == code.len();
            assert!(ends_an_instruction, "{start} of {code:02x?}");
            let before_last = starts.iter().rfind(|&&other| other < start + len);
            assert!(before_last.is_some_and(|&last| last < start + 5));
        }
        Err(reason) => {
            *reasons
                .entry(reason.reason.summary().to_string_lossy().to_string())
                .or_default() += 1
        }
    });
    // All that can come of bytes alone.
    assert!(reasons.len() >= 6, "{reasons:?}");
}

#[test]
fn copies_mean_the_same_as_iced_says() {
    let (mut seen, mut far) = (0, 0);
    each(|code, _, start, region, random| {
        let Ok(region) = region else { return };
        let distance = random.one_of(&[0x1000, 0x7000_0000, 0x7fff_fff0, 1 << 40]);
        let there = TextAddr::new(AT.wrapping_sub(0x4000_0000).wrapping_add(distance));
        match Copied::of(&region, there) {
            Ok(copied) => {
                let wrong = same::wrong(&region, &copied, there);
                let bytes = copied.bytes();
                assert_eq!(wrong, None, "{start} of {code:02x?}: {bytes:02x?}");
                seen += 1;
            }
            Err(no) if no.reason == NoJumpReason::TooFar => far += 1,
            Err(other) => panic!("{other:?}: {start} of {code:02x?}"),
        }
    });
    assert!(seen > runs(SHORT) && far > runs(SHORT) / 4, "{seen} {far}");
}

/// What came of running instructions.
#[derive(Debug, PartialEq)]
struct Ran {
    ip: u64,
    registers: [u64; 16],
    flags: u64,
    /// What was put on the stack last.
    pushed: Option<u64>,
    /// Instructions that are no branch and do nothing to flags, and are not run here.
    others: Vec<String>,
}

/// Where IRET leads here, which is not run.
const ELSEWHERE: u64 = 0x1234;

/// Runs `bytes` at `at` until the CPU is elsewhere, or behind them.
fn run(bytes: &[u8], at: u64, machine: &Machine) -> Ran {
    let mut machine = machine.clone();
    let mut others = Vec::new();
    let mut ip = at;
    while let Some(rest) = bytes
        .get((ip - at) as usize..)
        .filter(|rest| !rest.is_empty())
    {
        let insn = decode(rest).expect("an instruction");
        let next = ip + insn.len() as u64;
        let is_iret = insn.flow() == Flow::InterruptReturn;
        machine.ip = if is_iret { ELSEWHERE } else { next };
        match classify(&insn, None, false) {
            Ok(Exec::Emulate(op)) => {
                assert_eq!(emulate(&op, TextAddr::new(next), &mut machine), Ok(()));
            }
            // PUSH of an immediate.
            _ if rest[0] == 0x68 => {
                let value = i32::from_le_bytes(rest[1..5].try_into().expect("four bytes"));
                machine.push(value as u64);
            }
            _ => {
                let mut insn = iced(rest, ip).expect("an instruction");
                let memory = insn.ip_rel_memory_address();
                insn.set_ip(0);
                let kinds: Vec<_> = insn.op_kinds().collect();
                others.push(format!("{:?} {memory:x} {kinds:x?}", insn.code()));
            }
        }
        ip = machine.ip;
        if ip != next {
            break;
        }
    }
    Ran {
        ip,
        registers: machine.registers,
        flags: machine.flags,
        pushed: machine.pushed,
        others,
    }
}

#[test]
fn copies_run_as_the_original_does() {
    let mut ends = BTreeMap::<bool, usize>::new();
    each(|code, _, start, region, random| {
        let Ok(region) = region else { return };
        let Ok(copied) = Copied::of(&region, THERE) else {
            return;
        };
        let machine = Machine::random(random);
        let here = run(region.bytes(), region.at().get(), &machine);
        let there = run(copied.bytes(), THERE.get(), &machine);
        let bytes = copied.bytes();
        assert_eq!(here, there, "{start} of {code:02x?}: {bytes:02x?}");
        let end = region.at().get() + region.bytes().len() as u64;
        *ends.entry(here.ip == end).or_default() += 1;
    });
    // Both those that go on, and those that do not.
    let enough = ends.values().all(|&count| count > runs(SHORT) / 4);
    assert!(enough && ends.len() == 2, "{ends:?}");
}

// SPDX-License-Identifier: GPL-2.0

//! An instruction starts where iced says that one does, and nowhere else.

use super::*;

const SHORT: usize = 20_000;

/// Instructions of a function.
const COUNT: usize = 12;

/// A function of random instructions whose length is not in question, and where they start.
fn function(random: &mut Random) -> (Vec<u8>, Vec<usize>) {
    let (mut code, mut starts) = (Vec::new(), Vec::new());
    while starts.len() < COUNT {
        let bytes = random.any();
        let Ok(insn) = decode(&bytes) else { continue };
        if iced(&bytes, AT).is_some_and(|theirs| theirs.len() == insn.len()) {
            starts.push(code.len());
            code.extend_from_slice(&bytes[..insn.len()]);
        }
    }
    (code, starts)
}

/// Does an instruction start so far into the function?
fn check(code: &[u8], offset: usize) -> Result<(), Refusal> {
    let at = |offset: usize| TextAddr::new(AT + offset as u64);
    let mut read = |from: TextAddr, into: &mut [u8]| {
        let start = (from.get() - AT) as usize;
        into.copy_from_slice(code.get(start..start + into.len())?);
        Some(())
    };
    boundary::check(at(0), at(offset), &mut read)
}

#[test]
fn boundaries_are_those_of_iced() {
    let mut random = Random::new();
    for _ in 0..runs(SHORT) {
        let (code, starts) = function(&mut random);
        for offset in 0..code.len() {
            let expected = if starts.contains(&offset) {
                Ok(())
            } else {
                Err(Refusal::NotABoundary)
            };
            assert_eq!(check(&code, offset), expected, "{offset} of {code:02x?}");
        }
    }
}

#[test]
fn boundaries_of_any_bytes_are_refused_or_there() {
    let mut random = Random::new();
    let mut found = 0;
    for _ in 0..runs(SHORT) {
        let code: Vec<u8> = (0..3).flat_map(|_| random.any()).collect();
        // Whatever the bytes are, two answers in a row do not contradict each other: where an
        // instruction starts, none starts before its end.
        let mut end = 0;
        for offset in 0..code.len() {
            if check(&code, offset).is_ok() {
                assert!(offset >= end, "{offset} of {code:02x?}");
                end = offset + decode(&code[offset..]).map_or(1, |insn| insn.len());
                found += 1;
            }
        }
    }
    assert!(found > runs(SHORT));
}

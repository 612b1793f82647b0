// SPDX-License-Identifier: GPL-2.0

//! An instruction starts where iced says that one does, and nowhere else.

use super::*;

const SHORT: usize = 20_000;

/// Does an instruction start so far into the function?
fn check(code: &RandomCode, offset: usize) -> Result<(), Refusal> {
    let at = |offset: usize| TextAddr::new(AT + offset as u64);
    let mut read = |from: TextAddr, into: &mut [u8]| code.read(from, into);
    boundary::check_boundary(at(0), at(offset), &mut read)
}

#[test]
fn boundaries_are_those_of_iced() {
    let mut random = Random::new();
    for _ in 0..runs(SHORT) {
        let code = RandomCode::of(|| random.any().into());
        for offset in 0..code.bytes.len() {
            let is_start = code.starts.contains(&offset);
            let expected = is_start.then_some(()).ok_or(Refusal::NotABoundary);
            let found = check(&code, offset);
            assert_eq!(found, expected, "{offset} of {:02x?}", code.bytes);
        }
    }
}

#[test]
fn boundaries_in_random_bytes_do_not_contradict() {
    let mut random = Random::new();
    let mut found = 0;
    for _ in 0..runs(SHORT) {
        let code = RandomCode {
            bytes: (0..3).flat_map(|_| random.any()).collect(),
            starts: Vec::new(),
        };
        // Whatever the bytes are, two answers in a row do not contradict each other: where an
        // instruction starts, none starts before its end.
        let mut end = 0;
        for offset in 0..code.bytes.len() {
            if check(&code, offset).is_ok() {
                assert!(offset >= end, "{offset} of {:02x?}", code.bytes);
                end = offset + decode(&code.bytes[offset..]).map_or(1, |insn| insn.len());
                found += 1;
            }
        }
    }
    assert!(found > runs(SHORT));
}

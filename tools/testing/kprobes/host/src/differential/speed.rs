// SPDX-License-Identifier: GPL-2.0

//! How long decoding takes, ours and the kernel's insn.c in one run.
//!
//! Both walk the same instructions, those of the built kernels if there are any, several times in
//! turns; the best turn of each counts, which is the one that least else disturbed.

use super::{
    insn_c::InsnC,
    *, //
};
use std::{
    hint::black_box,
    time::{
        Duration,
        Instant, //
    }, //
};

const TURNS: usize = 7;

/// How much is walked.
const LIMIT: usize = 32 << 20;

/// Instructions that both take for the same, one after the other, and how many.
fn instructions(judge: &mut InsnC) -> (Vec<u8>, u32) {
    let (mut text, mut count) = (Vec::new(), 0);
    let mut take = |string: &corpus::Text| {
        let ours = our_len(string);
        if text.len() < LIMIT && ours.is_some() && ours == judge.len(string) {
            text.extend_from_slice(&string[..ours.unwrap_or_default()]);
            count += 1;
        }
    };
    if corpus::sections().is_empty() {
        corpus::each(&mut take);
    } else {
        corpus::images(&mut take);
    }
    (text, count)
}

fn walk(text: &[u8]) -> u64 {
    let mut at = 0;
    while let Ok(insn) = decode(text.get(at..).unwrap_or_default()) {
        at += insn.len();
    }
    at as u64
}

fn turn(run: impl Fn() -> u64, expected: usize) -> Duration {
    let start = Instant::now();
    assert_eq!(black_box(run()), expected as u64);
    start.elapsed()
}

#[test]
fn decode_is_as_fast_as_insn_c() {
    let Some(mut judge) = InsnC::open() else {
        return;
    };
    let (text, count) = instructions(&mut judge);
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..TURNS {
        ours = ours.min(turn(|| walk(black_box(&text)), text.len()));
        theirs = theirs.min(turn(|| judge.walk(black_box(&text)), text.len()));
    }
    let each = |time: Duration| time.as_nanos() as f64 / f64::from(count);
    println!(
        "speed: {count} instructions, {:.1} ns each, insn.c {:.1} ns",
        each(ours),
        each(theirs)
    );
    if corpus::is_long() {
        assert!(ours <= theirs);
    }
}

// SPDX-License-Identifier: GPL-2.0

//! What perf has been told of text, and so what it takes the text for.
//!
//! A record says what was somewhere and what is there now. Nothing was there before a copy, nor is
//! after it. Whoever has changed text and gives its lock back must have said all of it, and what a
//! record says of before must be what the records before it have said.
//!
//! Jumps on this kernel are none of x86's, so nobody is told of them: perf sees the breakpoint as
//! long as there is one.

use crate::base::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub at: u64,
    pub old: Vec<u8>,
    pub new: Vec<u8>,
}

static RECORDS: Mutex<Vec<Record>> = Mutex::new(Vec::new());

/// The bytes that are not what they were when their function came.
static TOLD: Mutex<BTreeMap<u64, u8>> = Mutex::new(BTreeMap::new());

/// Where text was written since its lock was last given back.
static WRITTEN: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());

/// What perf was told since this was last asked.
pub fn records() -> Vec<Record> {
    core::mem::take(&mut *RECORDS.lock().unwrap())
}

/// What perf takes a byte for that was told so much.
fn taken_for(told: &BTreeMap<u64, u8>, addr: u64) -> Option<u8> {
    told.get(&addr).copied().or_else(|| text::original(addr))
}

pub(crate) fn tell(at: u64, old: &[u8], new: &[u8]) {
    let mut told = TOLD.lock().unwrap();
    for number in 0..old.len().max(new.len()) {
        let addr = at + number as u64;
        let was = taken_for(&told, addr);
        if was != old.get(number).copied() {
            events::wrong(format!("{was:x?} was at {addr:#x}, perf is told {old:x?}"));
        }
        match new.get(number) {
            Some(&byte) => told.insert(addr, byte),
            None => told.remove(&addr),
        };
    }
    let (old, new) = (old.to_vec(), new.to_vec());
    RECORDS.lock().unwrap().push(Record { at, old, new });
}

/// So many bytes are written to `at`, which perf must be told of.
pub(crate) fn written(at: u64, len: usize) {
    WRITTEN.lock().unwrap().push(at..at + len as u64);
}

/// Who has changed text is done with it.
pub(crate) fn is_over() {
    let told = TOLD.lock().unwrap();
    for addr in WRITTEN.lock().unwrap().drain(..).flatten() {
        let mut is = [0];
        text::look(addr, &mut is, false);
        let was = taken_for(&told, addr);
        if was != Some(is[0]) {
            events::wrong(format!("{is:x?} is at {addr:#x}, perf was told {was:x?}"));
        }
    }
}

/// The function at an address is what it was when it came.
pub(crate) fn come(text: Range<u64>) {
    TOLD.lock().unwrap().retain(|addr, _| !text.contains(addr));
}

/// It comes with another first byte.
pub(crate) fn come_as(addr: u64, byte: u8) {
    TOLD.lock().unwrap().insert(addr, byte);
}

/// Copies are gone, which perf must have been told of.
pub(crate) fn gone(copies: Range<u64>) {
    if let Some((addr, _)) = TOLD.lock().unwrap().range(copies).next() {
        events::wrong(format!("{addr:#x} is freed, perf is told nothing"));
    }
}

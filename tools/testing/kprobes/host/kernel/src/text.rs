// SPDX-License-Identifier: GPL-2.0

//! The text that can be probed: functions that a test has written, and pages for copies of their
//! instructions, all within reach of a jump.
//!
//! Nobody runs it. What a CPU would find is known all the same: the breakpoints that are there, and
//! those that are not there any more, but that a CPU may have come to that has not seen it yet.
//! Whoever plays a CPU may interrupt anything here, so what it asks takes no lock.

use crate::base::*;

const FUNCTIONS_LEN: usize = 16 * PAGE_SIZE;
const PAGES: usize = 320;
const LEN: usize = FUNCTIONS_LEN + PAGES * PAGE_SIZE;

const BREAKPOINT: u8 = 0xcc;

/// Functions begin at a multiple of it.
const ALIGN: usize = 16;

/// What a byte of a function is for the CPUs.
const INTACT: u8 = 0;
const BROKEN: u8 = 1;
/// It was broken, and a CPU may not have seen yet that it is not any more.
const STALE: u8 = 2;
const JUMP: u8 = 3;
/// It is broken, where a jump started; a CPU may not have seen it yet.
const STALE_JUMP: u8 = 4;
/// It is behind the start of a jump.
const TAIL: u8 = 5;

const CALL_LEN: u64 = 5;

const JUMP_LEN: u64 = 5;
const JUMP_OPCODE: u8 = 0xe9;

/// Where the first function is; zero before anybody has asked.
static BASE: AtomicU64 = AtomicU64::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);
static STATES: [AtomicU8; FUNCTIONS_LEN] = [const { AtomicU8::new(INTACT) }; FUNCTIONS_LEN];
static ORIGINALS: [AtomicU8; FUNCTIONS_LEN] = [const { AtomicU8::new(0) }; FUNCTIONS_LEN];
/// The pages for copies that are in use, a bit each.
static IN_USE: [AtomicU64; PAGES / 64] = [const { AtomicU64::new(0) }; PAGES / 64];

/// Of these, the ones with a detour.
static DETOURS: [AtomicU64; PAGES / 64] = [const { AtomicU64::new(0) }; PAGES / 64];

/// The functions: where they start, how long they are, and whether ftrace calls from the entry.
static FUNCTIONS: Mutex<BTreeMap<u64, (usize, bool)>> = Mutex::new(BTreeMap::new());

fn base() -> u64 {
    static MADE: OnceLock<()> = OnceLock::new();
    if BASE.load(Relaxed) == 0 {
        MADE.get_or_init(make);
    }
    BASE.load(Relaxed)
}

fn make() {
    let layout = std::alloc::Layout::from_size_align(LEN, PAGE_SIZE).unwrap();
    // What the kernel says about its sections are stretches between the addresses of variables
    // here, which the text must not be in.
    let all = |base: u64| base..base + LEN as u64;
    let overlap = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
    while BASE.load(Relaxed) == 0 {
        // SAFETY: The length is not zero.
        let made = unsafe { std::alloc::alloc_zeroed(layout) };
        let base = made.expose_provenance() as u64;
        if base != 0 && !bindings::sections().any(|it| overlap(&it, &all(base))) {
            BASE.store(base, Relaxed);
        }
    }
}

fn place(addr: u64) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(addr as usize)
}

/// How far into the functions an address is.
fn offset(addr: u64) -> Option<usize> {
    let offset = addr.checked_sub(base())? as usize;
    (offset < FUNCTIONS_LEN).then_some(offset)
}

/// The number of the page for copies that an address is in.
fn page_number(addr: u64) -> Option<usize> {
    let number = addr.checked_sub(base() + FUNCTIONS_LEN as u64)? as usize / PAGE_SIZE;
    (number < PAGES).then_some(number)
}

fn page(number: usize) -> u64 {
    base() + (FUNCTIONS_LEN + number * PAGE_SIZE) as u64
}

pub fn clear() {
    for at in breakpoints().chain(jumps()) {
        events::wrong(format!("a breakpoint or jump is left at {at:#x}"));
    }
    for state in &STATES[..USED.swap(0, Relaxed)] {
        state.store(INTACT, Relaxed);
    }
    FUNCTIONS.lock().unwrap().clear();
    perf::come(base()..base() + FUNCTIONS_LEN as u64);
}

/// A function of that code; where it is. `traced`: ftrace can call from its entry.
pub fn function(code: &[u8], traced: bool) -> u64 {
    let used = USED.load(Relaxed);
    let end = used + code.len();
    assert!(end <= FUNCTIONS_LEN, "room for that function");
    for (original, &byte) in ORIGINALS[used..].iter().zip(code) {
        original.store(byte, Relaxed);
    }
    let start = base() + used as u64;
    // SAFETY: Memory of our own, with room for that much.
    unsafe { place(start).copy_from_nonoverlapping(code.as_ptr(), code.len()) };
    FUNCTIONS
        .lock()
        .unwrap()
        .insert(start, (code.len(), traced));
    USED.store(end.next_multiple_of(ALIGN), Relaxed);
    start
}

pub(crate) fn starts() -> Vec<u64> {
    FUNCTIONS.lock().unwrap().keys().copied().collect()
}

/// Text has come again to an address where some was: a breakpoint there is not any more.
pub fn come_again(addr: u64) {
    if let Some(offset) = offset(addr) {
        let jump = matches!(STATES[offset].load(Relaxed), JUMP | STALE_JUMP);
        let len = if jump { JUMP_LEN } else { 1 };
        perf::come(addr..addr + len);
        for (addr, offset) in (addr..addr + len).zip(offset..) {
            STATES[offset].store(INTACT, Relaxed);
            let byte = ORIGINALS[offset].load(Relaxed);
            // SAFETY: It is within our memory.
            unsafe { place(addr).write(byte) };
        }
    }
}

/// The same, but that it begins with `byte`, until it comes again.
pub fn come_again_as(addr: u64, byte: u8) {
    come_again(addr);
    perf::come_as(addr, byte);
    // SAFETY: It is within our memory.
    unsafe { place(addr).write(byte) };
}

/// Reads text, or what it was before any breakpoint; zeroes where there is none.
pub fn look(addr: u64, into: &mut [u8], original: bool) {
    for (addr, byte) in (addr..).zip(into) {
        *byte = match offset(addr) {
            Some(offset) if original => ORIGINALS[offset].load(Relaxed),
            None if page_number(addr).is_none() => 0,
            // SAFETY: It is within our memory; another CPU may write a byte at any time.
            _ => unsafe { place(addr).read_volatile() },
        };
    }
}

/// What a byte of a function was when that came.
pub(crate) fn original(addr: u64) -> Option<u8> {
    Some(ORIGINALS[offset(addr)?].load(Relaxed))
}

/// Where a CPU may come to a breakpoint now.
pub fn breakpoints() -> impl Iterator<Item = u64> {
    in_state(|state| matches!(state, BROKEN | STALE | STALE_JUMP))
}

/// Where a CPU may come to a jump now.
pub fn jumps() -> impl Iterator<Item = u64> {
    in_state(|state| matches!(state, JUMP | STALE_JUMP))
}

fn in_state(is: fn(u8) -> bool) -> impl Iterator<Item = u64> {
    let states = STATES[..USED.load(Relaxed)].iter().enumerate();
    let found = states.filter(move |(_, state)| is(state.load(Relaxed)));
    found.map(|(offset, _)| base() + offset as u64)
}

/// All states of the bytes that a jump at `addr` is over are these.
fn are(addr: u64, first: u8, others: u8) -> bool {
    let states = offset(addr).and_then(|from| STATES.get(from..from + JUMP_LEN as usize));
    states.is_some_and(|states| {
        let others = |state: &AtomicU8| state.load(Relaxed) == others;
        states[0].load(Relaxed) == first && states[1..].iter().all(others)
    })
}

fn set_states(addr: u64, first: u8, others: u8) {
    for (number, state) in STATES[offset(addr).unwrap_or_default()..][..JUMP_LEN as usize]
        .iter()
        .enumerate()
    {
        state.store(if number == 0 { first } else { others }, Relaxed);
    }
}

/// A jump to a detour is written over the breakpoint at `addr` and what is behind it. The CPUs that
/// come to it before it is complete find it all the same.
pub fn jump(addr: u64, detour: u64) {
    let tail = addr + 1..addr + JUMP_LEN;
    if !are(addr, BROKEN, INTACT) {
        return events::wrong(format!("a jump is written to {addr:#x}"));
    }
    if rcu_tasks::is_anybody_in(tail) {
        return events::wrong(format!("a jump is written under a task, to {addr:#x}"));
    }
    events::during(Event::Jumped(addr), || {
        let distance = detour.wrapping_sub(addr + JUMP_LEN) as i32;
        set_states(addr, JUMP, TAIL);
        // SAFETY: The states are of text, which is our memory.
        unsafe { place(addr).write(JUMP_OPCODE) };
        let tail = place(addr + 1);
        // SAFETY: As above.
        unsafe { tail.copy_from_nonoverlapping(distance.to_le_bytes().as_ptr(), 4) };
    });
}

/// A breakpoint is written over the start of a jump.
pub fn break_jump(addr: u64) {
    if !are(addr, JUMP, TAIL) {
        return events::wrong(format!("there is no jump to break at {addr:#x}"));
    }
    events::during(Event::Broken(addr), || {
        set_states(addr, STALE_JUMP, TAIL);
        // SAFETY: The states are of text, which is our memory.
        unsafe { place(addr).write(BREAKPOINT) };
    });
}

/// What was behind the breakpoint at `addr` before there was a jump is written there.
pub fn mend_tail(addr: u64, original: [u8; 4]) {
    let mut right = [0; 4];
    look(addr + 1, &mut right, true);
    if !are(addr, BROKEN, TAIL) || original != right {
        return events::wrong(format!("{original:x?} is written behind {addr:#x}"));
    }
    events::during(Event::Untailed(addr), || {
        set_states(addr, BROKEN, INTACT);
        // SAFETY: The states are of text, which is our memory.
        unsafe { place(addr + 1).copy_from_nonoverlapping(right.as_ptr(), 4) };
    });
}

/// A page for the detour of a place, which is noted there.
pub fn allocate_detour(addr: u64) -> Option<u64> {
    if faults::refuses(Call::ExecutablePage) {
        return None;
    }
    let page = allocate_page()?;
    let number = page_number(page)?;
    events::during(Event::Detoured(addr), || {
        DETOURS[number / 64].fetch_or(bit(number), Relaxed);
        // SAFETY: A page of ours.
        unsafe { place(page).cast::<u64>().write(addr) };
    });
    Some(page)
}

/// Whose handlers are called in the detour in a page, as a word.
pub fn name_owner(page: u64, owner: usize) {
    // SAFETY: A page of ours, in which the place is first.
    unsafe { place(page).cast::<usize>().add(1).write(owner) };
}

pub fn owner(page: u64) -> usize {
    // SAFETY: As above.
    unsafe { place(page).cast::<usize>().add(1).read() }
}

/// Memory is freed: no detour may lead to it.
pub(crate) fn forget_owner(memory: Range<usize>) {
    for number in 0..PAGES {
        let is_detour = DETOURS[number / 64].load(Relaxed) & bit(number) != 0;
        if is_detour && memory.contains(&owner(page(number))) {
            events::wrong(format!("{memory:x?} is freed, which a detour leads to"));
        }
    }
}

/// The place that the detour is of that an address is in.
pub fn detoured(addr: u64) -> Option<u64> {
    let number = page_number(addr)?;
    let is_one = DETOURS[number / 64].load(Relaxed) & bit(number) != 0;
    // SAFETY: A page of ours.
    is_one.then(|| unsafe { place(page(number)).cast::<u64>().read() })
}

pub fn is_copy(addr: u64) -> bool {
    page_number(addr).is_some_and(|number| IN_USE[number / 64].load(Relaxed) & bit(number) != 0)
}

pub fn pages() -> u32 {
    let words = IN_USE.iter();
    words.map(|word| word.load(Relaxed).count_ones()).sum()
}

/// A page in its word of [`IN_USE`].
fn bit(number: usize) -> u64 {
    1 << (number % 64)
}

pub(crate) enum Write {
    Broken,
    Mended,
    Copied,
    Wrong,
}

/// What it is to write `code` to `addr`.
pub(crate) fn write_of(addr: u64, code: &[u8]) -> Write {
    if is_copy(addr) {
        return Write::Copied;
    }
    let Some(offset) = offset(addr) else {
        return Write::Wrong;
    };
    let original = ORIGINALS[offset].load(Relaxed);
    match (STATES[offset].load(Relaxed), code) {
        (INTACT | STALE, &[BREAKPOINT]) => Write::Broken,
        (BROKEN, &[new]) if new == original && !has_tail(offset) => Write::Mended,
        _ => Write::Wrong,
    }
}

/// Is what a jump was over still behind a breakpoint?
fn has_tail(offset: usize) -> bool {
    let behind = STATES.get(offset + 1);
    behind.is_some_and(|state| state.load(Relaxed) == TAIL)
}

/// Is what a jump is over at an address now?
pub fn is_tail(addr: u64) -> bool {
    offset(addr).is_some_and(|offset| STATES[offset].load(Relaxed) == TAIL)
}

pub(crate) fn write(addr: u64, code: &[u8]) {
    if let Some(offset) = offset(addr) {
        let state = if code == [BREAKPOINT] { BROKEN } else { STALE };
        STATES[offset].store(state, Relaxed);
    }
    // SAFETY: `write_of` knows where that is.
    unsafe { place(addr).copy_from_nonoverlapping(code.as_ptr(), code.len()) };
    perf::written(addr, code.len());
}

pub(crate) fn all_have_seen() {
    for state in &STATES[..USED.load(Relaxed)] {
        let _ = state.compare_exchange(STALE, INTACT, Relaxed, Relaxed);
        let _ = state.compare_exchange(STALE_JUMP, BROKEN, Relaxed, Relaxed);
    }
}

/// Reads text; says no where there is none.
pub(crate) fn read(addr: u64, into: &mut [u8]) -> bool {
    let end = addr.wrapping_add(into.len() as u64);
    let there = base() <= addr && end <= base() + LEN as u64;
    if there {
        look(addr, into, false);
    }
    there
}

pub(crate) fn is_text(addr: u64) -> bool {
    offset(addr).is_some()
}

/// The function around an address: where it starts, and its length.
pub(crate) fn around(addr: u64) -> Option<(u64, u64)> {
    let functions = FUNCTIONS.lock().unwrap();
    let (&start, &(len, _)) = functions.range(..=addr).next_back()?;
    let len = len as u64;
    (addr < start + len).then_some((start, len))
}

pub fn is_traced(addr: u64) -> bool {
    let functions = FUNCTIONS.lock().unwrap();
    functions.get(&addr).is_some_and(|&(_, traced)| traced)
}

/// Is any of the room in there that ftrace calls from?
pub(crate) fn is_traced_within(range: Range<u64>) -> bool {
    let functions = FUNCTIONS.lock().unwrap();
    let mut traced = functions.iter().filter(|(_, &(_, traced))| traced);
    traced.any(|(&start, _)| start < range.end && range.start < start + CALL_LEN)
}

pub(crate) fn allocate_page() -> Option<u64> {
    let number = (0..PAGES).find(|&number| !is_copy(page(number)))?;
    IN_USE[number / 64].fetch_or(bit(number), Relaxed);
    Some(page(number))
}

/// A page for copies is given back. What is in it is made useless, so that it shows if it is used.
pub(crate) fn free_page(addr: u64) {
    match page_number(addr) {
        Some(number) if is_copy(addr) && addr == page(number) => {
            let end = addr + PAGE_SIZE as u64;
            perf::gone(addr..end);
            if detoured(addr).is_some() && rcu_tasks::is_anybody_in(addr..end) {
                events::wrong(format!("{addr:#x} is freed, which a task is in"));
            }
            IN_USE[number / 64].fetch_and(!bit(number), Relaxed);
            DETOURS[number / 64].fetch_and(!bit(number), Relaxed);
            // SAFETY: A page of ours.
            unsafe { place(addr).write_bytes(0, PAGE_SIZE) };
        }
        _ => events::wrong(format!("{addr:#x} is freed, which is no page for copies")),
    }
}

// SPDX-License-Identifier: GPL-2.0

//! The slots that copies of instructions are in.
//!
//! A copied instruction is followed by a jump back, or by a breakpoint if it has to come back.
//! Which of them it is can change from hit to hit, so a slot has room for both copies, and a hit
//! goes to the one that it is to take. Nothing is written to a slot while it is in use: a CPU
//! that runs a copy that was right a moment ago must not find another end to it.

use crate::{
    prelude::*,
    slots::{
        self,
        Pool,
        Returns,
        Slot, //
    },
    sys::{
        lock::Guarded,
        preempt::Pinned, //
    },
    table::{
        Retired,
        Table, //
    }, //
};
use kernel::{
    bindings,
    page::PAGE_SIZE, //
};

/// Room for the longest instruction and the jump behind it.
const COPY_LEN: usize = 32;

/// Room for two copies: one that comes back, and one that goes on.
pub(super) const SLOT_LEN: usize = 2 * COPY_LEN;

/// How many slots may wait for Tasks RCU before copies are not let go on by themselves: 256 pages.
const MOST_WAITING: usize = 256 * (PAGE_SIZE / SLOT_LEN);

static SLOTS: Table<slots::Page> = Table::empty();
static RETURNS: Returns = Returns::new(MOST_WAITING);
static POOL: Guarded<Pool, slots::Lock> =
    Guarded::new(Pool::new(&SLOTS, &RETURNS, SLOT_LEN, Pages::Copies, 1));

/// A slot for the instruction at `at`.
pub(super) fn take(at: TextAddr) -> Result<Slot, Refusal> {
    POOL.get(&mut slots::Lock::new()).take(at)
}

/// May another slot linger? Without, the copy has to come back.
pub(super) fn may_linger() -> bool {
    RETURNS.may_linger()
}

/// Where the copy is that goes on by itself.
pub(super) fn boosted(slot: &Slot) -> TextAddr {
    TextAddr::new(slot.at().get().wrapping_add(COPY_LEN as u64))
}

/// The address in the original, if `at` is in a copy of an instruction.
pub(crate) fn original(at: TextAddr, pinned: &Pinned) -> Option<TextAddr> {
    let (origin, into) = slots::origin(&SLOTS, at, pinned)?;
    let at = (origin as u64).wrapping_add(into % COPY_LEN as u64);
    Some(TextAddr::new(at))
}

/// A CPU that is in a slot goes on in the original.
pub(crate) fn leave_slot(registers: &mut bindings::pt_regs, pinned: &Pinned) {
    let at = TextAddr::new(registers.ip as u64);
    registers.ip = original(at, pinned).unwrap_or(at).get() as usize;
}

/// Is there a slot at `at`?
pub(crate) fn is_slot(at: TextAddr, pinned: &Pinned) -> bool {
    slots::covers(&SLOTS, at, pinned)
}

/// Where page number `number` is, or how many there are.
pub(super) fn page(number: usize, pinned: &Pinned) -> Result<TextAddr, usize> {
    slots::page(&SLOTS, number, pinned)
}

/// How many slots wait until no task is in them.
pub(super) fn waiting() -> usize {
    RETURNS.waiting()
}

/// Takes the pages out that nobody needs.
pub(super) fn tidy(retired: &mut Retired<slots::Page>) {
    POOL.get(&mut slots::Lock::new()).tidy(retired);
}

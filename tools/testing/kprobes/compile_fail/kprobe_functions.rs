// SPDX-License-Identifier: GPL-2.0

//! Functions that are no handlers.
//!
//! error: `#[kprobe]` stands before a function
//! error: a handler must not wait: it is no `async fn`
//! error: nobody vouches for the call of a handler: it is safe
//! error: a handler is an ordinary function, whatever is probed
//! error: a handler is one function: it is not generic
//! error: nobody asks what a handler answers
//! error: handlers run on all CPUs at once and share what they are told: take it by `&`
//! error: beyond its state and `&Entry<'_>` a handler has no references: take a raw pointer
//! says: fn changes_its_state(state: &mut u64) {
//! says: fn has_a_reference(state: &u64, milliseconds: u32, name: &u8) {

use kernel::kprobes::kprobe;

#[kprobe(symbol = "msleep")]
fn on_sleep(state: &u64, milliseconds: u32, name: *const u8) {
    let _ = (state, milliseconds, name);
}

#[kprobe(symbol = "usleep_range_state")]
fn on_first(state: &u64, least: usize, _: ...) {
    let _ = (state, least);
}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
struct IsNoFunction;

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
async fn waits() {}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
unsafe fn wants_to_be_vouched_for() {}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
extern "C" fn is_for_others() {}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
fn is_many<T>() {}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
fn answers() -> u32 {
    0
}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
fn changes_its_state(state: &mut u64) {
    *state += 1;
}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
fn has_a_reference(state: &u64, milliseconds: u32, name: &u8) {
    let _ = (state, milliseconds, name);
}

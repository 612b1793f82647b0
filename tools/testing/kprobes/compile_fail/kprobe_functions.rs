// SPDX-License-Identifier: GPL-2.0

//! Functions that are no handlers.
//!
//! error: `#[kprobe]` stands before a function; before an `impl` stands `#[kretprobe]`
//! error: a handler must not wait: it is no `async fn`
//! error: nobody vouches for the call of a handler: leave `unsafe` out
//! error: a handler is an ordinary function, whatever is probed: leave `extern` out
//! error: a handler is one function: it is not generic
//! error: a handler returns nothing: leave this out (a `PathHandler` says how the kernel goes on)
//! error: handlers run on all CPUs at once and share what they are told: take it by `&`
//! error: no more references here: take a raw pointer or `UserPtr`, and have `Entry` read it
//! error: `&Entry<'_>` stands once, before the arguments and behind the state
//! error: the state stands first, before `&Entry<'_>`
//! error: the call is told as `&Entry<'_>` here
//! says: fn changes_its_state(state: &mut u64) {
//! says: fn has_a_reference(state: &u64, milliseconds: u32, name: &u8) {

use kernel::kprobes::{
    kprobe,
    Entry,
    Hit, //
};

#[kprobe(symbol = "msleep")]
fn on_sleep(state: &u64, call: &Entry<'_>, milliseconds: u32, name: *const u8) {
    let _ = (state, call, milliseconds, name);
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

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
fn wants_the_call_last(milliseconds: u32, call: &Entry<'_>) {
    let _ = (milliseconds, call);
}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
fn wants_the_call_first(call: &Entry<'_>, state: &u64) {
    let _ = (call, state);
}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
fn wants_another_call(call: &Hit<'_>) {
    let _ = call;
}

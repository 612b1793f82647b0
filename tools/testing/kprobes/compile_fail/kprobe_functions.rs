// SPDX-License-Identifier: GPL-2.0

//! What `#[kprobe]` can make no handler of: functions that are none, words in the brackets that say
//! nothing of what is probed, and attributes that move a handler or give it a name.
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
//! error: say `symbol = "function"`, `symbol = "module:function"` or `function = path`
//! error: one function is probed, by one of `symbol` and `function`
//! error: arguments are known where a function begins: leave the offset out, or write a `Handler`
//! error: a symbol is the name of a function, or `module:function`
//! error: a symbol is a string: `symbol = "function"`
//! says: #[kprobe]
//! says: #[kprobe]
//! says: #[kprobe(name = "msleep")]
//! says: #[kprobe(symbol = "msleep+4")]
//! says: #[kprobe(symbol = "a:b:c")]
//! says: #[kprobe(symbol = msleep)]
//! error: a handler is called by kprobes alone, from where it is: leave this out
//! says: #[link_section = ".init.text"]
//! says: #[no_mangle]
//! says: #[export_name = "on_end"]

use kernel::kprobes::*;

#[kprobe(symbol = "msleep")]
fn on_sleep(state: &u64, call: &Entry<'_>, milliseconds: u32, name: *const u8) {}

#[kprobe(symbol = "usleep_range_state")]
fn on_first(state: &u64, least: usize, _: ...) {}

#[cfg(refused)]
mod refused {
    use super::*;

    #[kprobe(symbol = "msleep")]
    struct IsNoFunction;

    #[kprobe(symbol = "msleep")]
    async fn waits() {}

    #[kprobe(symbol = "msleep")]
    unsafe fn wants_to_be_vouched_for() {}

    #[kprobe(symbol = "msleep")]
    extern "C" fn is_for_others() {}

    #[kprobe(symbol = "msleep")]
    fn is_many<T>() {}

    #[kprobe(symbol = "msleep")]
    fn answers() -> u32 {
        0
    }

    #[kprobe(symbol = "msleep")]
    fn changes_its_state(state: &mut u64) {
        *state += 1;
    }

    #[kprobe(symbol = "msleep")]
    fn has_a_reference(state: &u64, milliseconds: u32, name: &u8) {}

    #[kprobe(symbol = "msleep")]
    fn wants_the_call_last(milliseconds: u32, call: &Entry<'_>) {}

    #[kprobe(symbol = "msleep")]
    fn wants_the_call_first(call: &Entry<'_>, state: &u64) {}

    #[kprobe(symbol = "msleep")]
    fn wants_another_call(call: &Hit<'_>) {}

    #[kprobe]
    fn says_nothing() {}

    #[kprobe(name = "msleep")]
    fn says_another_word() {}

    #[kprobe(symbol = "msleep", function = msleep)]
    fn says_both() {}

    #[kprobe(symbol = "msleep+4")]
    fn says_an_offset() {}

    #[kprobe(symbol = "a:b:c")]
    fn says_too_much() {}

    #[kprobe(symbol = msleep)]
    fn says_no_string() {}

    #[kprobe(symbol = "msleep")]
    #[link_section = ".init.text"]
    fn is_at_the_beginning() {}

    #[kretprobe(symbol = "msleep")]
    #[no_mangle]
    fn has_a_name() {}

    struct Both;

    #[kretprobe(symbol = "msleep")]
    impl Both {
        fn enter() -> u32 {
            1
        }

        #[export_name = "on_end"]
        fn leave(_: u32) {}
    }
}

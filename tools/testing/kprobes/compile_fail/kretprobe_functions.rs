// SPDX-License-Identifier: GPL-2.0

//! What `#[kretprobe]` can make no handler of.
//!
//! error: `#[kretprobe]` stands before a function, or an `impl` with `enter` and `leave`
//! error: `fn leave` is missing here: what is called at the end of a call
//! error: `fn enter` is missing here: without it, `#[kretprobe]` stands before a function
//! error: what `enter` has kept is missing here
//! error: what `enter` has kept comes by value: take it without `&`
//! error: at the end of a call there is the value, if it is wanted, and `enter` has kept nothing
//! error: at the end of a call there are what `enter` has kept, and the value, if it is wanted
//! error: a function returns one value
//! error: a signature is compared with its arguments: write an `impl` with `enter`, or say `symbol`
//! error: `#[kretprobe]` makes an `impl` of the trait: write `impl` and the type alone
//! says: impl NoEnd {
//! says: impl NoBeginning {

use kernel::kprobes::kretprobe;

struct Both;

#[kretprobe(symbol = "wake_up_process")]
impl Both {
    fn enter(_: ...) -> u32 {
        1
    }

    fn leave(kept: u32, value: i32) {
        let _ = (kept, value);
    }
}

#[cfg(refused)]
#[kretprobe(symbol = "wake_up_process")]
struct Alone;

#[cfg(refused)]
struct NoEnd;

#[cfg(refused)]
#[kretprobe(symbol = "wake_up_process")]
impl NoEnd {
    fn enter() {}
}

#[cfg(refused)]
struct NoBeginning;

#[cfg(refused)]
#[kretprobe(symbol = "wake_up_process")]
impl NoBeginning {
    fn leave() {}
}

#[cfg(refused)]
struct Forgets;

#[cfg(refused)]
#[kretprobe(symbol = "wake_up_process")]
impl Forgets {
    fn enter() -> Option<u32> {
        None
    }

    fn leave() {}
}

#[cfg(refused)]
struct Borrows;

#[cfg(refused)]
#[kretprobe(symbol = "wake_up_process")]
impl Borrows {
    fn enter() -> u32 {
        1
    }

    fn leave(kept: &u32, value: i32) {}
}

#[cfg(refused)]
struct WantsMore;

#[cfg(refused)]
#[kretprobe(symbol = "wake_up_process")]
impl WantsMore {
    fn enter() -> u32 {
        1
    }

    fn leave(kept: u32, value: i32, more: i32) {}
}

#[cfg(refused)]
#[kretprobe(symbol = "wake_up_process")]
fn wants_more(value: i32, more: i32) {}

#[cfg(refused)]
#[kretprobe(symbol = "wake_up_process")]
fn wants_any(value: i32, _: ...) {}

#[cfg(refused)]
#[kretprobe(function = kernel::bindings::wake_up_process)]
fn cannot_be_compared(value: i32) {}

#[cfg(refused)]
struct HasATrait;

#[cfg(refused)]
#[kretprobe(symbol = "wake_up_process")]
impl kernel::kprobes::ReturnHandler for HasATrait {}

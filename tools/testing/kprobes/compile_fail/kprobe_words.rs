// SPDX-License-Identifier: GPL-2.0

//! Words in the brackets of `#[kprobe(..)]` that say nothing of what is probed.
//!
//! error: say `symbol = "function"`, `symbol = "module:function"` or `function = path`
//! error: one function is probed, by one of `symbol` and `function`
//! error: arguments are known where a function begins: leave the offset out, or write a `Handler`
//! error: a symbol is the name of a function, or `module:function`
//! error: a symbol is a string: `symbol = "function"`
//! says: #[kprobe]
//! says: #[kprobe(name = "msleep")]
//! says: #[kprobe(symbol = "msleep+4")]
//! says: #[kprobe(symbol = "a:b:c")]
//! says: #[kprobe(symbol = msleep)]

use kernel::kprobes::kprobe;

#[kprobe(symbol = "msleep")]
fn on_sleep() {}

#[cfg(refused)]
#[kprobe]
fn says_nothing() {}

#[cfg(refused)]
#[kprobe(name = "msleep")]
fn says_another_word() {}

#[cfg(refused)]
#[kprobe(symbol = "msleep", function = msleep)]
fn says_both() {}

#[cfg(refused)]
#[kprobe(symbol = "msleep+4")]
fn says_an_offset() {}

#[cfg(refused)]
#[kprobe(symbol = "a:b:c")]
fn says_too_much() {}

#[cfg(refused)]
#[kprobe(symbol = msleep)]
fn says_no_string() {}

// SPDX-License-Identifier: GPL-2.0

//! What `#[kretprobe]` can make no handler of. What uses it is not refused for that again.
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
//! error: say `symbol = "function"`, `symbol = "module:function"` or `function = path`
//! error: a handler returns nothing: leave this out (a `PathHandler` says how the kernel goes on)
//! error: the call is told as `&Return<'_>` here
//! error: a handler is there in each configuration: leave out `cfg` and `cfg_attr`
//! says: #[cfg_attr(all(), link_section = ".init.text")]
//! says: #[cfg(any())]
//! says: impl NoEnd {
//! says: impl NoBeginning {

use kernel::{kprobes::*, prelude::*};

struct Both;

#[kretprobe(symbol = "wake_up_process")]
impl Both {
    fn enter(_: ...) -> u32 {
        1
    }

    fn leave(kept: u32, value: i32) {}
}

fn uses(here: &ProcessContext) -> Result<ReturnProbe<Both>, Refused> {
    Both::register(here)
}

#[cfg(refused)]
mod refused {
    use super::*;

    macro_rules! ends {
        ($name:ident: $($functions:tt)*) => {
            struct $name;

            #[kretprobe(symbol = "wake_up_process")]
            impl $name { $($functions)* }
        };
    }

    #[kretprobe(symbol = "wake_up_process")]
    struct Alone;

    struct NoEnd;

    #[kretprobe(symbol = "wake_up_process")]
    impl NoEnd {
        fn enter() {}

        fn other(_: ...) {}
    }

    fn uses_it_all_the_same(here: &ProcessContext) -> Result<ReturnProbe<NoEnd>, Refused> {
        NoEnd::register(here)
    }

    struct SaysNothing;

    #[kretprobe]
    impl SaysNothing {
        fn enter(state: &u64, _: ...) {}

        fn leave() {}
    }

    fn uses_it_with_its_state(here: &ProcessContext) -> Result<ReturnProbe<SaysNothing>, Refused> {
        SaysNothing::register(here, 0)
    }

    ends!(Answers:
        fn enter(_: ...) {}
        fn leave() -> u32 { 0 }
    );

    ends!(WantsTheBeginning:
        fn enter(_: ...) {}
        fn leave(call: &kernel::kprobes::Entry<'_>) {}
    );

    struct NoBeginning;

    #[kretprobe(symbol = "wake_up_process")]
    impl NoBeginning {
        fn leave() {}
    }

    ends!(Forgets:
        fn enter() -> Option<u32> { None }
        fn leave() {}
    );

    ends!(Borrows:
        fn enter() -> u32 { 1 }
        fn leave(kept: &u32, value: i32) {}
    );

    ends!(WantsMore:
        fn enter() -> u32 { 1 }
        fn leave(kept: u32, value: i32, more: i32) {}
    );

    ends!(Places:
        fn enter() {}
        #[cfg_attr(all(), link_section = ".init.text")]
        fn leave() {}
    );

    ends!(Hides:
        #[cfg(any())] fn enter() {}
        fn leave() {}
    );

    #[kretprobe(symbol = "wake_up_process")]
    fn wants_more(value: i32, more: i32) {}

    #[kretprobe(symbol = "wake_up_process")]
    fn wants_any(value: i32, _: ...) {}

    #[kretprobe(function = kernel::bindings::wake_up_process)]
    fn cannot_be_compared(value: i32) {}

    struct HasATrait;

    #[kretprobe(symbol = "wake_up_process")]
    impl kernel::kprobes::ReturnHandler for HasATrait {}
}

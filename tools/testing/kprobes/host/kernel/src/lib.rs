// SPDX-License-Identifier: GPL-2.0

//! A kernel that writes down what is asked of it.
//!
//! It stands for the `kernel` crate, with the names and signatures that the Rust kprobes use, so
//! that all of them, the crate as the kernel builds it, runs in a process of the host: what pokes
//! text, waits for CPUs, allocates or takes a lock ends in a function of [`bindings`], which does
//! it in a small way and leaves an [`events::Event`].
//!
//! The rest is for tests: [`text`] has the functions that can be probed, [`modules`] whose they
//! are, [`ftrace`] whom it calls, [`perf`] what it has been told, [`events`] what has happened, and
//! what is to happen at every moment in between, and [`faults`] makes the kernel refuse.
//!
//! There is one kernel in a process, so a test that uses it holds [`events::alone`].

#![expect(non_camel_case_types, reason = "as in the kernel crate")]

pub mod alloc;
mod base;
pub mod bindings;
pub mod context;
pub mod error;
pub mod events;
pub mod faults;
pub mod ftrace;
pub mod modules;
pub mod perf;
pub mod prelude;
pub mod rcu_tasks;
pub mod str;
pub mod sync;
pub mod tasks;
pub mod text;
pub mod types;
pub mod worker;

/// Pages.
pub mod page {
    pub const PAGE_SIZE: usize = 4096;
}

/// The structure that `$field` of is at `$pointer`.
#[macro_export]
macro_rules! container_of {
    ($pointer:expr, $type:ty, $field:ident) => {
        $pointer
            .byte_sub(core::mem::offset_of!($type, $field))
            .cast::<$type>()
    };
}

/// Says something in the log, which nobody reads.
#[macro_export]
macro_rules! pr_info {
    ($($words:tt)*) => {
        let _ = ::core::format_args!($($words)*);
    };
}

#[macro_export]
macro_rules! pr_warn {
    ($($words:tt)*) => { $crate::pr_info!($($words)*) };
}

#[macro_export]
macro_rules! pr_err {
    ($($words:tt)*) => { $crate::pr_info!($($words)*) };
}

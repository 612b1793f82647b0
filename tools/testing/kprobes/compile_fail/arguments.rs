// SPDX-License-Identifier: GPL-2.0

//! Arguments where no function begins, of types that no argument has, and sent to another task.
//!
//! error[E0599]: no method named `argument` found for reference `&Hit<'_>` in the current scope
//! says: method not found in `&Hit<'_>`
//! error[E0277]: no function of the kernel is given a `&u8` that could be read
//! says: a reference is for who can vouch for what it leads to
//! error[E0277]: `[u8; 4]` is not in one register on this machine
//! says: not the type of an argument in one register
//! error[E0277]: no function of the kernel is given a `[u8; 4]` that could be read
//! says: fn on_wake_up(address: [u8; 4]) {
//! says: not the type of an argument
//! says: not the type of an argument
//! says: not the type of an argument
//! error[E0277]: `NonNull<kernel::bindings::pt_regs>` cannot be shared between threads safely
//! error[E0277]: `NonNull<Opaque<kprobe>>` cannot be shared between threads safely
//! says: required for `&kernel::kprobes::Entry<'_>` to implement `Send`
//! error[E0277]: the trait bound `Mine: kprobes::argument::sealed::Sealed` is not satisfied
//! says: required by a bound in `Argument`

use kernel::kprobes::{
    Argument,
    Entry,
    EntryHandler,
    Handler,
    Hit, //
};

struct Reads;

impl Handler for Reads {
    type State = ();

    fn before((): &(), hit: &Hit<'_>) {
        let _ = hit.stack(0);
        #[cfg(refused)]
        let _ = hit.argument::<usize>(0);
    }
}

fn send(_: impl Send) {}

impl EntryHandler for Reads {
    type State = ();

    fn enter((): &(), call: &Entry<'_>) {
        let _ = call.arguments().take::<*const u8>();
        let _ = call.argument::<u32>(0);
        send(call.address());
        #[cfg(refused)]
        let _ = call.arguments().take::<&u8>();
        #[cfg(refused)]
        let _ = call.argument::<[u8; 4]>(0);
        #[cfg(refused)]
        send(call);
    }
}

#[cfg(not(refused))]
#[kernel::kprobes::kprobe(symbol = "wake_up_process")]
fn on_wake_up(address: *const u8) {}

#[cfg(refused)]
#[kernel::kprobes::kprobe(symbol = "wake_up_process")]
fn on_wake_up(address: [u8; 4]) {}

struct Mine(usize);

fn known<A: Argument>() {}

const _: (fn(Mine) -> usize, fn()) = (|mine| mine.0, known::<usize>);

#[cfg(refused)]
impl Argument for Mine {
    fn from_bits(bits: u64) -> Self {
        Self(bits as usize)
    }
}

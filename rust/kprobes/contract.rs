// SPDX-License-Identifier: GPL-2.0

//! What an architecture's back end provides.
//!
//! [`Isa`] is what can be said about instructions without touching any: pure and safe, so every
//! implementation of it also compiles on the host. [`Machine`] touches the CPU it runs on. `life/`
//! knows back ends through these traits only, by the name `arch::Current`.

use crate::model::{
    addr::TextAddr,
    target::Site, //
};

/// Fills a buffer with the text from an address on, as it was before anything was armed there.
///
/// Says nothing if not all of it can be read.
pub(crate) type ReadText<'a> = &'a mut dyn FnMut(TextAddr, &mut [u8]) -> Option<()>;

/// An instruction set, as far as probing needs to know it.
pub(crate) trait Isa {
    /// The place that `offset` bytes into `function` means to a client.
    ///
    /// `marked` tells that the function starts with an instruction that marks it as the target of
    /// indirect calls, where the architecture has such a thing. The mark must stay in place, so
    /// the function's entry is what follows it.
    fn site(function: TextAddr, offset: u64, marked: bool) -> Option<Site>;
}

/// A CPU that can be probed.
///
/// # Safety
///
/// Implementers guarantee that [`occupy`](Machine::occupy) and [`vacate`](Machine::vacate) write
/// nothing but `current_kprobe` and `kprobe_ctlblk` of the CPU they run on.
pub(crate) unsafe trait Machine: Isa {
    /// C's probe.
    type Probe: 'static;
    /// Evidence that the caller stays on this CPU.
    type Pinned;

    /// Does `function` start with a mark, see [`Isa::site`]?
    fn marked(function: TextAddr) -> bool;

    /// Is this text that no probe may touch for the architecture's own reasons, such as the way
    /// from a trap to its handler?
    fn reserves(at: TextAddr) -> bool;

    /// Notes that this CPU is in `probe`'s handler: a probe hit from now on only counts as missed.
    fn occupy(probe: &'static Self::Probe, pinned: &Self::Pinned);

    /// Notes that this CPU is in no probe's handler.
    fn vacate(pinned: &Self::Pinned);
}

// SPDX-License-Identifier: GPL-2.0

//! Every reason to say no.
//!
//! A variant for each reason that somebody could act on; its documentation says what to change.
//! Which errno each one is for C stands in `abi.rs`, the only place here that knows errno.

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is no probe: pass a pointer that is not NULL.
    NoProbe,
    /// There are no probes: pass a count above zero.
    EmptyBatch,
    /// Neither a symbol nor an address says where to probe: set one of them.
    NoTarget,
    /// Both a symbol and an address say where to probe: clear one of them.
    TwoTargets,
    /// The symbol is in neither the kernel nor a loaded module: check its name, load the module.
    UnknownSymbol,
    /// No symbol covers the address: give one inside a function.
    OutOfText,
    /// The address is inside a function and not at its entry: drop the offset.
    NotOnEntry,
    /// The function belongs to the handling of probes or traps: probe one of its callers.
    Blacklisted,
    /// The data of a return probe is larger than allowed: keep it elsewhere.
    DataTooLarge,
    /// The probe is not registered: register it first.
    NotRegistered,
    /// The address has an entry in the table: join it, or replace it.
    AddressTaken,
    /// This implementation cannot arm a probe: use the C one.
    CannotArm,
    /// A relative jump or call cannot span the distance.
    TooFar,
    /// The machine code is longer than its buffer.
    CodeTooLong,
    /// The bytes end inside an instruction: give more of them.
    TruncatedInsn,
    /// The bytes are no instruction: give an address where one starts.
    InvalidInsn,
    /// No memory is left: free some.
    NoMemory,
}

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
    /// The text cannot be read: give an address in a function that is loaded.
    UnreadableText,
    /// No instruction starts at the address: give one where one does.
    NotABoundary,
    /// The instruction always traps (INT3, INT, UD2): probe one that the kernel runs through.
    AlwaysTraps,
    /// The bytes ask a hypervisor to emulate what follows: probe after them.
    ForcedEmulation,
    /// The instruction holds back traps until after the next one: probe before or after it.
    HoldsTrapsBack,
    /// The instruction leads to another code segment: probe before or after it.
    FarBranch,
    /// The instruction returns from an interrupt: probe before it.
    InterruptReturn,
    /// The instruction enters or leaves a system call: probe before it.
    SystemCall,
    /// The instruction enters or leaves a guest, or firmware: probe before or after it.
    WorldSwitch,
    /// A hit inside a transaction aborts it: probe outside of it.
    Transaction,
    /// The instruction waits for an interrupt, which cannot come while a probe is handled: probe
    /// before or after it.
    Waits,
    /// The next instruction waits for an interrupt, and this one makes sure that none comes
    /// between: probe before both or after.
    LetsNextWait,
    /// The instruction moves the data of the CPU, which is needed to handle a probe: probe before
    /// or after it.
    MovesCpuData,
    /// The instruction changes where traps go, and one would come next: probe before or after it.
    MovesTraps,
    /// The instruction has an operand-size prefix, by which it is not emulated, or CPUs do not
    /// agree on what it does: drop the prefix.
    OperandSize,
    /// The instruction uses a register that a trap does not save: probe before or after it.
    UnsavedRegister,
    /// The instruction only works where it stands: probe before or after it.
    BoundToPlace,
    /// The address is no text of the kernel or of a module: give one in a function.
    NotText,
    /// The module that the text is of is being unloaded: probe it when it is loaded again.
    ModuleGoing,
    /// The text was for the beginning of the kernel or its module, and is no more: probe it
    /// earlier.
    InitTextFreed,
    /// The instruction is part of the check of an indirect call, which is read when it fails: probe
    /// before or after the check.
    CallCheck,
    /// Others change the text (a jump label, a static call), or trap there (BUG, WARN): probe
    /// before or after it.
    Reserved,
    /// The bytes are not run, but stand before a function for those that call it: probe the
    /// function.
    Preamble,
    /// Only ftrace may change the text, and this kernel has no probes through ftrace: probe behind
    /// it.
    FtraceOnly,
    /// Ftrace refuses, with this errno: `EBUSY` is that somebody else, such as a livepatch, changes
    /// where the function goes on; remove the handler from after the instruction, or that other
    /// one.
    Ftrace(i32),
    /// The probe is registered already: unregister it first.
    AlreadyRegistered,
    /// The text that the probe was on is no more: unregister it.
    Gone,
    /// No memory is left: free some.
    NoMemory,
}

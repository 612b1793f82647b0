// SPDX-License-Identifier: GPL-2.0

//! The reasons to refuse an operation.
//!
//! The text of a reason says what was found and, where a user can change something, what to change.
//! `abi/errno.rs` has the errno of each reason.

use core::ffi::CStr;

macro_rules! refusals {
    ($($name:ident $(($field:ty))? => $text:literal,)*) => {
        /// Reasons why an operation was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Refusal {
            $(#[doc = $text] $name $(($field))?,)*
        }

        impl Refusal {
            /// Returns the reason in words, and what to do.
            pub(crate) fn text(self) -> &'static CStr {
                match self {
                    $(Self::$name { .. } => const { c_string(concat!($text, "\0")) },)*
                }
            }
        }
    };
}

/// Returns the text for C.
pub(super) const fn c_string(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        // A literal without NUL ends at the NUL that the caller has appended.
        Err(_) => c"",
    }
}

refusals! {
    NoProbe => "there is no probe: pass a pointer that is not NULL",
    EmptyBatch => "there are no probes: pass a count above zero",
    NoTarget => "neither a symbol nor an address says where to probe: set one of them",
    TwoTargets => "both a symbol and an address say where to probe: clear one of them",
    UnknownSymbol =>
        "the symbol is in neither the kernel nor a loaded module: check its name, load the \
         module, or probe its caller if it is inlined",
    OutOfText => "no symbol covers the address: give one inside a function",
    NotOnEntry => "the address is inside a function and not at its entry: drop the offset",
    Blacklisted =>
        "the function belongs to the handling of probes or traps: probe one of its callers",
    DataTooLarge => "the data of a return probe is larger than allowed: keep it elsewhere",
    NotRegistered => "the probe is not registered: register it first",
    AddressTaken => "the address has an entry in the table: join it, or replace it",
    TooFar => "a relative jump or call cannot span the distance",
    CodeTooLong => "the machine code is longer than its buffer",
    TruncatedInsn => "the bytes end inside an instruction: give more of them",
    InvalidInsn => "the bytes are no instruction: give an address where one starts",
    UnreadableText => "the text cannot be read: give an address in a function that is loaded",
    NotABoundary => "no instruction starts at the address: give one where one does",
    AlwaysTraps => "the instruction always traps: probe one that the kernel runs through",
    ForcedEmulation => "the bytes ask a hypervisor to emulate what follows: probe after them",
    DelaysTraps =>
        "the instruction holds back traps until after the next one: probe before or after it",
    FarBranch => "the instruction leads to another code segment: probe before or after it",
    InterruptReturn => "the instruction returns from an interrupt: probe before it",
    SystemCall => "the instruction enters or leaves a system call: probe before it",
    WorldSwitch =>
        "the instruction enters or leaves a guest, or firmware: probe before or after it",
    Transaction => "a hit inside a transaction or exclusive access aborts it: probe outside",
    Waits =>
        "the instruction waits for an interrupt, which cannot come while a probe is handled: \
         probe before or after it",
    LetsNextWait =>
        "the next instruction waits for an interrupt, and this one makes sure that none comes \
         between: probe before both or after",
    ChangesCpuBase =>
        "the instruction moves the data of the CPU, which is needed to handle a probe: probe \
         before or after it",
    ChangesVectors =>
        "the instruction changes where traps go, and one would come next: probe before or after \
         it",
    OperandSize =>
        "the instruction has an operand-size prefix, by which it is not emulated, or CPUs do \
         not agree on what it does: drop the prefix",
    UnsavedRegister =>
        "the instruction uses a register that a trap does not save: probe before or after it",
    BoundToPlace => "the instruction works at its own address only: probe before or after it",
    NotText => "the address is no text of the kernel or of a module: give one in a function",
    ModuleComing =>
        "the module is still being loaded: try again",
    ModuleGoing =>
        "the module is being unloaded: probe it when it is loaded again",
    InitTextFreed =>
        "init text of the kernel or a module, which has been freed: probe it earlier",
    CallCheck =>
        "the instruction is part of the check of an indirect call, which is read when it fails: \
         probe before or after the check",
    Reserved =>
        "the kernel changes the text (a jump label, a static call), or traps there (BUG, WARN): \
         probe before or after it",
    Preamble =>
        "the bytes before a function are not executed, but read by its callers: probe the function",
    FtraceOnly =>
        "only ftrace may change the text, and this kernel has no probes through ftrace: probe \
         after it",
    Ftrace(i32) =>
        "ftrace refuses: if it is busy, another user, such as a livepatch, changes where the \
         function continues; remove the post handler, or that user",
    AlreadyRegistered => "the probe is registered already: unregister it first",
    Gone => "the probed text has been freed: unregister the probe",
    HandlerIsNoFunction =>
        "the handler of the jprobe is not where a function starts: give one with the signature of \
         the probed function",
    SecondJprobe =>
        "the address has a jprobe already, and there can be one: unregister that, or take a kprobe",
    NoMemory => "no memory is left: free some",
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_refusal))]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_a_text() {
        let text = Refusal::EmptyBatch.text();
        assert_eq!(text, c"there are no probes: pass a count above zero");
        // One that is longer than a line here, and one with a value.
        let text = Refusal::Waits.text().to_bytes();
        assert!(
            text.ends_with(b"which cannot come while a probe is handled: probe before or after it")
        );
        assert!(Refusal::Ftrace(-16)
            .text()
            .to_bytes()
            .starts_with(b"ftrace refuses"));
    }
}

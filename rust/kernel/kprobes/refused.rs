// SPDX-License-Identifier: GPL-2.0

//! The reasons why a probe could not be registered.
//!
//! C refuses with an errno, which many reasons share. The reason is found afterwards, from the
//! errno and from the kernel's facts about the place.

use super::{
    Place,
    Takes, //
};
use crate::{
    alloc::AllocError,
    bindings,
    error::{
        code,
        to_result, //
    },
    fmt,
    prelude::*, //
};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident => $text:literal,)*) => {
        /// Reasons for a refusal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[doc = $doc])* $name,)*
        }

        impl Reason {
            /// Returns the reason in words, and what to do.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

// The words are the same as in `rust/kprobes/model/refusal.rs` for a reason that it has, too.
reasons! {
    /// No symbol has that name. The function may be inlined, or its module may not be loaded.
    UnknownSymbol =>
        "the symbol is in neither the kernel nor a loaded module: check its name, load the \
         module, or probe its caller if it is inlined",
    /// The name has bytes that no symbol has.
    BadName => "the name has bytes that no symbol has: check it",
    /// The address has no code.
    NotText => "the address is no text of the kernel or of a module: give one in a function",
    /// The address is not a function's entry, which a probe of an entry or of a return needs.
    NotAnEntry => "the address is inside a function and not at its entry: drop the offset",
    /// The function has fewer or more arguments than the handler, or some of another size, by the
    /// kernel's BTF.
    OtherArguments =>
        "the function has other arguments than the handler, in number or size: take those of its \
         declaration, or say `_: ...` behind the first ones",
    /// The function may not be skipped for an errno: the kernel's error-injection list does not
    /// have it, or has it with another error value, or it is a system call that ends a task. An
    /// [`InjectionProbe`](super::InjectionProbe) needs a function that is marked by
    /// `ALLOW_ERROR_INJECTION()` with `ERRNO` or `ERRNO_NULL`.
    NotInjectable =>
        "the function ends a task, or is not marked as one that may return an errno at once: \
         probe one that `error_injection/list` of debugfs has with ERRNO or ERRNO_NULL, or mark it \
         by ALLOW_ERROR_INJECTION()",
    /// Kprobes, or the callers of kprobes, need this function.
    Blacklisted =>
        "the function belongs to the handling of probes or traps: probe one of its callers",
    /// Another part of the kernel changes or reads the code: a jump label, a static call, a
    /// `WARN()`, the preamble of a function.
    Reserved =>
        "the kernel changes the text (a jump label, a static call), or traps there (BUG, WARN): \
         probe before or after it",
    /// The address is in the middle of an instruction, or has no instruction at all.
    NotAnInstruction => "no instruction starts at the address: give one where one does",
    /// The instruction can neither be executed elsewhere nor be emulated.
    Immovable => "the instruction works at its own address only: probe before or after it",
    /// The text will be freed: its module is unloaded, or it is init text.
    TextGoes =>
        "the text goes with its module, or was for the beginning of the kernel or its module: \
         probe it earlier, or when it is loaded again",
    /// Other code has taken the function, such as a live patch.
    Taken =>
        "ftrace refuses: if it is busy, another user, such as a livepatch, changes where the \
         function continues; remove the post handler, or that user",
    /// Memory is short.
    NoMemory => "no memory is left: free some",
    /// The client's state could not be made.
    NoState => "the client's state could not be made: see its initializer, whose errno this is",
    /// The caller must not sleep: it is a handler, holds a spinlock, or the like.
    MayNotWait =>
        "the caller must not wait (a handler, a spinlock, interrupts off): leave it to a task, \
         such as that of a work item",
    /// The text of the probe was freed, and the probe will not be hit again.
    Gone => "the probed text has been freed: unregister the probe",
    /// Another reason, of which only the errno is known.
    Other =>
        "the errno is all that is known here: with CONFIG_RUST_KPROBES see `kprobes/refused` of \
         debugfs",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A reason, and the errno of the code that has refused.
///
/// # Examples
///
/// ```
/// use kernel::{
///     kprobes::{
///         query,
///         Place,
///         ProcessContext,
///         Reason, //
///     },
///     prelude::*, //
/// };
///
/// let here = ProcessContext::here()?;
/// let refused = query(&here, Place::symbol(c"no_such_function")).unwrap_err();
/// assert_eq!(refused.reason(), Reason::UnknownSymbol);
/// assert_eq!(Error::from(refused), ENOENT);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refused {
    reason: Reason,
    error: Error,
}

impl Refused {
    /// Returns the reason.
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns the errno.
    pub fn errno(&self) -> c_int {
        self.error.to_errno()
    }

    /// Makes a refusal of this crate, not of C.
    pub(super) fn because(reason: Reason) -> Self {
        let error = match reason {
            Reason::MayNotWait => code::EDEADLK,
            Reason::NoMemory => code::ENOMEM,
            _ => code::EINVAL,
        };
        Self { reason, error }
    }

    pub(super) fn with(reason: Reason, error: Error) -> Self {
        Self { reason, error }
    }

    /// Makes a refusal from `error` alone.
    pub(super) fn of(error: Error) -> Self {
        let reason = match error {
            code::ENOMEM => Reason::NoMemory,
            code::EBUSY => Reason::Taken,
            code::EILSEQ => Reason::NotAnInstruction,
            code::EOPNOTSUPP => Reason::Immovable,
            _ => Reason::Other,
        };
        Self { reason, error }
    }

    /// Finds the reason of `error`, which C has returned for a probe at `place`. With `at_entry`,
    /// the probe must be on a function's entry.
    pub(super) fn explain(place: &Place<'_>, at_entry: bool, error: Error) -> Self {
        let Ok(name) = place.name() else {
            return Self::with(Reason::Other, error);
        };
        let mut probe = pin_init::zeroed::<bindings::kprobe>();
        place.write_to(name.as_deref(), &mut probe);
        let reason = match error {
            code::ENOENT => text_of(&probe).map_or(Reason::UnknownSymbol, |at| {
                if is_text(at) {
                    Reason::TextGoes
                } else {
                    Reason::NotText
                }
            }),
            code::EINVAL => {
                text_of(&probe).map_or(Reason::Other, |at| invalid(at, &probe, at_entry))
            }
            _ => return Self::of(error),
        };
        Self { reason, error }
    }
}

/// Returns why C refuses the place `at` as invalid.
fn invalid(at: usize, probe: &bindings::kprobe, at_entry: bool) -> Reason {
    if !is_text(at) {
        Reason::NotText
    // SAFETY: The function takes any address.
    } else if unsafe { bindings::within_kprobe_blacklist(at) } {
        Reason::Blacklisted
    } else if at_entry && entry(probe).is_err() {
        Reason::NotAnEntry
    // SAFETY: The function takes any address.
    } else if unsafe { bindings::rust_kprobes_is_reserved(at) } {
        Reason::Reserved
    } else {
        Reason::Other
    }
}

/// Refuses a probe that is not on a function's entry, before C is called: C checks that for return
/// probes only.
pub(super) fn unless_entry(probe: &bindings::kprobe) -> Result<(), Refused> {
    match entry(probe) {
        Ok(()) => Ok(()),
        Err(error) => Err(Refused::with(
            match text_of(probe) {
                None => Reason::UnknownSymbol,
                Some(at) if !is_text(at) => Reason::NotText,
                Some(_) => Reason::NotAnEntry,
            },
            error,
        )),
    }
}

/// Refuses a probe if the function is known to have other arguments than its handler takes.
//
// Not inlined into modules: the C function is not exported.
#[inline(never)]
pub(super) fn unless_given(probe: &bindings::kprobe, takes: Takes) -> Result<(), Refused> {
    /// The most arguments that are compared. No function should have more.
    const ROOM: usize = 16;
    let Some(at) = text_of(probe).filter(|_| !matches!(takes, Takes::ByHand)) else {
        return Ok(());
    };
    let mut sizes = [0; ROOM];
    // SAFETY: The function takes any address, and `sizes` has `ROOM` elements.
    let known = unsafe { bindings::rust_kprobes_parameters(at, sizes.as_mut_ptr(), ROOM as u32) };
    match usize::try_from(known) {
        Ok(count) if !takes.fits(count, &sizes) => Err(Refused::because(Reason::OtherArguments)),
        _ => Ok(()),
    }
}

/// Refuses a function that is not known to return an errno when it is skipped. A probe is
/// registered at `at`, so the result stays true for this probe: if the text is freed with its
/// module, the probe is not hit any more, whatever text is at the address later.
//
// Not inlined into modules: the C function is not exported.
#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
#[inline(never)]
pub(super) fn unless_injectable(at: usize) -> Result<(), Refused> {
    let mut probe = pin_init::zeroed::<bindings::kprobe>();
    Place::address(at).write_to(None, &mut probe);
    // The list has whole functions only.
    unless_entry(&probe)?;
    // SAFETY: Both functions take any address. The second one may sleep, as its callers register
    // a probe.
    let (ends_task, error_type) = unsafe {
        let ends_task = bindings::rust_kprobes_ends_task(at);
        (ends_task, bindings::get_injectable_error_type(at))
    };
    match u32::try_from(error_type) {
        Ok(bindings::EI_ETYPE_ERRNO | bindings::EI_ETYPE_ERRNO_NULL) if !ends_task => Ok(()),
        _ => Err(Refused::because(Reason::NotInjectable)),
    }
}

fn is_text(at: usize) -> bool {
    // SAFETY: The function takes any address.
    unsafe { bindings::kernel_text_address(at) != 0 }
}

/// Checks that the probe is on a function's entry.
fn entry(probe: &bindings::kprobe) -> Result {
    // SAFETY: The name is NULL or a string; the address is not dereferenced.
    to_result(unsafe {
        bindings::kprobe_on_func_entry(probe.addr, probe.symbol_name, probe.offset as usize)
    })
}

/// Returns the address of `probe`, or `None` if its symbol is unknown.
fn text_of(probe: &bindings::kprobe) -> Option<usize> {
    let base = if probe.symbol_name.is_null() {
        Some(probe.addr)
    } else {
        // SAFETY: The name is a string, as it is not NULL.
        let found = unsafe { bindings::kprobe_lookup_name(probe.symbol_name, 0) };
        (!found.is_null()).then_some(found)
    };
    base.map(|base| base.addr().wrapping_add(probe.offset as usize))
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

impl From<AllocError> for Refused {
    fn from(_: AllocError) -> Self {
        Self::because(Reason::NoMemory)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!("{} ({})", self.reason, self.errno()))
    }
}

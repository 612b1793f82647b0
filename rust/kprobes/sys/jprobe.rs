// SPDX-License-Identifier: GPL-2.0

//! A client's jprobe: C's `struct jprobe`, with a Rust type for each field.
//!
//! A jprobe begins with a [`Probe`] on the entry of the function. The rules for the memory of a
//! probe hold for the whole jprobe.

use super::probe::Probe;
use crate::sys::prelude::*;
use core::{
    cell::Cell,
    mem::offset_of, //
};

/// `struct jprobe`.
#[repr(C)]
pub(crate) struct Jprobe {
    entry: Probe,
    handler: Cell<*mut c_void>,
}

const _: () = assert!(offset_of!(Jprobe, entry) == offset_of!(bindings::jprobe, kp));
const _: () = assert!(offset_of!(Jprobe, handler) == offset_of!(bindings::jprobe, entry));
const _: () = assert!(size_of::<Jprobe>() == size_of::<bindings::jprobe>());

impl Jprobe {
    /// The jprobes that C passes.
    ///
    /// # Safety
    ///
    /// As for [`Probe::from_c`].
    pub(crate) unsafe fn from_c<'a>(
        probes: *const *mut bindings::jprobe,
        count: usize,
    ) -> &'a [Option<&'static Self>] {
        // SAFETY: The layouts are the same, as asserted above, and NULL is `None`. The fields that
        // change are atomics, or cells that the client does not change during the call, as the
        // precondition says.
        unsafe { core::slice::from_raw_parts(probes.cast(), count) }
    }

    /// The same jprobes, as the probes on the entries of their functions.
    pub(crate) fn entries<'a>(probes: &'a [Option<&'static Self>]) -> &'a [Option<&'static Probe>] {
        // SAFETY: Each jprobe begins with the probe on its entry, so both have the same address.
        unsafe { core::slice::from_raw_parts(probes.as_ptr().cast(), probes.len()) }
    }

    /// The probe on the entry of the function.
    pub(crate) fn entry(&self) -> &Probe {
        &self.entry
    }

    /// The address of the handler.
    pub(crate) fn handler(&self) -> TextAddr {
        TextAddr::new(self.handler.get().addr() as u64)
    }
}

impl Probe {
    /// The jprobe that this probe is the entry of.
    pub(crate) fn jprobe(&self) -> Option<&Jprobe> {
        // SAFETY: Only entries of jprobes have this handler, and a jprobe begins with its entry.
        self.is_jprobe().then(|| unsafe { &*self.as_c().cast() })
    }
}

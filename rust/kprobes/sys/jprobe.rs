// SPDX-License-Identifier: GPL-2.0

//! A client's jprobe: C's `struct jprobe`, with a Rust type for each field.
//!
//! A jprobe begins with a [`Probe`] on the entry of the function. The rules for the memory of a
//! probe hold for the whole jprobe.

use super::probe::Probe;
use crate::sys::prelude::*;
use core::cell::Cell;

/// `struct jprobe`.
#[repr(C)]
pub(crate) struct Jprobe {
    entry: Probe,
    handler: Cell<*mut c_void>,
}

#[cfg(CONFIG_RUST_KPROBES_JPROBES)]
super::probe::assert_same_layout!(Jprobe, bindings::jprobe: entry = kp, handler = entry);

// SAFETY: The layout is asserted above, and a jprobe begins with the probe on its entry. The client
// changes no cell while the jprobe is registered.
#[cfg(CONFIG_RUST_KPROBES_JPROBES)]
unsafe impl super::probe::ClientStruct for Jprobe {
    type C = bindings::jprobe;
}

impl Jprobe {
    /// Returns the probe on the entry of the function.
    pub(crate) fn entry_probe(&self) -> &Probe {
        &self.entry
    }

    /// Returns the address of the handler.
    pub(crate) fn handler(&self) -> TextAddr {
        TextAddr::new(self.handler.get().addr() as u64)
    }
}

impl Probe {
    /// Returns the jprobe that this probe is the entry of.
    pub(crate) fn jprobe(&self) -> Option<&Jprobe> {
        // SAFETY: Only entries of jprobes have this handler, unless a client copies one, which it
        // must not. A jprobe begins with its entry.
        self.is_jprobe().then(|| unsafe { &*self.as_c().cast() })
    }
}

// SPDX-License-Identifier: GPL-2.0

//! The x86 CPU that probing runs on.
//!
//! C keeps the probe being handled in the per-CPU variables `current_kprobe` and `kprobe_ctlblk`.
//! One instruction with a `%gs` prefix reads or writes them, so nothing is called and there is no
//! point in between where the task could move to another CPU.

use super::isa::X86;
use crate::{
    contract::Machine,
    model::addr::{
        TextAddr,
        TextRange, //
    },
    sys::preempt::Pinned,
};
use core::{
    arch::asm,
    mem::offset_of, //
};
use kernel::bindings;

// SAFETY: Both functions write by `write_current` and `write_status` only, which write what their
// names say.
unsafe impl Machine for X86 {
    type Probe = bindings::kprobe;
    type Pinned = Pinned;

    #[cfg(CONFIG_X86_KERNEL_IBT)]
    fn marked(function: TextAddr) -> bool {
        let at = core::ptr::with_exposed_provenance_mut(function.get() as usize);
        // SAFETY: The function checks that it may read there.
        unsafe { bindings::is_endbr(at) }
    }

    #[cfg(not(CONFIG_X86_KERNEL_IBT))]
    fn marked(_function: TextAddr) -> bool {
        false
    }

    /// The way from user space, traps and interrupts into C.
    fn reserves(at: TextAddr) -> bool {
        let start = &raw const bindings::__entry_text_start;
        let end = &raw const bindings::__entry_text_end;
        TextRange::new(
            TextAddr::new(start.addr() as u64),
            TextAddr::new(end.addr() as u64),
        )
        .contains(at)
    }

    fn occupy(probe: &'static bindings::kprobe, _pinned: &Pinned) {
        write_current(Some(probe));
        write_status(bindings::KPROBE_HIT_ACTIVE as usize);
    }

    fn vacate(_pinned: &Pinned) {
        write_current(None);
    }
}

fn write_current(probe: Option<&'static bindings::kprobe>) {
    // SAFETY: Writes this CPU's `current_kprobe`, which is as wide as a pointer; C takes NULL or
    // a probe that lives, and this one does forever.
    unsafe {
        asm!("movq {probe}, %gs:{word}(%rip)",
            probe = in(reg) probe.map_or(core::ptr::null(), core::ptr::from_ref),
            word = sym bindings::current_kprobe,
            options(att_syntax, nostack, preserves_flags));
    }
}

fn write_status(status: usize) {
    // SAFETY: Writes the status in this CPU's `kprobe_ctlblk`, a word of any value.
    unsafe {
        asm!("movq {status}, %gs:{block}+{offset}(%rip)", status = in(reg) status,
            block = sym bindings::kprobe_ctlblk,
            offset = const offset_of!(bindings::kprobe_ctlblk, kprobe_status),
            options(att_syntax, nostack, preserves_flags));
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_x86_machine)]
mod tests {
    use super::*;
    use crate::sys::this_cpu;

    fn running() -> *const bindings::kprobe {
        // SAFETY: Only reads this CPU's word, and the caller stays on the CPU.
        unsafe { bindings::rust_kprobes_test_running() }
    }

    #[test]
    fn c_sees_who_occupies_the_cpu() {
        let pinned = Pinned::new();
        let before = running();
        X86::occupy(this_cpu::nobody(), &pinned);
        let during = running();
        X86::vacate(&pinned);
        let after = running();
        drop(pinned);

        assert!(before.is_null());
        assert!(core::ptr::eq(during, this_cpu::nobody()));
        assert!(after.is_null());
    }

    #[test]
    fn busy_times_end_with_the_cpu_free() {
        // SAFETY: May be called from any context.
        unsafe { bindings::kprobe_busy_begin() };
        let during = running();
        // SAFETY: Follows `kprobe_busy_begin`.
        unsafe { bindings::kprobe_busy_end() };

        let pinned = Pinned::new();
        let after = running();
        drop(pinned);
        assert!(core::ptr::eq(during, this_cpu::nobody()));
        assert!(after.is_null());
    }

    #[test]
    fn entry_text_is_reserved() {
        let entry = &raw const bindings::__entry_text_start;
        assert!(X86::reserves(TextAddr::new(entry.addr() as u64)));
        assert!(!X86::reserves(TextAddr::new(16)));
    }
}

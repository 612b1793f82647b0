// SPDX-License-Identifier: GPL-2.0

//! The registers that a trap has saved, as [`Regs`] for the emulation.
//!
//! The entry code of breakpoints leaves a gap between the interrupted stack and the saved
//! registers, which has room for the word that an emulated instruction pushes.

use super::isa::{
    insn::Segment,
    regs::{
        flag,
        Regs, //
    }, //
};
use core::arch::asm;
use kernel::bindings;

/// The registers that a trap has saved.
#[repr(transparent)]
pub(super) struct SavedRegs(bindings::pt_regs);

/// A general register by its number in encodings: its value, or a borrow of it.
macro_rules! general {
    ($registers:expr, $number:expr, $($borrow:tt)*) => {
        match $number & 15 {
            0 => $($borrow)* $registers.ax,
            1 => $($borrow)* $registers.cx,
            2 => $($borrow)* $registers.dx,
            3 => $($borrow)* $registers.bx,
            4 => $($borrow)* $registers.sp,
            5 => $($borrow)* $registers.bp,
            6 => $($borrow)* $registers.si,
            7 => $($borrow)* $registers.di,
            8 => $($borrow)* $registers.r8,
            9 => $($borrow)* $registers.r9,
            10 => $($borrow)* $registers.r10,
            11 => $($borrow)* $registers.r11,
            12 => $($borrow)* $registers.r12,
            13 => $($borrow)* $registers.r13,
            14 => $($borrow)* $registers.r14,
            _ => $($borrow)* $registers.r15,
        }
    };
}

impl SavedRegs {
    /// Returns the registers as the type that emulation uses.
    ///
    /// # Safety
    ///
    /// A breakpoint of this CPU has saved the registers, and `sp` leads to the interrupted stack,
    /// with a gap below it.
    #[inline(always)]
    pub(super) unsafe fn of(registers: &mut bindings::pt_regs) -> &mut Self {
        // SAFETY: The type is transparent.
        unsafe { &mut *core::ptr::from_mut(registers).cast() }
    }
}

impl Regs for SavedRegs {
    fn register(&self, number: u8) -> u64 {
        general!(self.0, number,) as u64
    }

    fn set_register(&mut self, number: u8, value: u64) {
        *general!(self.0, number, &mut) = value as usize;
    }

    fn flags(&self) -> u64 {
        self.0.flags as u64
    }

    fn set_flags(&mut self, flags: u64) {
        self.0.flags = flags as usize;
    }

    fn set_ip(&mut self, ip: u64) {
        self.0.ip = ip as usize;
    }

    fn load(&self, at: u64) -> Option<u64> {
        let mut word = 0usize;
        let from = core::ptr::with_exposed_provenance(at as usize);
        // With this flag, SMAP lets the kernel read user memory.
        let lifted = self.flags() & flag::AC != 0;
        // SAFETY: The function may read any address: it handles the fault.
        unsafe { bindings::rust_kprobes_copy_nofault(&mut word, from, lifted) }
            .then_some(word as u64)
    }

    fn push(&mut self, value: u64) {
        self.0.sp = self.0.sp.wrapping_sub(8);
        let to = core::ptr::with_exposed_provenance_mut::<u64>(self.0.sp);
        // SAFETY: The word is in the gap on the stack, by the precondition of `of`.
        unsafe { to.write(value) };
    }

    fn pop(&mut self) -> u64 {
        let from = core::ptr::with_exposed_provenance::<u64>(self.0.sp);
        self.0.sp = self.0.sp.wrapping_add(8);
        // SAFETY: The word is on the stack, by the precondition of `of`.
        unsafe { from.read() }
    }

    fn has_five_levels(&self) -> bool {
        // SAFETY: The function only asks which features the CPU has.
        unsafe { bindings::rust_kprobes_has_five_levels() }
    }

    fn segment_base(&self, segment: Segment) -> u64 {
        match segment {
            Segment::Gs => per_cpu_base(),
            Segment::Fs => fs_base(),
        }
    }
}

/// Returns the address of the return address on the stack of the return probes' trampoline. It
/// follows the saved registers and, with frame pointers, the saved frame pointer.
#[cfg(CONFIG_KRETPROBES)]
#[inline(always)]
pub(super) fn return_address(saved: *mut bindings::pt_regs) -> *mut usize {
    let after = saved.wrapping_add(1).cast::<usize>();
    after.wrapping_add(usize::from(cfg!(CONFIG_FRAME_POINTER)))
}

/// The distance of this CPU's data from the linker's addresses; in the kernel, the base of GS.
#[cfg(CONFIG_SMP)]
#[inline(always)]
fn per_cpu_base() -> u64 {
    let base;
    // SAFETY: Reads a word of this CPU's.
    unsafe {
        asm!("movq %gs:{base}(%rip), {at}",
            at = out(reg) base,
            base = sym bindings::this_cpu_off,
            options(att_syntax, nostack, preserves_flags, readonly));
    }
    base
}

/// The distance of this CPU's data from the linker's addresses.
#[cfg(not(CONFIG_SMP))]
fn per_cpu_base() -> u64 {
    0
}

/// The base of FS, which is the task's.
fn fs_base() -> u64 {
    const MSR_FS_BASE: u32 = 0xc000_0100;
    let (high, low): (u32, u32);
    // SAFETY: Every CPU in 64-bit mode has this register.
    unsafe {
        asm!("rdmsr",
            in("ecx") MSR_FS_BASE,
            out("eax") low,
            out("edx") high,
            options(att_syntax, nostack, preserves_flags, nomem));
    }
    u64::from(high) << 32 | u64::from(low)
}

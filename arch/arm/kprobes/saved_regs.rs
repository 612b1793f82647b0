// SPDX-License-Identifier: GPL-2.0

//! The registers that an exception has saved, and the memory, as emulation uses them.

use super::isa::emulate::Regs;
use kernel::bindings;

/// The numbers of registers in `pt_regs`.
pub(super) const SP: usize = 13;
pub(super) const LR: usize = 14;
pub(super) const PC: usize = 15;
const PSR: usize = 16;

/// Returns CPSR.
#[inline(always)]
pub(super) fn psr(registers: &bindings::pt_regs) -> u32 {
    registers.uregs[PSR] as u32
}

/// Changes CPSR.
#[inline(always)]
pub(super) fn set_psr(registers: &mut bindings::pt_regs, psr: u32) {
    registers.uregs[PSR] = psr as usize;
}

/// The interrupted code.
pub(super) struct Interrupted<'a> {
    pub(super) registers: &'a mut bindings::pt_regs,
    /// Whether a load may fault: the instruction has no copy that would fault in place of the
    /// emulation.
    pub(super) faults: bool,
}

impl Regs for Interrupted<'_> {
    #[inline(always)]
    fn register(&self, number: u8) -> u32 {
        let value = self.registers.uregs.get(usize::from(number));
        value.map_or(0, |&value| value as u32)
    }

    #[inline(always)]
    fn set_register(&mut self, number: u8, value: u32) {
        if let Some(register) = self.registers.uregs.get_mut(usize::from(number)) {
            *register = value as usize;
        }
    }

    #[inline(always)]
    fn psr(&self) -> u32 {
        psr(self.registers)
    }

    #[inline(always)]
    fn set_psr(&mut self, psr: u32) {
        set_psr(self.registers, psr);
    }

    #[inline]
    fn load(&self, at: u32, size: u8) -> Option<u32> {
        if self.faults {
            // SAFETY: The interrupted code was about to read this memory.
            return Some(unsafe { bindings::rust_kprobes_read(at as usize, size) });
        }
        if at & u32::from(size).wrapping_sub(1) != 0 {
            return None;
        }
        let mut word = 0;
        // SAFETY: The function reads memory only if that is there.
        let is_there =
            unsafe { bindings::rust_kprobes_try_word(&mut word, (at & !3) as usize, false) };
        // Both numbers of bits count modulo 32.
        let (below, above) = (at << 3, u32::from(size).wrapping_neg() << 3);
        is_there.then_some(word.wrapping_shr(below) & u32::MAX.wrapping_shr(above))
    }

    #[inline]
    fn store(&mut self, at: u32, mut value: u32) -> Option<()> {
        if self.faults {
            let to = core::ptr::with_exposed_provenance_mut::<u32>(at as usize);
            // SAFETY: As below. The kernel takes a fault.
            unsafe { to.write_unaligned(value) };
            return Some(());
        }
        // SAFETY: The interrupted code was about to write this memory. The entry of the exception
        // leaves 64 bytes below the stack of that code free.
        unsafe { bindings::rust_kprobes_try_word(&mut value, at as usize, true) }.then_some(())
    }
}

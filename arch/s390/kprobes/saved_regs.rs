// SPDX-License-Identifier: GPL-2.0

//! The registers that an interruption has saved: C's `struct pt_regs`, without its unions.

use super::isa::branch::Regs;
use core::mem::offset_of;
use kernel::bindings;

/// The registers that an interruption has saved.
#[repr(C)]
pub(super) struct SavedRegs {
    args: usize,
    /// The first half of the PSW.
    pub(super) mask: usize,
    /// The second half of the PSW: the address at which the CPU continues.
    pub(super) ip: usize,
    /// The general registers.
    pub(super) gprs: [usize; 16],
    orig_gpr2: usize,
    /// The length of the instruction, and the code of the interruption.
    int_code: u32,
    int_parm: u32,
    int_parm_long: usize,
    flags: usize,
    last_break: usize,
    cpu: u32,
    /// The register that a per-CPU section adds this CPU's offset to, or zero.
    pub(super) percpu_register: u8,
}

const _: () = assert!(size_of::<SavedRegs>() == size_of::<bindings::pt_regs>());
const _: () = assert!(
    offset_of!(SavedRegs, percpu_register) == offset_of!(bindings::pt_regs, percpu_register)
        && offset_of!(SavedRegs, last_break) == offset_of!(bindings::pt_regs, last_break)
        && offset_of!(SavedRegs, flags) == offset_of!(bindings::pt_regs, flags)
);

impl SavedRegs {
    /// Returns the registers as this type.
    #[inline(always)]
    pub(super) fn of(registers: &bindings::pt_regs) -> &Self {
        // SAFETY: The layouts are the same, as asserted above, and each value is valid.
        unsafe { &*core::ptr::from_ref(registers).cast() }
    }

    /// Returns the registers as this type, to be changed.
    #[inline(always)]
    pub(super) fn of_mut(registers: &mut bindings::pt_regs) -> &mut Self {
        // SAFETY: As in `of`.
        unsafe { &mut *core::ptr::from_mut(registers).cast() }
    }

    /// Returns the code of the program interruption that has saved the registers, without the bits
    /// of PER and transactions, and the length of the instruction.
    #[inline(always)]
    pub(super) fn interruption(&self) -> (u32, u32) {
        (
            self.int_code & bindings::PGM_INT_CODE_MASK,
            self.int_code >> 16,
        )
    }

    /// Emulates an instruction that reads or writes the system mask, the first byte of the PSW:
    /// SSM, STNSM and STOSM, or EPSW. Returns false if an access to memory would fault. Then
    /// nothing was changed.
    pub(super) fn system_mask(&mut self, [opcode, operand, base, last]: [u8; 4]) -> bool {
        let disp = u64::from(u16::from_be_bytes([base & 15, last]));
        let base = base.wrapping_shr(4);
        let base = if base == 0 { 0 } else { self.gpr(base) };
        let at = core::ptr::with_exposed_provenance_mut::<u8>(base.wrapping_add(disp) as usize);
        let [mut system, a, b, c, d, e, f, g] = self.mask.to_be_bytes();
        let (to, from) = match opcode {
            0x80 => (&raw mut system, at),
            0xac | 0xad => (at, &raw mut system),
            _ => {
                self.extract(last.wrapping_shr(4), last & 15);
                return true;
            }
        };
        // SAFETY: One of the two is a local variable, and the interrupted code was about to access
        // the other one. The function handles a fault.
        let copied = unsafe { bindings::rust_kprobes_copy_nofault(to.cast(), from.cast(), false) };
        if copied {
            let new = match opcode {
                0xac => system & operand,
                0xad => system | operand,
                _ => system,
            };
            self.mask = usize::from_be_bytes([new, a, b, c, d, e, f, g]);
        }
        copied
    }

    /// Emulates EPSW: writes the two words of the mask to the lower halves of two registers.
    fn extract(&mut self, first: u8, second: u8) {
        let mask = self.mask as u64;
        let mut set = |register, word: u64| {
            let upper = self.gpr(register) & !u64::from(u32::MAX);
            self.set_gpr(register, upper | word);
        };
        set(first, mask >> u32::BITS);
        if second != 0 {
            set(second, mask & u64::from(u32::MAX));
        }
    }
}

impl Regs for SavedRegs {
    #[inline(always)]
    fn gpr(&self, number: u8) -> u64 {
        let value = self.gprs.get(usize::from(number));
        value.map_or(0, |&value| value as u64)
    }

    #[inline(always)]
    fn set_gpr(&mut self, number: u8, value: u64) {
        if let Some(register) = self.gprs.get_mut(usize::from(number)) {
            *register = value as usize;
        }
    }

    #[inline(always)]
    fn cc(&self) -> u8 {
        self.mask.wrapping_shr(44) as u8 & 3
    }

    fn load(&self, at: u64) -> Option<u64> {
        let mut word = 0_u64;
        let from = core::ptr::with_exposed_provenance(at as usize);
        // SAFETY: The function writes to a local variable. It may read any address: it handles a
        // fault.
        let copied =
            unsafe { bindings::rust_kprobes_copy_nofault((&raw mut word).cast(), from, true) };
        copied.then_some(word)
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_s390_saved_regs)]
mod tests {
    use super::*;
    use crate::sys::preempt::PreemptOff;

    const MASK: usize = 0x0704_2001_8000_0000;
    /// Nothing is at this address.
    const NOWHERE: u64 = 0xffff_ffff_ffff_f000;

    /// Emulates an instruction with an address in %r1. Returns whether this worked, and the mask.
    fn emulate(insn: [u8; 4], at: u64) -> (bool, usize) {
        // SAFETY: Numbers.
        let mut registers: bindings::pt_regs = unsafe { core::mem::zeroed() };
        let regs = SavedRegs::of_mut(&mut registers);
        (regs.mask, regs.gprs[1]) = (MASK, at as usize);
        let no_preempt = PreemptOff::new();
        let done = regs.system_mask(insn);
        drop(no_preempt);
        (done, regs.mask)
    }

    #[test]
    fn system_mask_is_stored_and_changed() {
        let mut byte = 0_u8;
        let place = &raw mut byte;
        let at = place.expose_provenance() as u64;
        // SAFETY: Nothing else uses the byte meanwhile.
        let stored = || unsafe { place.read_volatile() };
        // stnsm 1(%r1),0xfc; stosm 0(%r1),0x03; ssm 0(%r1)
        let off = 0x0404_2001_8000_0000;
        assert_eq!(emulate([0xac, 0xfc, 0x10, 0x01], at - 1), (true, off));
        assert_eq!(stored(), 0x07);
        let on = 0x4704_2001_8000_0000;
        assert_eq!(emulate([0xad, 0x40, 0x10, 0x00], at), (true, on));
        assert_eq!(stored(), 0x07);
        // SAFETY: As above.
        unsafe { place.write_volatile(0x04) };
        assert_eq!(emulate([0x80, 0x00, 0x10, 0x00], at), (true, off));
    }

    #[test]
    fn missing_memory_leaves_the_system_mask_unchanged() {
        for insn in [0xac, 0xad, 0x80].map(|opcode| [opcode, 0x40, 0x10, 0x00]) {
            assert_eq!(emulate(insn, NOWHERE), (false, MASK));
        }
        // SAFETY: Numbers.
        let registers: bindings::pt_regs = unsafe { core::mem::zeroed() };
        let no_preempt = PreemptOff::new();
        let word = SavedRegs::of(&registers).load(NOWHERE);
        drop(no_preempt);
        assert_eq!(word, None);
    }
}

// SPDX-License-Identifier: GPL-2.0

//! Emulates branches.
//!
//! A copy of a relative branch or of a call would do something else at its other address, and a
//! copy that is stepped would leave for the branch's target without the trap after the copy. A
//! [`Branch`] is a test, which may change a register, and a target. The instruction becomes a
//! [`Branch`] when the probe is registered.
//!
//! Emulation runs in the trap of a hit: it calls only methods of [`Regs`], does not allocate and
//! cannot panic. It is for 64-bit addresses, where BAL and BALR do what BAS and BASR do.
//!
//! C counterpart: `resume_execution()` in
//! [`arch/s390/kernel/kprobes.c`](srctree/arch/s390/kernel/kprobes.c), which fixes the registers
//! after the CPU has executed a copy.

use super::insn::{
    Insn,
    Mnemonic::*, //
};
use crate::prelude::*;
use core::cmp::Ordering;

/// The state that a trap saved, and the memory that the interrupted code sees.
pub(crate) trait Regs {
    /// A general register.
    fn gpr(&self, number: u8) -> u64;
    /// Changes a general register.
    fn set_gpr(&mut self, number: u8, value: u64);
    /// The condition code, 0 to 3.
    fn cc(&self) -> u8;
    /// Reads eight bytes of kernel memory. `None` if a read would fault.
    fn load(&self, at: u64) -> Option<u64>;
}

/// A branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// The length of the instruction.
    len: u8,
    /// The register that the test is about, and which part of the register.
    register: u8,
    part: Part,
    test: Test,
    target: Target,
}

/// Whether the branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    /// If the mask has the bit of the condition code.
    Condition(u8),
    /// Always. The register becomes the address after the instruction.
    Link,
    /// If the register, minus one, is not zero.
    Count,
    /// If the register, plus the register with number `n`, is higher than the register with number
    /// `n | 1`.
    High(u8),
    /// If that sum is not higher.
    NotHigh(u8),
    /// If the mask has the bit of the comparison with another register.
    Compare(u8, u8),
    /// If the mask has the bit of the comparison with a number.
    CompareImmediate(i16, u8),
}

/// The part of a register that a branch uses, as a signed number unless the name says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Bits 32 to 63.
    Low,
    UnsignedLow,
    /// Bits 0 to 31.
    High,
    /// All bits.
    Whole,
    UnsignedWhole,
}

/// Where a branch leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// So many bytes from the start of the instruction.
    Relative(i64),
    /// The address in a register.
    Register(u8),
    /// The sum of a displacement and of up to two registers.
    Address(Address),
    /// The address that memory has at such a sum.
    Memory(Address),
}

/// The sum of a displacement and of the registers whose numbers are not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Address {
    base: u8,
    index: u8,
    displacement: i32,
}

impl Branch {
    /// The branch that `insn` is; `None` if the instruction is no branch.
    ///
    /// BPP and BPRP, which tell the CPU about branches to come, are branches that are never taken.
    pub(super) fn of(insn: &Insn) -> Option<Self> {
        let (first, second) = (insn.register(8), insn.register(12));
        let test = match insn.opcode.mnemonic {
            Bc | Bcr | Bic | Brc | Brcl => Test::Condition(first),
            Bpp | Bprp => Test::Condition(0),
            Bal | Balr | Bas | Basr | Bras | Brasl => Test::Link,
            Bct | Bctr | Bctg | Bctgr | Brct | Brctg | Brcth => Test::Count,
            Bxh | Bxhg | Brxh | Brxhg => Test::High(second),
            Bxle | Bxleg | Brxle | Brxlg => Test::NotHigh(second),
            Crb | Cgrb | Clrb | Clgrb | Crj | Cgrj | Clrj | Clgrj => {
                Test::Compare(second, insn.register(32))
            }
            Cib | Cgib | Cij | Cgij => Test::CompareImmediate(insn.signed(32, 8) as i16, second),
            Clib | Clgib | Clij | Clgij => Test::CompareImmediate(insn.bits(32, 8) as i16, second),
            _ => return None,
        };
        let part = match insn.opcode.mnemonic {
            Brcth => Part::High,
            Bctg | Bctgr | Brctg | Bxhg | Bxleg | Brxhg | Brxlg => Part::Whole,
            Cgrb | Cgrj | Cgib | Cgij => Part::Whole,
            Clrb | Clrj | Clib | Clij => Part::UnsignedLow,
            Clgrb | Clgrj | Clgib | Clgij => Part::UnsignedWhole,
            _ => Part::Low,
        };
        let len = insn.len() as u8;
        let register = |number| match number {
            // Register 0 means no branch.
            0 => Target::Relative(len.into()),
            _ => Target::Register(number),
        };
        let address = |index, displacement: i64| Address {
            base: insn.register(16),
            index,
            displacement: displacement as i32,
        };
        let (short, long) = (insn.bits(20, 12) as i64, insn.long_displacement());
        let target = match insn.opcode.mnemonic {
            Bcr | Balr | Basr | Bctr => register(second),
            Bctgr => register(insn.register(28)),
            Bc | Bal | Bas | Bct => Target::Address(address(second, short)),
            Bctg => Target::Address(address(second, long)),
            Bic => Target::Memory(address(second, long)),
            Bxhg | Bxleg => Target::Address(address(0, long)),
            Bxh | Bxle | Crb | Cgrb | Clrb | Clgrb | Cib | Cgib | Clib | Clgib => {
                Target::Address(address(0, short))
            }
            Brcl | Brasl | Brcth => Target::Relative(insn.signed(16, 32).wrapping_mul(2)),
            _ => Target::Relative(insn.signed(16, 16).wrapping_mul(2)),
        };
        Some(Self {
            len,
            register: match insn.opcode.mnemonic {
                Bctgr => insn.register(24),
                _ => first,
            },
            part,
            test,
            target,
        })
    }

    /// Emulates the branch at `at`, and returns the address where execution continues.
    ///
    /// `None` means that the address to branch to could not be read, and that nothing was changed.
    /// Only BIC reads memory.
    #[inline]
    pub(crate) fn run(&self, at: TextAddr, regs: &mut impl Regs) -> Option<TextAddr> {
        let next = at.get().wrapping_add(self.len.into());
        // The target is computed before the test changes a register.
        let target = match self.target {
            Target::Relative(distance) => at.get().wrapping_add(distance as u64),
            Target::Register(number) => regs.gpr(number),
            Target::Address(address) | Target::Memory(address) => address.sum(regs),
        };
        let to = match (self.is_taken(next, regs), self.target) {
            (false, _) => next,
            (true, Target::Memory(_)) => regs.load(target)?,
            (true, _) => target,
        };
        Some(TextAddr::new(to))
    }

    /// Changes the register that the test changes, and returns whether the branch is taken.
    #[inline]
    fn is_taken(&self, next: u64, regs: &mut impl Regs) -> bool {
        let (register, part) = (self.register, self.part);
        match self.test {
            Test::Condition(mask) => has(mask, regs.cc()),
            Test::Link => {
                regs.set_gpr(register, next);
                true
            }
            Test::Count => part.add(register, u64::MAX, regs) != 0,
            Test::High(by) | Test::NotHigh(by) => {
                let (step, limit) = (regs.gpr(by), part.of(regs.gpr(by | 1)));
                let high = part.add(register, step, regs) > limit;
                high == matches!(self.test, Test::High(_))
            }
            Test::Compare(number, mask) => part.compare(register, regs.gpr(number), mask, regs),
            Test::CompareImmediate(number, mask) => {
                part.compare(register, i64::from(number) as u64, mask, regs)
            }
        }
    }
}

impl Part {
    /// This part of a register. Of unsigned parts, the result keeps the order, not the value.
    #[inline]
    fn of(self, register: u64) -> i64 {
        match self {
            Self::Low => i64::from(register as i32),
            Self::UnsignedLow => i64::from(register as u32),
            Self::High => register as i64 >> 32,
            Self::Whole => register as i64,
            Self::UnsignedWhole => register as i64 ^ i64::MIN,
        }
    }

    /// Adds to this part of a register, and returns the sum.
    #[inline]
    fn add(self, number: u8, value: u64, regs: &mut impl Regs) -> i64 {
        let before = regs.gpr(number);
        let (mask, value) = match self {
            Self::Low | Self::UnsignedLow => (u64::from(u32::MAX), value),
            Self::High => (u64::MAX << 32, value << 32),
            Self::Whole | Self::UnsignedWhole => (u64::MAX, value),
        };
        let after = before & !mask | before.wrapping_add(value) & mask;
        regs.set_gpr(number, after);
        self.of(after)
    }

    /// Compares this part of a register with that of `other`. Returns whether the mask has the bit
    /// of the result.
    #[inline]
    fn compare(self, number: u8, other: u64, mask: u8, regs: &impl Regs) -> bool {
        let cc = match self.of(regs.gpr(number)).cmp(&self.of(other)) {
            Ordering::Equal => 0,
            Ordering::Less => 1,
            Ordering::Greater => 2,
        };
        has(mask, cc)
    }
}

impl Address {
    #[inline]
    fn sum(self, regs: &impl Regs) -> u64 {
        let register = |number| match number {
            0 => 0,
            _ => regs.gpr(number),
        };
        register(self.base)
            .wrapping_add(register(self.index))
            .wrapping_add(i64::from(self.displacement) as u64)
    }
}

/// Returns whether a mask of four bits has the bit of a condition code. The highest bit is code 0.
#[inline]
fn has(mask: u8, cc: u8) -> bool {
    mask & 8_u8.wrapping_shr(cc.into()) != 0
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_s390_branch))]
mod tests {
    use super::*;

    const AT: u64 = 0x3ff_8000_1000;
    /// The upper half of registers, which branches on 32 bits do not see.
    const UPPER: u64 = 0xabcd_ef01_0000_0000;
    const MINUS_1: u64 = u32::MAX as u64;

    /// Register `n` is `n << 8` at first.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Fake {
        gprs: [u64; 16],
        cc: u8,
        /// The only address that can be read, and what it has.
        memory: (u64, u64),
    }

    impl Fake {
        fn new() -> Self {
            Self {
                gprs: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15].map(|n| n << 8),
                cc: 0,
                memory: (1, 0),
            }
        }

        fn with(mut self, number: u8, value: u64) -> Self {
            self.set_gpr(number, value);
            self
        }

        /// Runs `bytes` at [`AT`], and returns where they lead from there.
        fn run(&mut self, bytes: &[u8]) -> Option<i64> {
            let branch = Branch::of(&Insn::decode(bytes).ok()?)?;
            let to = branch.run(TextAddr::new(AT), self)?;
            Some(to.get().wrapping_sub(AT) as i64)
        }

        /// Runs `bytes` at [`AT`], which branch to an address, and returns that address.
        fn run_to(&mut self, bytes: &[u8]) -> Option<u64> {
            let to = self.run(bytes)?;
            Some(AT.wrapping_add(to as u64))
        }
    }

    impl Regs for Fake {
        fn gpr(&self, number: u8) -> u64 {
            self.gprs[usize::from(number)]
        }
        fn set_gpr(&mut self, number: u8, value: u64) {
            self.gprs[usize::from(number)] = value;
        }
        fn cc(&self) -> u8 {
            self.cc
        }
        fn load(&self, at: u64) -> Option<u64> {
            (at == self.memory.0).then_some(self.memory.1)
        }
    }

    #[test]
    fn conditions_are_bits_of_the_mask() {
        for (mask, cc) in (0..16).flat_map(|mask| (0..4).map(move |cc| (mask, cc))) {
            let taken = mask >> (3 - cc) & 1 != 0;
            let mut regs = Fake::new();
            regs.cc = cc;
            regs.memory = (0x345, AT + 0x40);
            let before = regs.clone();
            let high = mask << 4;
            // brc 64; brcl 64
            let to = regs.run(&[0xa7, high | 4, 0, 0x20]);
            assert_eq!(to, Some(if taken { 64 } else { 4 }));
            let to = regs.run(&[0xc0, high | 4, 0, 0, 0, 0x20]);
            assert_eq!(to, Some(if taken { 64 } else { 6 }));
            // bc 0x123; bcr %r2; bic 0x345
            let to = regs.run_to(&[0x47, high, 0x01, 0x23]);
            assert_eq!(to, Some(if taken { 0x123 } else { AT + 4 }));
            let to = regs.run_to(&[0x07, high | 2]);
            assert_eq!(to, Some(if taken { 0x200 } else { AT + 2 }));
            let to = regs.run(&[0xe3, high, 0x03, 0x45, 0x00, 0x47]);
            assert_eq!(to, Some(if taken { 64 } else { 6 }));
            assert_eq!(regs, before);
        }
    }

    #[test]
    fn distances_are_signed_halfwords() {
        let mut regs = Fake::new();
        assert_eq!(regs.run(&[0xa7, 0xf4, 0x80, 0x00]), Some(-0x1_0000));
        assert_eq!(regs.run(&[0xa7, 0xf4, 0x7f, 0xff]), Some(0xfffe));
        let least = regs.run(&[0xc0, 0xf4, 0x80, 0, 0, 0]);
        assert_eq!(least, Some(-0x1_0000_0000));
        let most = regs.run(&[0xc0, 0xf4, 0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(most, Some(0xffff_fffe));
    }

    #[test]
    fn addresses_are_sums_of_the_registers_that_are_not_0() {
        let mut regs = Fake::new().with(0, 0x7000);
        // b 0x123(%r2,%r3), then without index, base or both
        for (second, third, sum) in [
            (0xf2, 0x31, 0x623),
            (0xf0, 0x31, 0x423),
            (0xf2, 0x01, 0x323),
            (0xf0, 0x01, 0x123),
        ] {
            assert_eq!(regs.run_to(&[0x47, second, third, 0x23]), Some(sum));
        }
        // bctg %r1,-1(%r2,%r3); bctg %r1,0x7f001(%r3)
        let to = regs.run_to(&[0xe3, 0x12, 0x3f, 0xff, 0xff, 0x46]);
        assert_eq!(to, Some(0x4ff));
        let to = regs.run_to(&[0xe3, 0x10, 0x30, 0x01, 0x7f, 0x46]);
        assert_eq!(to, Some(0x7f301));
        // b 0x123(%r2) with the sum beyond the last address
        let mut regs = regs.with(2, u64::MAX);
        assert_eq!(regs.run_to(&[0x47, 0xf0, 0x21, 0x23]), Some(0x122));
    }

    #[test]
    fn link_register_gets_the_address_of_the_next_insn() {
        // bal, bas %r5,0x123(%r2,%r3); balr, basr %r5,%r6; bras, brasl %r5,64
        let cases: [(&[u8], u64); 6] = [
            (&[0x45, 0x52, 0x31, 0x23], 0x623),
            (&[0x4d, 0x52, 0x31, 0x23], 0x623),
            (&[0x05, 0x56], 0x600),
            (&[0x0d, 0x56], 0x600),
            (&[0xa7, 0x55, 0x00, 0x20], AT + 64),
            (&[0xc0, 0x55, 0x00, 0x00, 0x00, 0x20], AT + 64),
        ];
        for (bytes, to) in cases {
            let mut regs = Fake::new();
            assert_eq!(regs.run_to(bytes), Some(to));
            assert_eq!(regs, Fake::new().with(5, AT + bytes.len() as u64));
        }
        // The target is computed first: basr %r5,%r5; bas %r5,4(%r5)
        assert_eq!(Fake::new().run_to(&[0x0d, 0x55]), Some(0x500));
        assert_eq!(Fake::new().run_to(&[0x4d, 0x50, 0x50, 0x04]), Some(0x504));
    }

    #[test]
    fn branches_to_register_0_fall_through() {
        // br %r0 (which serializes), basr %r5,%r0, bctr %r5,%r0, bctgr %r5,%r0
        let cases: [(&[u8], i64, u64); 4] = [
            (&[0x07, 0xf0], 2, 0x500),
            (&[0x0d, 0x50], 2, AT + 2),
            (&[0x06, 0x50], 2, 0x4ff),
            (&[0xb9, 0x46, 0x00, 0x50], 4, 0x4ff),
        ];
        for (bytes, to, register) in cases {
            let mut regs = Fake::new();
            assert_eq!(regs.run(bytes), Some(to));
            assert_eq!(regs, Fake::new().with(5, register));
        }
    }

    #[test]
    fn branches_on_count_are_taken_until_zero() {
        // bct %r5,0x123; bctr %r5,%r6; brct %r5,64: 32 bits
        let narrow: [(&[u8], u64); 3] = [
            (&[0x46, 0x50, 0x01, 0x23], 0x123),
            (&[0x06, 0x56], 0x600),
            (&[0xa7, 0x56, 0x00, 0x20], AT + 64),
        ];
        // bctg %r5,0x123; bctgr %r5,%r6; brctg %r5,64: 64 bits
        let wide: [(&[u8], u64); 3] = [
            (&[0xe3, 0x50, 0x01, 0x23, 0x00, 0x46], 0x123),
            (&[0xb9, 0x46, 0x00, 0x56], 0x600),
            (&[0xa7, 0x57, 0x00, 0x20], AT + 64),
        ];
        // brcth %r5,64: the upper 32 bits
        let upper: [(&[u8], u64); 1] = [(&[0xcc, 0x56, 0, 0, 0, 0x20], AT + 64)];
        let check = |insns: &[(&[u8], u64)], before, after, taken| {
            for (bytes, to) in insns {
                let mut regs = Fake::new().with(5, before);
                let next = AT + bytes.len() as u64;
                assert_eq!(regs.run_to(bytes), Some(if taken { *to } else { next }));
                assert_eq!(regs, Fake::new().with(5, after));
            }
        };
        check(&narrow, UPPER | 2, UPPER | 1, true);
        check(&narrow, UPPER | 1, UPPER, false);
        check(&narrow, UPPER, UPPER | MINUS_1, true);
        check(&wide, UPPER, UPPER - 1, true);
        check(&wide, 1, 0, false);
        check(&wide, 0, u64::MAX, true);
        check(&upper, 2 << 32 | 7, 1 << 32 | 7, true);
        check(&upper, 1 << 32 | 7, 7, false);
        check(&upper, 7, MINUS_1 << 32 | 7, true);
        // The target is computed first: bctr %r5,%r5
        assert_eq!(Fake::new().run_to(&[0x06, 0x55]), Some(0x500));
    }

    #[test]
    fn indexes_are_compared_with_the_odd_register() {
        // bxh and brxh, bxle and brxle %r2,%r4, where %r5 is the limit
        let narrow: [(&[u8], bool); 4] = [
            (&[0x86, 0x24, 0x90, 0x10], true),
            (&[0x84, 0x24, 0x00, 0x20], true),
            (&[0x87, 0x24, 0x90, 0x10], false),
            (&[0x85, 0x24, 0x00, 0x20], false),
        ];
        // The forms for 64 bits: BXHG, BXLEG, BRXHG and BRXLG.
        let wide: [(&[u8], bool); 4] = [
            (&[0xeb, 0x24, 0x90, 0x10, 0x00, 0x44], true),
            (&[0xec, 0x24, 0x00, 0x20, 0x00, 0x44], true),
            (&[0xeb, 0x24, 0x90, 0x10, 0x00, 0x45], false),
            (&[0xec, 0x24, 0x00, 0x20, 0x00, 0x45], false),
        ];
        let check = |insns: &[(&[u8], bool)], [index, by, limit]: [u64; 3], sum, high| {
            for (bytes, if_high) in insns {
                let before = Fake::new().with(4, by).with(5, limit).with(9, AT + 48);
                let mut regs = before.clone().with(2, index);
                let next = bytes.len() as i64;
                let to = if *if_high == high { 64 } else { next };
                assert_eq!(regs.run(bytes), Some(to));
                assert_eq!(regs, before.with(2, sum));
            }
        };
        check(&narrow, [UPPER | 5, 2, 7], UPPER | 7, false);
        check(&narrow, [UPPER | 6, 2, 7], UPPER | 8, true);
        check(&narrow, [UPPER, UPPER | MINUS_1, 7], UPPER | MINUS_1, false);
        check(&narrow, [0x7fff_ffff, 1, 7], 0x8000_0000, false);
        check(&narrow, [0, 7, UPPER | MINUS_1], 7, true);
        check(&wide, [5, 2, 7], 7, false);
        check(&wide, [6, 2, 7], 8, true);
        check(&wide, [MINUS_1, 1, MINUS_1], 1 << 32, true);
        check(&wide, [0, u64::MAX, 7], u64::MAX, false);
    }

    #[test]
    fn odd_index_register_is_increment_and_limit() {
        // bxh %r2,%r5,16(%r9): %r5 is both.
        let insn = [0x86, 0x25, 0x90, 0x10];
        let mut regs = Fake::new().with(6, 0x900).with(9, AT + 48);
        assert_eq!(regs.run(&insn), Some(64));
        assert_eq!(regs.gpr(2), 0x700);
        // bxh %r5,%r4,16(%r9), bxh %r5,%r5,16(%r9): the limit is that before the addition.
        for (second, by) in [(0x54, 4), (0x55, 5)] {
            let mut regs = Fake::new().with(9, AT + 48);
            assert_eq!(regs.run(&[0x86, second, 0x90, 0x10]), Some(64));
            assert_eq!(regs.gpr(5), 0x500 + (by << 8));
        }
    }

    /// The masks, as bits, with which a comparison branches by 64 bytes; with the others, the CPU
    /// goes on behind. `None` if a register changes.
    fn masks(regs: &Fake, with_mask: impl Fn(u8) -> [u8; 6]) -> Option<u16> {
        (0..16).try_fold(0, |masks, mask| {
            let mut after = regs.clone();
            let taken = match after.run(&with_mask(mask))? {
                64 => 1,
                6 => 0,
                _ => return None,
            };
            (after == *regs).then_some(masks | taken << mask)
        })
    }

    /// The masks that have the bit of this result, as bits.
    fn masks_with(result: Ordering) -> Option<u16> {
        Some(match result {
            Ordering::Equal => 0xff00,
            Ordering::Less => 0xf0f0,
            Ordering::Greater => 0xcccc,
        })
    }

    #[test]
    fn registers_are_compared() {
        // The last byte of two instructions on %r2 and %r3, such as crj and crb, and the order of
        // the numbers below: (5, 5), (5, 6), (5, -1), (UPPER | 5, 5), (-1, -1 on 32 bits)
        use Ordering::*;
        let cases: [([u8; 2], [Ordering; 5]); 4] = [
            ([0x76, 0xf6], [Equal, Less, Greater, Equal, Equal]),
            ([0x77, 0xf7], [Equal, Less, Less, Equal, Equal]),
            ([0x64, 0xe4], [Equal, Less, Greater, Less, Less]),
            ([0x65, 0xe5], [Equal, Less, Less, Greater, Greater]),
        ];
        let (minus_1, upper) = (u64::MAX, UPPER | 5);
        let numbers = [(5, 5), (5, 6), (5, minus_1), (upper, 5), (minus_1, MINUS_1)];
        for ([relative, address], results) in cases {
            for ((first, second), result) in numbers.into_iter().zip(results) {
                let regs = Fake::new().with(2, first).with(3, second).with(9, AT);
                let relative = |mask| [0xec, 0x23, 0x00, 0x20, mask << 4, relative];
                assert_eq!(masks(&regs, relative), masks_with(result));
                let address = |mask| [0xec, 0x23, 0x90, 0x40, mask << 4, address];
                assert_eq!(masks(&regs, address), masks_with(result));
            }
        }
    }

    #[test]
    fn register_is_compared_with_a_number() {
        // The last byte of two instructions on %r2, such as cij and cib, and the order of the
        // numbers below: (5, 5), (5, 6), (5, 0xff), (UPPER | 5, 5), (-1, 0xff)
        use Ordering::*;
        let cases: [([u8; 2], [Ordering; 5]); 4] = [
            ([0x7e, 0xfe], [Equal, Less, Greater, Equal, Equal]),
            ([0x7f, 0xff], [Equal, Less, Less, Equal, Greater]),
            ([0x7c, 0xfc], [Equal, Less, Greater, Less, Equal]),
            ([0x7d, 0xfd], [Equal, Less, Less, Greater, Greater]),
        ];
        let numbers = [(5, 5), (5, 6), (5, 0xff), (UPPER | 5, 5), (u64::MAX, 0xff)];
        for ([relative, address], results) in cases {
            for ((first, second), result) in numbers.into_iter().zip(results) {
                let regs = Fake::new().with(2, first).with(9, AT);
                let relative = |mask| [0xec, 0x20 | mask, 0x00, 0x20, second, relative];
                assert_eq!(masks(&regs, relative), masks_with(result));
                let address = |mask| [0xec, 0x20 | mask, 0x90, 0x40, second, address];
                assert_eq!(masks(&regs, address), masks_with(result));
            }
        }
    }

    #[test]
    fn address_in_memory_that_cannot_be_read_changes_nothing() {
        // bi 0x345(%r2), and the same with a mask of 4
        let mut regs = Fake::new();
        assert_eq!(regs.run(&[0xe3, 0xf0, 0x23, 0x45, 0x00, 0x47]), None);
        assert_eq!(regs.run(&[0xe3, 0x40, 0x23, 0x45, 0x00, 0x47]), Some(6));
        assert_eq!(regs, Fake::new());
        regs.memory = (0x545, 0x1234);
        let to = regs.run_to(&[0xe3, 0xf0, 0x23, 0x45, 0x00, 0x47]);
        assert_eq!(to, Some(0x1234));
    }

    #[test]
    fn hints_and_other_instructions_are_no_branches() {
        // bprp, bpp; lr
        let mut regs = Fake::new();
        assert_eq!(regs.run(&[0xc5, 0xf0, 0x10, 0, 0, 0x10]), Some(6));
        assert_eq!(regs.run(&[0xc7, 0xf0, 0x20, 0, 0, 0x10]), Some(6));
        assert_eq!(regs, Fake::new());
        assert_eq!(regs.run(&[0x18, 0x12]), None);
    }
}

// SPDX-License-Identifier: GPL-2.0

//! Emulates branches and the instructions that access flags.
//!
//! A copy of such an instruction would behave differently at its other address (a relative branch,
//! a call), or would access the wrong state (a step has interrupts off, so PUSHF would push the
//! wrong interrupt flag). These instructions do little, so emulation changes the saved registers
//! instead. The instruction becomes an [`Op`] when the probe is registered.
//!
//! Emulation runs in the trap of a hit: it calls only methods of [`Regs`], does not allocate and
//! cannot panic. It is for CPL 0 in 64-bit mode, and follows Intel's and AMD's manuals except:
//!
//! * STI does not delay interrupts until after the next instruction. STI is refused if the next
//!   instruction relies on that delay.
//! * An indirect branch does not require ENDBR at its target.
//! * An indirect branch to a non-canonical address leads to a canonical one, where the kernel has
//!   no text. Otherwise the IRET of the trap would fault, with the base of GS of user space.
//! * No shadow stack is updated; the kernel has none for itself.
//!
//! C counterpart: `kprobe_emulate_*` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::{
    operand::Memory,
    regs::{
        flag,
        Regs, //
    }, //
};
use crate::prelude::*;

/// The operation of an instruction. Distances count from the next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// NOP; once prepared, also JMP: execution only continues at another address.
    Continue,
    /// CLI.
    DisableInterrupts,
    /// STI.
    EnableInterrupts,
    /// PUSHF.
    PushFlags,
    /// POPF.
    PopFlags,
    /// RET, and how many bytes of the stack it releases.
    Return(u16),
    /// JMP rel8 or rel32.
    Jump(i32),
    /// Jcc rel8 or rel32.
    JumpIf(Condition, i32),
    /// CALL rel32.
    Call(i32),
    /// CALL of an address.
    CallTo(u64),
    /// LOOP, LOOPE, LOOPNE, JRCXZ.
    Count(Counter, i32),
    /// JMP to an address.
    JumpTo(u64),
    /// JMP to the address in a register.
    JumpRegister(u8),
    /// CALL of the address in a register.
    CallRegister(u8),
    /// JMP to the address in memory.
    JumpMemory(Memory),
    /// CALL of the address in memory.
    CallMemory(Memory),
}

// Each probe contains an `Op`.
const _: () = assert!(core::mem::size_of::<Op>() <= 16);

/// The memory operand could not be read. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Faulted;

/// Replaces the distance of a JMP or CALL before `next` by its target, so that a hit need not add.
pub(crate) fn resolve(op: Op, next: TextAddr) -> Op {
    match op {
        Op::Jump(distance) => Op::JumpTo(relative_target(next, distance)),
        Op::Call(distance) => Op::CallTo(relative_target(next, distance)),
        _ => op,
    }
}

/// Emulates `op` for the instruction before `next`. Sets the IP of `regs` to the address where
/// execution continues.
#[inline]
pub(crate) fn emulate(op: &Op, next: TextAddr, regs: &mut impl Regs) -> Result<(), Faulted> {
    let op = resolve(*op, next);
    if emulate_common(&Some(op), next, regs) {
        return Ok(());
    }
    let to = match op {
        Op::Count(counter, distance) => {
            if counter.count(regs) {
                relative_target(next, distance)
            } else {
                next.get()
            }
        }
        Op::JumpTo(target) => target,
        Op::Return(release) => {
            let to = regs.pop();
            release_arguments(release, regs);
            canonical(to, regs)
        }
        Op::JumpRegister(number) => canonical(regs.register(number), regs),
        Op::CallRegister(number) => call(canonical(regs.register(number), regs), next, regs),
        Op::JumpMemory(memory) => canonical(load(memory, next, regs)?, regs),
        Op::CallMemory(memory) => call(canonical(load(memory, next, regs)?, regs), next, regs),
        _ => {
            flags(&op, regs);
            next.get()
        }
    };
    regs.set_ip(to);
    Ok(())
}

/// Emulates the most frequent operations, which cannot fault. Returns false for all others, and for
/// RET to an address that is not 48 sign-extended bits.
///
/// The handler of a hit inlines this function, and calls another function for the other operations.
/// So the handler saves few registers.
#[inline(always)]
pub(crate) fn emulate_common(op: &Option<Op>, next: TextAddr, regs: &mut impl Regs) -> bool {
    let to = match *op {
        Some(Op::Continue) => next.get(),
        Some(Op::CallTo(target)) => call(target, next, regs),
        Some(Op::Return(release)) => {
            let sp = regs.register(SP);
            let to = regs.pop();
            if sign_extended(to, 48) != to {
                // `canonical` may call a function, to learn how long addresses are.
                regs.set_register(SP, sp);
                return false;
            }
            release_arguments(release, regs);
            to
        }
        Some(Op::JumpIf(condition, distance)) => {
            jcc_target(condition, distance, next, regs.flags())
        }
        _ => return false,
    };
    regs.set_ip(to);
    true
}

/// Pops the arguments of a function that returns.
#[inline(always)]
fn release_arguments(bytes: u16, regs: &mut impl Regs) {
    let sp = regs.register(SP).wrapping_add(u64::from(bytes));
    regs.set_register(SP, sp);
}

/// Returns `to` if it is canonical, else an address of the kernel's half: it must not be a user's.
#[inline(always)]
fn canonical(to: u64, regs: &impl Regs) -> u64 {
    if sign_extended(to, 48) == to || regs.has_five_levels() && sign_extended(to, 57) == to {
        to
    } else {
        to | !0 << 47
    }
}

/// Returns the lowest `bits` bits of an address, and copies of the highest of them.
#[inline(always)]
fn sign_extended(address: u64, bits: u32) -> u64 {
    let unused = 64u32.wrapping_sub(bits);
    (address as i64).wrapping_shl(unused).wrapping_shr(unused) as u64
}

/// Returns the address where a conditional jump continues.
#[inline(never)]
fn jcc_target(condition: Condition, distance: i32, next: TextAddr, flags: u64) -> u64 {
    if condition.holds(flags) {
        relative_target(next, distance)
    } else {
        next.get()
    }
}

/// Emulates the operations that access flags.
fn flags(op: &Op, regs: &mut impl Regs) {
    match *op {
        Op::DisableInterrupts => regs.set_flags(regs.flags() & !flag::IF),
        Op::EnableInterrupts => regs.set_flags(regs.flags() | flag::IF),
        Op::PushFlags => regs.push(regs.flags() & !flag::NOT_PUSHED),
        Op::PopFlags => {
            // TF traps after the next instruction, and so does IRET from this trap.
            let popped = regs.pop() & flag::POPPED;
            let kept = regs.flags() & flag::KEPT;
            regs.set_flags(popped | kept | flag::ONE);
        }
        _ => {}
    }
}

/// The number of RCX in encodings.
const CX: u8 = 1;
/// The number of RSP in encodings.
const SP: u8 = 4;

/// Pushes the return address and returns `target`, which the caller computed with the RSP before
/// the push.
#[inline]
fn call(target: u64, next: TextAddr, regs: &mut impl Regs) -> u64 {
    regs.push(next.get());
    target
}

#[inline]
fn relative_target(next: TextAddr, distance: i32) -> u64 {
    next.get().wrapping_add(i64::from(distance) as u64)
}

#[inline]
fn load(memory: Memory, next: TextAddr, regs: &impl Regs) -> Result<u64, Faulted> {
    regs.load(memory.address(next, regs)).ok_or(Faulted)
}

/// The condition of a Jcc: the low four bits of its opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition(u8);

impl Condition {
    /// Returns the condition in an opcode.
    pub(super) fn of(opcode: u8) -> Self {
        Self(opcode & 0xf)
    }

    /// Returns whether the condition holds with these flags.
    ///
    /// ```text
    /// O  B  E  BE  S  P  L  LE     the lowest bit negates the condition
    /// ```
    #[inline]
    pub(crate) fn holds(self, flags: u64) -> bool {
        let any = |mask: u64| flags & mask != 0;
        let less = any(flag::SF) != any(flag::OF);
        let holds = match self.0 >> 1 {
            0 => any(flag::OF),
            1 => any(flag::CF),
            2 => any(flag::ZF),
            3 => any(flag::CF | flag::ZF),
            4 => any(flag::SF),
            5 => any(flag::PF),
            6 => less,
            _ => less || any(flag::ZF),
        };
        holds != (self.0 & 1 != 0)
    }
}

/// The operation of LOOPNE, LOOPE, LOOP or JRCXZ on RCX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    /// The low two bits of the opcode: LOOPNE, LOOPE, LOOP, JRCXZ.
    kind: u8,
    /// Whether the address-size prefix selects ECX instead of RCX.
    narrow: bool,
}

impl Counter {
    /// Returns the operation of an opcode.
    pub(super) fn of(opcode: u8, narrow: bool) -> Self {
        Self {
            kind: opcode & 3,
            narrow,
        }
    }

    /// Decrements the counter, except for JRCXZ, and returns whether the jump is taken. No flag
    /// changes.
    #[inline]
    fn count(self, regs: &mut impl Regs) -> bool {
        let width = match self.narrow {
            true => u64::from(u32::MAX),
            false => u64::MAX,
        };
        let before = regs.register(CX) & width;
        if self.kind == 3 {
            return before == 0;
        }
        // A write to ECX clears the upper half of RCX.
        let left = before.wrapping_sub(1) & width;
        regs.set_register(CX, left);
        let zero = regs.flags() & flag::ZF != 0;
        left != 0
            && match self.kind {
                0 => !zero,
                1 => zero,
                _ => true,
            }
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_emulate))]
mod tests {
    use super::{
        super::{
            classify::{
                classify,
                Exec, //
            },
            decode::decode,
            test_registers::Fake, //
        },
        *,
    };

    const AT: u64 = 0xffff_ffff_8100_0000;
    const STACK: u64 = 0x0004_0004_0004_0004;

    fn op(bytes: &[u8]) -> Result<Op, Refusal> {
        match classify(&decode(bytes)?, None, false)? {
            Exec::Emulate(op) => Ok(op),
            Exec::Step | Exec::Boost => Err(Refusal::BoundToPlace),
        }
    }

    /// Emulates `bytes`, which stand at [`AT`].
    fn run(bytes: &[u8], regs: &mut Fake) -> bool {
        let next = TextAddr::new(AT + bytes.len() as u64);
        op(bytes).is_ok_and(|op| emulate(&op, next, regs).is_ok())
    }

    /// Where `bytes` at [`AT`] lead with these flags and this RCX, and RCX after it.
    fn leads(bytes: &[u8], flags: u64, cx: u64) -> Option<(u64, u64)> {
        let mut regs = Fake::numbered();
        regs.flags = flags;
        regs.registers[1] = cx;
        let done = run(bytes, &mut regs) && regs.flags == flags;
        done.then(|| (regs.ip.wrapping_sub(AT), regs.registers[1]))
    }

    /// Where `bytes` at [`AT`] lead with these flags.
    fn to(bytes: &[u8], flags: u64) -> Option<u64> {
        leads(bytes, flags, 0).map(|(to, _)| to)
    }

    #[test]
    fn noncanonical_pointers_lead_to_the_kernels_half() {
        let mut regs = Fake::numbered();
        let direct_map = 0xff11_0000_1234_5000;
        for (five_levels, pointer, ip) in [
            (false, AT, AT),
            (false, 0x7fff_ffff_f000, 0x7fff_ffff_f000),
            (false, 0x6b6b_6b6b_6b6b_6b6b, 0xffff_eb6b_6b6b_6b6b),
            (false, direct_map, 0xffff_8000_1234_5000),
            (true, direct_map, direct_map),
            (true, 0x6b6b_6b6b_6b6b_6b6b, 0xffff_eb6b_6b6b_6b6b),
        ] {
            regs.five_levels = five_levels;
            regs.registers[1] = pointer;
            // jmp *%rcx; call *%rcx
            for code in [[0xff, 0xe1], [0xff, 0xd1]] {
                assert!(run(&code, &mut regs) && regs.ip == ip);
            }
            let sp = regs.sp();
            regs.push(pointer);
            // ret $8
            assert!(run(&[0xc2, 8, 0], &mut regs) && regs.ip == ip);
            assert_eq!(regs.sp(), sp.wrapping_add(8));
        }
    }

    #[test]
    fn conditions_are_those_of_the_flags() {
        // For each opcode: flags with which it jumps, flags with which it does not.
        let cases: [(u8, &[u64], &[u64]); 8] = [
            (0x70, &[flag::OF], &[0, !flag::OF]),
            (0x72, &[flag::CF], &[0, !flag::CF]),
            (0x74, &[flag::ZF], &[0, !flag::ZF]),
            (
                0x76,
                &[flag::CF, flag::ZF, flag::CF | flag::ZF],
                &[0, !(flag::CF | flag::ZF)],
            ),
            (0x78, &[flag::SF], &[0, !flag::SF]),
            (0x7a, &[flag::PF], &[0, !flag::PF]),
            (
                0x7c,
                &[flag::SF, flag::OF],
                &[0, flag::SF | flag::OF, flag::ZF],
            ),
            (
                0x7e,
                &[flag::SF, flag::OF, flag::ZF, flag::SF | flag::OF | flag::ZF],
                &[0, flag::SF | flag::OF, flag::CF],
            ),
        ];
        for (opcode, jumps, stays) in cases {
            for &flags in jumps {
                assert_eq!(to(&[opcode, 0x10], flags), Some(0x12));
                assert_eq!(to(&[opcode | 1, 0x10], flags), Some(2));
                let near = [0x0f, opcode + 0x10, 0x00, 0x10, 0, 0];
                assert_eq!(to(&near, flags), Some(0x1006));
            }
            for &flags in stays {
                assert_eq!(to(&[opcode, 0x10], flags), Some(2));
                assert_eq!(to(&[opcode | 1, 0x10], flags), Some(0x12));
                let near = [0x0f, opcode + 0x11, 0x00, 0x10, 0, 0];
                assert_eq!(to(&near, flags), Some(0x1006));
            }
        }
    }

    #[test]
    fn loops_decrement_the_count_before_the_test() {
        let (jumped, stayed) = (0x12, 2);
        // LOOPNE, LOOPE, LOOP, JRCXZ; RCX and flags; where to.
        let cases: [(u8, u64, u64, u64); 13] = [
            (0xe2, 1, 0, stayed),
            (0xe2, 2, 0, jumped),
            (0xe2, 0, 0, jumped),
            (0xe2, 0x1_0000_0000, 0, jumped),
            (0xe1, 2, flag::ZF, jumped),
            (0xe1, 2, 0, stayed),
            (0xe1, 1, flag::ZF, stayed),
            (0xe0, 2, 0, jumped),
            (0xe0, 2, flag::ZF, stayed),
            (0xe0, 1, 0, stayed),
            (0xe3, 0, 0, jumped),
            (0xe3, 1, flag::ZF, stayed),
            (0xe3, 0x1_0000_0000, 0, stayed),
        ];
        for (opcode, cx, flags, to) in cases {
            let left = if opcode == 0xe3 {
                cx
            } else {
                cx.wrapping_sub(1)
            };
            assert_eq!(leads(&[opcode, 0x10], flags, cx), Some((to, left)));
        }
    }

    #[test]
    fn address_size_prefix_makes_loops_count_ecx() {
        let (jumped, stayed) = (0x13, 3);
        let high = 0x5555_5555_0000_0000;
        assert_eq!(leads(&[0x67, 0xe2, 0x10], 0, high | 1), Some((stayed, 0)));
        assert_eq!(leads(&[0x67, 0xe2, 0x10], 0, high | 2), Some((jumped, 1)));
        assert_eq!(
            leads(&[0x67, 0xe2, 0x10], 0, high),
            Some((jumped, 0xffff_ffff))
        );
        // Nothing is written here, so nothing is cleared.
        assert_eq!(leads(&[0x67, 0xe3, 0x10], 0, high), Some((jumped, high)));
        assert_eq!(
            leads(&[0x67, 0xe3, 0x10], 0, high | 1),
            Some((stayed, high | 1))
        );
    }

    #[test]
    fn jump_targets_count_from_the_end_of_the_jump() {
        assert_eq!(to(&[0xeb, 0x80], 0), Some(2u64.wrapping_sub(0x80)));
        assert_eq!(
            to(&[0xe9, 0, 0, 0, 0x80], 0),
            Some(5u64.wrapping_sub(0x8000_0000))
        );
        assert_eq!(to(&[0x2e, 0xe9, 0, 1, 0, 0], 0), Some(0x106));
        assert_eq!(to(&[0x90], 0), Some(1));
        assert_eq!(to(&[0x0f, 0x1f, 0x44, 0x00, 0x00], 0), Some(5));
        let far = [0xd5, 0x00, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(to(&far, 0), Some(0x0807_0605_0403_0201u64.wrapping_sub(AT)));
    }

    #[test]
    fn calls_push_the_return_address() {
        let cases: [(&[u8], u64); 4] = [
            (&[0xe8, 0, 1, 0, 0], AT + 0x105),
            (&[0x2e, 0xe8, 0, 1, 0, 0], AT + 0x106),
            (&[0xff, 0xd0], 0),
            // RSP as it is before the push.
            (&[0xff, 0xd4], STACK | !0 << 47),
        ];
        for (bytes, to) in cases {
            let mut regs = Fake::numbered();
            assert!(run(bytes, &mut regs));
            assert_eq!(regs.ip, to);
            assert_eq!(regs.sp(), STACK - 8);
            assert_eq!(regs.load(STACK - 8), Some(AT + bytes.len() as u64));
        }
    }

    #[test]
    fn returns_pop_as_many_bytes_as_they_say() {
        let cases: [(&[u8], u64); 4] = [
            (&[0xc3], 8),
            (&[0xf3, 0xc3], 8),
            (&[0xc2, 0x10, 0x00], 0x18),
            (&[0xc2, 0xf8, 0xff], 0x1_0000),
        ];
        for (bytes, released) in cases {
            let mut regs = Fake::numbered();
            regs.store(STACK, 0x1234);
            assert!(run(bytes, &mut regs));
            assert_eq!((regs.ip, regs.sp()), (0x1234, STACK + released));
        }
    }

    #[test]
    fn memory_is_read_before_the_stack_moves() {
        // CALL *8(%rsp), JMP *8(%rsp), CALL *%gs:0x10
        let cases: [(&[u8], u64, u64); 3] = [
            (&[0xff, 0x54, 0x24, 0x08], STACK + 8, 8),
            (&[0xff, 0x64, 0x24, 0x08], STACK + 8, 0),
            (&[0x65, 0xff, 0x14, 0x25, 0x10, 0, 0, 0], Fake::GS + 0x10, 8),
        ];
        for (bytes, at, pushed) in cases {
            let mut regs = Fake::numbered();
            regs.store(at, 0x1234);
            assert!(run(bytes, &mut regs));
            assert_eq!((regs.ip, regs.sp()), (0x1234, STACK - pushed));
        }
    }

    #[test]
    fn faulting_accesses_leave_the_registers_unchanged() {
        for bytes in [[0xff, 0x10], [0xff, 0x20]] {
            let mut regs = Fake::numbered();
            let next = TextAddr::new(AT + 2);
            let result = op(&bytes).map(|op| emulate(&op, next, &mut regs));
            assert_eq!(result, Ok(Err(Faulted)));
            assert_eq!(regs, Fake::numbered());
        }
    }

    #[test]
    fn interrupt_flag_is_switched_alone() {
        for flags in [flag::ONE, !0] {
            let mut regs = Fake::numbered();
            regs.flags = flags;
            assert!(run(&[0xfb], &mut regs));
            assert_eq!((regs.flags, regs.ip), (flags | flag::IF, AT + 1));
            assert!(run(&[0xfa], &mut regs));
            assert_eq!((regs.flags, regs.ip), (flags & !flag::IF, AT + 1));
        }
    }

    #[test]
    fn pushed_flags_are_without_rf_and_vm() {
        let mut regs = Fake::numbered();
        regs.flags = 0x003f_7fd7;
        assert!(run(&[0x9c], &mut regs));
        assert_eq!(regs.load(STACK - 8), Some(0x003c_7fd7));
        assert_eq!(
            (regs.flags, regs.ip, regs.sp()),
            (0x003f_7fd7, AT + 1, STACK - 8)
        );
    }

    #[test]
    fn popped_flags_are_those_of_the_kernel() {
        // On the stack, before, after: what is reserved, RF; VM, VIF and VIP stay as they are.
        let cases = [
            (0, flag::ONE, flag::ONE),
            (!0, flag::ONE, 0x0024_7fd7),
            (0, !0, 0x001a_0002),
            (!0, !0, 0x003e_7fd7),
            (flag::TF, flag::IF | flag::ONE, flag::TF | flag::ONE),
            (flag::IOPL | flag::IF, flag::ONE, 0x3202),
        ];
        for (popped, before, after) in cases {
            let mut regs = Fake::numbered();
            regs.flags = before;
            regs.store(STACK, popped);
            assert!(run(&[0x9d], &mut regs));
            assert_eq!((regs.flags, regs.ip, regs.sp()), (after, AT + 1, STACK + 8));
        }
    }
}

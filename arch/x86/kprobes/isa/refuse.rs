// SPDX-License-Identifier: GPL-2.0

//! Which instructions do not bear a probe, whatever would be done in their place.
//!
//! What leaves the kernel's code segment or world never comes back to a copy; what always traps
//! has a trap of its own to be found at its address. The others would not work, or would break the
//! trap, with INT3 before or behind them: those that wait for an interrupt with interrupts off,
//! that hold the next trap back, or that move what a trap needs.
//!
//! C counterpart: `insn_masking_exception()` and what `prepare_emulation()` refuses, in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c), which steps most of
//! these.

use super::{
    flow::Flow,
    insn::{
        Insn,
        Opcode,
        Selector, //
    },
};
use crate::prelude::*;

/// Says no to what does not bear a probe. `next` is the instruction after it, if there is one.
pub(super) fn check(insn: &Insn, next: Option<&Insn>) -> Result<(), Refusal> {
    match insn.flow() {
        Flow::FarJump | Flow::FarCall | Flow::FarReturn | Flow::FarReturnAndRelease => {
            return Err(Refusal::FarBranch)
        }
        Flow::InterruptReturn => return Err(Refusal::InterruptReturn),
        Flow::Breakpoint | Flow::Interrupt | Flow::Undefined => return Err(Refusal::AlwaysTraps),
        Flow::SystemCall | Flow::SystemReturn => return Err(Refusal::SystemCall),
        Flow::Hypervisor => return Err(Refusal::WorldSwitch),
        Flow::Transaction => return Err(Refusal::Transaction),
        _ => {}
    }
    match insn.opcode() {
        Opcode::Primary(opcode) | Opcode::Rex2Primary(opcode) => primary(insn, opcode, next),
        Opcode::TwoByte(opcode) | Opcode::Rex2TwoByte(opcode) => two_byte(insn, opcode),
        _ => Ok(()),
    }
}

fn primary(insn: &Insn, opcode: u8, next: Option<&Insn>) -> Result<(), Refusal> {
    match (opcode, reg(insn)) {
        // MOV to SS: a trap right behind it would come one instruction late.
        (0x8e, Some(2)) => Err(Refusal::HoldsTrapsBack),
        // MOV to GS.
        (0x8e, Some(5)) => Err(Refusal::MovesCpuData),
        // XABORT.
        (0xc6, Some(7)) => Err(Refusal::Transaction),
        (HLT, _) => Err(Refusal::Waits),
        // Emulation does not hold back interrupts until after the next instruction: one that should
        // end the wait could come before it.
        (STI, _) if next.is_some_and(waits) => Err(Refusal::LetsNextWait),
        _ => Ok(()),
    }
}

fn two_byte(insn: &Insn, opcode: u8) -> Result<(), Refusal> {
    match opcode {
        0x01 => system(insn),
        // GETSEC may start another kernel.
        0x37 => Err(Refusal::WorldSwitch),
        // POP GS, LGS.
        0xa9 | 0xb5 => Err(Refusal::MovesCpuData),
        // WRGSBASE.
        0xae if insn.selector() == Selector::Repeat && names_register(insn, 3) => {
            Err(Refusal::MovesCpuData)
        }
        _ => Ok(()),
    }
}

/// ```text
/// +----+----+------------+
/// | 0F | 01 | mod reg rm |
/// +----+----+------------+
/// ```
fn system(insn: &Insn) -> Result<(), Refusal> {
    let Some(modrm) = insn.modrm() else {
        return Ok(());
    };
    if !modrm.is_register() {
        return match modrm.reg() {
            // LIDT: INT3 behind it would go through the new table, which may be empty.
            3 => Err(Refusal::MovesTraps),
            _ => Ok(()),
        };
    }
    match (modrm.reg(), modrm.rm()) {
        // MWAIT, MWAITX.
        (1, 1) | (7, 3) => Err(Refusal::Waits),
        // XEND.
        (2, 5) => Err(Refusal::Transaction),
        // VMLOAD loads GS as well; SWAPGS.
        (3, 2) | (7, 0) => Err(Refusal::MovesCpuData),
        _ => Ok(()),
    }
}

/// Does it wait for an interrupt, or enter a guest with interrupts only held back?
fn waits(insn: &Insn) -> bool {
    matches!(
        check(insn, None),
        Err(Refusal::Waits | Refusal::WorldSwitch)
    )
}

const HLT: u8 = 0xf4;
/// Also emulated, if no wait follows.
pub(super) const STI: u8 = 0xfb;

/// Which instruction of a group.
fn reg(insn: &Insn) -> Option<u8> {
    insn.modrm().map(|modrm| modrm.reg())
}

/// Is it that instruction of a group, in its form with a register?
pub(super) fn names_register(insn: &Insn, which: u8) -> bool {
    insn.modrm()
        .is_some_and(|modrm| modrm.is_register() && modrm.reg() == which)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_refuse))]
mod tests {
    use super::{
        super::decode::decode,
        *, //
    };

    fn refused(cases: &[&[u8]], reason: Refusal) -> bool {
        let refusal = |bytes: &[u8]| decode(bytes).and_then(|insn| check(&insn, None)).err();
        cases.iter().all(|bytes| refusal(bytes) == Some(reason))
    }

    #[test]
    fn what_leaves_the_kernel_is_refused() {
        // Far branches through memory, far returns.
        assert!(refused(
            &[&[0xff, 0x18], &[0xff, 0x28], &[0xcb], &[0xca, 8, 0]],
            Refusal::FarBranch,
        ));
        // iretq, eretu, uiret
        let returns: [&[u8]; 3] = [
            &[0x48, 0xcf],
            &[0xf3, 0x0f, 0x01, 0xca],
            &[0xf3, 0x0f, 0x01, 0xec],
        ];
        assert!(refused(&returns, Refusal::InterruptReturn));
        // syscall, sysret, sysenter, sysexit, rsm
        let calls: [&[u8]; 5] = [
            &[0x0f, 0x05],
            &[0x48, 0x0f, 0x07],
            &[0x0f, 0x34],
            &[0x0f, 0x35],
            &[0x0f, 0xaa],
        ];
        assert!(refused(&calls, Refusal::SystemCall));
        // vmcall, vmlaunch, vmresume, vmrun, vmmcall, tdcall, skinit, getsec
        let worlds: [&[u8]; 8] = [
            &[0x0f, 0x01, 0xc1],
            &[0x0f, 0x01, 0xc2],
            &[0x0f, 0x01, 0xc3],
            &[0x0f, 0x01, 0xd8],
            &[0x0f, 0x01, 0xd9],
            &[0x66, 0x0f, 0x01, 0xcc],
            &[0x0f, 0x01, 0xde],
            &[0x0f, 0x37],
        ];
        assert!(refused(&worlds, Refusal::WorldSwitch));
    }

    #[test]
    fn what_always_traps_is_refused() {
        let traps: [&[u8]; 7] = [
            &[0xcc],
            &[0xcd, 0x80],
            &[0xf1],
            &[0x0f, 0x0b],
            &[0x0f, 0xb9, 0xc0],
            &[0x0f, 0xff, 0xc0],
            &[0xd6],
        ];
        assert!(refused(&traps, Refusal::AlwaysTraps));
    }

    #[test]
    fn what_breaks_a_trap_around_it_is_refused() {
        assert!(refused(
            &[&[0x8e, 0xd0], &[0x48, 0x8e, 0x10]],
            Refusal::HoldsTrapsBack,
        ));
        // swapgs, wrgsbase, mov to GS, pop GS, lgs, vmload
        let gs: [&[u8]; 6] = [
            &[0x0f, 0x01, 0xf8],
            &[0xf3, 0x48, 0x0f, 0xae, 0xd8],
            &[0x8e, 0xe8],
            &[0x0f, 0xa9],
            &[0x0f, 0xb5, 0x00],
            &[0x0f, 0x01, 0xda],
        ];
        assert!(refused(&gs, Refusal::MovesCpuData));
        assert!(refused(&[&[0x0f, 0x01, 0x18]], Refusal::MovesTraps));
        // xbegin, xend, xabort
        let transactions: [&[u8]; 3] = [
            &[0xc7, 0xf8, 0, 0, 0, 0],
            &[0x0f, 0x01, 0xd5],
            &[0xc6, 0xf8, 0],
        ];
        assert!(refused(&transactions, Refusal::Transaction));
        // hlt, mwait, mwaitx
        assert!(refused(
            &[&[0xf4], &[0x0f, 0x01, 0xc9], &[0x0f, 0x01, 0xfb]],
            Refusal::Waits,
        ));
    }

    #[test]
    fn sti_right_before_waiting_is_refused() {
        let before = |bytes: &[u8]| {
            let next = decode(bytes)?;
            check(&decode(&[0xfb])?, Some(&next))
        };
        // hlt, mwait, vmrun
        for next in [&[0xf4][..], &[0x0f, 0x01, 0xc9], &[0x0f, 0x01, 0xd8]] {
            assert_eq!(before(next), Err(Refusal::LetsNextWait));
        }
        for next in [&[0xc3][..], &[0x90], &[0x8e, 0xd0]] {
            assert_eq!(before(next), Ok(()));
        }
        // Others may stand before it.
        let next = decode(&[0xf4]);
        let nop = decode(&[0x90]).and_then(|nop| check(&nop, next.as_ref().ok()));
        assert_eq!(nop, Ok(()));
    }
}

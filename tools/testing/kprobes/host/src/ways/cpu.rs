// SPDX-License-Identifier: GPL-2.0

//! Conditions and counts, as the CPU of the host has them.

#![cfg(target_arch = "x86_64")]

use super::*;
use core::arch::asm;

/// CF, PF, AF, ZF, SF and OF, in all combinations.
fn flags() -> impl Iterator<Item = u64> {
    (0..64).map(|bits: u64| {
        let places = [0, 2, 4, 6, 7, 11];
        let bit = |(number, place)| (bits >> number & 1) << place;
        places.into_iter().enumerate().map(bit).sum::<u64>() | 2
    })
}

/// Where `bytes` lead with these flags and this RCX: to their target? And RCX after it.
fn emulated(bytes: &[u8], flags: u64, cx: u64) -> (bool, u64) {
    let (op, len) = op(bytes).expect("a branch");
    let mut machine = Machine::random(&mut Random::new());
    machine.flags = flags;
    machine.registers[1] = cx;
    let next = TextAddr::new(AT + len as u64);
    assert_eq!(emulate(&op, next, &mut machine), Ok(()));
    (machine.ip != next.get(), machine.registers[1])
}

/// Runs a branch with these flags and this RCX. It jumps over what clears the first result.
macro_rules! branch {
    ($insn:literal, $flags:expr, $cx:expr) => {{
        let (jumped, cx): (u64, u64);
        // SAFETY: It uses the stack below what the compiler does, and puts back RSP; all registers
        // that it changes are named.
        unsafe {
            asm!(
                "mov {jumped:e}, 1",
                "push {flags}",
                "popfq",
                concat!($insn, " 2f"),
                "mov {jumped:e}, 0",
                "2:",
                flags = in(reg) $flags,
                jumped = out(reg) jumped,
                inout("rcx") $cx => cx,
            );
        }
        (jumped != 0, cx)
    }};
}

macro_rules! condition {
    ($code:literal, $insn:literal) => {
        for flags in flags() {
            let expected = branch!($insn, flags, 0u64);
            assert_eq!(emulated(&[0x70 | $code, 0x10], flags, 0), expected, $insn);
            let near = [0x0f, 0x80 | $code, 0, 1, 0, 0];
            assert_eq!(emulated(&near, flags, 0), expected, $insn);
        }
    };
}

#[test]
fn conditions_are_those_of_the_cpu() {
    condition!(0x0, "jo");
    condition!(0x1, "jno");
    condition!(0x2, "jb");
    condition!(0x3, "jae");
    condition!(0x4, "je");
    condition!(0x5, "jne");
    condition!(0x6, "jbe");
    condition!(0x7, "ja");
    condition!(0x8, "js");
    condition!(0x9, "jns");
    condition!(0xa, "jp");
    condition!(0xb, "jnp");
    condition!(0xc, "jl");
    condition!(0xd, "jge");
    condition!(0xe, "jle");
    condition!(0xf, "jg");
}

macro_rules! count {
    ($bytes:expr, $insn:literal) => {
        for cx in [0u64, 1, 2, 3, 0xffff_ffff, 1 << 32, (1 << 32) + 1, u64::MAX] {
            for flags in flags() {
                let expected = branch!($insn, flags, cx);
                assert_eq!(emulated(&$bytes, flags, cx), expected, "{} {cx:#x}", $insn);
            }
        }
    };
}

#[test]
fn loops_count_as_the_cpu_does() {
    count!([0xe0, 0x10], "loopne");
    count!([0xe1, 0x10], "loope");
    count!([0xe2, 0x10], "loop");
    count!([0xe3, 0x10], "jrcxz");
    count!([0x67, 0xe0, 0x10], ".byte 0x67; loopne");
    count!([0x67, 0xe1, 0x10], ".byte 0x67; loope");
    count!([0x67, 0xe2, 0x10], ".byte 0x67; loop");
    count!([0x67, 0xe3, 0x10], "jecxz");
}

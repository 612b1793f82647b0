// SPDX-License-Identifier: GPL-2.0

//! What a handler is told: where it is, and what is in the registers.
//!
//! Each of the types here belongs to one kind of handler, and has what makes sense there: only
//! where a function begins are its arguments in their registers, only where it has returned is
//! there a result. All of them are borrowed by the handler, and lead to registers that are gone
//! when it has returned; the lifetime says so, and the pointer inside keeps them on their CPU.
//!
//! The registers are there to be read. Who writes to them changes what the kernel executes next,
//! which can break everything that Rust relies on.

use super::Argument;
use crate::{
    bindings,
    types::Opaque, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// How many arguments are in registers.
const IN_REGISTERS: usize = if cfg!(CONFIG_X86_64) {
    6
} else if cfg!(CONFIG_S390) {
    5
} else if cfg!(CONFIG_ARM) {
    4
} else {
    8
};

/// A hit of a probe, before or after the instruction is executed.
///
/// # Invariants
///
/// `probe` is registered, and `registers` are those of its hit, for `'a`.
pub struct Hit<'a> {
    probe: NonNull<Opaque<bindings::kprobe>>,
    registers: NonNull<bindings::pt_regs>,
    _handler: PhantomData<&'a ()>,
}

impl Hit<'_> {
    /// # Safety
    ///
    /// Kprobes have called a handler of `probe` with `registers`, and it has not returned as long
    /// as this is there.
    #[inline]
    pub(super) unsafe fn new(
        probe: NonNull<Opaque<bindings::kprobe>>,
        registers: NonNull<bindings::pt_regs>,
    ) -> Self {
        // INVARIANT: By the precondition.
        Self {
            probe,
            registers,
            _handler: PhantomData,
        }
    }

    /// The address of the probed instruction. Where functions begin with a landing pad for indirect
    /// branches, a probe on their entry is on the instruction behind that.
    #[inline]
    pub fn address(&self) -> usize {
        // SAFETY: It is there, by the type's invariants, and `addr` stays as it is until the probe
        // is unregistered.
        unsafe { (*self.probe.as_ref().get()).addr }.addr()
    }

    /// The instruction pointer as the registers have it. What it says before the instruction is
    /// executed depends on the architecture: [`Self::address`] does not. After it, it leads to the
    /// next one.
    #[inline]
    pub fn instruction_pointer(&self) -> usize {
        // SAFETY: The registers are there, by the type's invariants.
        unsafe { bindings::instruction_pointer(self.registers.as_ptr()) }
    }

    /// The stack pointer.
    #[inline]
    pub fn stack_pointer(&self) -> usize {
        // SAFETY: As for [`Self::instruction_pointer`].
        unsafe { bindings::kernel_stack_pointer(self.registers.as_ptr()) }
    }

    /// The `n`th word of the stack, 0 where it is no more.
    #[inline]
    pub fn stack(&self, n: u32) -> usize {
        // SAFETY: As for [`Self::instruction_pointer`]; it reads nothing but the stack.
        unsafe { bindings::regs_get_kernel_stack_nth(self.registers.as_ptr(), n) }
    }
}

/// A call that begins.
#[repr(transparent)]
pub struct Entry<'a>(Hit<'a>);

impl<'a> Entry<'a> {
    /// That of a probe where a function begins.
    #[inline]
    pub(super) fn of(hit: Hit<'a>) -> Self {
        Self(hit)
    }

    /// The `n`th argument, counted from 0, if it is in a register: the first six are on x86-64,
    /// eight on powerpc, five on s390, four on arm. `A` says how its bits are to be read.
    #[inline]
    pub fn argument<A: Argument>(&self, n: usize) -> Option<A> {
        if n >= IN_REGISTERS {
            return None;
        }
        let registers = self.0.registers.as_ptr();
        // SAFETY: The registers are there, by the invariants of `Hit`, and there is such an
        // argument.
        Some(A::from_register(unsafe {
            bindings::regs_get_kernel_argument(registers, n as u32)
        }))
    }
}

impl<'a> core::ops::Deref for Entry<'a> {
    type Target = Hit<'a>;

    #[inline]
    fn deref(&self) -> &Hit<'a> {
        &self.0
    }
}

/// A call that is over.
#[cfg(CONFIG_KRETPROBES)]
pub struct Return<'a> {
    hit: Hit<'a>,
    to: usize,
}

#[cfg(CONFIG_KRETPROBES)]
impl<'a> Return<'a> {
    /// That of a return probe, of a function that returns to `to`.
    #[inline]
    pub(super) fn of(hit: Hit<'a>, to: usize) -> Self {
        Self { hit, to }
    }

    /// What the function returns. `A` says how its bits are to be read.
    #[inline]
    pub fn value<A: Argument>(&self) -> A {
        // SAFETY: The registers are there, by the invariants of `Hit`.
        A::from_register(
            unsafe { bindings::regs_return_value(self.hit.registers.as_ptr()) } as usize,
        )
    }

    /// Where the probed function has begun; see [`Hit::address`].
    #[inline]
    pub fn address(&self) -> usize {
        self.hit.address()
    }

    /// Where it returns to.
    #[inline]
    pub fn to(&self) -> usize {
        self.to
    }

    /// The stack pointer.
    #[inline]
    pub fn stack_pointer(&self) -> usize {
        self.hit.stack_pointer()
    }
}

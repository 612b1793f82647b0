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

use super::{
    abi::{
        Abi,
        Cursor,
        Location,
        Word, //
    },
    Argument,
    InRegister,
    Register, //
};
use crate::{
    bindings,
    types::Opaque, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// This machine's rules.
const HERE: Abi = if cfg!(CONFIG_X86_64) {
    Abi::X86_64
} else if cfg!(CONFIG_S390) {
    Abi::S390
} else if cfg!(CONFIG_PPC) {
    Abi::POWERPC
} else if cfg!(CONFIG_ARM) {
    Abi::ARM
} else {
    Abi::EIGHT
};

const _: () = assert!(HERE.word == size_of::<usize>());

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
        // SAFETY: It is there, by the type's invariants. C takes `addr` away, under handlers too,
        // where a probe could not be unregistered.
        unsafe { (&raw const (*self.probe.as_ref().get()).addr).read_volatile() }.addr()
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

    /// What is in `register`. `A` says how its bits are to be read.
    #[inline]
    pub fn register<A: InRegister>(&self, register: Register) -> A {
        // SAFETY: The registers are there, by the type's invariants, and so is this one among them,
        // by its own.
        let bits =
            unsafe { bindings::regs_get_register(self.registers.as_ptr(), register.offset()) };
        A::from_bits(bits as u64)
    }

    /// The `n`th word of the stack, 0 where it is no more.
    #[inline]
    pub fn stack(&self, n: u32) -> usize {
        // SAFETY: As for [`Self::instruction_pointer`]; it reads nothing but the stack.
        unsafe { bindings::kprobe_stack_nth(self.registers.as_ptr(), n) }
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
    /// eight on powerpc, arm64, loongarch and riscv, five on s390, four on arm. `A` says how its
    /// bits are to be read.
    ///
    /// Those before it are taken to have one register each, as they have wherever registers have 64
    /// bits; [`Self::arguments`] knows better.
    #[inline]
    pub fn argument<A: InRegister>(&self, n: usize) -> Option<A> {
        let n = u32::try_from(n).ok().filter(|&n| n < HERE.registers)?;
        Some(A::from_bits(self.word(Word::Register(n)) as u64))
    }

    /// All arguments, to be taken one after the other, those on the stack too.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{
    ///     kprobes::{
    ///         Entry,
    ///         EntryHandler, //
    ///     },
    ///     prelude::*,
    ///     uaccess::UserPtr, //
    /// };
    ///
    /// struct Opens;
    ///
    /// impl EntryHandler for Opens {
    ///     type State = ();
    ///
    ///     /// Of `do_sys_openat2(int dfd, const char __user *filename, struct open_how *how)`.
    ///     fn enter((): &(), call: &Entry<'_>) {
    ///         let mut arguments = call.arguments();
    ///         let dfd: c_int = arguments.take();
    ///         let name: UserPtr = arguments.take();
    ///         pr_debug!("{dfd}, {:p}\n", name.as_const_ptr());
    ///     }
    /// }
    /// ```
    #[inline]
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments {
            call: self,
            cursor: Cursor::new(HERE),
        }
    }

    #[inline]
    fn word(&self, word: Word) -> usize {
        match word {
            // SAFETY: The registers are there, by the invariants of `Hit`, and there is such an
            // argument, by the machine's rules.
            Word::Register(n) => unsafe {
                bindings::regs_get_kernel_argument(self.0.registers.as_ptr(), n)
            },
            Word::Stack(n) => self.stack(n),
        }
    }
}

/// The arguments of a call, in the order of the function's declaration.
///
/// Whose types they are is not known here; each must be taken as what it is, or those that follow
/// it may be looked for in the wrong place.
pub struct Arguments<'a> {
    call: &'a Entry<'a>,
    cursor: Cursor,
}

impl Arguments<'_> {
    /// The next one. `A` says of how many bits it is, and how they are to be read. What is on no
    /// stack is 0.
    #[inline]
    pub fn take<A: Argument>(&mut self) -> A {
        let Location { low, high } = self.cursor.next(size_of::<A>());
        let low = self.call.word(low) as u64;
        let high = high.map_or(0, |high| self.call.word(high) as u64);
        A::from_bits((high << 32) | low)
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
        let registers = self.hit.registers.as_ptr();
        // SAFETY: The registers are there, by the invariants of `Hit`.
        let low = unsafe { bindings::regs_return_value(registers) } as usize as u64;
        if size_of::<A>() <= size_of::<usize>() {
            return A::from_bits(low);
        }
        // SAFETY: As above.
        let high = unsafe { bindings::regs_return_value_high(registers) } as u64;
        A::from_bits((high << 32) | low)
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

    /// The stack pointer as the caller finds it.
    #[inline]
    pub fn stack_pointer(&self) -> usize {
        // SAFETY: The registers are there, by the invariants of `Hit`, and those of a return.
        unsafe { bindings::kretprobe_stack_pointer(self.hit.registers.as_ptr()) }
    }
}

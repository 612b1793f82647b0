// SPDX-License-Identifier: GPL-2.0

//! The arguments of a handler: the address of the hit, and the registers.
//!
//! Each type here belongs to one kind of handler, and has the methods that make sense there: the
//! arguments are in their registers only at a function's entry, and a result exists only at a
//! return. A handler borrows these values, and they lead to registers that do not exist after it
//! has returned. The lifetime enforces that, and the pointer inside keeps the values on their CPU.
//!
//! The registers can be read only. Writing to them would change what the kernel executes next,
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

/// The calling convention of this machine.
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
/// `probe` is registered, and `registers` are the registers of its hit, during `'a`.
pub struct Hit<'a> {
    probe: NonNull<Opaque<bindings::kprobe>>,
    registers: NonNull<bindings::pt_regs>,
    _handler: PhantomData<&'a ()>,
}

impl Hit<'_> {
    /// # Safety
    ///
    /// Kprobes have called a handler of `probe` with `registers`, and the handler does not return
    /// as long as this value exists.
    #[inline]
    pub(super) unsafe fn new(
        probe: NonNull<Opaque<bindings::kprobe>>,
        registers: NonNull<bindings::pt_regs>,
    ) -> Self {
        // INVARIANT: By the precondition the handler runs, so the probe and the registers exist.
        Self {
            probe,
            registers,
            _handler: PhantomData,
        }
    }

    /// Returns the address of the probed instruction. If a function begins with a landing pad for
    /// indirect branches, a probe on its entry is on the next instruction.
    #[inline]
    pub fn address(&self) -> usize {
        // SAFETY: The probe exists, by the type's invariants. The read is volatile, as C clears
        // `addr` even under handlers if a probe could not be unregistered.
        unsafe { (&raw const (*self.probe.as_ref().get()).addr).read_volatile() }.addr()
    }

    /// Returns the instruction pointer in the registers. Before the instruction is executed, its
    /// value depends on the architecture; [`Self::address`] does not. After that, it points to the
    /// next instruction.
    #[inline]
    pub fn instruction_pointer(&self) -> usize {
        // SAFETY: The registers exist, by the type's invariants.
        unsafe { bindings::instruction_pointer(self.registers.as_ptr()) }
    }

    /// Returns the stack pointer.
    #[inline]
    pub fn stack_pointer(&self) -> usize {
        // SAFETY: As for [`Self::instruction_pointer`].
        unsafe { bindings::kernel_stack_pointer(self.registers.as_ptr()) }
    }

    /// Returns the value of `register`. `A` says how its bits are read.
    #[inline]
    pub fn register<A: InRegister>(&self, register: Register) -> A {
        // SAFETY: The registers exist, by the type's invariants, and this register is one of them,
        // by the invariants of `Register`.
        let bits =
            unsafe { bindings::regs_get_register(self.registers.as_ptr(), register.offset()) };
        A::from_bits(bits as u64)
    }

    /// Returns the `n`th word of the stack, or 0 beyond the stack.
    #[inline]
    pub fn stack(&self, n: u32) -> usize {
        // SAFETY: As for [`Self::instruction_pointer`]; the function reads only the stack.
        unsafe { bindings::kprobe_stack_nth(self.registers.as_ptr(), n) }
    }
}

/// A call that begins.
pub struct Entry<'a>(Hit<'a>);

impl<'a> Entry<'a> {
    /// Makes the entry of a hit on a function's entry.
    #[inline]
    pub(super) fn of(hit: Hit<'a>) -> Self {
        Self(hit)
    }

    /// Returns the `n`th argument, counted from 0, if it is in a register: the first six on x86-64,
    /// eight on powerpc, arm64, loongarch and riscv, five on s390, four on arm. `A` says how its
    /// bits are read.
    ///
    /// The earlier arguments are assumed to have one register each, which is true if registers have
    /// 64 bits; [`Self::arguments`] needs no assumption.
    #[inline]
    pub fn argument<A: InRegister>(&self, n: usize) -> Option<A> {
        let n = u32::try_from(n).ok().filter(|&n| n < HERE.registers)?;
        Some(A::from_bits(self.word(Word::Register(n)) as u64))
    }

    /// Returns all arguments, also those on the stack, to be taken one after the other.
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
            // SAFETY: The registers exist, by the invariants of `Hit`, and this argument exists, by
            // the machine's rules.
            Word::Register(n) => unsafe {
                bindings::regs_get_kernel_argument(self.0.registers.as_ptr(), n)
            },
            Word::Stack(n) => self.stack(n),
        }
    }
}

/// The arguments of a call, in the order of the function's declaration.
///
/// The types of the arguments are not known here. Each argument must be taken with its right type,
/// or later ones may be read from a wrong location.
pub struct Arguments<'a> {
    call: &'a Entry<'a>,
    cursor: Cursor,
}

impl Arguments<'_> {
    /// Returns the next argument. `A` says how many bits it has, and how they are read. A word
    /// beyond the stack is 0.
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

/// A call that returns.
#[cfg(CONFIG_KRETPROBES)]
pub struct Return<'a> {
    hit: Hit<'a>,
}

#[cfg(CONFIG_KRETPROBES)]
impl<'a> Return<'a> {
    /// Makes the return of a return probe's hit.
    #[inline]
    pub(super) fn of(hit: Hit<'a>) -> Self {
        Self { hit }
    }

    /// Returns the function's return value. `A` says how its bits are read.
    #[inline]
    pub fn value<A: Argument>(&self) -> A {
        let registers = self.hit.registers.as_ptr();
        // SAFETY: The registers exist, by the invariants of `Hit`.
        let low = unsafe { bindings::regs_return_value(registers) } as usize as u64;
        if size_of::<A>() <= size_of::<usize>() {
            return A::from_bits(low);
        }
        // SAFETY: As above.
        let high = unsafe { bindings::regs_return_value_high(registers) } as u64;
        A::from_bits((high << 32) | low)
    }

    /// Returns the address of the probed function's entry; see [`Hit::address`].
    #[inline]
    pub fn address(&self) -> usize {
        self.hit.address()
    }

    /// Returns the address that the function returns to.
    //
    // The instance of the call does not always have it: if several return probes hook a call, C's
    // rethook leaves the trampoline's address in all instances but the oldest.
    #[inline]
    pub fn to(&self) -> usize {
        self.hit.instruction_pointer()
    }

    /// Returns the stack pointer after the return, as the caller sees it.
    #[inline]
    pub fn stack_pointer(&self) -> usize {
        // SAFETY: The registers exist, by the invariants of `Hit`, and are those of a return.
        unsafe { bindings::kretprobe_stack_pointer(self.hit.registers.as_ptr()) }
    }
}

// SPDX-License-Identifier: GPL-2.0

//! The locations of a function's arguments at its entry, by the machine's calling convention.
//!
//! The arguments of kernel functions are integers and pointers of at most 64 bits. They are in
//! registers, in their order. When no register is left, each takes a word of the stack:
//!
//! ```text
//!                        registers  the first word of the stack that has an argument
//! x86-64                 6           1, after the address to return to
//! s390                   5          20, after the 160 bytes in which registers are saved
//! powerpc, ELFv2         8          12, after a header of four, and a place for each register
//! arm                    4           0
//! arm64, loongarch,      8           0
//! riscv of 64 bits
//! ```
//!
//! Words of the stack are counted from the stack pointer at the function's entry.
//!
//! On arm, 64 bits are two words, and the first one has an even number: a register, or a word of
//! the stack, is left out for that. When an argument is on the stack, all later ones are too, and
//! registers that were left out stay unused. The lower half comes first: Rust in the kernel
//! supports these machines as little endian only.
//!
//! An argument with fewer bits than a word is in the lowest bits, on a stack and on s390, too. The
//! bits above it depend on the machine and on the compiler, so they must not be used.
//!
//! Structures that are passed by value are not supported.
//!
//! This file is pure: the rules are a value, and the rules of all machines are tested on each.

/// The calling convention of one machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abi {
    /// Bytes of a register, and of a word of the stack.
    pub(super) word: usize,
    /// The number of registers that have arguments.
    pub(super) registers: u32,
    /// The first word of the stack that has an argument.
    pub(super) stack: u32,
}

impl Abi {
    pub(super) const X86_64: Self = Self::of(8, 6, 1);
    pub(super) const S390: Self = Self::of(8, 5, 20);
    pub(super) const POWERPC: Self = Self::of(8, 8, 12);
    pub(super) const ARM: Self = Self::of(4, 4, 0);
    /// The rules of arm64, loongarch and riscv.
    pub(super) const EIGHT: Self = Self::of(8, 8, 0);

    const fn of(word: usize, registers: u32, stack: u32) -> Self {
        Self {
            word,
            registers,
            stack,
        }
    }
}

/// A word that has an argument, or half of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The register with this number, among the registers of arguments.
    Register(u32),
    /// The word of the stack with this number.
    Stack(u32),
}

/// The location of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) low: Word,
    /// The upper half, if it is in a separate word.
    pub(super) high: Option<Word>,
}

/// A position in the arguments of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    abi: Abi,
    /// The number of registers that are used.
    registers: u32,
    /// The next word of the stack.
    stack: u32,
}

impl Cursor {
    /// Makes a cursor before the first argument.
    #[inline]
    pub(super) const fn new(abi: Abi) -> Self {
        Self {
            abi,
            registers: 0,
            stack: abi.stack,
        }
    }

    /// Returns the location of the next argument, which has `size` bytes.
    #[inline]
    pub(super) const fn next(&mut self, size: usize) -> Location {
        let words = if size > self.abi.word { 2 } else { 1 };
        let first = after_gap(self.registers, words);
        let taken = first.saturating_add(words);
        if taken <= self.abi.registers {
            self.registers = taken;
            let high = first.saturating_add(1);
            return location(words, Word::Register(first), Word::Register(high));
        }
        // Later arguments are not in registers, either.
        self.registers = self.abi.registers;
        let first = after_gap(self.stack, words);
        self.stack = first.saturating_add(words);
        let high = first.saturating_add(1);
        location(words, Word::Stack(first), Word::Stack(high))
    }
}

/// Returns the number, from `at` on, at which `words` words may begin.
#[inline]
const fn after_gap(at: u32, words: u32) -> u32 {
    if words == 2 {
        at.saturating_add(at % 2)
    } else {
        at
    }
}

#[inline]
const fn location(words: u32, low: Word, high: Word) -> Location {
    Location {
        low,
        high: if words == 2 { Some(high) } else { None },
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Word::{
            Register,
            Stack, //
        },
        *, //
    };

    /// Where arguments of these sizes are: what the lower words are, and where there are upper
    /// ones.
    fn places(abi: Abi, sizes: &[usize]) -> Vec<Word> {
        let mut cursor = Cursor::new(abi);
        let mut places = Vec::new();
        for &size in sizes {
            let Location { low, high } = cursor.next(size);
            places.push(low);
            places.extend(high);
        }
        places
    }

    #[test]
    fn registers_come_first_then_the_stack() {
        // As compilers for these machines have it: what a function of ten arguments reads.
        for (abi, registers, stack) in [
            (Abi::X86_64, 6, [1, 2, 3, 4].as_slice()),
            (Abi::S390, 5, &[20, 21, 22, 23, 24]),
            (Abi::POWERPC, 8, &[12, 13]),
            (Abi::EIGHT, 8, &[0, 1]),
            (Abi::ARM, 4, &[0, 1, 2, 3, 4, 5]),
        ] {
            let expected: Vec<_> = (0..registers)
                .map(Register)
                .chain(stack.iter().copied().map(Stack))
                .collect();
            assert_eq!(places(abi, &[4; 10]), expected, "{abi:?}");
            // Narrow ones have a word each as well.
            assert_eq!(places(abi, &[1, 2, 4, 1, 2, 4, 1, 2, 4, 1]), expected);
        }
    }

    #[test]
    fn u64_takes_one_word_on_64_bit_machines() {
        for abi in [Abi::X86_64, Abi::S390, Abi::POWERPC, Abi::EIGHT] {
            for sizes in [[8; 12], [8, 1, 8, 2, 8, 4, 8, 1, 8, 2, 8, 4]] {
                assert_eq!(places(abi, &sizes), places(abi, &[4; 12]), "{abi:?}");
            }
        }
    }

    #[test]
    fn pairs_begin_at_even_registers_on_arm() {
        // (u64, u32, u32), (u32, u64), (u32, u32, u64).
        let pair = [Register(2), Register(3)];
        let [two, three] = pair;
        let [zero, one] = [Register(0), Register(1)];
        assert_eq!(places(Abi::ARM, &[8, 4, 4]), [zero, one, two, three]);
        assert_eq!(places(Abi::ARM, &[4, 8]), [zero, two, three]);
        assert_eq!(places(Abi::ARM, &[4, 4, 8]), [zero, one, two, three]);
        // Two of them take all.
        let expected = [zero, one, two, three, Stack(0), Stack(1)];
        assert_eq!(places(Abi::ARM, &[8, 8, 8]), expected);
    }

    #[test]
    fn skipped_registers_stay_unused_on_arm() {
        // (u32, u64, u32): r1 is nobody's.
        let expected = [Register(0), Register(2), Register(3), Stack(0)];
        assert_eq!(places(Abi::ARM, &[4, 8, 4]), expected);
        // (u32, u32, u32, u64, u32): nor is r3.
        let mut expected = vec![Register(0), Register(1), Register(2)];
        expected.extend([Stack(0), Stack(1), Stack(2)]);
        assert_eq!(places(Abi::ARM, &[4, 4, 4, 8, 4]), expected);
    }

    #[test]
    fn pairs_begin_at_even_words_of_the_stack_on_arm() {
        // Four in registers, (u32, u64, u32, u64) on the stack.
        let mut expected: Vec<_> = (0..4).map(Register).collect();
        expected.extend([0, 2, 3, 4, 6, 7].map(Stack));
        assert_eq!(places(Abi::ARM, &[4, 4, 4, 4, 4, 8, 4, 8]), expected);
    }

    #[test]
    fn cursor_works_in_const_context() {
        const SEVENTH: Location = {
            let mut cursor = Cursor::new(Abi::X86_64);
            let mut n = 0;
            while n < 6 {
                let _ = cursor.next(8);
                n += 1;
            }
            cursor.next(8)
        };
        assert_eq!(SEVENTH.low, Stack(1));
        assert_eq!(SEVENTH.high, None);
    }
}

// SPDX-License-Identifier: GPL-2.0

//! The registers that emulation reads and changes, as an interface.
//!
//! In the kernel, [`Regs`] is `pt_regs` and the memory; in tests, it is a few numbers.

use super::insn::Segment;

/// The state that a trap saved, and the memory that the interrupted code sees.
pub(crate) trait Regs {
    /// Returns a general register by its number in encodings, 0 to 15. 4 is RSP before the trap.
    fn register(&self, number: u8) -> u64;
    /// Changes a general register.
    fn set_register(&mut self, number: u8, value: u64);
    /// Returns RFLAGS before the trap.
    fn flags(&self) -> u64;
    /// Changes RFLAGS.
    fn set_flags(&mut self, flags: u64);
    /// Changes the address where execution continues.
    fn set_ip(&mut self, ip: u64);
    /// Reads eight bytes of memory. Returns `None` if a read would fault.
    fn load(&self, at: u64) -> Option<u64>;
    /// Pushes `value` onto the interrupted stack.
    fn push(&mut self, value: u64);
    /// Pops a value from the interrupted stack.
    fn pop(&mut self) -> u64;
    /// Returns whether the CPU uses five-level paging, with addresses of 57 bits.
    fn has_five_levels(&self) -> bool;
    /// Returns the base address of a segment.
    fn segment_base(&self, segment: Segment) -> u64;
}

/// RFLAGS.
///
/// ```text
///  21  20  19  18  17  16  15  14  13  12  11  10   9   8   7   6   5   4   3   2   1   0
/// +---+---+---+---+---+---+---+---+-------+---+---+---+---+---+---+---+---+---+---+---+---+
/// |ID |VIP|VIF|AC |VM |RF | 0 |NT | IOPL  |OF |DF |IF |TF |SF |ZF | 0 |AF | 0 |PF | 1 |CF |
/// +---+---+---+---+---+---+---+---+-------+---+---+---+---+---+---+---+---+---+---+---+---+
/// ```
pub(crate) mod flag {
    pub(crate) const CF: u64 = 1 << 0;
    /// Always set.
    pub(crate) const ONE: u64 = 1 << 1;
    pub(crate) const PF: u64 = 1 << 2;
    pub(crate) const AF: u64 = 1 << 4;
    pub(crate) const ZF: u64 = 1 << 6;
    pub(crate) const SF: u64 = 1 << 7;
    pub(crate) const TF: u64 = 1 << 8;
    pub(crate) const IF: u64 = 1 << 9;
    pub(crate) const DF: u64 = 1 << 10;
    pub(crate) const OF: u64 = 1 << 11;
    pub(crate) const IOPL: u64 = 3 << 12;
    pub(crate) const NT: u64 = 1 << 14;
    pub(crate) const RF: u64 = 1 << 16;
    pub(crate) const VM: u64 = 1 << 17;
    pub(crate) const AC: u64 = 1 << 18;
    pub(crate) const VIF: u64 = 1 << 19;
    pub(crate) const VIP: u64 = 1 << 20;
    pub(crate) const ID: u64 = 1 << 21;

    /// The bits that are zero in the image of RFLAGS that PUSHF pushes.
    pub(crate) const NOT_PUSHED: u64 = RF | VM;
    /// The bits that POPF at CPL 0 pops. RF is zero after any instruction.
    pub(crate) const POPPED: u64 = CF | PF | AF | ZF | SF | TF | IF | DF | OF | IOPL | NT | AC | ID;
    /// The bits that POPF does not change.
    pub(crate) const KEPT: u64 = VM | VIF | VIP;
}

// SPDX-License-Identifier: GPL-2.0

//! The symbol or address that a client asks to probe, and the address of the probe.

use super::{
    addr::TextAddr,
    refusal::Refusal, //
};
use core::ffi::CStr;

/// The symbol or address that a client asks to probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// An offset from the symbol with that name (also `module:function`).
    Symbol(&'a CStr, u64),
    /// An offset from that address.
    Address(TextAddr, u64),
}

impl<'a> Target<'a> {
    /// Makes a target of the fields that C clients set: a symbol or an address, and an offset.
    pub(crate) fn new(
        symbol: Option<&'a CStr>,
        addr: Option<TextAddr>,
        offset: u64,
    ) -> Result<Self, Refusal> {
        match (symbol, addr) {
            (Some(name), None) => Ok(Self::Symbol(name, offset)),
            (None, Some(addr)) => Ok(Self::Address(addr, offset)),
            (None, None) => Err(Refusal::NoTarget),
            (Some(_), Some(_)) => Err(Refusal::TwoTargets),
        }
    }
}

/// The address of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProbeAddr {
    /// The address of the instruction.
    pub(crate) at: TextAddr,
    /// Whether this is the entry of the function: its first instruction, or the one after ENDBR64.
    pub(crate) on_entry: bool,
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_target))]
mod tests {
    use super::*;

    #[test]
    fn target_is_one_of_symbol_and_address() {
        let name = Some(c"kernel_clone");
        let addr = Some(TextAddr::new(0x1000));
        assert_eq!(
            Target::new(name, None, 8),
            Ok(Target::Symbol(c"kernel_clone", 8))
        );
        assert_eq!(
            Target::new(None, addr, 0),
            Ok(Target::Address(TextAddr::new(0x1000), 0))
        );
        assert_eq!(Target::new(None, None, 0), Err(Refusal::NoTarget));
        assert_eq!(Target::new(name, addr, 0), Err(Refusal::TwoTargets));
    }
}

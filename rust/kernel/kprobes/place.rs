// SPDX-License-Identifier: GPL-2.0

//! The places of probes.

use crate::{
    bindings,
    prelude::*,
    str::CString, //
};

/// A place in the kernel's text, or in a module's: a symbol, an offset from a symbol, or an
/// address.
///
/// Registering a probe checks whether the place exists and may be probed. If several functions have
/// the symbol, it stands for one of them.
///
/// # Examples
///
/// ```
/// use kernel::kprobes::Place;
///
/// let _entry = Place::symbol(c"kernel_clone");
/// let _inside = Place::symbol(c"kernel_clone").plus(0x20);
/// let _of_a_module = Place::in_module(c"rust_minimal", c"init_module");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    base: Base<'a>,
    offset: u32,
}

#[derive(Clone, Copy, Debug)]
enum Base<'a> {
    Symbol(&'a CStr),
    InModule(&'a CStr, &'a CStr),
    Address(usize),
}

impl<'a> Place<'a> {
    /// Returns the entry of the function `name`. `name` may also be `module:function`.
    pub const fn symbol(name: &'a CStr) -> Self {
        Self::at(Base::Symbol(name))
    }

    /// Returns the entry of the function `name` of `module`.
    pub const fn in_module(module: &'a CStr, name: &'a CStr) -> Self {
        Self::at(Base::InModule(module, name))
    }

    /// Returns the place of the instruction at `address`.
    pub const fn address(address: usize) -> Self {
        Self::at(Base::Address(address))
    }

    /// Returns the place `offset` bytes after this one.
    pub const fn plus(self, offset: u32) -> Self {
        Self {
            base: self.base,
            offset: self.offset.saturating_add(offset),
        }
    }

    /// Returns whether the place has no offset.
    pub(super) const fn has_no_offset(&self) -> bool {
        self.offset == 0
    }

    const fn at(base: Base<'a>) -> Self {
        Self { base, offset: 0 }
    }

    /// Returns the name for C, if the place has one.
    pub(super) fn name(&self) -> Result<Option<CString>> {
        Ok(match self.base {
            Base::Symbol(name) => Some(CString::try_from(name)?),
            Base::InModule(module, name) => {
                let [module, name] = [module.to_str()?, name.to_str()?];
                Some(CString::try_from_fmt(fmt!("{module}:{name}"))?)
            }
            Base::Address(_) => None,
        })
    }

    /// Writes the place into `probe`. `name` is the result of [`Self::name`], and lives as long as
    /// `probe`.
    pub(super) fn write_to(&self, name: Option<&CStr>, probe: &mut bindings::kprobe) {
        probe.symbol_name = name.map_or(core::ptr::null(), |name| name.as_char_ptr());
        probe.addr = match self.base {
            Base::Address(address) => core::ptr::with_exposed_provenance_mut(address),
            Base::Symbol(_) | Base::InModule(..) => core::ptr::null_mut(),
        };
        probe.offset = self.offset;
    }
}

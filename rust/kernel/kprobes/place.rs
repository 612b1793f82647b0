// SPDX-License-Identifier: GPL-2.0

//! Where a probe goes.

use crate::{
    bindings,
    prelude::*,
    str::CString, //
};

/// A place in the kernel's text, or in that of a module: where a symbol is, so many bytes behind
/// that, or an address.
///
/// Whether there is such a place, and whether a probe may go there, is found out when a probe is
/// registered. A symbol that there is more than once stands for one of these functions.
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
    /// Where the function `name` begins. `name` may also be `module:function`.
    pub const fn symbol(name: &'a CStr) -> Self {
        Self::at(Base::Symbol(name))
    }

    /// Where the function `name` of `module` begins.
    pub const fn in_module(module: &'a CStr, name: &'a CStr) -> Self {
        Self::at(Base::InModule(module, name))
    }

    /// The instruction at `address`.
    pub const fn address(address: usize) -> Self {
        Self::at(Base::Address(address))
    }

    /// The instruction `offset` bytes behind this place.
    pub const fn plus(self, offset: u32) -> Self {
        Self {
            base: self.base,
            offset: self.offset.saturating_add(offset),
        }
    }

    /// Is it where its symbol is?
    pub(super) const fn has_no_offset(&self) -> bool {
        self.offset == 0
    }

    const fn at(base: Base<'a>) -> Self {
        Self { base, offset: 0 }
    }

    /// The name that C is told, if there is one.
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

    /// Tells `probe` to be here. `name` is what [`Self::name`] has made, and stays as long as
    /// `probe` does.
    pub(super) fn write_to(&self, name: Option<&CStr>, probe: &mut bindings::kprobe) {
        probe.symbol_name = name.map_or(core::ptr::null(), |name| name.as_char_ptr());
        probe.addr = match self.base {
            Base::Address(address) => core::ptr::with_exposed_provenance_mut(address),
            Base::Symbol(_) | Base::InModule(..) => core::ptr::null_mut(),
        };
        probe.offset = self.offset;
    }
}

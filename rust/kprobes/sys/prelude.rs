// SPDX-License-Identifier: GPL-2.0

//! The names that nearly every file with access to C uses.

pub(crate) use super::{
    preempt::PreemptOff,
    Registers, //
};
pub(crate) use crate::prelude::*;
pub(crate) use kernel::{
    bindings,
    prelude::*, //
};

// SPDX-License-Identifier: GPL-2.0

//! Detours at work: functions of `detour_test.S` run bare, then with a [`Jump`] in them.
//!
//! All of the [`registers`] and flags are compared, and what handlers see.

use super::*;
use crate::{
    contract::{
        tests::now,
        Machine, //
    },
    model::symbol,
    prelude::*, //
};

type Jump = crate::contract::tests::Jump<X86>;

/// The first byte of one of the functions.
macro_rules! function {
    ($name:ident) => {
        TextAddr::new((&raw const bindings::$name).addr() as u64)
    };
}

// The macro is for those that come after it.
mod detours;
mod registers;
mod text_metadata;
#[cfg(all(CONFIG_UNWINDER_ORC, CONFIG_STACKTRACE))]
mod unwound;

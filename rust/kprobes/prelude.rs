// SPDX-License-Identifier: GPL-2.0

//! The types of [`model`](crate::model) that nearly every file of this crate uses.

pub(crate) use crate::model::{
    addr::{
        TextAddr,
        TextRange, //
    },
    code::Code,
    no_jump::{
        NoJump,
        NoJumpReason, //
    },
    refusal::Refusal,
    symbol::SplitGroup, //
};

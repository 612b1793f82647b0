// SPDX-License-Identifier: GPL-2.0

//! The names that nearly every file above the registry uses.

pub(crate) use super::{
    points::{
        self,
        ArchInsn,
        Point,
        PointKind,
        PointRef,
        Points, //
    },
    Change,
    Registry, //
};
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) use crate::contract::Jumps;
pub(crate) use crate::{
    arch::Arch,
    contract::{
        Isa,
        Machine, //
    },
    prelude::*,
    sys::{
        flags::Armed,
        preempt::{
            Context,
            PreemptOff, //
        },
        probe::{
            Flag,
            Probe, //
        },
        Registers, //
    }, //
};

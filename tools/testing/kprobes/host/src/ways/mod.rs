// SPDX-License-Identifier: GPL-2.0

//! How x86-64 instructions run, against others who know them: iced, and the CPU of the host.
//!
//! A property is a test with its name. [`random`] makes the instructions, the same in each run.
//! iced says where operands are, where branches lead and what privileges something needs; the CPU
//! itself says which conditions hold and how loops count. What both leave open (privileged
//! instructions, faults) is shown in a booted kernel.

mod boundaries;
mod cpu;
mod detours;
mod documented;
mod forms;
mod machine;
mod places;
pub(crate) mod random;
mod safety;
mod unrun;

use crate::{
    model::{
        addr::{TextAddr, TextRange},
        refusal::Refusal,
    },
    x86::{
        boundary,
        classify::{classify, Exec},
        decode::decode,
        emulate::{emulate, Op},
        insn::{Insn, Opcode, MAX_INSN},
        regs::Regs,
        relocate,
    },
};
use iced_x86::{
    Code, Decoder, DecoderOptions, EncodingKind, FlowControl, Instruction, Mnemonic, OpKind,
    Register, RflagsBits,
};
use machine::{word, Machine};
use random::{runs, Random, RandomCode};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::CString,
    fs,
    path::Path,
};

/// Where instructions stand: high, as kernel text does, so that distances wrap as there.
const AT: u64 = 0xffff_ffff_8100_0000;

/// What `bytes` are at `at` for iced.
fn iced(bytes: &[u8], at: u64) -> Option<Instruction> {
    let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
    let insn = decoder.decode();
    (!insn.is_invalid()).then_some(insn)
}

/// How `bytes` run, and their length.
fn way(bytes: &[u8]) -> Option<(Exec, usize)> {
    let insn = decode(bytes).ok()?;
    let way = classify(&insn, None, false).ok()?;
    Some((way, insn.len()))
}

/// What `bytes` do, if that is emulated, and their length.
fn op(bytes: &[u8]) -> Option<(Op, usize)> {
    match way(bytes)? {
        (Exec::Emulate(op), len) => Some((op, len)),
        _ => None,
    }
}

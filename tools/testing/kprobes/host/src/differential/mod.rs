// SPDX-License-Identifier: GPL-2.0

//! Our x86-64 decoder against everybody else's, in [`s390`] the s390x one against LLVM, and in
//! [`arm`] those of Arm against LLVM and capstone.
//!
//! A property is a test with its name. Each looks at the same strings of bytes, see [`corpus`]: a
//! short list of them when nothing is said, all when `KPROBES_FUZZ=long`. The decoders that judge
//! ([`judge`]) had no part in ours. A judge that calls bytes an instruction of some length must
//! find ours agree; [`exception`] lists where it need not, with the reason. What a judge calls
//! invalid says nothing: ours does not look at everything that a CPU looks at.
//!
//! LLVM and the kernel's insn.c are libraries, which `make host-test` and `make host-fuzz` name in
//! the environment. Without it `cargo test` asks only iced.

mod arm;
mod bytes;
mod capstone;
pub(crate) mod corpus;
mod exception;
pub(crate) mod iced;
mod insn_c;
mod judge;
mod library;
mod llvm;
mod report;
mod s390;

use crate::{
    model::{addr::TextAddr, refusal::Refusal},
    ways::random::Random,
    x86::{
        decode::decode,
        insn::{Opcode, MAX_INSN},
    },
};
use bytes::Shape;
use corpus::Text;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use judge::Judge;
use library::Library;
use report::Report;
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{c_char, c_int, c_void, CStr, CString},
    fs,
};

/// Where every instruction stands: high, as kernel text does, so that distances wrap as there.
const AT: u64 = 0xffff_ffff_8100_0000;

/// Our length of the instruction at the start of `text`.
fn our_len(text: &Text) -> Option<usize> {
    decode(text).ok().map(|insn| insn.len())
}

fn length_agrees(judge: &mut dyn Judge) {
    let mut report = Report::new(judge.name());
    corpus::each(|text| {
        if let Some(len) = judge.len(text) {
            let ours = our_len(text);
            report.valid(ours.is_some());
            if ours != Some(len) {
                let shape = Shape::of(text);
                report.differs(exception::reason(judge.name(), &shape, ours), || {
                    let said = judge.say(text);
                    let kind = format!("{:02x?}", shape.kind());
                    (kind, format!("{text:02x?}: {len} {said}, ours {ours:?}"))
                });
            }
        } else {
            report.invalid(our_len(text).is_some());
        }
    });
    report.finish();
}

#[test]
fn decode_never_panics() {
    let mut report = Report::new("panics");
    corpus::each(|text| {
        let insn = decode(text);
        report.valid(insn.is_ok());
        if let Ok(insn) = insn {
            assert_eq!(insn.bytes(), &text[..insn.len()], "{text:02x?}");
            // From the end: immediate, displacement, SIB and ModRM follow each other.
            let mut end = insn.len() - usize::from(matches!(insn.opcode, Opcode::ThreeDNow(_)));
            for field in [insn.immediate, insn.displacement].into_iter().flatten() {
                end -= usize::from(field.size);
                assert_eq!(end, usize::from(field.offset), "{text:02x?}");
            }
            if let Some(sib) = insn.sib {
                end -= 1;
                assert_eq!(sib, text[end], "{text:02x?}");
            }
            if let Some(modrm) = insn.modrm {
                let byte = text[end - 1];
                assert_eq!((modrm.reg(), modrm.rm()), (byte >> 3 & 7, byte & 7));
            }
            insn.target(TextAddr::new(AT));
        }
    });
    report.finish();
}

#[test]
fn decode_never_reads_past() {
    let mut report = Report::new("reads past");
    corpus::each(|text| {
        let whole = decode(text);
        let needed = whole.map_or(MAX_INSN, |insn| insn.len());
        report.valid(whole.is_ok());
        let mut answer = None;
        for len in 0..=text.len() {
            let cut = text.get(..len).map(decode);
            // Nothing but "more", until there is an answer, which then stays.
            match cut {
                Some(Err(Refusal::TruncatedInsn)) => {
                    assert!(len < needed && answer.is_none(), "{text:02x?} {len}");
                }
                _ => {
                    assert_eq!(cut, Some(whole), "{text:02x?} {len}");
                    assert!(whole.is_err() || len >= needed, "{text:02x?} {len}");
                    answer = cut;
                }
            }
        }
        // What stands after the instruction changes nothing.
        let mut other = *text;
        other.iter_mut().skip(needed).for_each(|byte| *byte ^= 0xff);
        if whole.is_ok() {
            assert_eq!(decode(&other), whole, "{text:02x?}");
        }
    });
    report.finish();
}

#[test]
fn length_agrees_with_iced() {
    length_agrees(&mut iced::Iced);
}

#[test]
fn length_agrees_with_llvm() {
    if let Some(mut judge) = llvm::Llvm::open() {
        length_agrees(&mut judge);
    }
}

#[test]
fn length_agrees_with_insn_c() {
    if let Some(judge) = insn_c::InsnC::open() {
        // It takes any bytes for an instruction, so others have to say which are.
        let others = judge::Either(iced::Iced, llvm::Llvm::open());
        length_agrees(&mut judge::Backed(others, judge));
    }
}

#[test]
fn entries_are_known_to_a_judge() {
    let Some(mut llvm) = llvm::Llvm::open() else {
        return;
    };
    let (mut ours, mut theirs) = (BTreeMap::new(), BTreeSet::new());
    corpus::edges(true, &mut |text: &Text| {
        let Some(len) = our_len(text) else { return };
        let entry = Shape::of(text).entry();
        ours.entry(entry).or_insert(*text);
        if theirs.contains(&entry) {
            return;
        }
        // Iced does not know REX2, but what may stand after it.
        let twin = bytes::without_rex2(text).and_then(|(twin, shorter)| {
            let len = iced::Iced.len(&twin)?;
            Some(len + shorter)
        });
        if [iced::Iced.len(text), llvm.len(text), twin].contains(&Some(len)) {
            theirs.insert(entry);
        }
    });
    let alone = ours.iter().filter(|(entry, _)| !theirs.contains(entry));
    let alone = alone.filter(|(entry, _)| !exception::is_ours_alone(entry));
    let mut count = 0;
    for (_, text) in alone {
        println!("  only ours: {text:02x?}");
        count += 1;
    }
    let (ours, known) = (ours.len(), theirs.len());
    println!("entries: {ours} of ours, {known} known to a judge");
    assert_eq!(count, 0);
}

#[test]
fn rip_displacement_position_agrees() {
    let (mut insn_c, mut llvm) = (insn_c::InsnC::open(), llvm::Llvm::open());
    let mut report = Report::new("rip");
    corpus::each(|text| {
        let Ok(insn) = decode(text) else { return };
        let ours = insn.rip_relative();
        let ours = ours.map(|field| (usize::from(field.offset), usize::from(field.size)));
        report.valid(ours.is_some());
        if iced::Iced.len(text) == Some(insn.len()) {
            assert_eq!(ours, iced::rip_displacement(text), "{text:02x?}");
            // It finds one in whatever it takes for an instruction.
            let judge = insn_c.as_mut().filter(|_| ours.is_some());
            if let Some(place) = judge.and_then(|judge| judge.rip_displacement(text, insn.len())) {
                assert_eq!(ours.map(|(offset, _)| offset), Some(place), "{text:02x?}");
            }
        }
        if let Some(judge) = llvm.as_mut() {
            if judge.len(text) == Some(insn.len()) {
                let value = ours.and_then(|(offset, _)| text.get(offset..)?.first_chunk());
                let value = value.map(|&bytes| i64::from(i32::from_le_bytes(bytes)));
                assert_eq!(value, judge.rip_displacement(text), "{text:02x?}");
            }
        }
    });
    report.finish();
}

#[test]
fn branch_target_agrees() {
    let mut report = Report::new("branches");
    corpus::each(|text| {
        let Some(theirs) = iced::Iced.insn(text) else {
            return;
        };
        let Ok(insn) = decode(text) else { return };
        if insn.len() != theirs.len() {
            return;
        }
        let target = insn.target(TextAddr::new(AT)).map(TextAddr::get);
        report.valid(target.is_some());
        assert_eq!(target, iced::target(&theirs), "{text:02x?}");
        let (flow, code, way) = (insn.flow(), theirs.code(), theirs.flow_control());
        let agrees = iced::flow_agrees(&insn, &theirs);
        assert!(agrees, "{text:02x?}: {flow:?}, iced {code:?} {way:?}");
    });
    report.finish();
}

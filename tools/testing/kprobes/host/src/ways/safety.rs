// SPDX-License-Identifier: GPL-2.0

//! Nothing is copied that goes elsewhere or reaches beyond the task.

use super::*;

const SHORT: usize = 1_000_000;

fn each(mut look: impl FnMut(&[u8; MAX_INSN], &Instruction, Exec)) {
    let mut random = Random::new();
    let mut seen = 0;
    for _ in 0..runs(SHORT) {
        let bytes = random.any();
        let Some(theirs) = iced(&bytes, AT) else {
            continue;
        };
        if let Some((way, len)) = way(&bytes) {
            if len == theirs.len() {
                look(&bytes, &theirs, way);
                seen += 1;
            }
        }
    }
    assert!(seen > runs(SHORT) / 10, "{seen}");
}

#[test]
fn copies_go_on_to_the_next_instruction() {
    each(|bytes, theirs, way| {
        if let Exec::Step | Exec::Boost = way {
            assert_eq!(theirs.flow_control(), FlowControl::Next, "{bytes:02x?}");
        }
    });
}

#[test]
fn copies_do_not_change_the_interrupt_flag() {
    each(|bytes, theirs, way| {
        if let Exec::Step | Exec::Boost = way {
            let flags = RflagsBits::IF;
            assert_eq!(theirs.rflags_modified() & flags, 0, "{bytes:02x?}");
            assert!(theirs.mnemonic() != Mnemonic::Pushfq, "{bytes:02x?}");
        }
    });
}

/// Privileged, but only for reading, or for one port.
fn is_harmless(insn: &Instruction) -> bool {
    use Mnemonic::*;
    let reads_control =
        insn.mnemonic() == Mov && (insn.op1_register().is_cr() || insn.op1_register().is_dr());
    let harmless = [
        In, Out, Insb, Insw, Insd, Outsb, Outsw, Outsd, Clac, Stac, Rdpmc, Xsaves, Xsaves64,
        Xrstors, Xrstors64, Enqcmds,
    ];
    reads_control || harmless.contains(&insn.mnemonic())
}

#[test]
fn privileged_instructions_are_not_boosted() {
    each(|bytes, theirs, way| {
        if way == Exec::Boost && theirs.is_privileged() {
            assert!(is_harmless(theirs), "{:?} {bytes:02x?}", theirs.mnemonic());
        }
    });
}

#[test]
fn segment_registers_are_not_loaded_by_boosted_copies() {
    each(|bytes, theirs, way| {
        let to = theirs.op0_register();
        let loads =
            [Mnemonic::Mov, Mnemonic::Pop].contains(&theirs.mnemonic()) && to.is_segment_register();
        if loads {
            assert_eq!(way, Exec::Step, "{bytes:02x?}");
            assert!(![Register::GS, Register::SS].contains(&to), "{bytes:02x?}");
        }
    });
}

#[test]
fn classification_never_panics_whatever_comes_next() {
    let mut random = Random::new();
    for _ in 0..runs(SHORT) / 10 {
        let bytes = random.any();
        let Ok(insn) = decode(&bytes) else { continue };
        for len in 0..bytes.len() {
            let next = decode(bytes.get(len..).unwrap_or_default()).ok();
            // Whatever comes of it.
            let _ = classify(&insn, next.as_ref(), len % 2 == 0);
        }
    }
}

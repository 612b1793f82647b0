// SPDX-License-Identifier: GPL-2.0

//! Forms that no emulator at hand can run: EVEX, XOP and APX.
//!
//! What a booted kernel shows of other forms (they do the same with a probe as without) is shown of
//! these in parts. They have the right length, they are not taken for branches, and their copies
//! are the same instruction on the same memory. For EVEX and XOP iced says so. It knows no APX:
//! there, REX2 is held against the same opcode with REX, and of both REX2 and the fourth map of
//! EVEX no byte of a copy may differ but for a displacement that moves against it.

use super::*;

const TO: u64 = AT + 0x1234_5000;

/// A register, memory by a register, by RIP, and by base and index.
const MODRM: [&[u8]; 4] = [
    &[0xca],
    &[0x4b, 0x12],
    &[0x0d, 0x81, 0x12, 0x93, 0x24],
    &[0x4c, 0x8b, 0x12],
];

fn text(parts: &[&[u8]]) -> [u8; MAX_INSN] {
    let mut bytes = [0x24; MAX_INSN];
    let all = parts.concat();
    bytes[..all.len()].copy_from_slice(&all);
    bytes
}

/// The copy at [`TO`], if the instruction is run as one.
fn copy(insn: &Insn) -> Option<Vec<u8>> {
    let way = classify(insn, None, false).ok()?;
    if let Exec::Emulate(_) = way {
        return None;
    }
    let copy = relocate::copy(insn, TextAddr::new(AT), TextAddr::new(TO));
    Some(copy.expect("near enough").bytes().to_vec())
}

/// How many forms of EVEX or XOP `heads` and all opcodes make; each is judged by iced.
fn judged_by_iced(heads: impl Iterator<Item = Vec<u8>>) -> usize {
    let mut forms = BTreeSet::new();
    for head in heads {
        for opcode in 0..=u8::MAX {
            for (kind, modrm) in MODRM.iter().enumerate() {
                let bytes = text(&[&head, &[opcode], modrm]);
                let Some(theirs) = iced(&bytes, AT) else {
                    continue;
                };
                let insn = decode(&bytes).expect("an instruction to iced");
                assert_eq!(insn.len(), theirs.len(), "{bytes:02x?}");
                let copy = copy(&insn).expect("a form to be copied");
                let mut there = iced(&copy, TO).expect("an instruction");
                assert_eq!(copy.len(), theirs.len(), "{bytes:02x?}");
                if theirs.is_ip_rel_memory_operand() {
                    let memory = |insn: &Instruction| insn.ip_rel_memory_address();
                    assert_eq!(memory(&there), memory(&theirs), "{bytes:02x?}");
                }
                there.set_ip(theirs.ip());
                assert_eq!(there, theirs, "{bytes:02x?}");
                forms.insert((theirs.code() as usize, kind));
            }
        }
    }
    forms.len()
}

/// The first four bytes of EVEX, for a map.
fn evex(map: u8) -> impl Iterator<Item = Vec<u8>> {
    (0..4).flat_map(move |prefix| {
        [0x08, 0x28, 0x48, 0x09, 0x4f]
            .into_iter()
            .flat_map(move |last| {
                [0x74, 0xf4].map(|wide| vec![0x62, 0xf0 | map, wide | prefix, last])
            })
    })
}

/// The first three bytes of XOP.
fn xop() -> impl Iterator<Item = Vec<u8>> {
    [8, 9, 10].into_iter().flat_map(|map| {
        [0x70, 0x74, 0xf0, 0xf4, 0x78, 0xf8].map(|last| vec![0x8f, 0xe0 | map, last])
    })
}

#[test]
fn forms_of_evex_and_xop_are_copied_as_they_are() {
    let with_evex = judged_by_iced([1, 2, 3, 5, 6].into_iter().flat_map(evex));
    let with_xop = judged_by_iced(xop());
    println!("forms judged on the host: {with_evex} of EVEX, {with_xop} of XOP");
    let enough = with_evex > 2_500 && with_xop > 200;
    assert!(enough, "{with_evex} {with_xop}");
}

/// Only a displacement differs between an instruction and its copy, by how far that is.
fn moved(insn: &Insn, original: &[u8], copy: &[u8]) -> bool {
    let Some(field) = insn.rip_relative() else {
        return copy == original;
    };
    let (start, end) = (usize::from(field.offset), usize::from(field.offset) + 4);
    let number = |code: &[u8]| i32::from_le_bytes(code[start..end].try_into().expect("4 bytes"));
    copy.len() == original.len()
        && copy[..start] == original[..start]
        && copy[end..] == original[end..]
        && i64::from(number(original)) - i64::from(number(copy)) == (TO - AT) as i64
}

/// How many encodings `heads` and all opcodes make, since nobody says which of them are one form;
/// `check` says more about each.
fn judged_here(heads: &[Vec<u8>], check: impl Fn(&Insn, &[u8], &[u8])) -> usize {
    let mut forms = BTreeSet::new();
    for head in heads {
        for opcode in 0..=u8::MAX {
            for (kind, modrm) in MODRM.iter().enumerate() {
                let bytes = text(&[head, &[opcode], modrm]);
                let Ok(insn) = decode(&bytes) else { continue };
                if insn.modrm.is_none() && kind > 0 {
                    continue;
                }
                check(&insn, head, &bytes[head.len()..]);
                if let Some(copy) = copy(&insn) {
                    assert!(moved(&insn, &bytes[..insn.len()], &copy), "{bytes:02x?}");
                    forms.insert((head.clone(), opcode, kind));
                }
            }
        }
    }
    forms.len()
}

#[test]
fn forms_of_apx_are_copied_as_they_are() {
    let mut forms = 0;
    // REX2 and REX, without and with the escape to the second map, 64 bits wide or not.
    for (rex2, rex, escape) in [(0x00, 0x40, false), (0x08, 0x48, false), (0x80, 0x40, true)] {
        let plain_head = if escape { vec![rex, 0x0f] } else { vec![rex] };
        forms += judged_here(&[vec![0xd5, rex2]], |insn, head, rest| {
            // JMPABS is a MOV without REX2.
            if !escape && rest[0] == 0xa1 {
                return;
            }
            let bytes = text(&[&plain_head, &rest[..10]]);
            let plain = decode(&bytes).expect("an opcode without REX2 as well");
            let plain_len = plain.len() - plain_head.len();
            assert_eq!(insn.len() - head.len(), plain_len, "{bytes:02x?}");
            assert_eq!(insn.flow(), plain.flow(), "{bytes:02x?}");
            assert_eq!(insn.modrm, plain.modrm, "{bytes:02x?}");
        });
    }
    let heads: Vec<_> = evex(4).chain([vec![0x62, 0xf4, 0x7c, 0x18]]).collect();
    let fourth = judged_here(&heads, |_, _, _| {});
    println!("encodings judged on the host: {forms} of REX2, {fourth} of EVEX's fourth map");
    assert!(forms > 1_000 && fourth > 500, "{forms} {fourth}");
}

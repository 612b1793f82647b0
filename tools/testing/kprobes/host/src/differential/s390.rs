// SPDX-License-Identifier: GPL-2.0

//! The s390x decoder and what follows from it against LLVM and capstone.
//!
//! The strings are all 2^16 first halfwords, with each sixth byte if the length is six, and with
//! four patterns between, and the instructions of built kernels. LLVM's words tell the class of an instruction and the target of a
//! branch. [`ONLY_LLVM`] and [`ONLY_OURS`] have all differences, with their reasons.

use super::*;
use crate::s390::{branch::Regs, classify::Exec, insn::Insn};

/// The third to fifth byte: nothing, two registers, numbers of both signs.
const PATTERNS: [[u8; 3]; 4] = [[0; 3], [0, 0x48, 0], [0x12, 0x34, 0x56], [0xe8, 0xf7, 0x9a]];

/// Where instructions are copied to that stand at [`AT`].
const COPY: u64 = AT - 0x1234_5678;

/// Instructions that only LLVM knows, by their names there.
const ONLY_LLVM: &[(&str, &str)] = &[(
    "missing in opcodes.txt: CAL, CALG, CALGF, PFCR",
    "cal calg calgf pfcr",
)];

const OPERANDS: &str = "operands that LLVM does not accept";

/// Opcodes that only opcodes.txt has.
const ONLY_OURS: &[(&str, &[u16])] = &[
    ("traps: ILLEGAL, and BRKPT for probes", &[0x0000, 0x0002]),
    (
        "for channels, PCI and crypto cards: CHSC, CLP, PCILG and others, NQAP, DQAP, PQAP",
        &[
            0xb25f, 0xb9a0, 0xb9d0, 0xb9d2, 0xb9d3, 0xb9d4, 0xb9d5, 0xb9d6, 0xe3d0, 0xe3d4, 0xebd0,
            0xebd1, 0xebd4, 0xb2ad, 0xb2ae, 0xb2af,
        ],
    ),
    (
        "for hypervisors and firmware: SERVC, STHYI, IUCV, EQBS, SQBS, UVC, ESSA",
        &[0xb220, 0xb256, 0xb2f0, 0xb99c, 0xeb8a, 0xb9a4, 0xb9ab],
    ),
    (
        "for measurements: RION and others, LRIC, STRIC, MRIC, STCCTM",
        &[
            0xaa00, 0xaa01, 0xaa02, 0xaa03, 0xaa04, 0xeb60, 0xeb61, 0xeb62, 0xeb17,
        ],
    ),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Branch,
    /// Another instruction with a PC-relative operand.
    Relative,
    Refused,
    Other,
}

fn ours(insn: &Insn) -> Class {
    let (at, copy) = (TextAddr::new(AT), TextAddr::new(COPY));
    // EXRL executes LR.
    let mut lr = |_, into: &mut [u8]| {
        into.copy_from_slice([0x18, 0x12].get(..into.len())?);
        Some(())
    };
    match insn.classify(at, &mut lr) {
        Ok(Exec::Branch(_)) => Class::Branch,
        Ok(_) if insn.moved(at, copy) == Ok(*insn) => Class::Other,
        Ok(_) => Class::Relative,
        Err(_) => Class::Refused,
    }
}

const REFUSED: &str = "bakr bassm bsa bsg bsm diag ex lpsw lpswe lpswey mc pc pr pt pti rp sam24 \
                       sam31 sam64 sie svc tabort tbegin tbeginc tend trap2 trap4";

/// Names that look like those of branches, or of instructions with PC-relative operands.
const OTHER: &str =
    "bdepg bextg locfhrl locgrl locrl mvcrl selfhrl selgrl selrl srl vlrl vrl vsrl \
                     vstrl";

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|other| other == name)
}

fn theirs(name: &str) -> Class {
    let compares = || {
        let rest = name.strip_prefix('c')?;
        let rest = rest.strip_prefix('l').unwrap_or(rest);
        let rest = rest.strip_prefix('g').unwrap_or(rest);
        let rest = rest.strip_prefix(['r', 'i'])?;
        rest.strip_prefix(['b', 'j'])
    };
    let conditions = ["", "e", "h", "he", "l", "le", "lh"];
    let is_compared = compares().is_some_and(|condition| conditions.contains(&condition));
    if is_in(REFUSED, name) {
        Class::Refused
    } else if is_in(OTHER, name) {
        Class::Other
    } else if name.starts_with(['b', 'j']) || is_in("nop nopr", name) || is_compared {
        Class::Branch
    } else if name.ends_with("rl") {
        Class::Relative
    } else {
        Class::Other
    }
}

/// Shows `look` each string, and LLVM. False if there is no LLVM.
fn each(mut look: impl FnMut(&[u8; 6], &mut llvm::Llvm)) -> bool {
    let Some(mut llvm) = llvm::Llvm::open_for("SystemZ", c"s390x-linux-gnu", c"z17") else {
        return false;
    };
    for [a, b] in (0..=u16::MAX).map(u16::to_be_bytes) {
        for sixth in if a < 0xc0 { 0..=0 } else { 0..=255 } {
            for [c, d, e] in PATTERNS {
                look(&[a, b, c, d, e, sixth], &mut llvm);
            }
        }
    }
    for text in corpus::sections(22) {
        let mut rest = &text[..];
        while let [_, _, ..] = rest {
            let mut bytes = [0; 6];
            let len = rest.len().min(6);
            bytes[..len].copy_from_slice(&rest[..len]);
            look(&bytes, &mut llvm);
            rest = &rest[Insn::decode(rest).map_or(2, |insn| insn.len())..];
        }
    }
    true
}

#[test]
fn length_and_class_agree_with_llvm() {
    let mut report = Report::new("s390 llvm");
    // How many strings only this decoder takes, by opcode, and what LLVM takes.
    let (mut only_ours, mut known) = (BTreeMap::<_, u64>::new(), BTreeSet::new());
    let there = each(|bytes, llvm| {
        let insn = Insn::decode(bytes);
        let len = llvm.one(bytes, AT);
        let name = llvm.said().split_whitespace().next().unwrap_or_default();
        match (insn, len) {
            (Ok(insn), Some(len)) => {
                assert_eq!(insn.len(), len, "{bytes:02x?} {name}");
                assert_eq!(ours(&insn), theirs(name), "{bytes:02x?} {name}");
                known.insert(insn.opcode.key);
                report.valid(true);
            }
            (Ok(insn), None) => {
                *only_ours.entry(insn.opcode.key).or_default() += 1;
                report.invalid(true);
            }
            (Err(_), Some(_)) => {
                report.valid(false);
                let reason = ONLY_LLVM.iter().find(|(_, names)| is_in(names, name));
                report.differs(reason.map(|(reason, _)| *reason), || {
                    (name.into(), format!("{bytes:02x?}"))
                });
            }
            (Err(_), None) => report.invalid(false),
        }
    });
    if !there {
        return;
    }
    for (key, count) in only_ours {
        let reason = ONLY_OURS.iter().find(|(_, keys)| keys.contains(&key));
        match reason {
            _ if known.contains(&key) => report.explain(OPERANDS, count),
            Some((reason, _)) => report.explain(reason, count),
            None => panic!("only in opcodes.txt: {key:04x}"),
        }
    }
    // No reason is left over.
    let reasons = 1 + ONLY_LLVM.len() + ONLY_OURS.len();
    assert_eq!(report.finish().len(), reasons);
}

/// Capstone knows fewer instructions. Its words tell the class, as LLVM's do.
#[test]
fn length_and_class_agree_with_capstone() {
    let Some(mut capstone) = capstone::Capstone::open(6, 1 << 31) else {
        return;
    };
    let mut report = Report::new("s390 capstone");
    each(|bytes, _| {
        let insn = Insn::decode(bytes);
        let Some(seen) = capstone.one(bytes, AT) else {
            return report.invalid(insn.is_ok());
        };
        let name = seen.said.split_whitespace().next().unwrap_or_default();
        let agrees =
            insn.is_ok_and(|insn| insn.len() as u64 == seen.len && ours(&insn) == theirs(name));
        report.valid(agrees);
        if !agrees {
            report.differs(None, || {
                (name.into(), format!("{bytes:02x?} {}", seen.said))
            });
        }
    });
    report.finish();
}

/// Branches that are always taken, and hints, which have no target here.
const ALWAYS: &str = "b bal balr bas basr bi bpp bprp br bras brasl j jg";
/// Branches with a mask of 0. LLVM has no other names for those that compare.
const NEVER: &str = "bic cgrb cgrj clgrb clgrj clrb clrj crb crj jnop";

/// Registers for a branch.
struct Registers {
    gprs: [u64; 16],
    cc: u8,
}

impl Regs for Registers {
    fn gpr(&self, number: u8) -> u64 {
        self.gprs[usize::from(number)]
    }
    fn set_gpr(&mut self, number: u8, value: u64) {
        self.gprs[usize::from(number)] = value;
    }
    fn cc(&self) -> u8 {
        self.cc
    }
    fn load(&self, at: u64) -> Option<u64> {
        Some(!at)
    }
}

impl Registers {
    /// Numbers of which some are equal, or 0 or 1 as counts.
    fn random(random: &mut Random) -> Self {
        let numbers = [0, 1, 0x7fff_ffff, 0xffff_ffff, 1 << 32, AT, u64::MAX];
        Self {
            gprs: [(); 16].map(|()| numbers[random.below(numbers.len())]),
            cc: random.below(4) as u8,
        }
    }

    /// A register by its name, which is not `%r0`, or the displacement that stands there.
    fn named(&self, name: &str) -> u64 {
        match name.strip_prefix("%r") {
            Some("0") => 0,
            Some(number) => self.gprs[number.parse::<usize>().expect("a register")],
            None => name.parse::<i64>().expect("a number") as u64,
        }
    }

    /// What an operand such as `18(%r1,%r2)` means as an address.
    fn sum(&self, operand: &str) -> u64 {
        let parts = operand.split(['(', ',', ')']);
        let parts = parts.filter(|part| !part.is_empty());
        parts.fold(0, |sum, part| sum.wrapping_add(self.named(part)))
    }
}

/// The last operand in LLVM's words, and what stands before.
fn last_operand(said: &str) -> (&str, &str) {
    said.rsplit_once([' ', '\t']).unwrap_or((said, ""))
}

#[test]
fn targets_agree_with_llvm() {
    let mut random = Random::new();
    let mut taken = BTreeMap::<String, [u64; 2]>::new();
    let mut copies = 0;
    let there = each(|bytes, llvm| {
        let Ok(insn) = Insn::decode(bytes) else {
            return;
        };
        let class = ours(&insn);
        if ![Class::Branch, Class::Relative].contains(&class) || llvm.one(bytes, AT).is_none() {
            return;
        }
        let said = llvm.said().to_string();
        let (words, operand) = last_operand(&said);
        let (at, copy) = (TextAddr::new(AT), TextAddr::new(COPY));
        let distance = |operand: &str| operand.parse::<i64>().expect("a distance") as u64;
        if class == Class::Relative {
            let moved = insn.moved(at, copy).expect("a copy");
            assert_eq!(llvm.one(&moved.bytes(), COPY), Some(6));
            let (words_of_copy, operand_of_copy) = last_operand(llvm.said());
            assert_eq!(words_of_copy, words);
            let target = COPY.wrapping_add(distance(operand_of_copy));
            assert_eq!(target, AT.wrapping_add(distance(operand)), "{said}");
            copies += 1;
            return;
        }
        let Ok(Exec::Branch(branch)) = insn.classify(at, &mut |_, _| None) else {
            return;
        };
        let name = words.split_whitespace().next().unwrap_or_default();
        let next = AT + insn.len() as u64;
        for _ in 0..8 {
            let mut registers = Registers::random(&mut random);
            let target = match bytes {
                _ if operand.is_empty() || is_in("bpp bprp", name) => next,
                [0x05..=0x07 | 0x0d, ..] | [0xb9, ..] => match operand {
                    "0" | "%r0" => next,
                    register => registers.named(register),
                },
                [0x84 | 0x85 | 0xa7 | 0xc0 | 0xcc, ..] => AT.wrapping_add(distance(operand)),
                [0xec, .., sixth] if *sixth < 0x80 => AT.wrapping_add(distance(operand)),
                [0xe3, .., 0x47] => !registers.sum(operand),
                _ => registers.sum(operand),
            };
            let to = branch.run(at, &mut registers).map(TextAddr::get);
            let agrees = [Some(target), Some(next)].contains(&to);
            assert!(agrees, "{said} {to:x?} {target:x}");
            let counts = taken.entry(name.to_string()).or_default();
            counts[usize::from(to == Some(target))] += 1;
        }
    });
    let branches: u64 = taken.values().flatten().sum();
    println!("s390 targets: {branches} branches, {copies} copies");
    for (name, counts) in &taken {
        let expected = match counts {
            [0, _] => ALWAYS,
            [_, 0] => NEVER,
            _ => continue,
        };
        assert!(is_in(expected, name), "{name} {counts:?}");
    }
    assert!(!there || branches > 0 && copies > 0);
}

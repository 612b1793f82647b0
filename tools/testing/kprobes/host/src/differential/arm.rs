// SPDX-License-Identifier: GPL-2.0

//! The Arm decoders and what follows from them against LLVM and capstone.
//!
//! The strings are all 16-bit instructions of Thumb, and words of 32 bits: those in built kernels,
//! and random ones with many registers that are PC. LLVM's words tell how an instruction has to be
//! executed, capstone whether it uses PC. `KPROBES_FUZZ_COUNT` says how many random strings there
//! are. [`EXPLAINED`] and [`PC_EXPLAINED`] have all differences, with their reasons.

mod forms;

use super::*;
use crate::arm::{
    emulate::Regs,
    insn::{Exec, Insn},
    State,
};

/// Where every instruction stands.
const AT: u64 = 0xc010_0000;
const NOP: [u8; 4] = [0x00, 0xbf, 0x00, 0xbf];

/// How an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// The tables do not have it, or PC is where it is UNPREDICTABLE.
    Invalid,
    Refused,
    Copy,
    CopyOrEmulate,
    Emulate,
    EmulateStore,
}

fn decoded(state: State, bytes: [u8; 4]) -> Result<Insn, Refusal> {
    let mut read = |at: TextAddr, into: &mut [u8]| {
        let from = (at.get() - AT) as usize;
        into.copy_from_slice(bytes.get(from..from + into.len())?);
        Some(())
    };
    Insn::read(state, TextAddr::new(AT), &mut read)
}

/// The length, and how the instruction is executed.
fn ours(state: State, bytes: [u8; 4]) -> (u64, Class) {
    let Ok(insn) = decoded(state, bytes) else {
        return (0, Class::Invalid);
    };
    let class = match insn.classify() {
        Ok(Exec::Copy) => Class::Copy,
        Ok(Exec::CopyOrEmulate(_)) => Class::CopyOrEmulate,
        Ok(Exec::Emulate(_)) => Class::Emulate,
        Ok(Exec::EmulateStore(_)) => Class::EmulateStore,
        Err(Refusal::InvalidInsn) => Class::Invalid,
        Err(_) => Class::Refused,
    };
    (insn.len(), class)
}

/// An instruction in a judge's words.
struct Words<'a> {
    state: State,
    name: &'a str,
    operands: &'a str,
    /// PC is the first operand, and another one. Registers in braces are others.
    first: bool,
    later: bool,
}

impl<'a> Words<'a> {
    /// A name may end in a condition.
    fn of(said: &'a str, state: State, bytes: [u8; 4]) -> Self {
        let (name, operands) = said.split_once(['\t', ' ']).unwrap_or((said, ""));
        let operands = operands.split('@').next().unwrap_or_default().trim();
        let name = name.trim_end_matches(".w");
        let has_condition = match state {
            State::A32 => bytes[3] < 0xe0,
            State::Thumb => {
                name.len() == 3
                    && name.starts_with('b')
                    && !["blx", "bxj", "bic", "bfc", "bfi"].contains(&name)
            }
        };
        let cut = name.len() - if has_condition { 2 } else { 0 };
        let mut all = operands.split(|letter: char| !letter.is_ascii_alphanumeric());
        Self {
            state,
            name: &name[..cut],
            operands,
            first: all.next() == Some("pc"),
            later: all.any(|operand| operand == "pc"),
        }
    }

    fn starts(&self, list: &str) -> bool {
        let mut list = list.split_whitespace();
        list.any(|start| self.name.starts_with(start))
    }

    fn is(&self, list: &str) -> bool {
        list.split_whitespace().any(|name| name == self.name)
    }

    fn is_branch(&self) -> bool {
        self.is("b bl blx bx cbz cbnz tbb tbh")
    }

    /// Data processing whose last operand is not shifted by a register.
    fn is_computed(&self) -> bool {
        let name = self.name.strip_suffix('s').unwrap_or(self.name);
        let shifts = ["lsl", "lsr", "asr", "ror"];
        let shifted = |shift| self.operands.contains(shift);
        let is_shifted = shifts.contains(&name) || shifts.into_iter().any(shifted);
        let last = self.operands.rsplit(' ').next().unwrap_or_default();
        let by_register = is_shifted && !last.starts_with('#');
        ALU.split(' ').any(|other| other == name) && !by_register
    }

    /// May PC be in the place where it is?
    fn may_use_pc(&self) -> bool {
        let address = self
            .operands
            .find('[')
            .map_or("", |at| &self.operands[at..]);
        let is_relative = address.starts_with("[pc") && address.ends_with(']');
        let by_pc = address.contains(", pc") || address.contains(", -pc");
        let (based_on_pc, source) = (address.starts_with("[pc"), self.first);
        if self.state == State::Thumb
            && !self.is("add mov ldr ldrb ldrh ldrsb ldrsh ldrd ldm ldmdb pop")
        {
            self.is_branch() && !self.is("blx")
        } else if self.is("ldr") {
            !by_pc && (!based_on_pc || is_relative)
        } else if self.is("ldrb ldrh ldrsb ldrsh ldrd") {
            is_relative && !by_pc && !source
        } else if self.is("str") {
            !by_pc && (!based_on_pc || is_relative)
        } else if self.starts("ldm stm pop push") {
            !source
        } else {
            self.is_computed() || self.is_branch() && !self.is("blx")
        }
    }
}

const ALU: &str =
    "and eor sub rsb add adc sbc rsc tst teq cmp cmn orr mov bic mvn lsl lsr asr ror rrx";
const REFUSED: &str =
    "svc smc hvc udf trap __brkdiv0 bkpt hlt eret rfe srs bxj setend strex stlex dcps";
const COPROCESSOR: &str = "ldc stc vldr vldm vstr vstm fldm fstm";
/// The operands of MCR to SCTLR, VBAR, TPIDRURO and TPIDRPRW, without the register.
const SPECIAL: [&str; 4] = ["c1, c0, #0", "c12, c0, #0", "c13, c0, #3", "c13, c0, #4"];

/// How an instruction in LLVM's words has to be executed.
fn theirs(words: &Words<'_>, is_t16: bool) -> Class {
    let (operands, uses) = (words.operands, words.first || words.later);
    let in_list = operands.contains('{') && words.later;
    let returns = words.first
        && words.name.ends_with('s')
        && words.starts(ALU)
        && !words.is("mls")
        && !words.is("teq tst");
    let is_banked = operands.replace("PSR_", "").contains('_') || operands.contains("spsr");
    let is_special = words.is("mcr mcr2")
        && operands.starts_with("p15, #0")
        && SPECIAL.iter().any(|special| operands.ends_with(special));
    if words.starts(REFUSED)
        || words.starts(COPROCESSOR) && uses
        || words.is("mrs msr") && (operands.contains("SPSR") || is_banked)
        // CPS with a mode
        || words.starts("cps") && operands.contains('#')
        || operands.ends_with('^') && in_list
        || returns
        || is_special
    {
        Class::Refused
    } else if words.is("msr") && operands.starts_with("APSR") {
        Class::Copy
    } else if words.starts("mrs msr cps wfe") {
        Class::CopyOrEmulate
    } else if words.starts("it") || words.is("adr") {
        Class::Emulate
    } else if words.starts("pl") {
        Class::Copy
    } else if words.is_branch() {
        match words.is("bx") && !words.first {
            true => Class::CopyOrEmulate,
            false => Class::Emulate,
        }
    } else if !uses {
        Class::Copy
    } else if words.starts("str stm push stl") && !operands.contains("[pc") {
        Class::EmulateStore
    } else if words.starts("ldm pop") || words.first && !words.later {
        // With two operands, ADD reads the first, and so do those that only compare.
        match words.is("cmp cmn tst teq") || is_t16 && words.is("add") {
            true => Class::Emulate,
            false => Class::CopyOrEmulate,
        }
    } else {
        Class::Emulate
    }
}

/// A string of bytes that is executed in another way than a judge's words say.
struct Difference<'a> {
    words: &'a Words<'a>,
    ours: Class,
    theirs: Class,
}

type Explanation = (&'static str, fn(&Difference<'_>) -> bool);

const EXPLAINED: &[Explanation] = &[
    ("UNPREDICTABLE: PC as this register", |all| {
        let uses = all.words.first || all.words.later;
        all.ours == Class::Invalid && uses && !all.words.may_use_pc()
    }),
    ("stores of PC to where a trap may save registers", |all| {
        let on_stack = all.words.is("str") && all.words.operands.contains("[sp");
        on_stack && all.ours == Class::Refused
    }),
    ("MSR with the number of another mode", |all| {
        let immediate = all.words.operands.contains('#');
        all.words.is("msr") && immediate && all.ours == Class::Refused
    }),
    (
        "coprocessors that there are not, or without this instruction",
        |all| {
            let (starts, operands) = (|list| all.words.starts(list), all.words.operands);
            let is_absent = ('0'..='7').any(|digit| operands.starts_with(&format!("p{digit},")));
            let is_system = operands.starts_with("p14,") || operands.starts_with("p15,");
            let is_second = starts("cdp ldc2 stc2 mcr2 mrc2 mcrr2 mrrc2");
            all.ours == Class::Invalid && (is_absent || is_system && is_second)
        },
    ),
    (
        "LDC2, STC2 of coprocessors 8, 9, 12, 13: Advanced SIMD",
        |all| {
            let coprocessors = ["p8,", "p9,", "p12,", "p13,"];
            let is_one = coprocessors
                .iter()
                .any(|name| all.words.operands.starts_with(name));
            all.words.starts("ldc2 stc2") && is_one && all.ours == Class::Copy
        },
    ),
];

/// How many random strings to look at.
fn count() -> u64 {
    let given = env::var("KPROBES_FUZZ_COUNT").unwrap_or_default();
    match given.as_str() {
        "" if corpus::is_long() => 5_000_000,
        "" => 200_000,
        _ => given.parse().expect("KPROBES_FUZZ_COUNT is a number"),
    }
}

/// Words of 32 bits: those at each `step` bytes of kernels, whether they are A32 or Thumb, and
/// random ones, with many fields of four bits that are ones.
fn words(step: usize, look: &mut dyn FnMut(u32)) {
    for text in corpus::sections(40) {
        for word in text.windows(4).step_by(step) {
            let word = u32::from_le_bytes(word.try_into().expect("4 bytes"));
            // The first halfword of Thumb is the high one.
            look(word.rotate_left(if step == 2 { 16 } else { 0 }));
        }
    }
    let mut random = Random::new();
    for _ in 0..count() {
        let (word, choices) = (random.next(), random.next());
        let ones = (0..7).filter(|field| choices >> (3 * field) & 7 == 0);
        look(ones.fold((word >> 32) as u32, |word, field| word | 15 << (4 * field)));
    }
}

const SETS: [&str; 3] = ["a32", "t16", "t32"];

/// Shows `look` each string of a set.
fn each(set: &str, look: &mut dyn FnMut(State, [u8; 4])) {
    match set {
        "a32" => words(4, &mut |word| look(State::A32, word.to_le_bytes())),
        "t16" => (0..0xe800_u16).for_each(|word| {
            let [a, b] = word.to_le_bytes();
            look(State::Thumb, [a, b, NOP[2], NOP[3]]);
        }),
        _ => words(2, &mut |word| {
            let highest = if word >> 27 & 3 == 0 { 15 } else { 14 };
            let word = word | highest << 28;
            let [c, d, a, b] = word.to_le_bytes();
            look(State::Thumb, [a, b, c, d]);
        }),
    }
}

/// LLVM for a set: as CPUs of ARMv7 and of ARMv8 have it.
fn llvms(set: &str) -> Vec<llvm::Llvm> {
    let triples = match set {
        "a32" => [c"armv7a-linux", c"armv8a-linux"],
        _ => [c"thumbv7a-linux", c"thumbv8a-linux"],
    };
    let cpus = triples.into_iter().zip([c"cortex-a15", c"cortex-a72"]);
    let open = |(triple, cpu)| llvm::Llvm::open_for("ARM", triple, cpu);
    cpus.filter_map(open).collect()
}

/// LLVM's length of an instruction and its words. IT changes the words of what follows.
fn say(llvm: &mut llvm::Llvm, bytes: [u8; 4]) -> Option<(u64, String)> {
    let len = llvm.one(&bytes, AT)?;
    let said = llvm.said().to_string();
    if said.starts_with("it") {
        (0..4).for_each(|_| _ = llvm.one(&NOP, AT));
    }
    Some((len as u64, said))
}

/// `theirs` is not how we execute an instruction.
fn differs(
    report: &mut Report,
    explanations: &[Explanation],
    (words, ours, theirs): (&Words<'_>, Class, Class),
    bytes: [u8; 4],
) {
    let all = Difference {
        words,
        ours,
        theirs,
    };
    let explanation = explanations.iter().find(|(_, explains)| explains(&all));
    report.differs(explanation.map(|(reason, _)| *reason), || {
        let kind = format!("{} {theirs:?}, ours {ours:?}", words.name);
        (kind, format!("{bytes:02x?} {}", words.operands))
    });
}

#[test]
fn length_and_class_agree_with_llvm() {
    let mut reasons = BTreeSet::new();
    for set in SETS {
        let mut report = Report::new(format!("arm {set} llvm"));
        let mut judges = llvms(set);
        if judges.is_empty() {
            return;
        }
        each(set, &mut |state, bytes| {
            let (len, ours) = ours(state, bytes);
            let said = judges.iter_mut().find_map(|judge| say(judge, bytes));
            let Some((their_len, said)) = said else {
                return report.invalid(ours != Class::Invalid);
            };
            let words = Words::of(&said, state, bytes);
            let theirs = theirs(&words, set == "t16");
            let agrees = len == their_len || ours == Class::Invalid;
            assert!(agrees, "{bytes:02x?} {said}");
            report.valid(ours == theirs);
            if ours != theirs {
                differs(&mut report, EXPLAINED, (&words, ours, theirs), bytes);
            }
        });
        reasons.extend(report.finish());
    }
    // No reason is left over.
    assert_eq!(reasons.len(), EXPLAINED.len());
}

/// Registers that are zero. Notes the address that is read, and the number that a register becomes.
#[derive(Default)]
struct Zeroes {
    read: std::cell::Cell<Option<u32>>,
    number: Option<u32>,
}

impl Regs for Zeroes {
    fn register(&self, _number: u8) -> u32 {
        0
    }
    fn set_register(&mut self, _number: u8, value: u32) {
        self.number = Some(value);
    }
    fn psr(&self) -> u32 {
        0
    }
    fn set_psr(&mut self, _psr: u32) {}
    fn load(&self, at: u32, _size: u8) -> Option<u32> {
        self.read.set(self.read.get().or(Some(at)));
        Some(0)
    }
    fn store(&mut self, _at: u32, _value: u32) -> Option<()> {
        None
    }
}

#[test]
fn targets_and_literals_agree_with_llvm() {
    for set in SETS {
        let mut judges = llvms(set);
        if judges.is_empty() {
            return;
        }
        let mut seen = BTreeMap::<_, u64>::new();
        each(set, &mut |state, bytes| {
            let insn = decoded(state, bytes).ok();
            let Some(Ok(Exec::Emulate(emulation))) = insn.map(|insn| insn.classify()) else {
                return;
            };
            let said = judges.iter_mut().find_map(|judge| say(judge, bytes));
            let Some((_, said)) = said else { return };
            let words = Words::of(&said, state, bytes);
            let immediate = words.operands.rsplit('#').next().unwrap_or_default();
            let Ok(distance) = immediate.trim_end_matches(']').parse::<i64>() else {
                return;
            };
            let mut frame = Zeroes::default();
            let to = emulation.run(TextAddr::new(AT), &mut frame);
            let pc = AT + if state == State::A32 { 8 } else { 4 };
            let is_literal = words.starts("ldr") && words.operands.contains("[pc, #");
            let place = match words.name {
                "b" | "bl" | "blx" | "cbz" => to.map(TextAddr::get),
                "adr" => frame.number.map(u64::from),
                _ if is_literal => frame.read.get().map(u64::from),
                _ => return,
            };
            // AT is aligned, so PC is.
            let expected = pc.checked_add_signed(distance);
            assert_eq!(place, expected, "{bytes:02x?} {said}");
            *seen.entry(words.name.to_string()).or_default() += 1;
        });
        println!("arm {set} targets: {seen:?}");
        assert!(seen.len() >= 4, "{seen:?}");
    }
}

const PC_EXPLAINED: &[Explanation] = &[
    ("preloads: a copy may preload something else", |all| {
        all.words.starts("pl")
    }),
    (
        "MRS, MSR, CPS, WFE, which are not copied for another reason",
        |all| all.words.starts("mrs msr cps wfe") && all.ours == Class::CopyOrEmulate,
    ),
    (
        "capstone does not say that branches, ADR and IT use PC",
        |all| {
            all.words.is_branch()
                || all.words.is("adr bxns blxns")
                || all.words.name.starts_with("it")
        },
    ),
    (
        "UNPREDICTABLE: REV, RBIT and so on with two registers",
        |all| all.words.is("rev rev16 revsh rbit clz") && all.ours == Class::Copy,
    ),
    ("capstone does not say what STM reads", |all| {
        all.words.starts("stm") && all.ours == Class::EmulateStore
    }),
];

#[test]
fn pc_use_agrees_with_capstone() {
    for set in SETS {
        let mode = [1 << 6 | 1 << 4, 1 << 6][usize::from(set == "a32")];
        let Some(mut judge) = capstone::Capstone::open(capstone::ARM, mode) else {
            return;
        };
        let mut report = Report::new(format!("arm {set} capstone"));
        each(set, &mut |state, bytes| {
            let (len, ours) = ours(state, bytes);
            let Some(theirs) = judge.one(&bytes, AT) else {
                return report.invalid(ours != Class::Invalid);
            };
            if ours == Class::Invalid || ours == Class::Refused {
                return report.valid(false);
            }
            let words = Words::of(&theirs.said, state, bytes);
            assert_eq!(len, theirs.len, "{bytes:02x?} {}", theirs.said);
            let class = match (theirs.reads_pc, theirs.writes_pc) {
                (false, false) => Class::Copy,
                (false, true) => Class::CopyOrEmulate,
                (true, _) => Class::Emulate,
            };
            let agrees = match ours {
                Class::EmulateStore => class == Class::Emulate,
                _ => class == ours,
            };
            report.valid(agrees);
            if !agrees {
                differs(&mut report, PC_EXPLAINED, (&words, ours, class), bytes);
            }
        });
        report.finish();
    }
}

// SPDX-License-Identifier: GPL-2.0

//! How a probed instruction is executed.
//!
//! A branch is emulated. The CPU runs a copy of every other instruction, which
//! [`Insn::moved`] makes for the copy's address. Some instructions are refused, as neither way
//! does.
//!
//! C counterpart: [`arch/s390/lib/probes.c`](srctree/arch/s390/lib/probes.c). C also refuses STNSM,
//! STOSM, EPSW and EXRL. C accepts instructions that are refused here since their copies would do
//! something else, or would not come to their ends: LPSW, LPSWE, LPSWEY, RP, PTI, SIE, SAM24,
//! SAM31, SAM64, SVC, MC, TRAP2, TRAP4 and TABORT.

use super::{
    branch::Branch,
    insn::{
        Extension,
        Insn,
        Mnemonic::*, //
    }, //
};
use crate::{
    contract::ReadText,
    prelude::*, //
};

/// How an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exec {
    /// The trap handler emulates the branch.
    Branch(Branch),
    /// The CPU runs a copy.
    Copy,
    /// The instruction reads or sets the PSW's masks for interrupts. A copy that runs while
    /// interrupts are masked would do something else.
    SeesInterrupts,
    /// The CPU runs a copy which stores a byte at a fixed address, a displacement without base.
    /// A register's number in the lowcore's `percpu_register` opens a per-CPU section.
    StoresByte {
        /// The address.
        at: u64,
        /// The byte.
        byte: u8,
    },
}

impl Insn {
    /// Decides how the instruction at `at` is executed, or refuses to probe it. `read` reads the
    /// instruction that EXRL executes.
    pub(crate) fn classify(&self, at: TextAddr, read: ReadText<'_>) -> Result<Exec, Refusal> {
        if self.opcode.mnemonic == Exrl {
            return self.classify_executed(at, read);
        }
        if let Some(branch) = Branch::of(self) {
            return Ok(Exec::Branch(branch));
        }
        Ok(match self.opcode.mnemonic {
            Illegal | Brkpt | Mc | Trap2 | Trap4 => return Err(Refusal::AlwaysTraps),
            Svc => return Err(Refusal::SystemCall),
            Lpsw | Lpswe | Lpswey | Rp => return Err(Refusal::InterruptReturn),
            Bakr | Bsa | Bsg | Pc | Pr | Pt | Pti => return Err(Refusal::FarBranch),
            Sie | Diag => return Err(Refusal::WorldSwitch),
            Tbegin | Tbeginc | Tend | Tabort => return Err(Refusal::Transaction),
            // EX finds its target in registers. The others change the size of addresses.
            Ex | Bsm | Bassm | Sam24 | Sam31 | Sam64 => return Err(Refusal::BoundToPlace),
            Ssm | Stnsm | Stosm | Epsw => Exec::SeesInterrupts,
            // A PC-relative operand must be one that a copy can have.
            _ => match self.stored_byte() {
                Some((at, byte)) => Exec::StoresByte { at, byte },
                None => self.moved(at, at).map(|_| Exec::Copy)?,
            },
        })
    }

    /// The fixed address and the byte of an MVIY without base.
    pub(super) fn stored_byte(&self) -> Option<(u64, u8)> {
        let is_fixed = self.opcode.mnemonic == Mviy && self.register(16) == 0;
        is_fixed.then(|| (self.long_displacement() as u64, self.bits(8, 8) as u8))
    }

    /// EXRL executes its target as if the target stood in the place of EXRL, with the lowest byte
    /// of a register ORed into the target's second byte; register 0 means no change.
    fn classify_executed(&self, at: TextAddr, read: ReadText<'_>) -> Result<Exec, Refusal> {
        let target = self.executes(at).ok_or(Refusal::BoundToPlace)?;
        let executed = Insn::read(target, read)?;
        let extension = executed.opcode.extension;
        let opcode_changes =
            self.register(8) != 0 && matches!(extension, Extension::Nibble | Extension::Second);
        if executed.opcode.relative || opcode_changes {
            return Err(Refusal::BoundToPlace);
        }
        // The target is not EXRL, which is relative.
        match executed.classify(target, read)? {
            Exec::Copy => Ok(Exec::Copy),
            _ => Err(Refusal::BoundToPlace),
        }
    }

    /// The signed displacement of 20 bits in the formats whose names end in Y.
    pub(super) fn long_displacement(&self) -> i64 {
        self.signed(32, 8) << 12 | self.signed(20, 12) & 0xfff
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_s390_classify))]
mod tests {
    use super::{
        super::{
            insn::Mnemonic,
            opcodes::OPCODES, //
        },
        *,
    };

    const AT: TextAddr = TextAddr::new(0x3ff_8000_0000);

    /// Classifies `bytes`; whatever EXRL executes is `executed`.
    fn classify(bytes: &[u8], executed: &[u8]) -> Result<Exec, Refusal> {
        let mut read = |at: TextAddr, into: &mut [u8]| {
            // exrl %r0,.+32 and exrl %r1,.+32
            let from = at.get().checked_sub(AT.get() + 32)? as usize;
            into.copy_from_slice(executed.get(from..from + into.len())?);
            Some(())
        };
        Insn::decode(bytes)?.classify(AT, &mut read)
    }

    const BRANCHES: [Mnemonic; 44] = [
        Bal, Balr, Bas, Basr, Bc, Bcr, Bct, Bctg, Bctgr, Bctr, Bic, Bpp, Bprp, Bras, Brasl, Brc,
        Brcl, Brct, Brctg, Brcth, Brxh, Brxhg, Brxle, Brxlg, Bxh, Bxhg, Bxle, Bxleg, Cgib, Cgij,
        Cgrb, Cgrj, Cib, Cij, Clgib, Clgij, Clgrb, Clgrj, Clib, Clij, Clrb, Clrj, Crb, Crj,
    ];
    const REFUSED: [Mnemonic; 29] = [
        Bakr, Bassm, Brkpt, Bsa, Bsg, Bsm, Diag, Ex, Illegal, Lpsw, Lpswe, Lpswey, Mc, Pc, Pr, Pt,
        Pti, Rp, Sam24, Sam31, Sam64, Sie, Svc, Tabort, Tbegin, Tbeginc, Tend, Trap2, Trap4,
    ];
    const RELATIVE: [Mnemonic; 24] = [
        Larl, Llhrl, Lghrl, Lhrl, Llghrl, Sthrl, Lgrl, Stgrl, Lgfrl, Lrl, Llgfrl, Strl, Exrl,
        Pfdrl, Cghrl, Chrl, Clghrl, Clhrl, Cgrl, Clgrl, Cgfrl, Crl, Clgfrl, Clrl,
    ];
    const SEE_INTERRUPTS: [Mnemonic; 4] = [Ssm, Stnsm, Stosm, Epsw];

    #[test]
    fn each_opcode_has_its_class() {
        let mut found = [0; 4];
        for row in &OPCODES {
            let [first, extension] = row.key.to_be_bytes();
            let mut bytes = [first, 0, 0x10, 0, 0, 0x10];
            match row.extension {
                Extension::None => {}
                Extension::Nibble | Extension::Second => bytes[1] = extension,
                Extension::Sixth => bytes[5] = extension,
            }
            if row.mnemonic == Exrl {
                bytes = EXRL_R0;
            }
            let class = classify(&bytes, &LR);
            let lists = [
                (&BRANCHES[..], matches!(class, Ok(Exec::Branch(_)))),
                (&REFUSED, class.is_err()),
                (&SEE_INTERRUPTS, class == Ok(Exec::SeesInterrupts)),
                (&RELATIVE, class == Ok(Exec::Copy) && row.relative),
            ];
            let other = lists.iter().all(|(list, _)| !list.contains(&row.mnemonic));
            assert!(!other || class == Ok(Exec::Copy) && !row.relative);
            for ((list, is_so), found) in lists.iter().zip(&mut found) {
                assert_eq!(list.contains(&row.mnemonic), *is_so);
                *found += usize::from(*is_so);
            }
        }
        assert_eq!(
            found,
            [
                BRANCHES.len(),
                REFUSED.len(),
                SEE_INTERRUPTS.len(),
                RELATIVE.len()
            ]
        );
    }

    const LR: [u8; 2] = [0x18, 0x12];
    /// EXRL with nothing to OR, and with %r1.
    const EXRL_R0: [u8; 6] = [0xc6, 0x00, 0, 0, 0, 0x10];
    const EXRL_R1: [u8; 6] = [0xc6, 0x10, 0, 0, 0, 0x10];

    #[test]
    fn exrl_is_copied_with_a_target_that_can_be_copied() {
        // mvc 0(1,%r2),0(%r3)
        let mvc = [0xd2, 0, 0x20, 0, 0x30, 0];
        assert_eq!(classify(&EXRL_R1, &mvc), Ok(Exec::Copy));
        // br %r14; larl; exrl; stnsm 0(%r1),3; mviy 0x3a0,5
        let bound = Err(Refusal::BoundToPlace);
        assert_eq!(classify(&EXRL_R0, &[0x07, 0xfe]), bound);
        assert_eq!(classify(&EXRL_R0, &[0xc0, 0x10, 0, 0, 0, 0x10]), bound);
        assert_eq!(classify(&EXRL_R0, &EXRL_R0), bound);
        assert_eq!(classify(&EXRL_R0, &[0xac, 0x03, 0x10, 0x00]), bound);
        assert_eq!(
            classify(&EXRL_R0, &[0xeb, 0x05, 0x03, 0xa0, 0, 0x52]),
            bound
        );
        // svc 0; none; unreadable
        assert_eq!(classify(&EXRL_R0, &[0x0a, 0]), Err(Refusal::SystemCall));
        assert_eq!(classify(&EXRL_R0, &[0x02, 0]), Err(Refusal::InvalidInsn));
        assert_eq!(classify(&EXRL_R0, &[0x58]), Err(Refusal::UnreadableText));
    }

    #[test]
    fn exrl_that_changes_an_opcode_is_refused() {
        // ahi %r1,1; lgr %r1,%r2: the opcode goes into the second byte.
        for target in [[0xa7, 0x1a, 0, 1], [0xb9, 0x04, 0, 0x12]] {
            assert!(classify(&EXRL_R0, &target).is_ok());
            assert_eq!(classify(&EXRL_R1, &target), Err(Refusal::BoundToPlace));
        }
    }

    #[test]
    fn mviy_to_a_fixed_address_is_a_byte_store() {
        // mviy 0x3a0,5; mviy 0x703a0,0; mviy -1,5; mviy 0x3a0(%r1),5
        let stores = |at, byte| Ok(Exec::StoresByte { at, byte });
        let mviy = |[a, b, c]: [u8; 3], byte| classify(&[0xeb, byte, a, b, c, 0x52], &[]);
        assert_eq!(mviy([0x03, 0xa0, 0], 5), stores(0x3a0, 5));
        assert_eq!(mviy([0x03, 0xa0, 0x70], 0), stores(0x703a0, 0));
        assert_eq!(mviy([0x0f, 0xff, 0xff], 5), stores(u64::MAX, 5));
        assert_eq!(mviy([0x13, 0xa0, 0], 5), Ok(Exec::Copy));
        // mvi 0x3a0,5 is no MVIY.
        assert_eq!(classify(&[0x92, 5, 0x03, 0xa0], &[]), Ok(Exec::Copy));
    }

    #[test]
    fn refusals_have_reasons() {
        let cases: [(&[u8], Refusal); 9] = [
            (&[0x00, 0x02], Refusal::AlwaysTraps),
            (&[0x0a, 0x01], Refusal::SystemCall),
            (&[0xb2, 0xb2, 0x10, 0x00], Refusal::InterruptReturn),
            (&[0x01, 0x01], Refusal::FarBranch),
            (&[0x01, 0x0d], Refusal::BoundToPlace),
            (&[0x83, 0x12, 0x00, 0x44], Refusal::WorldSwitch),
            (&[0xb2, 0xf8, 0x00, 0x00], Refusal::Transaction),
            (&[0x44, 0x10, 0x20, 0x00], Refusal::BoundToPlace),
            (&[0x02, 0x00], Refusal::InvalidInsn),
        ];
        for (bytes, reason) in cases {
            assert_eq!(classify(bytes, &[]), Err(reason));
        }
    }
}

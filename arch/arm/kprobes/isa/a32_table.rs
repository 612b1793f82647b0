// SPDX-License-Identifier: GPL-2.0

//! Classes of A32 encodings, in the order of the Arm Architecture Reference Manual, chapter A5. The
//! first class that has an instruction is its class. Coprocessors are in `copro_table.rs`.

use super::pattern::{
    row,
    rows,
    Kind::*,
    Row, //
};
use crate::prelude::Refusal::*;

// Instructions without a condition: their highest four bits are ones.
rows! {
    UNCONDITIONAL:
    // CPS to another mode
    "1111_0001_0000_xx10_xxxx_xxxx_xx0x_xxxx" => Refuse(ChangesVectors),
    // CPSIE, CPSID
    "1111_0001_0000_1x00_xxxx_xxxx_xx0x_xxxx" => ChangePsr,
    // SETEND
    "1111_0001_0000_xxx1_xxxx_xxxx_0000_xxxx" => Refuse(BoundToPlace),
    // Advanced SIMD: data processing
    "1111_001x_xxxx_xxxx_xxxx_xxxx_xxxx_xxxx" => Copy,
    // VLD1-4, VST1-4
    "1111_0100_xxx0_NNNN_xxxx_xxxx_xxxx_xxxx" => Copy,
    // PLD, PLDW, PLI, and hints to come (immediate, literal): a copy may preload something else
    "1111_010x_xx01_xxxx_xxxx_iiii_iiii_iiii" => Copy,
    // PLD, PLDW, PLI, and hints to come (register)
    "1111_011x_xx01_xxxx_xxxx_iiii_iss0_MMMM" => Copy,
    // CLREX
    "1111_0101_0111_xxxx_xxxx_xxxx_0001_xxxx" => ClearExclusive,
    // DSB, DMB, ISB, SB
    "1111_0101_0111_xxxx_xxxx_xxxx_01xx_xxxx" => Copy,
    // SRS
    "1111_100p_x1w0_xxxx_xxxx_xxxx_xxxx_xxxx" => Refuse(UnsavedRegister),
    // RFE
    "1111_100p_x0w1_xxxx_xxxx_xxxx_xxxx_xxxx" => Refuse(InterruptReturn),
    // BLX (immediate)
    "1111_101h_iiii_iiii_iiii_iiii_iiii_iiii" => Branch,
}

// Instructions with a condition.
rows! {
    CONDITIONAL:
    // MUL
    "cccc_0000_000s_DDDD_xxxx_MMMM_1001_NNNN" => Copy,
    // MLA
    "cccc_0000_001s_DDDD_AAAA_MMMM_1001_NNNN" => Copy,
    // UMAAL
    "cccc_0000_0100_HHHH_LLLL_MMMM_1001_NNNN" => Copy,
    // MLS
    "cccc_0000_0110_DDDD_AAAA_MMMM_1001_NNNN" => Copy,
    // UMULL, UMLAL, SMULL, SMLAL
    "cccc_0000_1xxs_HHHH_LLLL_MMMM_1001_NNNN" => Copy,
    // SWP, SWPB
    "cccc_0001_0b00_NNNN_TTTT_xxxx_1001_MMMM" => Copy,
    // LDREXD, LDAEXD, whose second register is the next one
    "cccc_0001_1011_NNNN_TTTx_xx1x_1001_xxxx" => LoadExclusive,
    // LDREX, LDREXB, LDREXH, LDAEX, LDAEXB, LDAEXH
    "cccc_0001_1zz1_NNNN_TTTT_xx1x_1001_xxxx" => LoadExclusive,
    // STREX, STREXB, STREXH, STREXD, STLEX and so on
    "cccc_0001_1zz0_NNNN_DDDD_xx1x_1001_TTTT" => StoreExclusive,
    // LDA, LDAB, LDAH
    "cccc_0001_1zz1_NNNN_TTTT_xx0x_1001_xxxx" => Copy,
    // STL, STLB, STLH
    "cccc_0001_1zz0_NNNN_xxxx_xx0x_1001_TTTT" => Copy,
    // LDRH, LDRSH (immediate, literal), without write-back
    "cccc_0001_x101_nnnn_TTTT_iiii_1x11_iiii" => ExtraTransfer,
    // LDRSB
    "cccc_0001_x101_nnnn_TTTT_iiii_1101_iiii" => ExtraTransfer,
    // LDRD, whose second register is the next one
    "cccc_0001_x100_nnnn_TTTx_iiii_1101_iiii" => ExtraTransfer,
    // LDRH, LDRSH (register), without write-back
    "cccc_0001_x001_nnnn_TTTT_xxxx_1x11_MMMM" => ExtraTransfer,
    // LDRSB
    "cccc_0001_x001_nnnn_TTTT_xxxx_1101_MMMM" => ExtraTransfer,
    // LDRD
    "cccc_0001_x000_nnnn_TTTx_xxxx_1101_MMMM" => ExtraTransfer,
    // LDRD with write-back, STRD (immediate)
    "cccc_000p_x1w0_NNNN_TTTx_iiii_11x1_iiii" => Copy,
    // LDRD with write-back, STRD (register)
    "cccc_000p_x0w0_NNNN_TTTx_xxxx_11x1_MMMM" => Copy,
    // LDRH, LDRSH with write-back, STRH, and LDRHT and so on (immediate)
    "cccc_000p_x1wx_NNNN_TTTT_iiii_1x11_iiii" => Copy,
    // LDRSB with write-back, LDRSBT
    "cccc_000p_x1wx_NNNN_TTTT_iiii_1101_iiii" => Copy,
    // LDRH, LDRSH with write-back, STRH, and LDRHT and so on (register)
    "cccc_000p_x0wx_NNNN_TTTT_xxxx_1x11_MMMM" => Copy,
    // LDRSB, LDRSBT
    "cccc_000p_x0wx_NNNN_TTTT_xxxx_1101_MMMM" => Copy,
    // MRS of CPSR
    "cccc_0001_0000_xxxx_DDDD_xx0x_0000_xxxx" => ReadPsr,
    // MRS of SPSR and of banked registers
    "cccc_0001_0r00_xxxx_xxxx_xxxx_0000_xxxx" => Refuse(UnsavedRegister),
    // MSR of CPSR's flags (register)
    "cccc_0001_0010_xx00_xxxx_xx0x_0000_NNNN" => Copy,
    // MSR of CPSR (register)
    "cccc_0001_0010_xxxx_xxxx_xx0x_0000_NNNN" => WritePsr,
    // MSR of SPSR (register) and of banked registers
    "cccc_0001_0r10_xxxx_xxxx_xxxx_0000_xxxx" => Refuse(UnsavedRegister),
    // BX
    "cccc_0001_0010_xxxx_xxxx_xxxx_0001_mmmm" => BranchTo,
    // BXJ
    "cccc_0001_0010_xxxx_xxxx_xxxx_0010_xxxx" => Refuse(BoundToPlace),
    // BLX (register)
    "cccc_0001_0010_xxxx_xxxx_xxxx_0011_MMMM" => BranchTo,
    // CLZ
    "cccc_0001_0110_xxxx_DDDD_xxxx_0001_MMMM" => Copy,
    // CRC32B, CRC32H, CRC32W, CRC32CB and so on
    "cccc_0001_0zz0_NNNN_DDDD_xxxx_0100_MMMM" => Copy,
    // QADD, QSUB, QDADD, QDSUB
    "cccc_0001_0xx0_NNNN_DDDD_xxxx_0101_MMMM" => Copy,
    // ERET
    "cccc_0001_0110_xxxx_xxxx_xxxx_0110_xxxx" => Refuse(InterruptReturn),
    // HLT, BKPT
    "cccc_0001_00x0_xxxx_xxxx_xxxx_0111_xxxx" => Refuse(AlwaysTraps),
    // HVC, SMC
    "cccc_0001_01x0_xxxx_xxxx_xxxx_0111_xxxx" => Refuse(WorldSwitch),
    // SMLALBB and so on
    "cccc_0001_0100_HHHH_LLLL_MMMM_1xx0_NNNN" => Copy,
    // SMLABB and so on
    "cccc_0001_0000_DDDD_AAAA_MMMM_1xx0_NNNN" => Copy,
    // SMLAWB, SMLAWT
    "cccc_0001_0010_DDDD_AAAA_MMMM_1x00_NNNN" => Copy,
    // SMULWB, SMULWT, SMULBB and so on
    "cccc_0001_0x10_DDDD_xxxx_MMMM_1xx0_NNNN" => Copy,
    // No instructions
    "cccc_0001_0xx0_xxxx_xxxx_xxxx_xxxx_xxxx" => Refuse(InvalidInsn),
    // TST, TEQ, CMP, CMN (register)
    "cccc_0001_0xx1_nnnn_xxxx_iiii_iss0_mmmm" => Compute,
    // TST, TEQ, CMP, CMN (register-shifted register)
    "cccc_0001_0xx1_NNNN_xxxx_SSSS_0ss1_MMMM" => Copy,
    // SUBS PC, LR and so on (register)
    "cccc_000x_xxx1_xxxx_1111_xxxx_xxx0_xxxx" => Refuse(InterruptReturn),
    // MOV, LSL, LSR, ASR, ROR, RRX, MVN (register)
    "cccc_0001_1x1s_xxxx_dddd_iiii_iss0_mmmm" => Compute,
    // AND, EOR, SUB, RSB, ADD, ADC, SBC, RSC, ORR, BIC (register)
    "cccc_000x_xxxs_nnnn_dddd_iiii_iss0_mmmm" => Compute,
    // MOV, MVN (register-shifted register)
    "cccc_0001_1x1s_xxxx_DDDD_SSSS_0ss1_MMMM" => Copy,
    // AND and so on (register-shifted register)
    "cccc_000x_xxxs_NNNN_DDDD_SSSS_0ss1_MMMM" => Copy,
    // MOVW, MOVT
    "cccc_0011_0x00_iiii_DDDD_iiii_iiii_iiii" => Copy,
    // WFE
    "cccc_0011_0010_0000_xxxx_xxxx_0000_0010" => Wait,
    // Other hints, and MSR of CPSR's flags (immediate)
    "cccc_0011_0010_xx00_xxxx_xxxx_xxxx_xxxx" => Copy,
    // MSR of CPSR (immediate)
    "cccc_0011_0010_xxxx_xxxx_iiii_iiii_iiii" => WritePsr,
    // MSR of SPSR (immediate)
    "cccc_0011_0110_xxxx_xxxx_iiii_iiii_iiii" => Refuse(UnsavedRegister),
    // TST, TEQ, CMP, CMN (immediate)
    "cccc_0011_0xx1_nnnn_xxxx_iiii_iiii_iiii" => Compute,
    // SUBS PC, LR and so on (immediate)
    "cccc_001x_xxx1_xxxx_1111_xxxx_xxxx_xxxx" => Refuse(InterruptReturn),
    // MOV, MVN (immediate)
    "cccc_0011_1x1s_xxxx_dddd_iiii_iiii_iiii" => Compute,
    // AND, EOR, SUB, RSB, ADD, ADC, SBC, RSC, ORR, BIC (immediate), ADR
    "cccc_001x_xxxs_nnnn_dddd_iiii_iiii_iiii" => Compute,
    // LDR (immediate, literal), without write-back
    "cccc_0101_x001_nnnn_tttt_iiii_iiii_iiii" => Transfer,
    // STR (immediate), without write-back
    "cccc_0101_x000_nnnn_uuuu_iiii_iiii_iiii" => Transfer,
    // LDRB
    "cccc_0101_x101_nnnn_TTTT_iiii_iiii_iiii" => Transfer,
    // LDRT, LDRBT, STRT, STRBT
    "cccc_0100_xx1x_NNNN_TTTT_iiii_iiii_iiii" => Copy,
    // LDR (immediate), with write-back
    "cccc_010p_x0w1_NNNN_tttt_iiii_iiii_iiii" => Transfer,
    // STR (immediate), with write-back
    "cccc_010p_x0w0_NNNN_uuuu_iiii_iiii_iiii" => Transfer,
    // LDRB (immediate), with write-back; STRB (immediate)
    "cccc_010p_x1wx_NNNN_TTTT_iiii_iiii_iiii" => Copy,
    // LDR (register), without write-back
    "cccc_0111_x001_nnnn_tttt_iiii_iss0_MMMM" => Transfer,
    // STR (register), without write-back
    "cccc_0111_x000_nnnn_uuuu_iiii_iss0_MMMM" => Transfer,
    // LDRB
    "cccc_0111_x101_nnnn_TTTT_iiii_iss0_MMMM" => Transfer,
    // LDRT, LDRBT, STRT, STRBT
    "cccc_0110_xx1x_NNNN_TTTT_iiii_iss0_MMMM" => Copy,
    // LDR (register), with write-back
    "cccc_011p_x0w1_NNNN_tttt_iiii_iss0_MMMM" => Transfer,
    // STR (register), with write-back
    "cccc_011p_x0w0_NNNN_uuuu_iiii_iss0_MMMM" => Transfer,
    // LDRB (register), with write-back; STRB (register)
    "cccc_011p_x1wx_NNNN_TTTT_iiii_iss0_MMMM" => Copy,
    // No instructions among parallel addition and subtraction
    "cccc_0110_0x00_xxxx_xxxx_xxxx_xxx1_xxxx" => Refuse(InvalidInsn),
    "cccc_0110_0xxx_xxxx_xxxx_xxxx_1011_xxxx" => Refuse(InvalidInsn),
    "cccc_0110_0xxx_xxxx_xxxx_xxxx_1101_xxxx" => Refuse(InvalidInsn),
    // SADD16 and so on: parallel addition and subtraction
    "cccc_0110_0xxx_NNNN_DDDD_xxxx_xxx1_MMMM" => Copy,
    // PKHBT, PKHTB
    "cccc_0110_1000_NNNN_DDDD_iiii_ix01_MMMM" => Copy,
    // No instructions
    "cccc_0110_1x01_xxxx_xxxx_xxxx_xxx1_xxxx" => Refuse(InvalidInsn),
    // SXTAB, SXTB and so on
    "cccc_0110_1xxx_xxxx_DDDD_xx00_0111_MMMM" => Copy,
    // SEL
    "cccc_0110_1000_NNNN_DDDD_xxxx_1011_MMMM" => Copy,
    // SSAT, USAT
    "cccc_0110_1x1x_iiii_DDDD_iiii_ix01_NNNN" => Copy,
    // SSAT16, USAT16
    "cccc_0110_1x10_iiii_DDDD_xxxx_0011_NNNN" => Copy,
    // REV, REV16, RBIT, REVSH
    "cccc_0110_1x11_xxxx_DDDD_xxxx_x011_MMMM" => Copy,
    // SMLAD, SMUAD, SMLSD, SMUSD
    "cccc_0111_0000_DDDD_xxxx_MMMM_0xx1_NNNN" => Copy,
    // SDIV, UDIV
    "cccc_0111_00x1_DDDD_xxxx_MMMM_0001_NNNN" => Copy,
    // SMLALD, SMLSLD
    "cccc_0111_0100_HHHH_LLLL_MMMM_0xx1_NNNN" => Copy,
    // SMMLA, SMMUL
    "cccc_0111_0101_DDDD_xxxx_MMMM_00x1_NNNN" => Copy,
    // SMMLS
    "cccc_0111_0101_DDDD_AAAA_MMMM_11x1_NNNN" => Copy,
    // USAD8, USADA8
    "cccc_0111_1000_DDDD_xxxx_MMMM_0001_NNNN" => Copy,
    // SBFX, UBFX
    "cccc_0111_1x1i_iiii_DDDD_iiii_i101_NNNN" => Copy,
    // BFC, BFI
    "cccc_0111_110i_iiii_DDDD_iiii_i001_xxxx" => Copy,
    // UDF
    "cccc_0111_1111_iiii_iiii_iiii_1111_iiii" => Refuse(AlwaysTraps),
    // STM, PUSH
    "cccc_100p_x0w0_NNNN_uxxx_xxxx_xxxx_xxxx" => Multiple,
    // LDM, POP
    "cccc_100p_x0w1_NNNN_txxx_xxxx_xxxx_xxxx" => Multiple,
    // LDM (exception return)
    "cccc_100p_x1w1_xxxx_1xxx_xxxx_xxxx_xxxx" => Refuse(InterruptReturn),
    // STM (user registers), with PC
    "cccc_100p_x1w0_xxxx_1xxx_xxxx_xxxx_xxxx" => Refuse(BoundToPlace),
    // LDM, STM (user registers)
    "cccc_100p_x1wx_NNNN_0xxx_xxxx_xxxx_xxxx" => Copy,
    // B, BL
    "cccc_101l_iiii_iiii_iiii_iiii_iiii_iiii" => Branch,
    // SVC
    "cccc_1111_iiii_iiii_iiii_iiii_iiii_iiii" => Refuse(SystemCall),
}

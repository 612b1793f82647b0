// SPDX-License-Identifier: GPL-2.0

//! Classes of 32-bit Thumb encodings, in the order of the Arm Architecture Reference Manual,
//! section A6.3. The first class that has an instruction is its class. Coprocessors are in
//! `copro_table.rs`.

use super::pattern::{
    row,
    rows,
    Kind::*,
    Row, //
};
use crate::prelude::Refusal::*;

rows! {
    T32:
    // SRS
    "1110_100x_x0w0_1101_11xx_xxxx_xxxx_xxxx" => Refuse(UnsavedRegister),
    // RFEDB
    "1110_1000_00w1_xxxx_xxxx_xxxx_xxxx_xxxx" => Refuse(InterruptReturn),
    // RFEIA
    "1110_1001_10w1_xxxx_xxxx_xxxx_xxxx_xxxx" => Refuse(InterruptReturn),
    // STM
    "1110_1000_10w0_NNNN_Pxxx_xxxx_xxxx_xxxx" => Copy,
    // STMDB, PUSH
    "1110_1001_00w0_NNNN_Pxxx_xxxx_xxxx_xxxx" => Copy,
    // LDM, POP
    "1110_1000_10w1_NNNN_txxx_xxxx_xxxx_xxxx" => Multiple,
    // LDMDB
    "1110_1001_00w1_NNNN_txxx_xxxx_xxxx_xxxx" => Multiple,
    // STREX
    "1110_1000_0100_NNNN_TTTT_DDDD_iiii_iiii" => StoreExclusive,
    // LDREX
    "1110_1000_0101_NNNN_TTTT_xxxx_iiii_iiii" => LoadExclusive,
    // STREXB, STREXH, STREXD, STLEX and so on
    "1110_1000_1100_NNNN_TTTT_xxxx_x1zz_DDDD" => StoreExclusive,
    // TBB, TBH
    "1110_1000_1101_nnnn_xxxx_xxxx_000x_MMMM" => BranchByTable,
    // LDREXD, LDAEXD
    "1110_1000_1101_NNNN_TTTT_UUUU_x111_xxxx" => LoadExclusive,
    // LDREXB, LDREXH, LDAEX, LDAEXB, LDAEXH
    "1110_1000_1101_NNNN_TTTT_xxxx_x1zz_xxxx" => LoadExclusive,
    // STL, STLB, STLH, LDA, LDAB, LDAH
    "1110_1000_110x_NNNN_TTTT_xxxx_10zz_xxxx" => Copy,
    // LDRD (literal)
    "1110_1001_x101_1111_TTTT_UUUU_iiii_iiii" => Literal,
    // STRD, LDRD (immediate), post-indexed
    "1110_1000_x11x_NNNN_TTTT_UUUU_iiii_iiii" => Copy,
    // STRD, LDRD (immediate), offset or pre-indexed
    "1110_1001_x1wx_NNNN_TTTT_UUUU_iiii_iiii" => Copy,
    // TST, TEQ (register)
    "1110_1010_x001_NNNN_xiii_1111_iiss_MMMM" => Copy,
    // CMN (register)
    "1110_1011_0001_NNNN_xiii_1111_iiss_MMMM" => Copy,
    // CMP (register)
    "1110_1011_1011_NNNN_xiii_1111_iiss_MMMM" => Copy,
    // MOV, LSL, LSR, ASR, ROR, RRX, MVN (register)
    "1110_1010_01xs_1111_xiii_DDDD_iiss_MMMM" => Copy,
    // AND, BIC, ORR, ORN (register)
    "1110_1010_0xxs_NNNN_xiii_DDDD_iiss_MMMM" => Copy,
    // EOR (register)
    "1110_1010_100s_NNNN_xiii_DDDD_iiss_MMMM" => Copy,
    // PKHBT, PKHTB
    "1110_1010_1100_NNNN_xiii_DDDD_iixx_MMMM" => Copy,
    // ADD (register)
    "1110_1011_000s_NNNN_xiii_DDDD_iiss_MMMM" => Copy,
    // ADC, SBC (register)
    "1110_1011_01xs_NNNN_xiii_DDDD_iiss_MMMM" => Copy,
    // SUB (register)
    "1110_1011_101s_NNNN_xiii_DDDD_iiss_MMMM" => Copy,
    // RSB (register)
    "1110_1011_110s_NNNN_xiii_DDDD_iiss_MMMM" => Copy,
    // Advanced SIMD: data processing
    "111x_1111_xxxx_xxxx_xxxx_xxxx_xxxx_xxxx" => Copy,
    // TST, TEQ (immediate)
    "1111_0i00_x001_NNNN_0iii_1111_iiii_iiii" => Copy,
    // CMN (immediate)
    "1111_0i01_0001_NNNN_0iii_1111_iiii_iiii" => Copy,
    // CMP (immediate)
    "1111_0i01_1011_NNNN_0iii_1111_iiii_iiii" => Copy,
    // MOV, MVN (immediate)
    "1111_0i00_01xs_1111_0iii_DDDD_iiii_iiii" => Copy,
    // AND, BIC, ORR, ORN (immediate)
    "1111_0i00_0xxs_NNNN_0iii_DDDD_iiii_iiii" => Copy,
    // EOR (immediate)
    "1111_0i00_100s_NNNN_0iii_DDDD_iiii_iiii" => Copy,
    // ADD (immediate)
    "1111_0i01_000s_NNNN_0iii_DDDD_iiii_iiii" => Copy,
    // ADC, SBC (immediate)
    "1111_0i01_01xs_NNNN_0iii_DDDD_iiii_iiii" => Copy,
    // SUB (immediate)
    "1111_0i01_101s_NNNN_0iii_DDDD_iiii_iiii" => Copy,
    // RSB (immediate)
    "1111_0i01_110s_NNNN_0iii_DDDD_iiii_iiii" => Copy,
    // ADR
    "1111_0i10_0000_1111_0iii_DDDD_iiii_iiii" => Address,
    // ADR before the instruction
    "1111_0i10_1010_1111_0iii_DDDD_iiii_iiii" => Address,
    // ADDW
    "1111_0i10_0000_NNNN_0iii_DDDD_iiii_iiii" => Copy,
    // SUBW
    "1111_0i10_1010_NNNN_0iii_DDDD_iiii_iiii" => Copy,
    // MOVW, MOVT
    "1111_0i10_x100_iiii_0iii_DDDD_iiii_iiii" => Copy,
    // SSAT, SSAT16, USAT, USAT16
    "1111_0x11_x0x0_NNNN_0iii_DDDD_iixi_iiii" => Copy,
    // SBFX, UBFX
    "1111_0x11_x100_NNNN_0iii_DDDD_iixi_iiii" => Copy,
    // BFC, BFI
    "1111_0x11_0110_xxxx_0iii_DDDD_iixi_iiii" => Copy,
    // MSR of CPSR's flags
    "1111_0011_1000_NNNN_10x0_xx00_xx0x_xxxx" => Copy,
    // MSR of CPSR
    "1111_0011_1000_NNNN_10x0_xxxx_xx0x_xxxx" => WritePsr,
    // MSR of SPSR and of banked registers
    "1111_0011_100r_xxxx_10x0_xxxx_xxxx_xxxx" => Refuse(UnsavedRegister),
    // CPS to another mode
    "1111_0011_1010_xxxx_10x0_xxx1_xxxx_xxxx" => Refuse(ChangesVectors),
    // CPSIE, CPSID
    "1111_0011_1010_xxxx_10x0_x1x0_xxxx_xxxx" => ChangePsr,
    // WFE
    "1111_0011_1010_xxxx_10x0_x000_0000_0010" => Wait,
    // NOP, YIELD, WFI, SEV, SEVL, DBG and so on
    "1111_0011_1010_xxxx_10x0_x000_xxxx_xxxx" => Copy,
    // CLREX
    "1111_0011_1011_xxxx_10x0_xxxx_0010_xxxx" => ClearExclusive,
    // DSB, DMB, ISB, SB
    "1111_0011_1011_xxxx_10x0_xxxx_01xx_xxxx" => Copy,
    // BXJ
    "1111_0011_1100_xxxx_10x0_xxxx_xxxx_xxxx" => Refuse(BoundToPlace),
    // SUBS PC, LR; ERET
    "1111_0011_1101_xxxx_10x0_xxxx_xxxx_xxxx" => Refuse(InterruptReturn),
    // MRS of CPSR
    "1111_0011_1110_xxxx_10x0_DDDD_xx0x_xxxx" => ReadPsr,
    // MRS of SPSR and of banked registers
    "1111_0011_111r_xxxx_10x0_xxxx_xxxx_xxxx" => Refuse(UnsavedRegister),
    // DCPS1, DCPS2, DCPS3
    "1111_0111_1000_xxxx_1000_xxxx_xxxx_xxxx" => Refuse(AlwaysTraps),
    // HVC, SMC
    "1111_0111_111x_iiii_1000_iiii_iiii_iiii" => Refuse(WorldSwitch),
    // UDF
    "1111_0111_1111_iiii_1010_iiii_iiii_iiii" => Refuse(AlwaysTraps),
    // No instructions
    "1111_0x11_1xxx_xxxx_10x0_xxxx_xxxx_xxxx" => Refuse(InvalidInsn),
    // B, with a condition
    "1111_0icc_ccii_iiii_10i0_iiii_iiii_iiii" => Branch,
    // B
    "1111_0iii_iiii_iiii_10i1_iiii_iiii_iiii" => Branch,
    // BLX (immediate)
    "1111_0iii_iiii_iiii_11i0_iiii_iiii_iii0" => Branch,
    // BL
    "1111_0iii_iiii_iiii_11i1_iiii_iiii_iiii" => Branch,
    // STRB, STRH (immediate)
    "1111_1000_10x0_NNNN_TTTT_iiii_iiii_iiii" => Copy,
    // STR (immediate)
    "1111_1000_1100_NNNN_TTTT_iiii_iiii_iiii" => Copy,
    // STRB, STRH (indexed or negative immediate), STRBT, STRHT
    "1111_1000_00x0_NNNN_TTTT_1pxw_iiii_iiii" => Copy,
    // STR, STRT
    "1111_1000_0100_NNNN_TTTT_1pxw_iiii_iiii" => Copy,
    // STRB, STRH (register)
    "1111_1000_00x0_NNNN_TTTT_0000_00ii_MMMM" => Copy,
    // STR (register)
    "1111_1000_0100_NNNN_TTTT_0000_00ii_MMMM" => Copy,
    // PLD, PLDW, PLI, and hints to come (immediate, literal): a copy may preload something else
    "1111_100x_10x1_xxxx_1111_iiii_iiii_iiii" => Copy,
    // PLD, PLDW, PLI, and hints to come (literal)
    "1111_100x_00x1_1111_1111_iiii_iiii_iiii" => Copy,
    // PLD, PLDW, PLI, and hints to come (negative immediate)
    "1111_100x_00x1_xxxx_1111_1100_iiii_iiii" => Copy,
    // PLD, PLDW, PLI, and hints to come (register)
    "1111_100x_00x1_xxxx_1111_0000_00ii_MMMM" => Copy,
    // LDRB, LDRH, LDRSB, LDRSH (literal)
    "1111_100x_x0x1_1111_TTTT_iiii_iiii_iiii" => Literal,
    // LDR (literal)
    "1111_1000_x101_1111_tttt_iiii_iiii_iiii" => Literal,
    // LDRB, LDRH, LDRSB, LDRSH (immediate)
    "1111_100x_10x1_NNNN_TTTT_iiii_iiii_iiii" => Copy,
    // LDRB and so on (indexed or negative immediate), LDRBT and so on
    "1111_100x_00x1_NNNN_TTTT_1pxw_iiii_iiii" => Copy,
    // LDRB and so on (register)
    "1111_100x_00x1_NNNN_TTTT_0000_00ii_MMMM" => Copy,
    // LDR (immediate)
    "1111_1000_1101_NNNN_tttt_iiii_iiii_iiii" => Transfer,
    // LDRT
    "1111_1000_0101_NNNN_TTTT_1110_iiii_iiii" => Copy,
    // LDR (indexed or negative immediate)
    "1111_1000_0101_NNNN_tttt_1pxw_iiii_iiii" => Transfer,
    // LDR (register)
    "1111_1000_0101_NNNN_tttt_0000_00ii_MMMM" => Transfer,
    // VLD1-4, VST1-4
    "1111_1001_xxx0_NNNN_xxxx_xxxx_xxxx_xxxx" => Copy,
    // LSL, LSR, ASR, ROR (register)
    "1111_1010_0xxs_NNNN_1111_DDDD_0000_MMMM" => Copy,
    // SXTAB, SXTB and so on
    "1111_1010_0xxx_xxxx_1111_DDDD_1xxx_MMMM" => Copy,
    // SADD16 and so on: parallel addition and subtraction
    "1111_1010_1xxx_NNNN_1111_DDDD_0xxx_MMMM" => Copy,
    // QADD, REV, REV16, RBIT, REVSH, SEL, CLZ, CRC32B and so on
    "1111_1010_1xxx_NNNN_1111_DDDD_10xx_MMMM" => Copy,
    // MLS
    "1111_1011_0000_NNNN_AAAA_DDDD_0001_MMMM" => Copy,
    // SMMLS
    "1111_1011_0110_NNNN_AAAA_DDDD_xxxx_MMMM" => Copy,
    // MUL, MLA, SMLABB, SMUAD, SMLAWB, SMMUL, USAD8 and so on
    "1111_1011_0xxx_NNNN_xxxx_DDDD_xxxx_MMMM" => Copy,
    // SDIV, UDIV
    "1111_1011_10x1_NNNN_xxxx_DDDD_1111_MMMM" => Copy,
    // SMULL, UMULL, SMLAL, SMLALBB, SMLALD, SMLSLD, UMLAL, UMAAL
    "1111_1011_1xxx_NNNN_LLLL_HHHH_xxxx_MMMM" => Copy,
}

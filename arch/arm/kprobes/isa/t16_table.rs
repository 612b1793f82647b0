// SPDX-License-Identifier: GPL-2.0

//! Classes of 16-bit Thumb encodings, in the order of the Arm Architecture Reference Manual,
//! section A6.2. The first class that has an instruction is its class. Registers of three bits
//! cannot be PC, so they have no letters.

use super::pattern::{
    row,
    rows,
    Kind::*,
    Row, //
};
use crate::prelude::Refusal::*;

rows! {
    T16:
    // LSL, LSR, ASR, ADD, SUB, MOV, CMP (immediate, register)
    "00xx_xxxx_xxxx_xxxx" => Copy,
    // AND, EOR, LSL, LSR, ASR, ADC, SBC, ROR, TST, RSB, CMP, CMN, ORR, MUL, BIC, MVN (register)
    "0100_00xx_xxxx_xxxx" => Copy,
    // ADD (register)
    "0100_0100_gmmm_mggg" => Compute,
    // CMP (register)
    "0100_0101_NMMM_MNNN" => Copy,
    // MOV (register)
    "0100_0110_dmmm_mddd" => Compute,
    // BX
    "0100_0111_0mmm_mxxx" => BranchTo,
    // BLX (register)
    "0100_0111_1MMM_Mxxx" => BranchTo,
    // LDR (literal)
    "0100_1xxx_iiii_iiii" => Literal,
    // STR, STRH, STRB, LDRSB, LDR, LDRH, LDRB, LDRSH (register)
    "0101_xxxx_xxxx_xxxx" => Copy,
    // STR, LDR, STRB, LDRB (immediate)
    "011x_xxxx_xxxx_xxxx" => Copy,
    // STRH, LDRH (immediate), STR, LDR (SP and immediate)
    "100x_xxxx_xxxx_xxxx" => Copy,
    // ADR
    "1010_0xxx_iiii_iiii" => Address,
    // ADD (SP and immediate)
    "1010_1xxx_iiii_iiii" => Copy,
    // ADD, SUB (SP and immediate)
    "1011_0000_iiii_iiii" => Copy,
    // CBZ, CBNZ
    "1011_x0i1_iiii_ixxx" => BranchIfZero,
    // SXTH, SXTB, UXTH, UXTB
    "1011_0010_xxxx_xxxx" => Copy,
    // PUSH
    "1011_010x_xxxx_xxxx" => Copy,
    // SETEND
    "1011_0110_010x_xxxx" => Refuse(BoundToPlace),
    // CPSIE, CPSID
    "1011_0110_011x_xxxx" => ChangePsr,
    // HLT
    "1011_1010_10xx_xxxx" => Refuse(AlwaysTraps),
    // REV, REV16, REVSH
    "1011_1010_xxxx_xxxx" => Copy,
    // POP
    "1011_110t_xxxx_xxxx" => Multiple,
    // BKPT
    "1011_1110_xxxx_xxxx" => Refuse(AlwaysTraps),
    // WFE
    "1011_1111_0010_0000" => Wait,
    // NOP, YIELD, WFI, SEV, SEVL
    "1011_1111_xxxx_0000" => Copy,
    // IT
    "1011_1111_xxxx_xxxx" => IfThen,
    // STM, LDM
    "1100_xxxx_xxxx_xxxx" => Copy,
    // UDF
    "1101_1110_iiii_iiii" => Refuse(AlwaysTraps),
    // SVC
    "1101_1111_iiii_iiii" => Refuse(SystemCall),
    // B, with a condition
    "1101_cccc_iiii_iiii" => Branch,
    // B
    "1110_0iii_iiii_iiii" => Branch,
}

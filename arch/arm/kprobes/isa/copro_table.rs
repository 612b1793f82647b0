// SPDX-License-Identifier: GPL-2.0

//! Classes of coprocessor encodings, which A32 and T32 share: bits 27 and 26 are ones, and bits 25
//! and 24 are not both ones. VFP, and the instructions that move between Advanced SIMD and core
//! registers, are coprocessors 10 and 11.

use super::pattern::{
    row,
    rows,
    Kind::*,
    Row, //
};
use crate::prelude::Refusal::*;

rows! {
    COPROCESSOR:
    // Coprocessors 0 to 7: there are none
    "xxxx_11xx_xxxx_xxxx_xxxx_0xxx_xxxx_xxxx" => Refuse(InvalidInsn),
    // LDC2, STC2, MCRR2, MRRC2, CDP2, MCR2, MRC2 of coprocessors 14 and 15
    "1111_11xx_xxxx_xxxx_xxxx_111x_xxxx_xxxx" => Refuse(InvalidInsn),
    // CDP of coprocessors 14 and 15
    "xxxx_1110_xxxx_xxxx_xxxx_111x_xxx0_xxxx" => Refuse(InvalidInsn),
    // MCRR, MCRR2, VMOV
    "xxxx_1100_0100_UUUU_TTTT_xxxx_xxxx_xxxx" => Copy,
    // MRRC, MRRC2, VMOV
    "xxxx_1100_0101_UUUU_TTTT_xxxx_xxxx_xxxx" => Copy,
    // VCMLA, VDOT and so on
    "1111_110x_xxxx_xxxx_xxxx_1x0x_xxxx_xxxx" => Copy,
    // LDC, LDC2, STC, STC2, VLDR, VSTR, VLDM, VSTM
    "xxxx_110p_xxwx_nnnn_xxxx_xxxx_iiii_iiii" => CoprocessorTransfer,
    // CDP, CDP2, VFP data processing
    "xxxx_1110_xxxx_xxxx_xxxx_xxxx_xxx0_xxxx" => Copy,
    // MCR to SCTLR
    "xxxx_1110_0000_0001_xxxx_1111_0001_0000" => Refuse(ChangesVectors),
    // MCR to VBAR
    "xxxx_1110_0000_1100_xxxx_1111_0001_0000" => Refuse(ChangesVectors),
    // MCR to TPIDRURO, which may have the current task
    "xxxx_1110_0000_1101_xxxx_1111_0111_0000" => Refuse(ChangesCpuBase),
    // MCR to TPIDRPRW
    "xxxx_1110_0000_1101_xxxx_1111_1001_0000" => Refuse(ChangesCpuBase),
    // MCR, MCR2, VMOV, VMSR, VDUP
    "xxxx_1110_xxx0_xxxx_TTTT_xxxx_xxx1_xxxx" => Copy,
    // VMRS of FPSCR; PC stands for the flags
    "xxxx_1110_1111_0001_xxxx_1010_xxx1_xxxx" => Copy,
    // VMOV, VMRS
    "xxxx_1110_xxx1_xxxx_TTTT_101x_xxx1_xxxx" => Copy,
    // MRC, MRC2; PC stands for the flags
    "xxxx_1110_xxx1_xxxx_xxxx_xxxx_xxx1_xxxx" => Copy,
}

// SPDX-License-Identifier: GPL-2.0

//! The crate iced-x86 as a judge.
//!
//! It knows all encodings but REX2 and those of APX, and refuses what a CPU refuses.

use super::*;
use crate::x86::{
    flow::Flow,
    insn::{Insn, ModRm},
};

pub(super) struct Iced;

impl Iced {
    pub(super) fn insn(&self, text: &Text) -> Option<Instruction> {
        let insn = decoder(text).decode();
        (!insn.is_invalid()).then_some(insn)
    }
}

impl Judge for Iced {
    fn name(&self) -> &'static str {
        "iced"
    }

    fn len(&mut self, text: &Text) -> Option<usize> {
        self.insn(text).map(|insn| insn.len())
    }

    fn say(&mut self, text: &Text) -> String {
        self.insn(text)
            .map_or(String::new(), |insn| format!("{:?}", insn.code()))
    }
}

fn decoder(text: &Text) -> Decoder<'_> {
    Decoder::with_ip(64, text, AT, DecoderOptions::MPX)
}

/// Offset and size of a displacement that the instruction's end is added to.
pub(super) fn rip_displacement(text: &Text) -> Option<(usize, usize)> {
    let mut decoder = decoder(text);
    let insn = decoder.decode();
    let place = decoder.get_constant_offsets(&insn);
    insn.is_ip_rel_memory_operand()
        .then(|| (place.displacement_offset(), place.displacement_size()))
}

/// Where a branch leads that says how far.
pub(crate) fn target(insn: &Instruction) -> Option<u64> {
    let near = [
        OpKind::NearBranch16,
        OpKind::NearBranch32,
        OpKind::NearBranch64,
    ];
    (insn.op_count() > 0 && near.contains(&insn.op0_kind())).then(|| insn.near_branch_target())
}

/// Is `ours` the finer name for what iced calls it?
pub(super) fn flow_agrees(ours: &Insn, insn: &Instruction) -> bool {
    let register = insn.op_count() > 0 && insn.op0_kind() == OpKind::Register;
    let far = insn.is_jmp_far_indirect() || insn.is_call_far_indirect();
    let expected = match insn.flow_control() {
        FlowControl::UnconditionalBranch => Flow::Jump,
        FlowControl::IndirectBranch if far => Flow::FarJump,
        FlowControl::IndirectBranch => Flow::IndirectJump,
        FlowControl::ConditionalBranch if insn.is_jcc_short_or_near() => Flow::ConditionalJump,
        FlowControl::ConditionalBranch => Flow::CountedJump,
        FlowControl::IndirectCall if far => Flow::FarCall,
        FlowControl::IndirectCall => Flow::IndirectCall,
        FlowControl::XbeginXabortXend if insn.mnemonic() == Mnemonic::Xbegin => Flow::Transaction,
        FlowControl::XbeginXabortXend => Flow::Next,
        FlowControl::Exception => Flow::Undefined,
        FlowControl::Interrupt if insn.code() == Code::Int3 => Flow::Breakpoint,
        FlowControl::Interrupt => Flow::Interrupt,
        FlowControl::Call => match insn.mnemonic() {
            Mnemonic::Call => Flow::Call,
            Mnemonic::Syscall | Mnemonic::Sysenter => Flow::SystemCall,
            _ => Flow::Hypervisor,
        },
        FlowControl::Return => match insn.mnemonic() {
            Mnemonic::Ret if insn.op_count() == 1 => Flow::ReturnAndRelease,
            Mnemonic::Ret => Flow::Return,
            Mnemonic::Retf if insn.op_count() == 1 => Flow::FarReturnAndRelease,
            Mnemonic::Retf => Flow::FarReturn,
            Mnemonic::Sysret
            | Mnemonic::Sysretq
            | Mnemonic::Sysexit
            | Mnemonic::Sysexitq
            | Mnemonic::Rsm => Flow::SystemReturn,
            Mnemonic::Seamret | Mnemonic::Skinit => Flow::Hypervisor,
            _ => Flow::InterruptReturn,
        },
        FlowControl::Next => Flow::Next,
    };
    let indirect = matches!(expected, Flow::IndirectJump | Flow::IndirectCall);
    let is_register = ours.modrm.is_some_and(ModRm::is_register);
    ours.flow() == expected && (!indirect || is_register == register)
}

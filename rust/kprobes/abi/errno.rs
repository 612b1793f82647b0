// SPDX-License-Identifier: GPL-2.0

//! The errno that a C client sees for each reason to refuse a probe.

use crate::{
    registry::prelude::*,
    sys::prelude::*, //
};

/// Converts each reason to the errno that C returns.
impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let unfit = |errno| match Arch::HAS_INSN_ERRNO {
            true => errno,
            false => EINVAL,
        };
        match refusal {
            Refusal::UnknownSymbol
            | Refusal::OutOfText
            | Refusal::ModuleGoing
            | Refusal::InitTextFreed => ENOENT,
            Refusal::TruncatedInsn
            | Refusal::InvalidInsn
            | Refusal::UnreadableText
            | Refusal::NotABoundary
            | Refusal::CallCheck
            | Refusal::AlwaysTraps => unfit(EILSEQ),
            Refusal::DataTooLarge => E2BIG,
            Refusal::FarBranch
            | Refusal::InterruptReturn
            | Refusal::SystemCall
            | Refusal::WorldSwitch
            | Refusal::Transaction
            | Refusal::Waits
            | Refusal::LetsNextWait
            | Refusal::ChangesCpuBase
            | Refusal::ChangesVectors
            | Refusal::OperandSize
            | Refusal::UnsavedRegister
            | Refusal::BoundToPlace => unfit(EOPNOTSUPP),
            Refusal::AddressTaken | Refusal::SecondJprobe => EEXIST,
            Refusal::ModuleComing => EAGAIN,
            Refusal::Ftrace(errno) => Error::from_errno(errno),
            Refusal::NoMemory => ENOMEM,
            _ => EINVAL,
        }
    }
}

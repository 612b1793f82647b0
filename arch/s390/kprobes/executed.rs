// SPDX-License-Identifier: GPL-2.0

//! The instructions that an EXRL executes from afar.
//!
//! A breakpoint there would trap behind the EXRL, so such an instruction cannot be probed. It may
//! stand far from the EXRL: clang puts targets that several functions share at the end of an
//! object. So all text is searched: the kernel's once, and that of a module when an instruction of
//! the module is prepared.
//!
//! The search looks at each halfword, and does not decode from one instruction to the next: it
//! misses no EXRL. Bytes inside of another instruction may look like an EXRL. That costs a probe
//! only where such a bogus target is in text.

use super::isa::insn::Insn;
use crate::sys::{
    blacklist,
    modules,
    prelude::*,
    sort, //
};
use core::ops::ControlFlow;
use kernel::sync::SetOnce;

/// The targets in the kernel proper, in ascending order.
static TARGETS: SetOnce<KVec<TextAddr>> = SetOnce::new();

/// The kernel's own text: what stays, and what is freed after boot.
fn kernel() -> [TextRange; 2] {
    let init = blacklist::between(
        &raw const bindings::_sinittext,
        &raw const bindings::_einittext,
    );
    [blacklist::core_text(), init]
}

/// Notes the targets in the kernel. To be called once, while init memory is there.
pub(super) fn learn() -> Result<(), Refusal> {
    let (text, mut targets) = (kernel(), KVec::new());
    let mut note = |target: TextAddr| {
        let is_text = text.iter().any(|range| range.contains(target));
        match is_text.then(|| targets.push(target, GFP_KERNEL)) {
            Some(Err(_)) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    if text
        .iter()
        .any(|&range| search(range, &mut note).is_break())
    {
        return Err(Refusal::NoMemory);
    }
    sort::ascending(&mut targets);
    TARGETS.populate(targets);
    Ok(())
}

/// Returns whether an EXRL in the text around `at` executes the instruction at `at`.
pub(super) fn is_target(at: TextAddr) -> bool {
    let is_kernel = kernel().iter().any(|range| range.contains(at));
    if is_kernel {
        // Without the table, no instruction is known to be safe.
        let targets = TARGETS.as_ref();
        return targets.is_none_or(|targets| targets.binary_search(&at).is_ok());
    }
    let mut meet = |target| match target == at {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    text_around(at).is_some_and(|text| search(text, &mut meet).is_break())
}

/// The text of the module that `at` is in. The caller keeps the module.
fn text_around(at: TextAddr) -> Option<TextRange> {
    let module = modules::owner(at).ok()?;
    module.module()?.part(at)
}

/// Calls `found` with the target of each EXRL in text that stays meanwhile.
fn search(text: TextRange, found: &mut dyn FnMut(TextAddr) -> ControlFlow<()>) -> ControlFlow<()> {
    let (mut at, end) = (text.start().get(), text.end().get());
    while at.wrapping_add(6) <= end {
        let from = core::ptr::with_exposed_provenance::<[u8; 6]>(at as usize);
        // SAFETY: The bytes are in text that stays. Others may change it, a halfword at a time.
        let bytes = unsafe { from.read_volatile() };
        // Decoding each would take seconds in an emulator.
        let looks = matches!(bytes, [0xc6, second, ..] if second & 15 == 0);
        let insn = looks.then(|| Insn::decode(&bytes).ok()).flatten();
        if let Some(target) = insn.and_then(|insn| insn.executes(TextAddr::new(at))) {
            found(target)?;
        }
        at = at.wrapping_add(2);
    }
    ControlFlow::Continue(())
}

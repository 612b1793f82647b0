// SPDX-License-Identifier: GPL-2.0

// Detours that are none: what is written to the text is real, where it leads is known to who plays
// a CPU.

use super::Arch;
use crate::{
    contract::{ForEachPoint, Jumps, ReadText},
    hit::jump,
    model::{
        addr::{TextAddr, TextRange},
        no_jump::{NoJump, NoJumpReason},
        symbol::SplitGroup,
        text_metadata::TextMetadata,
    },
    sys::{
        preempt::{self, PreemptOff},
        probe::Chain,
        text::Lock,
    },
};
use kernel::{
    bindings, events,
    faults::{self, Obstacle},
    prelude::*,
    rcu_tasks, text,
};

const LEN: usize = 5;
const OPCODE: u8 = 0xe9;

/// How far into its page a detour runs what the jump is over.
const COPY: u64 = 64;

/// A detour: a page, and what the jump is over.
pub(crate) struct Page {
    base: u64,
    bytes: [u8; LEN],
}

impl Drop for Page {
    fn drop(&mut self) {
        rcu_tasks::free_detour(self.base);
    }
}

fn synchronize() {
    // SAFETY: Who calls has the lock of the text.
    unsafe { bindings::smp_text_poke_sync_each_cpu() };
}

// SAFETY: Nobody runs any of it.
unsafe impl Jumps for Arch {
    type Detour = KBox<Page>;
    type BranchTargets = ();

    const MAX_OPTIMIZED_LEN: u64 = LEN as u64;
    const OVERWRITES_SEVERAL: bool = true;

    fn branch_targets(
        function: TextRange,
        _group: SplitGroup,
        _metadata: &impl TextMetadata,
        _read: ReadText<'_>,
        _text: &mut Lock,
    ) -> Result<(), NoJump> {
        events::decoded(function.start().get());
        Ok(())
    }

    fn make_detour(
        at: TextAddr,
        function: TextRange,
        _targets: &(),
        _prepared: &Self::ArchInsn,
        _metadata: &impl TextMetadata,
        read: ReadText<'_>,
        _text: &mut Lock,
    ) -> Result<KBox<Page>, NoJump> {
        if function.end().get().saturating_sub(at.get()) < Self::MAX_OPTIMIZED_LEN {
            return Err(NoJump::from(NoJumpReason::NearEnd));
        }
        match faults::obstacle() {
            Some(Obstacle::Debugger) => return Err(NoJump::from(NoJumpReason::Debugger)),
            Some(Obstacle::NoInsn) => return Err(NoJumpReason::CannotDecode.at(function.start())),
            Some(Obstacle::Detours) => return Err(NoJump::from(NoJumpReason::DetoursWait)),
            None => (),
        }
        let (mut bytes, mut original) = ([0; LEN], [0; LEN]);
        read(at, &mut bytes).ok_or(NoJumpReason::CannotRead.at(at))?;
        text::look(at.get(), &mut original, true);
        if bytes != original {
            events::wrong(format!("{bytes:x?} was read for {original:x?}"));
        }
        let base = text::allocate_detour(at.get()).ok_or(NoJumpReason::NoMemory)?;
        KBox::new(Page { base, bytes }, GFP_KERNEL)
            .map_err(|_| NoJump::from(NoJumpReason::NoMemory))
    }

    fn branches_out_of(
        piece: TextRange,
        _image: TextRange,
        _read: ReadText<'_>,
        _found: &mut dyn FnMut(TextAddr) -> Result<(), NoJump>,
        _text: &mut Lock,
    ) -> Result<bool, NoJump> {
        events::searched(piece.start().get()..piece.end().get());
        Ok(false)
    }

    fn set_chain(detour: &KBox<Page>, owner: Option<&Chain>) {
        let owner = owner.map_or(core::ptr::null(), core::ptr::from_ref);
        text::name_owner(detour.base, owner.expose_provenance());
    }

    fn redirect(prepared: &Self::ArchInsn, detour: Option<&KBox<Page>>) {
        prepared.redirect(detour.map(|page| TextAddr::new(page.base + COPY)));
    }

    fn optimize(points: ForEachPoint<'_, Self>, _text: &mut Lock) {
        let mut last = None;
        points(&mut |at, _, page| {
            if last.is_some_and(|last| last >= at) {
                events::wrong(format!("{at:?} is no later than {last:?}"));
            }
            last = Some(at);
            text::jump(at.get(), page.base);
        });
        // Breakpoints, tails, first bytes.
        (0..3).for_each(|_| synchronize());
    }

    fn unoptimize(points: ForEachPoint<'_, Self>, _text: &mut Lock) {
        points(&mut |at, _, _| text::break_jump(at.get()));
        synchronize();
        points(&mut |at, _, page| {
            let [_, tail @ ..] = page.bytes;
            text::mend_tail(at.get(), tail);
        });
        synchronize();
    }

    fn detour_origin(_at: TextAddr, _no_preempt: &PreemptOff) -> Option<(TextAddr, usize)> {
        None
    }

    fn is_jump(code: &[u8]) -> bool {
        code.first() == Some(&OPCODE)
    }

    fn overwritten(detour: &KBox<Page>) -> &[u8] {
        &detour.bytes
    }
}

/// A CPU has come to the detour in a page.
///
/// # Safety
///
/// `registers` are for nobody else.
#[no_mangle]
unsafe extern "C" fn rust_kprobes_jumped(page: usize, registers: *mut bindings::pt_regs) {
    // SAFETY: By the precondition.
    let registers = unsafe { &mut *registers };
    let owner = core::ptr::with_exposed_provenance::<Chain>(text::owner(page as u64));
    // SAFETY: NULL, or what stays as long as a CPU may come from there.
    let Some(probes) = (unsafe { owner.as_ref() }) else {
        return;
    };
    // SAFETY: Nothing else runs on this CPU.
    unsafe { preempt::already_off(|no_preempt| jump::handle_jump(probes, registers, no_preempt)) };
}

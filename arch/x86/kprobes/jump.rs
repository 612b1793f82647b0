// SPDX-License-Identifier: GPL-2.0

//! Replaces breakpoints by jumps, and jumps by breakpoints.
//!
//! The kernel's text poke batch writes the jumps. It replaces one whole instruction by another, so
//! it cannot restore the several instructions under a jump. That takes a breakpoint over the first
//! byte, an IPI to all CPUs, the other bytes, and an IPI again. The probe point is left with its
//! breakpoint.
//!
//! C counterpart: [`arch/x86/kernel/kprobes/opt.c`](srctree/arch/x86/kernel/kprobes/opt.c).

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
mod tests;

use super::{
    detour::{
        self,
        OptInsn,
        JUMP_LEN, //
    },
    isa::{
        branch_targets::{
            self,
            Branch,
            Build, //
        },
        encode,
        indirect::{
            Indirect,
            Thunks, //
        },
        region::Region,
        X86, //
    },
    poke,
    prepare::ArchInsn, //
};
use crate::{
    contract::{
        Detour,
        Places,
        ReadText, //
    },
    model::text_metadata::TextMetadata,
    prelude::*,
    sys::{
        blacklist,
        preempt::Pinned,
        probe::Chain,
        sort,
        text, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// The configuration of the kernel, for text in `image`.
fn build(image: TextRange) -> Build {
    Build {
        indirect: if cfg!(CONFIG_X86_KERNEL_IBT) {
            Indirect::Endbr
        } else {
            let retpolines = cfg!(CONFIG_MITIGATION_RETPOLINE);
            Indirect::Anywhere(retpolines.then(|| thunks(image)))
        },
        checks_calls: cfg!(CONFIG_CFI),
    }
}

/// Thunks of a kind: one for each register.
const REGISTERS: u64 = 16;

/// The retpoline thunks, and the image whose jumps may lead to them.
fn thunks(image: TextRange) -> Thunks {
    macro_rules! kind {
        ($config:ident, $array:ident, $len:ident) => {{
            #[cfg($config)]
            let start = (&raw const bindings::$array).addr() as u64;
            // No text is there.
            #[cfg(not($config))]
            let start = 0;
            let len = REGISTERS * u64::from(bindings::$len);
            TextRange::with_len(TextAddr::new(start), len).unwrap_or(image)
        }};
    }
    Thunks {
        images: [blacklist::core_text(), image],
        kinds: [
            kind!(
                CONFIG_MITIGATION_RETPOLINE,
                __x86_indirect_thunk_array,
                RETPOLINE_THUNK_SIZE
            ),
            kind!(
                CONFIG_MITIGATION_CALL_DEPTH_TRACKING,
                __x86_indirect_call_thunk_array,
                RETPOLINE_THUNK_SIZE
            ),
            kind!(
                CONFIG_MITIGATION_CALL_DEPTH_TRACKING,
                __x86_indirect_jump_thunk_array,
                RETPOLINE_THUNK_SIZE
            ),
            kind!(
                CONFIG_MITIGATION_ITS,
                __x86_indirect_its_thunk_array,
                ITS_THUNK_SIZE
            ),
        ],
    }
}

// SAFETY:
// - the rules of `Region` see to it that only its own instructions lead into a region, and that no
//   task sleeps in it or in a detour;
// - both ways of changing text end with an IPI to all CPUs;
// - a detour's slot lingers.
unsafe impl Detour for X86 {
    type OptInsn = OptInsn;
    /// In the order of their targets.
    type BranchTargets = KVVec<Branch>;

    const REACH: u64 = JUMP_LEN as u64;

    fn branch_targets(
        function: TextRange,
        group: SplitGroup,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        _text: &mut text::Lock,
    ) -> Result<KVVec<Branch>, NotOptimized> {
        let mut targets = KVVec::new();
        let build = build(metadata.image());
        branch_targets::into(function, group, build, metadata, read, &mut |branch| {
            let pushed = targets.push(branch, GFP_KERNEL);
            pushed.map_err(|_| Reason::NoMemory.into())
        })?;
        sort::ascending(&mut targets);
        Ok(targets)
    }

    fn detour(
        at: TextAddr,
        function: TextRange,
        targets: &KVVec<Branch>,
        _prepared: &ArchInsn,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        text: &mut text::Lock,
    ) -> Result<OptInsn, NotOptimized> {
        let build = build(metadata.image());
        let region = Region::of(at, function, targets, build, metadata, read)?;
        OptInsn::of(&region, text)
    }

    fn leaving(
        piece: TextRange,
        image: TextRange,
        read: ReadText<'_>,
        found: &mut dyn FnMut(TextAddr) -> Result<(), NotOptimized>,
        _text: &mut text::Lock,
    ) -> Result<bool, NotOptimized> {
        branch_targets::leaving(piece, build(image), read, found)
    }

    fn set_owner(detour: &OptInsn, owner: Option<&Chain>) {
        detour.slot.set_owner(owner);
    }

    fn redirect(prepared: &ArchInsn, detour: Option<&OptInsn>) {
        prepared.redirect(detour.and_then(OptInsn::copied));
    }

    fn optimize(places: Places<'_, Self>, text: &mut text::Lock) {
        places(&mut |at, _, detour| {
            if let Ok(jump) = detour.jump(at) {
                poke_jump(at, jump.bytes(), text);
            }
        });
        // SAFETY: `text_mutex` is locked.
        unsafe { bindings::smp_text_poke_batch_finish() };
    }

    fn unoptimize(places: Places<'_, Self>, text: &mut text::Lock) {
        let mut any = false;
        places(&mut |at, _, _| {
            poke::put(at, &[encode::INT3], text);
            any = true;
        });
        if !any {
            return;
        }
        poke::synchronize(text);
        places(&mut |at, _, detour| restore(at, detour, text));
        poke::synchronize(text);
    }

    fn original(at: TextAddr, pinned: &Pinned) -> Option<(TextAddr, usize)> {
        detour::original(at, pinned)
    }

    fn is_jump(code: &[u8]) -> bool {
        code.first() == Some(&encode::JMP32)
    }

    fn recover_jump(at: TextAddr, detour: &OptInsn, from: TextAddr, code: &mut [u8]) {
        for (offset, byte) in (0..).zip(code) {
            let into = from.get().wrapping_add(offset).wrapping_sub(at.get());
            let under = usize::try_from(into).ok();
            if let Some(&under) = under.and_then(|into| detour.under().get(into)) {
                *byte = under;
            }
        }
    }
}

/// Adds a jump to the batch.
fn poke_jump(at: TextAddr, jump: &[u8], _text: &mut text::Lock) {
    let place = core::ptr::with_exposed_provenance_mut(at.get() as usize);
    let (from, len) = (jump.as_ptr().cast(), jump.len());
    // SAFETY: `text_mutex` is locked; the jump is one instruction, and `at` is a probe point whose
    // region was checked.
    unsafe { bindings::smp_text_poke_batch_add(place, from, len, core::ptr::null()) };
}

/// Restores the bytes behind the breakpoint at `at`, which every CPU sees by now.
fn restore(at: TextAddr, detour: &OptInsn, text: &mut text::Lock) {
    let (Some((_, tail)), Ok(behind)) = (detour.under().split_first(), at.after(1)) else {
        return;
    };
    poke::put(behind, tail, text);
    if let Ok(jump) = detour.jump(at) {
        let mut now = *detour.under();
        now[0] = encode::INT3;
        poke::tell(at, jump.bytes(), &now);
    }
}

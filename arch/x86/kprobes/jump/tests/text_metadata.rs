// SPDX-License-Identifier: GPL-2.0

//! What the kernel's own tables say.

use super::*;
use crate::{
    sys::symbols,
    text_metadata::{
        foreign_branches::OnTarget,
        index::EntryKind,
        Image,
        Images, //
    },
};
use kernel::sync::SetOnce;

/// The kernel's, which is read once for all tests.
static IMAGES: SetOnce<Images> = SetOnce::new();

fn metadata() -> Result<&'static Image, NoJump> {
    if IMAGES.as_ref().is_none() {
        let mut images = Images::EMPTY;
        let find = &mut |piece, image, found: OnTarget<'_>, text_lock: &mut text::Lock| {
            X86::branches_out_of(piece, image, &mut text::read, found, text_lock)
        };
        let at = TextAddr::new((&raw const bindings::_stext).addr() as u64);
        images.with_foreign_targets(None, at, &mut None, Some(find))?;
        IMAGES.populate(images);
    }
    let image = IMAGES.as_ref().and_then(Images::kernel);
    image.ok_or(NoJumpReason::NoMemory.into())
}

/// The function of that name.
fn function(name: &CStr) -> Result<TextRange, Refusal> {
    let at = symbols::lookup(name).ok_or(Refusal::UnknownSymbol)?;
    TextRange::with_len(at, symbols::len(at).ok_or(Refusal::UnknownSymbol)?)
}

#[kernel::macros::kunit_tests(rust_kprobes_x86_text_metadata)]
mod cases {
    use super::*;

    #[test]
    fn branch_label_and_fixup_targets_are_counted() -> Result<(), NoJump> {
        let metadata = metadata()?;
        let kinds = [
            EntryKind::BranchTarget,
            EntryKind::LabelTarget,
            EntryKind::FixupTarget,
        ];
        let counts = kinds.map(|kind| metadata.count(kind));
        pr_info!("branches, labels, fixups: {:?}\n", counts);
        // Hardly any branch leads into another function, unless the check before an entry
        // jumps to the mark at its start when a call is wrong, or the compiler splits functions.
        assert!(counts[0] < 100 || cfg!(any(CONFIG_FINEIBT, CONFIG_CC_IS_GCC)));
        assert!(counts[1] > 100 && counts[2] > 100);
        Ok(())
    }

    #[test]
    fn branches_of_other_functions_are_found() -> Result<(), NoJump> {
        let metadata = metadata()?;
        if cfg!(CONFIG_DYNAMIC_FTRACE_WITH_REGS) {
            // ftrace_regs_caller_jmp comes back into it.
            let there = function(c"ftrace_regs_caller_end")?;
            assert!(metadata.branch_target(there).is_some());
        }
        let function = function(c"kernel_clone")?;
        let body = TextRange::new(Jump::place(function.start())?, function.end());
        assert!(metadata.branch_target(body).is_none());
        Ok(())
    }

    #[test]
    fn fixup_target_is_found_where_there_is_one() -> Result<(), NoJump> {
        let metadata = metadata()?;
        let there = function(c"copy_from_kernel_nofault")?;
        assert!(metadata.fixup_target(there).is_some());
        assert!(metadata.fixup_target(function(c"kernel_clone")?).is_none());
        Ok(())
    }

    #[test]
    fn init_text_is_refused() -> Result<(), NoJump> {
        let at = symbols::lookup(c"_sinittext").ok_or(Refusal::UnknownSymbol)?;
        // It may have gone.
        if Images::EMPTY.owner(at).is_ok() {
            let mut images = Images::EMPTY;
            let said = images.with_foreign_targets(None, at, &mut None, None).err();
            assert_eq!(said, Some(NoJump::from(NoJumpReason::InitText)));
        }
        Ok(())
    }

    #[test]
    fn function_entry_is_reserved_for_ftrace() -> Result<(), NoJump> {
        let metadata = metadata()?;
        let there = function(c"kernel_clone")?;
        let entry = TextRange::with_len(there.start(), 5)?;
        let expected = cfg!(CONFIG_DYNAMIC_FTRACE).then_some(NoJump::from(NoJumpReason::Ftrace));
        assert!(metadata.reserved_by(entry) == expected);
        Ok(())
    }

    #[test]
    fn detours_of_the_kernels_functions_are_made() -> Result<(), NoJump> {
        let metadata = metadata()?;
        let mut made = [0usize; 2];
        let mut at = symbols::lookup(c"_stext").ok_or(Refusal::UnknownSymbol)?;
        let end = symbols::lookup(c"_etext").ok_or(Refusal::UnknownSymbol)?;
        for number in 0.. {
            let function = TextRange::with_len(at, symbols::len(at).unwrap_or(16))?;
            if function.end() >= end {
                break;
            }
            // What room for a call to ftrace comes first is not to be probed so.
            let place = at.after(5)?;
            if number % 64 == 0 && function.contains(place) {
                let mut text_lock = text::Lock::new();
                let read = &mut text::read;
                let prepared = X86::prepare(place, function, false, read, &mut text_lock);
                if let Ok(prepared) = prepared {
                    let read = &mut text::read;
                    let group = symbol::split_group(c"");
                    let targets =
                        X86::branch_targets(function, group, metadata, read, &mut text_lock);
                    let detour = targets.and_then(|targets| {
                        let text_lock = &mut text_lock;
                        X86::make_detour(
                            place, function, &targets, &prepared, metadata, read, text_lock,
                        )
                    });
                    made[usize::from(detour.is_ok())] += 1;
                }
            }
            at = function.end();
        }
        pr_info!("detours refused and made: {:?}\n", made);
        assert!(made[1] > made[0]);
        Ok(())
    }
}

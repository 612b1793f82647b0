// SPDX-License-Identifier: GPL-2.0

//! What the kernel's own tables say.

use super::*;
use crate::{
    model::{
        landing::Kind,
        not_optimized::{
            NotOptimized,
            Reason, //
        }, //
    },
    sys::{
        modules,
        surroundings::{
            self,
            Found,
            Tables, //
        },
        symbols, //
    }, //
};

fn tables() -> Result<Tables<'static>, NotOptimized> {
    surroundings::of_the_kernel(&mut |[piece, image], found, text| {
        X86::leaving(piece, image, &mut text::read, found, text)
    })
}

/// The function of that name.
fn function(name: &CStr) -> Result<TextRange, Refusal> {
    let at = symbols::lookup(name).ok_or(Refusal::UnknownSymbol)?;
    TextRange::with_len(at, symbols::len(at).ok_or(Refusal::UnknownSymbol)?)
}

#[kernel::macros::kunit_tests(rust_kprobes_x86_surroundings)]
mod cases {
    use super::*;

    #[test]
    fn what_leads_into_functions_is_known() -> Result<(), Failed> {
        let tables = tables()?;
        let counts = [Kind::Branch, Kind::Label, Kind::Fixup].map(|kind| tables.count(kind));
        pr_info!("branches, labels, fixups: {:?}\n", counts);
        // Hardly any branch leads into another function, but where what stands before one
        // leads into the mark at its start if the call is wrong, or the compiler splits them.
        assert!(counts[0] < 100 || cfg!(any(CONFIG_FINEIBT, CONFIG_CC_IS_GCC)));
        assert!(counts[1] > 100 && counts[2] > 100);
        Ok(())
    }

    #[test]
    fn branches_of_other_functions_are_found() -> Result<(), Failed> {
        let tables = tables()?;
        if cfg!(CONFIG_DYNAMIC_FTRACE_WITH_REGS) {
            // ftrace_regs_caller_jmp comes back into it.
            let there = function(c"ftrace_regs_caller_end")?;
            assert!(tables.entered(there).is_some());
        }
        let function = function(c"kernel_clone")?;
        let body = TextRange::new(place(function.start())?, function.end());
        assert!(tables.entered(body).is_none());
        Ok(())
    }

    #[test]
    fn where_exceptions_are_fixed_up_is_found() -> Result<(), Failed> {
        let tables = tables()?;
        let there = function(c"copy_from_kernel_nofault")?;
        assert!(tables.fixup(there).is_some());
        assert!(tables.fixup(function(c"kernel_clone")?).is_none());
        Ok(())
    }

    #[test]
    fn text_for_the_beginning_is_not_known() -> Result<(), Failed> {
        let at = symbols::lookup(c"_sinittext").ok_or(Refusal::UnknownSymbol)?;
        // It may have gone.
        if let Ok(owner) = modules::owner(at) {
            let leaving = &mut |_, _: Found<'_>, _: &mut text::Lock| Ok(false);
            let mut known = surroundings::Modules::NONE;
            let said = known.tables(&owner, at, leaving).err();
            assert_eq!(said, Some(NotOptimized::from(Reason::InitText)));
        }
        Ok(())
    }

    #[test]
    fn who_changes_text_is_told() -> Result<(), Failed> {
        let tables = tables()?;
        let there = function(c"kernel_clone")?;
        let entry = TextRange::with_len(there.start(), 5)?;
        let expected = cfg!(CONFIG_DYNAMIC_FTRACE).then_some(Reason::OfFtrace);
        assert!(tables.owner(entry) == expected);
        Ok(())
    }

    #[test]
    fn detours_of_the_kernels_functions_are_made() -> Result<(), Failed> {
        let tables = tables()?;
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
                let mut text = text::Lock::new();
                let read = &mut text::read;
                if let Ok(prepared) = X86::prepare(place, false, read, &mut text) {
                    let read = &mut text::read;
                    let family = symbol::family(c"");
                    let ways = X86::ways(function, family, &tables, read, &mut text);
                    let detour = ways.and_then(|ways| {
                        let text = &mut text;
                        X86::detour(place, function, &ways, &prepared, &tables, read, text)
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

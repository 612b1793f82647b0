// SPDX-License-Identifier: GPL-2.0

//! Which addresses of a built kernel may become jumps, by our rule and by C's.

use super::*;

/// What C's rule and ours say of the addresses of a kernel.
#[derive(Default)]
struct Count {
    addresses: usize,
    ours: usize,
    stated: usize,
    /// Those that are C's and not ours, for which C has no excuse.
    wrongly_lost: Vec<String>,
    /// Of those that are ours, what is wrong with the copy.
    wrong: Vec<String>,
}

/// Is it unsound to put a jump there, so that C is wrong to do it?
fn is_excused(found: NoJump) -> bool {
    matches!(
        found.reason,
        NoJumpReason::LocalBranch
            | NoJumpReason::ForeignBranch
            | NoJumpReason::SplitJump
            | NoJumpReason::LabelTarget
            | NoJumpReason::FixupTarget
            | NoJumpReason::LandingPad
            | NoJumpReason::CallCheck
            | NoJumpReason::CannotMove(Refusal::LetsNextWait)
    )
}

/// Where the functions of the image are, and what was split from each.
fn functions(image: &Image) -> Vec<(u64, u64, &str)> {
    let mut pieces = image.pieces();
    pieces.retain(|&(start, _, name)| {
        let stub = ["__SCT__", "__cfi_", "__pfx_"];
        !image.is_forbidden(start) && !stub.iter().any(|prefix| name.starts_with(prefix))
    });
    pieces
}

/// Where instructions start in the function, but for padding at its end.
pub(super) fn starts(image: &Image, start: u64, end: u64) -> Vec<u64> {
    let (mut found, mut used) = (Vec::new(), 0);
    let mut at = start;
    while at < end {
        let bytes = image.bytes(at);
        let Ok(insn) = decode(bytes) else { break };
        found.push(at);
        let is_padding = bytes[0] == 0xcc || op(bytes).is_some_and(|(op, _)| op == Op::Continue);
        if !is_padding {
            used = found.len();
        }
        at += insn.len() as u64;
    }
    found.truncate(used);
    found
}

fn count(image: &Image) -> Count {
    let mut count = Count::default();
    let functions = functions(image);
    let mut read = |at: TextAddr, into: &mut [u8]| image.read_text(at, into);
    for &(start, end, symbol) in &functions {
        let mut ours = Function::in_image(image, start, end);
        let theirs = stated::Function::of(image, start, end);
        for at in starts(image, start, end) {
            count.addresses += 1;
            let stated = theirs.optimizes(image, at).is_ok();
            count.stated += usize::from(stated);
            match ours.region(at, image, &mut read) {
                Ok(region) => {
                    count.ours += 1;
                    let copied = Copied::of(&region, THERE);
                    let wrong = copied
                        .map(|copied| same::wrong(&region, &copied, THERE))
                        .unwrap_or(Some("it is too far"));
                    if let Some(wrong) = wrong {
                        count.wrong.push(format!("{at:x} in {symbol}: {wrong}"));
                    }
                }
                Err(reason) => {
                    if stated && !is_excused(reason) {
                        let told = format!("{at:x} in {symbol}: {reason:?}");
                        count.wrongly_lost.push(told);
                    }
                }
            }
        }
    }
    count
}

#[test]
fn more_probes_become_jumps_than_with_c() {
    for mut image in images() {
        look_around(&mut image);
        let count = count(&image);
        println!(
            "jumps: {} addresses, ours {}, C's {}, of {}",
            count.addresses, count.ours, count.stated, image.name
        );
        assert_eq!(count.wrong, Vec::<String>::new());
        assert_eq!(count.wrongly_lost, Vec::<String>::new());
        assert!(10 * count.ours >= 13 * count.stated);
    }
}

/// Notes which branches lead into another function, behind its start; tells of those that lead into
/// one that theirs was not split from.
fn look_around(image: &mut Image) -> Vec<String> {
    let text = image.text();
    let base = |name: &str| name.split('.').next().map(String::from);
    let (mut entered, mut told) = (BTreeSet::new(), Vec::new());
    let mut read = |at: TextAddr, into: &mut [u8]| image.read_text(at, into);
    for (start, end, symbol) in functions(image) {
        let mut look = |branch: Branch| {
            let to = branch.to().get();
            let (&other, name) = image.functions.range(..=to).next_back().expect("a symbol");
            if other != start && other != to {
                entered.insert(to);
                if base(name) != base(symbol) {
                    told.push(format!("{symbol} leads into {name} at {to:x}"));
                }
            }
            Ok(())
        };
        let past_jump_tables = Indirect::Endbr;
        let piece = range(start, end);
        // What cannot be decoded is no code.
        let _ = branch_targets::each(piece, text, past_jump_tables, &mut read, &mut look);
    }
    image.entered = entered;
    image.look_for_jumps();
    told
}

/// Symbol names do not show all such branches.
#[test]
fn regions_that_other_functions_enter_are_refused() {
    for mut image in images() {
        let told = look_around(&mut image);
        let count = image.entered.len();
        println!(
            "jumps: {count} places led into by other functions, of {}",
            image.name
        );
        told.iter().for_each(|one| println!("jumps: {one}"));
        let mut read = |at: TextAddr, into: &mut [u8]| image.read_text(at, into);
        for (start, end, symbol) in functions(&image) {
            let mut function = Function::in_image(&image, start, end);
            for to in image.entered.range(start + 1..end) {
                let over = starts(&image, start, end);
                for at in over.into_iter().filter(|at| (at + 1..at + 5).contains(to)) {
                    let region = function.region(at, &image, &mut read);
                    assert!(region.is_err(), "{at:x} in {symbol} is over {to:x}");
                }
            }
        }
    }
}

// SPDX-License-Identifier: GPL-2.0

//! Addresses that data has.
//!
//! The labels that a computed goto chooses from are words of data, and a word that is the address
//! of text and no label does no harm but that of keeping a jump away. So all words are looked at,
//! where words are, and nothing has to be known about tables. The stack of the first task is in the
//! kernel's data, and left out: it has addresses that calls return to, which are no labels, and
//! others at each look.

use crate::{
    model::{
        addr::{
            TextAddr,
            TextRange, //
        },
        not_optimized::NotOptimized, //
    },
    sys::text, //
};
use kernel::bindings;

/// A word.
const WORD: usize = size_of::<u64>();

/// How many bytes are read at once.
const AHEAD: usize = 64 * WORD;

/// The kernel's own data: what never changes, and what does, around the first task's stack.
pub(super) fn of_the_kernel() -> [TextRange; 3] {
    macro_rules! at {
        ($symbol:ident) => {
            (&raw const bindings::$symbol).addr()
        };
    }
    let stack = at!(init_thread_union);
    let behind = stack.wrapping_add(size_of::<bindings::thread_union>());
    [
        (at!(__start_rodata), at!(__end_rodata)),
        (at!(_sdata), stack),
        (behind, at!(_edata)),
    ]
    .map(|(start, end)| TextRange::new(TextAddr::new(start as u64), TextAddr::new(end as u64)))
}

/// Tells `found` of each word in `data`, which may be the address of anything.
pub(super) fn each_address(
    data: TextRange,
    found: &mut dyn FnMut(TextAddr) -> Result<(), NotOptimized>,
) -> Result<(), NotOptimized> {
    let mut bytes = [0; AHEAD];
    let mut at = data.start();
    while at < data.end() {
        let left = data.end().get().saturating_sub(at.get());
        let most = usize::try_from(left).map_or(AHEAD, |left| left.min(AHEAD));
        let part = bytes.get_mut(..most).unwrap_or_default();
        text::read(at, part).ok_or(NotOptimized::CannotRead(at))?;
        let (words, _) = part.as_chunks::<WORD>();
        for &word in words {
            found(TextAddr::new(u64::from_ne_bytes(word)))?;
        }
        at = at
            .after(AHEAD as u64)
            .map_err(|_| NotOptimized::CannotRead(at))?;
        // SAFETY: The caller may sleep.
        unsafe { bindings::rust_kprobes_let_others_run() };
    }
    Ok(())
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_data)]
mod tests {
    use super::*;
    use core::{
        hint::black_box,
        sync::atomic::{
            AtomicU64,
            Ordering, //
        }, //
    };

    /// Nothing else has these, not even the text of the tests.
    const CONSTANT: u64 = 0x7a3c_91e5_0b64_d218;
    const VARIABLE: u64 = 0x61f0_8d2b_c479_3ea6;

    static FIXED: [u64; 2] = [!CONSTANT, CONSTANT];
    static CHANGES: AtomicU64 = AtomicU64::new(!VARIABLE);

    fn is_found(wanted: u64) -> Result<bool, NotOptimized> {
        let mut is = false;
        for range in of_the_kernel() {
            each_address(range, &mut |at| {
                is |= at.get() == wanted;
                Ok(())
            })?;
        }
        Ok(is)
    }

    #[test]
    fn words_of_data_are_found_wherever_they_are() {
        assert!(black_box(&FIXED)[1] == CONSTANT);
        assert_eq!(is_found(black_box(CONSTANT)), Ok(true));
        assert_eq!(is_found(black_box(VARIABLE)), Ok(false));
        // Who only writes to it would have it left out.
        black_box(&CHANGES).store(VARIABLE, Ordering::Relaxed);
        assert_eq!(is_found(black_box(VARIABLE)), Ok(true));
        black_box(&CHANGES).store(!VARIABLE, Ordering::Relaxed);
        assert_eq!(is_found(black_box(VARIABLE)), Ok(false));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let nowhere = TextAddr::new(8);
        let said = each_address(TextRange::new(nowhere, TextAddr::new(16)), &mut |_| Ok(()));
        assert_eq!(said, Err(NotOptimized::CannotRead(nowhere)));
    }
}

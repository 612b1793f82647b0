// SPDX-License-Identifier: GPL-2.0

//! A mistake with the owner of a slot, made on purpose, for KASAN to report.

use super::{
    Page,
    Pool,
    Returns, //
};
use crate::{
    model::{
        addr::TextAddr,
        plan::Pages,
        refusal::Refusal, //
    },
    sys::table::Table, //
};
use core::{
    hint::black_box,
    mem::ManuallyDrop, //
};
use kernel::page::PAGE_SIZE;

const ORIGIN: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

/// A slot asks its page where it is, which was freed although the slot is in use.
#[inline(never)]
pub(crate) fn owner() -> Result<(), Refusal> {
    static PAGES: Table<Page> = Table::empty();
    static RETURNS: Returns = Returns::new(1);
    let mut pool = Pool::new(&PAGES, &RETURNS, PAGE_SIZE / 4, Pages::Copies, 1);
    // Giving it back would write to the page.
    let slot = ManuallyDrop::new(pool.take(ORIGIN)?);
    drop(pool.pages.remove(pool.open)?);
    black_box(slot.page().address());
    Ok(())
}

// SPDX-License-Identifier: GPL-2.0

//! Mistakes with the memory of a table, each made on purpose, for KASAN to report.
//!
//! Each reads by the code that lookups are made of, and nothing is written to what was freed: the
//! allocator keeps its own notes there.

use super::{
    Owned,
    Seen,
    Table,
    Writer, //
};
use crate::{
    model::{
        addr::TextAddr,
        refusal::Refusal, //
    },
    sys::preempt::Pinned,
    table::{
        memory::{
            Memory,
            View as _, //
        },
        place, //
    },
};
use core::{
    hint::black_box,
    marker::PhantomData,
    sync::atomic::Ordering, //
};
use kernel::bindings;

const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

/// More entries than the smallest array takes.
const MANY: u64 = 40;

fn insert(writer: &mut Writer<u64>, number: u64) -> Result<(), Refusal> {
    let at = AT.after(number)?;
    writer.insert(Owned::new(at, number)?)
}

/// The entry for an address; the mistake is that nobody keeps it from being freed.
fn seen<T: Send + Sync>(table: &'static Table<T>, at: TextAddr) -> Option<Seen<'static, T>> {
    let pinned = Pinned::new();
    let Seen(header, _) = table.table.find(at, &pinned)?;
    Some(Seen(header, PhantomData))
}

/// What is at an address, by the same mistake.
pub(crate) fn find<T: Send + Sync>(table: &'static Table<T>, at: TextAddr) -> Option<&'static T> {
    seen(table, at).map(Seen::entry)
}

/// A lookup walks an array that has been replaced, and freed.
#[inline(never)]
pub(crate) fn array() -> Result<(), Refusal> {
    static TABLE: Table<u64> = Table::empty();
    let mut writer = Writer::of(&TABLE);
    insert(&mut writer, 0)?;
    let memory = TABLE.table.memory();
    let stale = memory.view(Ordering::Acquire);
    for number in 1..MANY {
        insert(&mut writer, number)?;
    }
    // SAFETY: It may sleep, as writing may.
    unsafe { bindings::kvfree_rcu_barrier() };
    let (_, word) = stale.home(place::hash(AT)).ok_or(Refusal::NoMemory)?;
    black_box(memory.look(word).0);
    Ok(())
}

/// A lookup compares the address of an entry that is out of the table, and freed.
#[inline(never)]
pub(crate) fn node() -> Result<(), Refusal> {
    static TABLE: Table<u64> = Table::empty();
    let mut writer = Writer::of(&TABLE);
    insert(&mut writer, 0)?;
    let stale = seen(&TABLE, AT).ok_or(Refusal::NoMemory)?;
    drop(writer.remove(AT)?);
    black_box(TABLE.table.memory().address(stale));
    Ok(())
}

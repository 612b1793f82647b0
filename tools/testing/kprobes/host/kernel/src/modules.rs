// SPDX-License-Identifier: GPL-2.0

//! A module, whose text is a part of what can be probed.

use crate::base::*;

/// Where its text is: what is for its beginning, and all the rest; and what its tables say.
#[derive(Clone, Default)]
pub struct Layout {
    /// For its beginning.
    pub init: Range<u64>,
    /// What stays as long as it does.
    pub core: Range<u64>,
    /// The only instruction that `BUG()` traps on.
    pub trap: Option<u64>,
    /// Init text is freed while the tables are read.
    pub init_goes: bool,
    /// The load fails as soon as a reference was taken.
    pub load_fails: bool,
}

impl Layout {
    /// A module that is all there, with its text at `core`.
    pub fn of(core: Range<u64>) -> Self {
        Self {
            core,
            ..Self::default()
        }
    }
}

static READS: AtomicUsize = AtomicUsize::new(0);

static MODULE: Mutex<Option<Layout>> = Mutex::new(None);
/// Text that has gone, and whose names ftrace has kept.
static KEPT: Mutex<Range<u64>> = Mutex::new(0..0);

/// Ftrace keeps the names of text that is no more.
pub fn keep_names(text: Range<u64>) {
    *KEPT.lock().unwrap() = text;
}

/// Is it text that has gone, and has a name all the same?
pub(crate) fn is_kept(addr: u64) -> bool {
    KEPT.lock().unwrap().contains(&addr)
}

pub fn as_c() -> *mut bindings::module {
    &raw mut bindings::the_module
}

pub fn load(layout: Layout) {
    let part = |text: &Range<u64>| bindings::module_memory {
        base: core::ptr::with_exposed_provenance_mut(text.start as usize),
        size: (text.end - text.start) as u32,
    };
    let parts = [part(&layout.init), part(&layout.core)];
    // SAFETY: One thread has the kernel at a time.
    unsafe { (*as_c()).mem = parts };
    *MODULE.lock().unwrap() = Some(layout);
}

pub fn reads() -> usize {
    READS.load(Relaxed)
}

pub(crate) fn trap() -> Option<u64> {
    READS.fetch_add(1, Relaxed);
    let mut module = MODULE.lock().unwrap();
    let layout = module.as_mut()?;
    if layout.init_goes {
        layout.init = 0..0;
    }
    layout.trap
}

/// Takes a reference.
pub(crate) fn get() -> bool {
    if matches!(&*MODULE.lock().unwrap(), Some(layout) if layout.load_fails) {
        set_coming(false);
    }
    true
}

pub fn set_coming(coming: bool) {
    // SAFETY: One thread has the kernel at a time.
    unsafe { (*as_c()).state = coming.into() };
}

/// There is none, and the next one is not coming.
pub fn unload() {
    set_coming(false);
    keep_names(0..0);
    *MODULE.lock().unwrap() = None;
}

/// Where the part of its text starts that stays.
pub(crate) fn core_start() -> u64 {
    let module = MODULE.lock().unwrap();
    module.as_ref().map_or(0, |layout| layout.core.start)
}

/// Is it in the module, or in what is for its beginning?
pub(crate) fn contains(addr: u64, init_only: bool) -> bool {
    let module = MODULE.lock().unwrap();
    module.as_ref().is_some_and(|layout| {
        layout.init.contains(&addr) || !init_only && layout.core.contains(&addr)
    })
}

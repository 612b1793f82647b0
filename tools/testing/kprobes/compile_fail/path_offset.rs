// SPDX-License-Identifier: GPL-2.0

//! A handler that skips its function, with a target where no function begins.
//!
//! error[E0080]: evaluation panicked: the target of a path handler is where a function begins: drop the offset
//! says: the target of a path handler is where a function begins: drop the offset
//! emit: obj

use kernel::kprobes::*;

struct Skips<const OFFSET: u32>;

impl<const OFFSET: u32> PathHandler for Skips<OFFSET> {
    type State = ();

    const TARGET: Place<'static> = Place::symbol(c"msleep").plus(OFFSET);

    fn enter<'a>((): &(), _: &Entry<'a>, path: Path<'a, Self>) -> Next<'a> {
        // SAFETY: Who calls `msleep()` expects no result of it.
        unsafe { path.return_now(0) }
    }
}

/// Registers one.
#[no_mangle]
pub extern "C" fn register_them() {
    let register = || -> Result<(), Refused> {
        let here = ProcessContext::here()?;
        let _ = PathProbe::<Skips<0>>::register(&here, ())?;
        #[cfg(refused)]
        let _ = PathProbe::<Skips<4>>::register(&here, ())?;
        Ok(())
    };
    let _ = register();
}

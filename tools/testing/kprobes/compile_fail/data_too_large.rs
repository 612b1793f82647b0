// SPDX-License-Identifier: GPL-2.0

//! Data of a call that is larger than kprobes have room for.
//!
//! error[E0080]: evaluation panicked: what a return probe keeps for a call has at most 4096 bytes
//! says: what a return probe keeps for a call has at most 4096 bytes
//! emit: obj

use kernel::kprobes::*;

struct Keeps<const N: usize>;

impl<const N: usize> ReturnHandler for Keeps<N> {
    type State = ();
    type Data = [u8; N];

    fn enter((): &(), _: &Entry<'_>) -> Option<[u8; N]> {
        None
    }

    fn leave((): &(), _: [u8; N], _: &Return<'_>) {}
}

/// Registers one.
#[no_mangle]
pub extern "C" fn register_them() {
    let register = || -> Result<(), Refused> {
        let here = ProcessContext::here()?;
        ReturnProbe::<Keeps<4096>>::register(&here, Place::address(0), ())?;
        #[cfg(refused)]
        ReturnProbe::<Keeps<4097>>::register(&here, Place::address(0), ())?;
        Ok(())
    };
    let _ = register();
}

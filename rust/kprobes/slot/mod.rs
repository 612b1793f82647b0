// SPDX-License-Identifier: GPL-2.0

//! Which slots of a page are in use, which are free, and which must wait.
//!
//! A slot is given back in one of two ways. One that no CPU can be in is free at once. One that a
//! task may have been preempted in *lingers*: it is left, handed to Tasks RCU together with all
//! that were left by then, and free when its grace period is over. One callback serves the page;
//! what is left while it is on its way waits for the next one. So each slot is in one of these
//! states, and goes round:
//!
//! ```text
//!             take                leave             asked
//!    free ----------> in use ---------------> left ------> waiting
//!     ^                 |                                     |
//!     +-----------------+-------------------------------------+
//!                      free                                expired
//! ```
//!
//! Taking is for who holds a lock; all else may come at any time, on any CPU, and takes none.
//!
//! Pure but for the atomics, which [`atomics`] asks of whoever uses it: the kernel's are `core`'s,
//! and on the host loom runs the same code in every order there is.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod atomics;
pub(crate) mod map;
mod set;

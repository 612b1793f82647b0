// SPDX-License-Identifier: GPL-2.0

//! What return probes have in store: taken by a hit, given back when the call is over.
//!
//! What is in store is in *blocks* of up to 48, each of which says in one [`word`] which of its
//! instances are free. A CPU takes from a block that is its home, and an instance goes back to the
//! block that it is of: so in the common case no two CPUs write to the same block, and memory grows
//! with what is in store, not with the CPUs. Only if there is nothing at home all blocks are
//! [searched](search).
//!
//! Hits take no lock, and any of them may come in the middle of another. So what could happen is
//! that a search comes to each block just after the last free instance has gone from there to one
//! that it has seen before: then it has found none though there always was one. Each word counts
//! how often something has come back. Two searches in a row that find nothing, and nothing that has
//! come back in between, prove that there was an instant with nothing in store.
//!
//! A store that is too small [grows](growth) to what there may have been at once; [`peak`] says how
//! much that is.
//!
//! When the store's owner is gone, what is out comes back late; [`account`] says when all is back.
//!
//! Pure but for the words, which [`word`], [`peak`] and [`account`] ask of whoever uses them, each
//! access with the order that it takes: the kernel's are `core`'s, and on the host loom runs the
//! same code in every order there is.
//!
//! C counterpart: [`lib/objpool.c`](srctree/lib/objpool.c).

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod account;
pub(crate) mod growth;
pub(crate) mod homes;
pub(crate) mod peak;
pub(crate) mod room;
pub(crate) mod search;
pub(crate) mod word;

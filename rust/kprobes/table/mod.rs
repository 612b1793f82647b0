// SPDX-License-Identifier: GPL-2.0

//! From an address to what is probed there, in constant time.
//!
//! A breakpoint's handler must learn whose breakpoint it is, in a context like an NMI's: it takes
//! no lock and cannot wait, and wherever it looks a writer may be at work. Should it not find an
//! address that is armed, the breakpoint is taken for a bug of the kernel. So at every instant
//! between an entry's insertion and its removal, a lookup finds it.
//!
//! How: an array of words, a power of two of them, each of which is empty, was left by an entry,
//! or leads to one. An address has a first word by its hash ([`place`]); its entry is in the first
//! word that was free from there on.
//!
//! - A word that was left stays distinct from an empty one, since other entries may be behind it;
//!   only where the next word is empty can there be none, and then it becomes empty.
//! - An entry never moves within an array. When too few words are empty, a new array takes over
//!   all entries before it is published with one store; who still looks at the old one finds there
//!   everything that has been in the table since before the look began, and the old one is freed
//!   only after all have looked away.
//! - Insertion, removal and replacement each are one store.
//!
//! A word leads to its entry, and the address is compared there. Words of address and entry would
//! save looking at a foreign entry, which happens in one of twenty lookups; they would cost twice
//! the memory and an order between two stores and two loads. The same memory spent on more words
//! makes the ways shorter, and a single word has no order to get wrong: the entry is read through
//! the pointer that the word is.
//!
//! At most three sixteenths of the words are in use or left, and an eighth after an array was
//! made. Of 30,000 entries one in twenty is then found behind its first word and hardly one at the
//! fourth or later, so that the worst lookup takes but a few instructions more than the mean.
//! An entry takes between 43 and 85 bytes of the array (on a 64-bit CPU, below the size at which
//! arrays start).
//!
//! It assumes that there is one writer at a time, which holds the [`Writer`](writer::Writer), and
//! that readers hold evidence of an RCU read-side section. What it stands on is a trait
//! ([`memory::Memory`]), so that its concurrency is checked on the host, in every order of events;
//! `sys/` has the kernel's instance.
//!
//! It does not keep the entries in the order of addresses.
//!
//! C counterpart: `kprobe_table` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c), which has 64
//! chains whatever the number of probes.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]
pub(crate) mod lookup;
pub(crate) mod memory;
pub(crate) mod place;
pub(crate) mod writer;

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
pub(crate) mod fixed;

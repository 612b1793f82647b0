// SPDX-License-Identifier: GPL-2.0

//! Text metadata: the kernel's tables about its text.
//!
//! The kernel has tables of jump labels, static calls, instructions that BUG() and WARN() trap on,
//! and exceptions. The tables have thousands of entries and are not in the order of addresses; C
//! walks them for each probe. Here each image (the kernel, or a part of a module) has one
//! [`Image`]: its tables, read once ([`tables`]) and ordered by address ([`index`]). The targets of
//! branches that leave their function are in no table: all text has to be decoded
//! ([`foreign_branches`]). So they are added when the first jump is asked for.
//!
//! There are two users. Registration asks whether other code changes an address, and for the start
//! of an instruction. The optimizer asks by [`TextMetadata`] whether anything leads into the bytes
//! of a jump.
//!
//! Not for the hit path.
//!
//! [`TextMetadata`]: crate::model::text_metadata::TextMetadata

pub(crate) mod foreign_branches;
mod image;
pub(crate) mod index;
mod tables;

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
pub(crate) use image::Image;
pub(crate) use image::Images;

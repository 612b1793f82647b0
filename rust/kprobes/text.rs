// SPDX-License-Identifier: GPL-2.0

//! Text metadata: what the kernel knows of its text besides the bytes.
//!
//! The kernel has tables of jump labels, static calls, instructions that BUG() and WARN() trap on,
//! and exceptions. They are not in the order of addresses and thousands of entries long; C walks
//! them for each probe. Here each image, which is the kernel or a part of a module, has one
//! [`Image`]: its tables, read once, ordered by address ([`index`]). Where branches lead that leave
//! their function is in no table: all text has to be decoded ([`branch_targets`]). So that is added
//! when the first jump is asked for.
//!
//! Two ask: `core/check.rs`, whether others change an address and where an instruction starts, and
//! the optimizer, whether anything leads into the bytes of a jump, by [`TextMetadata`].
//!
//! Not for the hit path.
//!
//! [`TextMetadata`]: crate::model::text_metadata::TextMetadata

pub(crate) mod branch_targets;
mod image;
pub(crate) mod index;
mod pieces;
mod tables;

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
pub(crate) use image::Image;
pub(crate) use image::Images;

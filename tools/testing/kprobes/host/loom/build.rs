// SPDX-License-Identifier: GPL-2.0

//! Sets `cfg(loom)` for this crate. In `RUSTFLAGS` it would apply to the others as well.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rustc-cfg=loom");
}

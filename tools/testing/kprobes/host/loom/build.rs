// SPDX-License-Identifier: GPL-2.0

//! Sets `cfg(loom)` for this crate. In `RUSTFLAGS` it would apply to the others as well. Miri runs
//! the unit tests with `core`'s atomics: it cannot run loom, which switches stacks.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    if std::env::var_os("CARGO_CFG_MIRI").is_none() {
        println!("cargo::rustc-cfg=loom");
    }
}

// SPDX-License-Identifier: GPL-2.0

//! The kernel configuration that the Rust kprobes are built with here.

/// What is set; everything else is not.
const SET: [&str; 12] = [
    "CONFIG_DEBUG_FS",
    "CONFIG_DYNAMIC_FTRACE",
    "CONFIG_GENERIC_BUG",
    "CONFIG_KPROBES_ON_FTRACE",
    "CONFIG_KRETPROBES",
    "CONFIG_MODULES",
    "CONFIG_OPTPROBES",
    "CONFIG_RUST_KPROBES_JPROBES",
    "CONFIG_RUST_KPROBES_JUMPS",
    "CONFIG_RUST_KPROBES_STAND_IN",
    "CONFIG_SMP",
    "CONFIG_X86",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in SET {
        println!("cargo::rustc-cfg={name}");
    }
    let folder = env!("CARGO_MANIFEST_DIR");
    println!("cargo::rustc-env=RUST_KPROBES_STAND_IN={folder}");
    // Nor does Miri have the machine code that finds out which CPU and task it is.
    if std::env::var_os("CARGO_CFG_MIRI").is_some() {
        println!("cargo::rustc-cfg=CONFIG_RUST_KPROBES_STAND_IN_RETURNS");
    }
}

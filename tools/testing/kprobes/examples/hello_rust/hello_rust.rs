// SPDX-License-Identifier: GPL-2.0

//! Says that it came, and that it goes.

use kernel::prelude::*;

module! {
    type: Hello,
    name: "hello_rust",
    authors: ["Rust kprobes developers"],
    description: "Says that it came, and that it goes",
    license: "GPL",
}

struct Hello;

impl kernel::Module for Hello {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        pr_info!("here I am\n");
        Ok(Self)
    }
}

impl Drop for Hello {
    fn drop(&mut self) {
        pr_info!("there I go\n");
    }
}

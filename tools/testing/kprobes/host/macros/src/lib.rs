// SPDX-License-Identifier: GPL-2.0

//! Attributes of the `kernel` crate, as far as the Rust kprobes use them.
//!
//! Apart from it, since the compiler runs attributes and links the rest.

use proc_macro::{TokenStream, TokenTree};

/// What C calls by its name. That the signature is C's is what the kernel's own build checks.
#[proc_macro_attribute]
pub fn export(_: TokenStream, item: TokenStream) -> TokenStream {
    let attribute: Result<TokenStream, _> = "#[no_mangle]".parse();
    let attribute = attribute.unwrap_or_default().into_iter();
    attribute
        .chain(item)
        .collect::<Vec<TokenTree>>()
        .into_iter()
        .collect()
}

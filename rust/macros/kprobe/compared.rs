// SPDX-License-Identifier: GPL-2.0

//! Code that compiles only if a handler's signature is the same as the function's that it names by
//! `function = path`.
//!
//! The function is called, with as many arguments as the handler has, in code that never runs:
//!
//! ```ignore
//! let _ = |returned: Given<_>, p0: Given<_>, p1: Given<_>| {
//!     let function = { use bindings::*; f };
//!     returned.is(unsafe { function(p0.value(), p1.value()) });
//!     p0.taken_as::<c_int>();
//!     p1.taken_as::<UserPtr>();
//! };
//! ```
//!
//! So the compiler knows the declaration before the handler's types, and reports missing or extra
//! arguments beside the declaration. (Otherwise it would only name a pointer to a function with so
//! many arguments.)
//!
//! If the path's module has no such function, the name is that of a constant that is made here, as
//! one module further out: it can be called in the same way, and its message tells what to do.

use proc_macro2::TokenStream;
use quote::{
    format_ident,
    quote,
    quote_spanned, //
};
use syn::{
    Ident,
    Path,
    Type, //
};

use super::{
    at,
    Probed, //
};

/// Returns code that compiles only if the probed function has arguments of these types, and returns
/// `value`, if given. Returns `None` without a path of that function.
pub(super) fn compared(
    probed: &Probed,
    arguments: &[Type],
    value: Option<&Type>,
) -> Option<TokenStream> {
    let path = probed.function.as_ref()?;
    let given: Vec<_> = (arguments.iter().enumerate())
        .map(|(n, ours)| format_ident!("p{n}", span = at(ours)))
        .collect();
    let values = (arguments.iter().zip(&given))
        .map(|(ours, given)| quote_spanned!(at(ours) => #given.value()));
    let same = (arguments.iter().zip(&given))
        .map(|(ours, given)| quote_spanned!(at(ours) => #given.taken_as::<#ours>();));
    let value_same = value.map(|ours| quote_spanned!(at(ours) => returned.taken_as::<#ours>();));
    let (function, fallback) = match of_module(path) {
        None => (quote!(#path), None),
        Some((module, name)) => (
            quote!({ use #module *; #name }),
            Some(fallback(&module, name, arguments, value)),
        ),
    };
    let parameters = given
        .iter()
        .map(|given| quote!(#given: ::kernel::kprobes::declared::Given<_>));
    Some(quote! {
        const _: () = {
            #fallback

            // If the function does not return, the rest is unreachable.
            #[allow(dead_code, unreachable_code)]
            fn is_like_the_handler() {
                let _ = |returned: ::kernel::kprobes::declared::Given<_> #(, #parameters)*| {
                    let function = #function;
                    // SAFETY: This code never runs, as no value of a `Given` type exists.
                    returned.is(unsafe { function(#(#values),*) });
                    #(#same)*
                    #value_same
                };
            }
        };
    })
}

/// Returns the path of the function's module, and its name there.
fn of_module(path: &Path) -> Option<(TokenStream, &Ident)> {
    let name = &path.segments.last()?.ident;
    let mut module: Vec<_> = path.segments.iter().map(|part| &part.ident).collect();
    module.pop();
    let root = path.leading_colon;
    (!module.is_empty()).then(|| (quote!(#root #(#module::)*), name))
}

/// Returns the constant that has the function's name if its module has no such function.
fn fallback(
    module: &TokenStream,
    name: &Ident,
    arguments: &[Type],
    value: Option<&Type>,
) -> TokenStream {
    let value = value.map_or(quote!(()), |value| quote!(#value));
    quote! {
        #[allow(dead_code, non_upper_case_globals)]
        const #name: unsafe fn(#(#arguments),*) -> #value = |#(_: #arguments),*| loop {};

        const _: () = {
            #[allow(unused_imports)]
            use #module *;

            ::kernel::kprobes::declared::must_be_there(&#name)
        };
    }
}

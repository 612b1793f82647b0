// SPDX-License-Identifier: GPL-2.0

//! What does not compile unless a handler's signature is that of the function that it names by
//! `function = path`.
//!
//! The function is called, with as many arguments as the handler has, where nobody comes:
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
//! So the compiler knows the declaration before it is told the handler's types, and says which
//! arguments are missing, or too many, beside the declaration. (A pointer to a function with so
//! many arguments is all that it would name otherwise.)
//!
//! Where there is no such function in the path's module, the name is that of a constant which is
//! made here, as one module further out: it can be called in the same way, and stops the compiler
//! by words that say what to do.

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

/// What does not compile unless the function that is probed has arguments of these types, and if
/// `value` is said, returns that. Without a path of that function it is nothing.
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

            // A function that does not return makes the rest unreachable.
            #[allow(dead_code, unreachable_code)]
            fn is_like_the_handler() {
                let _ = |returned: ::kernel::kprobes::declared::Given<_> #(, #parameters)*| {
                    let function = #function;
                    // SAFETY: Nobody calls this, as nobody is given anything of that type.
                    returned.is(unsafe { function(#(#values),*) });
                    #(#same)*
                    #value_same
                };
            }
        };
    })
}

/// The path of the module that the function is in, and its name there.
fn of_module(path: &Path) -> Option<(TokenStream, &Ident)> {
    let name = &path.segments.last()?.ident;
    let mut module: Vec<_> = path.segments.iter().map(|part| &part.ident).collect();
    module.pop();
    let root = path.leading_colon;
    (!module.is_empty()).then(|| (quote!(#root #(#module::)*), name))
}

/// What has the function's name where its module has none of that name.
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

// SPDX-License-Identifier: GPL-2.0

//! `#[kprobe]` and `#[kretprobe]`: make functions handlers of the functions that they name.
//!
//! `#[kprobe(symbol = "f")] fn on_call(state: &State, call: &Entry<'_>, first: c_int)` becomes
//!
//! ```ignore
//! enum on_call {}
//!
//! impl EntryHandler for on_call {
//!     type State = State;
//!
//!     fn enter(state: &State, call: &Entry<'_>) {
//!         fn on_call(..) { .. } // as it was
//!
//!         let mut arguments = call.arguments();
//!         on_call(state, call, arguments.take::<c_int>())
//!     }
//! }
//!
//! impl on_call {
//!     const PLACE: Place<'static> = Place::symbol(c"f");
//!
//!     fn register(..) -> Result<EntryProbe<Self>, Refused> { .. }
//! }
//! ```
//!
//! and `#[kretprobe]` likewise becomes a `ReturnHandler`, of a function or of an `impl` with the
//! functions `enter` and `leave`, which is kept. With `function = path` there is also a constant
//! that compiles only if the signature is the function's.
//!
//! The macros report errors in the attribute or in a signature at the place of the error. The
//! compiler reports errors in types for the generated code, whose parts have the places of their
//! sources.

mod compared;
mod params;
mod probed;
mod returns;

use proc_macro2::{
    Span,
    TokenStream, //
};
use quote::{
    format_ident,
    quote,
    quote_spanned, //
};
use syn::{
    spanned::Spanned,
    Attribute,
    Error,
    Ident,
    Item,
    ItemFn,
    Result,
    Type,
    Visibility, //
};

use self::{
    compared::compared,
    params::Params, //
};
pub(crate) use self::{
    probed::Probed,
    returns::kretprobe, //
};

/// Please see [`crate::kprobe`] for documentation.
pub(crate) fn kprobe(probed: Probed, item: Item) -> Result<TokenStream> {
    let Item::Fn(function) = item else {
        return Err(Error::new(
            item.span(),
            "`#[kprobe]` stands before a function; before an `impl` stands `#[kretprobe]`",
        ));
    };
    params::refuse_links(&function.attrs)?;
    params::refuse_answer(
        &function.sig,
        "a handler returns nothing: leave this out (a `PathHandler` says how the kernel goes on)",
    )?;
    let params = Params::of(&function.sig, "Entry")?;
    probed.refuse_more(params.more)?;
    let FromFunction {
        name,
        visibility,
        declared,
        cfgs,
        inside,
    } = FromFunction::of(function);
    let (call_args, arguments) = (params.call_args(), taken(&params.rest));
    let (takes, arg_init) = (takes(&params), arg_init(&params.rest));
    let [state, call] = params.names(arg_init.is_some());
    let comparison = compared(&probed, &params.rest, None).map(|made| quote!(#cfgs #made));
    let wanted = params.state.as_ref();
    let registers = registers(&probed, &visibility, "EntryProbe", wanted);
    let state_type = or_nothing(wanted);
    Ok(quote! {
        #declared

        #cfgs
        impl ::kernel::kprobes::EntryHandler for #name {
            type State = #state_type;

            #takes

            #[inline]
            fn enter(#state: &Self::State, #call: &::kernel::kprobes::Entry<'_>) {
                #inside

                #arg_init
                #name(#call_args #arguments)
            }
        }

        #cfgs
        impl #name {
            #registers
        }

        #comparison
    })
}

/// Sorts attributes: `#[doc]`, `#[cfg]`, and all others.
fn sorted(attributes: &[Attribute]) -> [Vec<&Attribute>; 3] {
    let mut sorted = [Vec::new(), Vec::new(), Vec::new()];
    let [docs, cfgs, others] = &mut sorted;
    for attribute in attributes {
        if attribute.path().is_ident("doc") {
            docs.push(attribute);
        } else if attribute.path().is_ident("cfg") {
            cfgs.push(attribute);
        } else {
            others.push(attribute);
        }
    }
    sorted
}

/// A function that becomes a type, with the function inside of the type's handler.
struct FromFunction {
    name: Ident,
    visibility: Visibility,
    /// The type.
    declared: TokenStream,
    /// The `#[cfg]`s of all generated code.
    cfgs: TokenStream,
    /// The function.
    inside: ItemFn,
}

impl FromFunction {
    fn of(function: ItemFn) -> Self {
        let name = &function.sig.ident;
        let visibility = &function.vis;
        let [docs, cfgs, others] = sorted(&function.attrs);
        let cfgs = quote!(#(#cfgs)*);
        let allowed = others.iter().filter(|one| one.path().is_ident("allow"));
        // The type has the place of the function's name: if it is never registered, the compiler
        // reports there that it is never used.
        let of_the_client = quote_spanned!(name.span()=> enum #name {});
        let declared = quote! {
            #(#docs)*
            #cfgs
            #(#allowed)*
            #[allow(non_camel_case_types)]
            #visibility #of_the_client
        };
        let mut inside = ItemFn {
            attrs: others.into_iter().cloned().collect(),
            vis: Visibility::Inherited,
            ..function.clone()
        };
        inside.sig.variadic = None;
        Self {
            name: name.clone(),
            visibility: visibility.clone(),
            declared,
            cfgs,
            inside,
        }
    }
}

/// Returns code that takes arguments of these types from `__arguments`, each at its place.
fn taken(types: &[Type]) -> TokenStream {
    let taken = types
        .iter()
        .map(|of| quote_spanned!(at(of) => __arguments.take::<#of>(),));
    quote!(#(#taken)*)
}

/// Returns code that begins to take arguments of these types, if there are any.
fn arg_init(types: &[Type]) -> Option<TokenStream> {
    (!types.is_empty()).then(|| quote!(let mut __arguments = __call.arguments();))
}

/// Returns the place of errors about `of`. Names at this place are those of the generated code.
fn at(of: &impl Spanned) -> Span {
    Span::call_site().located_at(of.span())
}

/// Returns the constant with the handler's arguments; `None` if it takes none.
fn takes(params: &Params) -> Option<TokenStream> {
    let types = &params.rest;
    let takes = match params.more {
        Some(_) => quote!(First),
        None if types.is_empty() => return None,
        None => quote!(All),
    };
    Some(quote! {
        const TAKES: ::kernel::kprobes::Takes =
            ::kernel::kprobes::Takes::#takes(&[#(::core::mem::size_of::<#types>()),*]);
    })
}

/// Returns the type, or `()` without a type.
fn or_nothing(of: Option<&Type>) -> TokenStream {
    of.map_or(quote!(()), |of| quote!(#of))
}

/// Returns the client's items beside the handler: the place, and the function that registers. The
/// client may leave them unused.
fn registers(
    probed: &Probed,
    visibility: &Visibility,
    registration: &str,
    state: Option<&Type>,
) -> TokenStream {
    let symbol = &probed.symbol;
    let registration = format_ident!("{registration}");
    let answer = quote!(::core::result::Result<
        ::kernel::kprobes::#registration<Self>,
        ::kernel::kprobes::Refused,
    >);
    let (generics, parameter, made, bound) = match state {
        Some(state) => (
            quote!(<__Error>),
            quote!(state: impl ::kernel::prelude::PinInit<#state, __Error>,),
            quote!(state),
            quote!(where ::kernel::error::Error: ::core::convert::From<__Error>,),
        ),
        None => (quote!(), quote!(), quote!(()), quote!()),
    };
    quote! {
        /// The entry of the probed function.
        #visibility const PLACE: ::kernel::kprobes::Place<'static> =
            ::kernel::kprobes::Place::symbol(#symbol);

        /// Registers a probe there.
        #[inline]
        #visibility fn register #generics(
            here: &::kernel::kprobes::ProcessContext,
            #parameter
        ) -> #answer
        #bound
        {
            ::kernel::kprobes::#registration::<Self>::register(here, Self::PLACE, #made)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0

//! Substitutes a handler that does nothing for an `impl` that is refused.
//!
//! So the type and all code that uses it still compile. Otherwise the compiler would report for
//! each use that the type is no handler, below the one error with the reason.

use proc_macro2::{
    Span,
    TokenStream, //
};
use quote::quote;
use syn::{
    FnArg,
    ImplItem,
    ItemImpl,
    LitCStr,
    Type,
    Visibility, //
};

use super::named;
use crate::kprobe::{
    or_nothing,
    params,
    registers,
    Probed, //
};

/// Returns a handler in place of `both`, with the state that it seems to have. Returns nothing for
/// a type with parameters, and for the `impl` of a trait.
pub(super) fn stand_in(both: &ItemImpl) -> TokenStream {
    if both.trait_.is_some() || !both.generics.params.is_empty() {
        return TokenStream::new();
    }
    let probed = Probed {
        symbol: LitCStr::new(c"", Span::call_site()),
        function: None,
    };
    let visibility = named(both, "leave").map_or(Visibility::Inherited, |last| last.vis.clone());
    let state = state(both);
    let registers = registers(&probed, &visibility, "ReturnProbe", state);
    let (state, of, both) = (or_nothing(state), &both.self_ty, quiet(both));
    quote! {
        #[allow(dead_code, unused_variables)]
        #both

        impl ::kernel::kprobes::ReturnHandler for #of {
            type State = #state;
            type Data = ();

            fn enter(
                _: &Self::State,
                _: &::kernel::kprobes::Entry<'_>,
            ) -> ::core::option::Option<()> {
                ::core::option::Option::None
            }

            fn leave(_: &Self::State, _: (), _: &::kernel::kprobes::Return<'_>) {}
        }

        #[allow(dead_code)]
        impl #of {
            #registers
        }
    }
}

/// Returns the `impl` without dots, which the compiler would report.
fn quiet(both: &ItemImpl) -> ItemImpl {
    let mut both = both.clone();
    for item in &mut both.items {
        if let ImplItem::Fn(function) = item {
            function.sig.variadic = None;
        }
    }
    both
}

/// Returns the first argument that is a reference to something other than a call.
fn state(both: &ItemImpl) -> Option<&Type> {
    let handlers = ["enter", "leave"].into_iter();
    let mut arguments = handlers
        .filter_map(|name| named(both, name))
        .flat_map(|function| &function.sig.inputs);
    arguments.find_map(|argument| match argument {
        FnArg::Typed(argument) => match &*argument.ty {
            Type::Reference(reference) if !params::is_a_call(&reference.elem) => {
                Some(&*reference.elem)
            }
            _ => None,
        },
        FnArg::Receiver(_) => None,
    })
}

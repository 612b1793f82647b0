// SPDX-License-Identifier: GPL-2.0

//! `#[kretprobe]`: on a function that is called at the end of each call, or on an `impl` with
//! `enter` and `leave`, where `enter` keeps data for `leave`.

mod stand_in;

use proc_macro2::TokenStream;
use quote::{
    quote,
    quote_spanned, //
};
use syn::{
    spanned::Spanned,
    Error,
    GenericArgument,
    ImplItem,
    ImplItemFn,
    Item,
    ItemFn,
    ItemImpl,
    Path,
    PathArguments,
    Result,
    ReturnType,
    Signature,
    Type, //
};

use super::{
    arg_init,
    at,
    compared::compared,
    or_nothing,
    params::{
        self,
        Params, //
    },
    registers,
    sorted,
    taken,
    takes,
    FromFunction,
    Probed, //
};

/// Please see [`crate::kretprobe`] for documentation.
pub(crate) fn kretprobe(probed: Result<Probed>, item: Item) -> Result<TokenStream> {
    match item {
        Item::Fn(function) => at_return(probed?, function),
        Item::Impl(both) => Ok(probed
            .and_then(|probed| at_both(probed, &both))
            .unwrap_or_else(|why| {
                let (said, instead) = (why.into_compile_error(), stand_in::stand_in(&both));
                quote!(#said #instead)
            })),
        _ => Err(Error::new(
            item.span(),
            "`#[kretprobe]` stands before a function, or an `impl` with `enter` and `leave`",
        )),
    }
}

/// Makes a handler of a function that is called at the end of each call.
fn at_return(probed: Probed, function: ItemFn) -> Result<TokenStream> {
    params::refuse_links(&function.attrs)?;
    let leave = Leave::of(&function.sig, None)?;
    if let Some(path) = &probed.function {
        return Err(Error::new(
            path.span(),
            "a signature is compared with its arguments: write an `impl` with `enter`, or say `symbol`",
        ));
    }
    let FromFunction {
        name,
        visibility,
        declared,
        cfgs,
        inside,
    } = FromFunction::of(function);
    let wanted = leave.params.state.as_ref();
    let registers = registers(&probed, &visibility, "ReturnProbe", wanted);
    let state_type = or_nothing(wanted);
    let (call_args, value) = (leave.params.call_args(), leave.value());
    let [state, call] = leave.params.names(leave.value_type().is_some());
    Ok(quote! {
        #declared

        #cfgs
        impl ::kernel::kprobes::ReturnHandler for #name {
            type State = #state_type;
            type Data = ();

            #[inline]
            fn enter(
                _: &Self::State,
                _: &::kernel::kprobes::Entry<'_>,
            ) -> ::core::option::Option<()> {
                ::core::option::Option::Some(())
            }

            #[inline]
            fn leave(#state: &Self::State, _: (), #call: &::kernel::kprobes::Return<'_>) {
                #inside

                #name(#call_args #value)
            }
        }

        #cfgs
        impl #name {
            #registers
        }
    })
}

/// The function that is called at the end of a call.
struct Leave {
    params: Params,
    /// Whether it takes the kept data.
    data: bool,
}

impl Leave {
    /// Parses a signature. `kept` is the type of the data that was kept for the call.
    fn of(signature: &Signature, kept: Option<&Type>) -> Result<Self> {
        params::refuse_answer(
            signature,
            "a handler returns nothing: leave this out (a `PathHandler` says how the kernel goes \
             on)",
        )?;
        let params = Params::of(signature, "Return")?;
        if let Some(dots) = params.more {
            return Err(Error::new(dots, "a function returns one value"));
        }
        let data = kept.is_some();
        // The state is passed by reference. Is this argument meant to be the kept data?
        if let (Some(kept), Some(state)) = (kept, &params.state) {
            if quote!(#kept).to_string() == quote!(#state).to_string() {
                return Err(Error::new(
                    state.span(),
                    "what `enter` has kept comes by value: take it without `&`",
                ));
            }
        }
        let said = "the value, if it is wanted";
        let most = if data { 2 } else { 1 };
        if data && params.rest.is_empty() {
            return Err(Error::new(
                signature.ident.span(),
                "what `enter` has kept is missing here",
            ));
        }
        match params.rest.get(most) {
            None => Ok(Self { params, data }),
            Some(beyond) if data => Err(Error::new(
                beyond.span(),
                format!("at the end of a call there are what `enter` has kept, and {said}"),
            )),
            Some(beyond) => Err(Error::new(
                beyond.span(),
                format!("at the end of a call there is {said}, and `enter` has kept nothing"),
            )),
        }
    }

    /// Returns the type of the kept data, if any.
    fn data_type(&self) -> Option<&Type> {
        self.params.rest.first().filter(|_| self.data)
    }

    /// Returns the type of the return value, if the function takes it.
    fn value_type(&self) -> Option<&Type> {
        self.params.rest.get(usize::from(self.data))
    }

    /// Returns code for the return value, if the function takes it.
    fn value(&self) -> TokenStream {
        self.value_type()
            .map(|of| quote_spanned!(at(of) => __call.value::<#of>()))
            .unwrap_or_default()
    }
}

/// The function that is called at the beginning of a call.
struct Enter {
    params: Params,
    /// The type of the data that it keeps.
    kept: Option<Type>,
    /// Whether it may keep no data.
    may_not: bool,
}

impl Enter {
    fn of(signature: &Signature) -> Result<Self> {
        let params = Params::of(signature, "Entry")?;
        let (kept, may_not) = match &signature.output {
            ReturnType::Default => (None, false),
            ReturnType::Type(_, answer) => match inside_option(answer) {
                Some(kept) => (Some(kept.clone()), true),
                None => (Some((**answer).clone()), false),
            },
        };
        Ok(Self {
            params,
            kept,
            may_not,
        })
    }
}

/// Returns `T` of an `Option<T>`.
fn inside_option(answer: &Type) -> Option<&Type> {
    let Type::Path(path) = answer else {
        return None;
    };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match (last.ident == "Option", arguments.args.first()) {
        (true, Some(GenericArgument::Type(inside))) => Some(inside),
        _ => None,
    }
}

/// Returns the function `name` of an `impl`.
fn named<'a>(both: &'a ItemImpl, name: &str) -> Option<&'a ImplItemFn> {
    both.items.iter().find_map(|item| match item {
        ImplItem::Fn(function) if function.sig.ident == name => Some(function),
        _ => None,
    })
}

/// Returns the handler `name` of an `impl`. If it is not there, `missing` says so.
///
/// The compiler expands `cfg` and `cfg_attr` inside the `impl` later, so they are refused: the
/// function could be absent, be another one, or have attributes that [`params::refuse_links`]
/// refuses.
fn handler_named<'a>(both: &'a ItemImpl, name: &str, missing: &str) -> Result<&'a ImplItemFn> {
    let absent = || Error::new(both.self_ty.span(), missing);
    let function = named(both, name).ok_or_else(absent)?;
    let is_condition = |path: &Path| path.is_ident("cfg") || path.is_ident("cfg_attr");
    if (function.attrs.iter()).any(|attribute| is_condition(attribute.path())) {
        return Err(Error::new(
            function.span(),
            "a handler is there in each configuration: leave out `cfg` and `cfg_attr`",
        ));
    }
    params::refuse_links(&function.attrs)?;
    Ok(function)
}

/// Makes a handler of an `impl` with functions for the beginning and the end of each call.
fn at_both(probed: Probed, both: &ItemImpl) -> Result<TokenStream> {
    if let Some((_, of, _)) = &both.trait_ {
        return Err(Error::new(
            of.span(),
            "`#[kretprobe]` makes an `impl` of the trait: write `impl` and the type alone",
        ));
    }
    if !both.generics.params.is_empty() {
        return Err(Error::new(
            both.generics.span(),
            "a handler is for one function: its type is not generic",
        ));
    }
    let last = handler_named(
        both,
        "leave",
        "`fn leave` is missing here: what is called at the end of a call",
    )?;
    let first = handler_named(
        both,
        "enter",
        "`fn enter` is missing here: without it, `#[kretprobe]` stands before a function",
    )?;
    let enter = Enter::of(&first.sig)?;
    probed.refuse_more(enter.params.more)?;
    let leave = Leave::of(&last.sig, enter.kept.as_ref())?;
    let state = (enter.params.state.as_ref()).or(leave.params.state.as_ref());
    let registers = registers(&probed, &last.vis, "ReturnProbe", state);
    let handler = handler(&both.self_ty, &enter, &leave, state);
    let [_, cfgs, _] = sorted(&both.attrs);
    let (cfgs, of) = (quote!(#(#cfgs)*), &both.self_ty);
    let comparison =
        compared(&probed, &enter.params.rest, leave.value_type()).map(|made| quote!(#cfgs #made));
    let both = without_dots(both);
    Ok(quote! {
        #both

        #cfgs
        #handler

        #cfgs
        impl #of {
            #registers
        }

        #comparison
    })
}

/// Returns the `impl` for the compiler: without dots, which are for this macro.
fn without_dots(both: &ItemImpl) -> ItemImpl {
    let mut both = both.clone();
    for item in &mut both.items {
        if let ImplItem::Fn(function) = item {
            if function.sig.ident == "enter" {
                function.sig.variadic = None;
            }
        }
    }
    both
}

fn handler(of: &Type, enter: &Enter, leave: &Leave, state: Option<&Type>) -> TokenStream {
    let (state, kept) = (or_nothing(state), or_nothing(enter.kept.as_ref()));
    let (takes, arguments) = (takes(&enter.params), taken(&enter.params.rest));
    let (call_args, arg_init) = (enter.params.call_args(), arg_init(&enter.params.rest));
    let [state_at_first, call_at_first] = enter.params.names(arg_init.is_some());
    // Functions of the type's own `impl` take precedence over the trait's functions.
    let entered = quote!(<#of>::enter(#call_args #arguments));
    let answer = match (&enter.kept, enter.may_not) {
        (_, true) => entered,
        (Some(_), _) => quote!(::core::option::Option::Some(#entered)),
        (None, _) => quote! {
            #entered;
            ::core::option::Option::Some(())
        },
    };
    let (told_at_last, value) = (leave.params.call_args(), leave.value());
    let [state_at_last, call_at_last] = leave.params.names(leave.value_type().is_some());
    let (data, given) = match leave.data_type() {
        Some(of) => (quote!(data), quote_spanned!(at(of) => data,)),
        None => (quote!(_), quote!()),
    };
    quote! {
        impl ::kernel::kprobes::ReturnHandler for #of {
            type State = #state;
            type Data = #kept;

            #takes

            #[inline]
            fn enter(
                #state_at_first: &Self::State,
                #call_at_first: &::kernel::kprobes::Entry<'_>,
            ) -> ::core::option::Option<#kept> {
                #arg_init
                #answer
            }

            #[inline]
            fn leave(
                #state_at_last: &Self::State,
                #data: #kept,
                #call_at_last: &::kernel::kprobes::Return<'_>,
            ) {
                <#of>::leave(#told_at_last #given #value)
            }
        }
    }
}

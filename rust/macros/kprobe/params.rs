// SPDX-License-Identifier: GPL-2.0

//! The parameters of a handler's function.
//!
//! First come the state and the call, by reference, both optional; then the values that are read
//! from the call, and dots if there may be more. No argument of a kernel function is a Rust
//! reference, so the types tell the parameters apart.

use proc_macro2::{
    Span,
    TokenStream, //
};
use quote::{
    quote,
    ToTokens, //
};
use syn::{
    spanned::Spanned,
    Attribute,
    Error,
    FnArg,
    Result,
    ReturnType,
    Signature,
    Type, //
};

/// The parameters of a handler's function.
pub(super) struct Params {
    /// The type of the state, if the function takes it.
    pub(super) state: Option<Type>,
    /// Whether the function takes the call.
    call: bool,
    /// The types of all further parameters.
    pub(super) rest: Vec<Type>,
    /// The place of the dots.
    pub(super) more: Option<Span>,
}

impl Params {
    /// Parses the parameters of a function that gets its call as `&call`.
    pub(super) fn of(signature: &Signature, call: &str) -> Result<Self> {
        refuse_qualifiers(signature)?;
        let mut params = Self {
            state: None,
            call: false,
            rest: Vec::new(),
            more: signature.variadic.as_ref().map(Spanned::span),
        };
        for input in &signature.inputs {
            params.add(input, call)?;
        }
        Ok(params)
    }

    fn add(&mut self, input: &FnArg, call: &str) -> Result<()> {
        let FnArg::Typed(input) = input else {
            return Err(Error::new(
                input.span(),
                "a handler has no `self`: what it needs belongs into its state, `&State`",
            ));
        };
        let Type::Reference(reference) = &*input.ty else {
            self.rest.push((*input.ty).clone());
            return Ok(());
        };
        if let Some(mutability) = reference.mutability {
            return Err(Error::new(
                mutability.span(),
                "handlers run on all CPUs at once and share what they are told: take it by `&`",
            ));
        }
        let free = self.rest.is_empty() && !self.call;
        let is_call = is_a_call(&reference.elem);
        if is_call && !is_named(&reference.elem, call) {
            return Err(Error::new(
                reference.span(),
                format!("the call is told as `&{call}<'_>` here"),
            ));
        }
        if free && is_call {
            self.call = true;
        } else if free && self.state.is_none() {
            self.state = Some((*reference.elem).clone());
        } else {
            let why = if is_call {
                format!("`&{call}<'_>` stands once, before the arguments and behind the state")
            } else if self.rest.is_empty() && self.state.is_none() {
                format!("the state stands first, before `&{call}<'_>`")
            } else {
                format!(
                    "no more references here: take a raw pointer or `UserPtr`, and have `{call}` \
                     read it"
                )
            };
            return Err(Error::new(reference.span(), why));
        }
        Ok(())
    }

    /// Returns code for the state and the call, as far as the function takes them. Its names, and
    /// those of all code here, are none that a client gives to a handler.
    pub(super) fn call_args(&self) -> TokenStream {
        let state = self.state.as_ref().map(|_| quote!(__state,));
        let call = self.call.then(|| quote!(__call,));
        quote!(#state #call)
    }

    /// Returns the names of the state and the call in a handler of the trait. Unused ones have no
    /// names, so the compiler does not warn.
    pub(super) fn names(&self, reads: bool) -> [TokenStream; 2] {
        let name = |used, name| if used { name } else { quote!(_) };
        [
            name(self.state.is_some(), quote!(__state)),
            name(self.call || reads, quote!(__call)),
        ]
    }
}

/// Returns whether this is the type of a call, for any kind of handler.
pub(super) fn is_a_call(of: &Type) -> bool {
    (["Hit", "Entry", "Return"].iter()).any(|name| is_named(of, name))
}

/// Returns whether this is a path whose last part is `name`.
fn is_named(of: &Type, name: &str) -> bool {
    matches!(of, Type::Path(path)
        if path.path.segments.last().is_some_and(|last| last.ident == name))
}

fn refuse_qualifiers(signature: &Signature) -> Result<()> {
    let refuse = |what: &dyn ToTokens, why| Err(Error::new(what.span(), why));
    if let Some(word) = &signature.asyncness {
        return refuse(word, "a handler must not wait: it is no `async fn`");
    }
    if let Some(word) = &signature.unsafety {
        return refuse(
            word,
            "nobody vouches for the call of a handler: leave `unsafe` out",
        );
    }
    if let Some(word) = &signature.abi {
        return refuse(
            word,
            "a handler is an ordinary function, whatever is probed: leave `extern` out",
        );
    }
    if let Some(word) = &signature.constness {
        return refuse(
            word,
            "a handler is called by the kernel: it is no `const fn`",
        );
    }
    if !signature.generics.params.is_empty() || signature.generics.where_clause.is_some() {
        return refuse(
            &signature.ident,
            "a handler is one function: it is not generic",
        );
    }
    Ok(())
}

/// Refuses attributes that place or rename the function. A handler must be in its module's ordinary
/// text, which is not freed before the module.
pub(super) fn refuse_links(attributes: &[Attribute]) -> Result<()> {
    const LINKS: [&str; 3] = ["link_section", "no_mangle", "export_name"];
    for attribute in attributes {
        if LINKS.iter().any(|name| attribute.path().is_ident(name)) {
            return Err(Error::new(
                attribute.span(),
                "a handler is called by kprobes alone, from where it is: leave this out",
            ));
        }
    }
    Ok(())
}

/// Refuses a handler that returns a value.
pub(super) fn refuse_answer(signature: &Signature, why: &str) -> Result<()> {
    match &signature.output {
        ReturnType::Default => Ok(()),
        ReturnType::Type(_, answer) => Err(Error::new(answer.span(), why)),
    }
}

// SPDX-License-Identifier: GPL-2.0

//! The probed function, from the brackets of `#[kprobe(..)]`.

use std::ffi::CString;

use proc_macro2::Span;
use syn::{
    ext::IdentExt,
    parse::{
        Parse,
        ParseStream, //
    },
    spanned::Spanned,
    Error,
    Ident,
    LitCStr,
    LitStr,
    Path,
    Result,
    Token, //
};

/// The probed function, by the words of the attribute.
pub(crate) struct Probed {
    pub(super) symbol: LitCStr,
    /// The function that the signature is compared with.
    pub(super) function: Option<Path>,
}

const WORDS: &str =
    "say `symbol = \"function\"`, `symbol = \"module:function\"` or `function = path`";

impl Parse for Probed {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Err(Error::new(Span::call_site(), WORDS));
        }
        let word = input
            .call(Ident::parse_any)
            .map_err(|error| Error::new(error.span(), WORDS))?;
        if word != "symbol" && word != "function" {
            return Err(Error::new(word.span(), WORDS));
        }
        input.parse::<Token![=]>()?;
        let probed = if word == "symbol" {
            Self {
                symbol: symbol(&string(input)?)?,
                function: None,
            }
        } else {
            let path = input.parse::<Path>()?;
            Self {
                symbol: last_of(&path)?,
                function: Some(path),
            }
        };
        input.parse::<Option<Token![,]>>()?;
        if input.is_empty() {
            Ok(probed)
        } else {
            Err(input.error("one function is probed, by one of `symbol` and `function`"))
        }
    }
}

impl Probed {
    /// Refuses `_: ...` in a handler if all arguments are compared.
    pub(super) fn refuse_more(&self, more: Option<Span>) -> Result<()> {
        match (&self.function, more) {
            (Some(_), Some(dots)) => {
                let symbol = self.symbol.value();
                let symbol = symbol.to_string_lossy();
                Err(Error::new(
                    dots,
                    format!(
                        "`function` compares all arguments: name them, or say \
                         `symbol = \"{symbol}\"`"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Parses the string after `symbol =`.
fn string(input: ParseStream<'_>) -> Result<LitStr> {
    (input.parse::<LitStr>()).map_err(|error| {
        Error::new(
            error.span(),
            "a symbol is a string: `symbol = \"function\"`",
        )
    })
}

/// Returns the symbol of a string in the source.
fn symbol(written: &LitStr) -> Result<LitCStr> {
    let name = written.value();
    let refuse = |why| Err(Error::new(written.span(), why));
    if name.contains('+') {
        return refuse(
            "arguments are known where a function begins: leave the offset out, or write a \
             `Handler`",
        );
    }
    let mut parts = name.split(':');
    let part = |part: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        !part.is_empty() && part.chars().all(known)
    };
    if name.split(':').count() > 2 || !parts.all(part) {
        return refuse("a symbol is the name of a function, or `module:function`");
    }
    literal(&name, written.span())
}

/// Returns the symbol of a function that the bindings have by `path`.
fn last_of(path: &Path) -> Result<LitCStr> {
    let Some(last) = path.segments.last() else {
        return Err(Error::new(path.span(), WORDS));
    };
    literal(&last.ident.unraw().to_string(), last.ident.span())
}

fn literal(name: &str, span: Span) -> Result<LitCStr> {
    let name = CString::new(name).map_err(|_| Error::new(span, "a symbol has no zero in it"))?;
    Ok(LitCStr::new(&name, span))
}

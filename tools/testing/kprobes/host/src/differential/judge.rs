// SPDX-License-Identifier: GPL-2.0

//! What a decoder has to tell to be a judge.

use super::*;

/// Somebody else's decoder.
pub(super) trait Judge {
    fn name(&self) -> &'static str;

    /// The length of the instruction that `text` starts with, if it is one.
    fn len(&mut self, text: &Text) -> Option<usize>;

    /// What the judge takes it for, in words.
    fn say(&mut self, text: &Text) -> String;
}

/// A judge of lengths only, with another one that knows what is an instruction.
pub(super) struct Backed<A, B>(pub(super) A, pub(super) B);

impl<A: Judge, B: Judge> Judge for Backed<A, B> {
    fn name(&self) -> &'static str {
        self.1.name()
    }

    fn len(&mut self, text: &Text) -> Option<usize> {
        self.0.len(text)?;
        self.1.len(text)
    }

    fn say(&mut self, text: &Text) -> String {
        self.0.say(text)
    }
}

/// Whatever the first knows, else what the second and we agree about.
pub(super) struct Either<A, B>(pub(super) A, pub(super) Option<B>);

impl<A: Judge, B: Judge> Judge for Either<A, B> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn len(&mut self, text: &Text) -> Option<usize> {
        if let Some(len) = self.0.len(text) {
            return Some(len);
        }
        let len = self.1.as_mut()?.len(text);
        len.filter(|_| len == our_len(text))
    }

    fn say(&mut self, text: &Text) -> String {
        match self.1.as_mut() {
            Some(second) => second.say(text),
            None => self.0.say(text),
        }
    }
}

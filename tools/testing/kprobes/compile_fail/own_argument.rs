// SPDX-License-Identifier: GPL-2.0

//! A client's own type of arguments.
//!
//! error[E0277]: the trait bound `Mine: kprobes::argument::sealed::Sealed` is not satisfied
//! says: required by a bound in `Argument`

use kernel::kprobes::Argument;

struct Mine(usize);

const _: fn(Mine) -> usize = |mine| mine.0;

fn known<A: Argument>() {}

const _: fn() = known::<usize>;

#[cfg(refused)]
impl Argument for Mine {
    fn from_bits(bits: u64) -> Self {
        Self(bits as usize)
    }
}

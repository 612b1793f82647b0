// SPDX-License-Identifier: GPL-2.0

//! Every reason why a probe stays on its breakpoint where a jump could be.
//!
//! Such a probe works, and each hit of it costs a trap. So none of these is an error: no errno
//! belongs to them. But they are what somebody needs who wants a probe to be fast: most say which
//! address is in the way, and one a few bytes before or behind it may do.

use super::{
    addr::TextAddr,
    refusal::{
        c_string,
        Refusal, //
    }, //
};
use core::ffi::CStr;

macro_rules! reasons {
    ($($name:ident $(($($field:ty),*))? => $text:literal,)*) => {
        /// Why there is no jump in the place of a breakpoint.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum NotOptimized {
            $(#[doc = $text] $name $(($($field),*))?,)*
        }

        impl NotOptimized {
            /// The reason in words.
            pub(crate) fn text(self) -> &'static CStr {
                match self {
                    $(Self::$name { .. } => const { c_string(concat!($text, "\0")) },)*
                }
            }
        }
    };
}

reasons! {
    NearEnd => "too near the end of the function",
    CannotDecode(TextAddr) => "the function has bytes that are no instruction",
    CannotRead(TextAddr) =>
        "text cannot be read, so where branches lead from there is not known",
    InitText =>
        "the function goes when the kernel has begun, and what leads into it is not known",
    IndirectJump(TextAddr) =>
        "the function has an indirect jump, which may lead anywhere in it: build the kernel with \
         IBT",
    SplitJump =>
        "what the compiler split from the function, or the other way round, has an indirect jump, \
         which may lead anywhere in both: build the kernel with IBT",
    JumpInto(TextAddr) => "a branch leads into the bytes of the jump",
    Entered(TextAddr) => "a branch of another function leads into the bytes of the jump",
    LabelTarget(TextAddr) => "a jump label leads into the bytes of the jump, or may",
    FixupTarget(TextAddr) => "an exception is fixed up into the bytes of the jump",
    OfFtrace => "ftrace changes the text",
    OfJumpLabel => "a jump label changes the text",
    OfStaticCall => "a static call changes the text",
    OfBug => "BUG() or WARN() traps there",
    OfDebugger => "a debugger has a breakpoint in the function",
    CallCheck(TextAddr) =>
        "an instruction belongs to the check of an indirect call, which is read when it fails",
    MayFault(TextAddr) => "an instruction is expected to fault",
    LandingPad(TextAddr) => "an instruction marks where indirect branches may lead",
    ShortLoop(TextAddr) => "an instruction is a loop, which reaches no further than 127 bytes",
    IndirectCall(TextAddr) => "an indirect call would return into the detour, or the jump",
    CannotMove(TextAddr, Refusal) => "an instruction cannot be probed itself",
    TooFar(TextAddr) => "the detour is out of reach",
    NoMemory => "no memory was left",
    DetoursWait => "too many detours wait for the last task in them to leave",
    PostHandler => "a handler is to be called after the instruction",
    ProbeInside(TextAddr) => "another probe is in the bytes of the jump",
    SwitchedOff => "debug.kprobes-optimization is 0",
    Jprobe => "a handler is to be called in the place of the function",
}

impl NotOptimized {
    /// The address that is in the way, if it is not the probe's own: of an instruction, or of where
    /// a table leads.
    pub(crate) fn at(self) -> Option<TextAddr> {
        match self {
            Self::CannotDecode(at)
            | Self::CannotRead(at)
            | Self::IndirectJump(at)
            | Self::JumpInto(at)
            | Self::Entered(at)
            | Self::LabelTarget(at)
            | Self::FixupTarget(at)
            | Self::CallCheck(at)
            | Self::MayFault(at)
            | Self::LandingPad(at)
            | Self::ShortLoop(at)
            | Self::IndirectCall(at)
            | Self::CannotMove(at, _)
            | Self::TooFar(at)
            | Self::ProbeInside(at) => Some(at),
            Self::NearEnd
            | Self::InitText
            | Self::SplitJump
            | Self::OfFtrace
            | Self::OfJumpLabel
            | Self::OfStaticCall
            | Self::OfBug
            | Self::OfDebugger
            | Self::NoMemory
            | Self::DetoursWait
            | Self::PostHandler
            | Self::SwitchedOff
            | Self::Jprobe => None,
        }
    }

    /// May it be otherwise the next time that somebody asks?
    pub(crate) fn may_pass(self) -> bool {
        self.is_shortage() || matches!(self, Self::OfDebugger | Self::CannotDecode(_))
    }

    /// Does something lack that may be given back?
    pub(crate) fn is_shortage(self) -> bool {
        matches!(self, Self::NoMemory | Self::DetoursWait)
    }

    /// Why the instruction cannot be probed itself, if that is the reason.
    pub(crate) fn because(self) -> Option<Refusal> {
        match self {
            Self::CannotMove(_, refusal) => Some(refusal),
            _ => None,
        }
    }

    /// All of the reason in words.
    pub(crate) fn words(self) -> &'static CStr {
        self.because().map_or(self.text(), Refusal::text)
    }
}

/// Who changes or reads text besides probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The calls that functions begin with.
    Ftrace,
    /// Jump labels, whether they jump now or not.
    JumpLabel,
    /// Calls whose target changes.
    StaticCall,
    /// The instructions that BUG() and WARN() trap on.
    Bug,
    /// Breakpoints of a debugger.
    Debugger,
}

impl From<Owner> for NotOptimized {
    fn from(owner: Owner) -> Self {
        match owner {
            Owner::Ftrace => Self::OfFtrace,
            Owner::JumpLabel => Self::OfJumpLabel,
            Owner::StaticCall => Self::OfStaticCall,
            Owner::Bug => Self::OfBug,
            Owner::Debugger => Self::OfDebugger,
        }
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_not_optimized))]
mod tests {
    use super::*;

    const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    #[test]
    fn reasons_have_a_text_and_an_address() {
        let reason = NotOptimized::JumpInto(AT);
        assert_eq!(reason.text(), c"a branch leads into the bytes of the jump");
        assert_eq!(reason.at(), Some(AT));
        assert_eq!(reason.because(), None);
        assert_eq!(NotOptimized::PostHandler.at(), None);
        assert_eq!(
            NotOptimized::ProbeInside(AT).text(),
            c"another probe is in the bytes of the jump"
        );
    }

    #[test]
    fn what_cannot_be_probed_says_why() {
        let reason = NotOptimized::CannotMove(AT, Refusal::Waits);
        assert_eq!(reason.at(), Some(AT));
        assert_eq!(reason.because(), Some(Refusal::Waits));
    }

    #[test]
    fn what_a_debugger_does_may_pass_and_what_is_short() {
        let passing = [
            (NotOptimized::NoMemory, true),
            (NotOptimized::DetoursWait, true),
            // A debugger's breakpoint was over a part of the function.
            (NotOptimized::OfDebugger, false),
            (NotOptimized::CannotDecode(AT), false),
        ];
        for (reason, is_shortage) in passing {
            assert!(reason.may_pass());
            assert_eq!(reason.is_shortage(), is_shortage);
        }
        let lasting = [
            NotOptimized::NearEnd,
            NotOptimized::CannotRead(AT),
            NotOptimized::JumpInto(AT),
            NotOptimized::OfFtrace,
        ];
        for reason in lasting {
            assert!(!reason.may_pass() && !reason.is_shortage());
        }
    }

    #[test]
    fn owners_are_told_apart() {
        let owners = [
            (Owner::Ftrace, NotOptimized::OfFtrace),
            (Owner::JumpLabel, NotOptimized::OfJumpLabel),
            (Owner::StaticCall, NotOptimized::OfStaticCall),
            (Owner::Bug, NotOptimized::OfBug),
            (Owner::Debugger, NotOptimized::OfDebugger),
        ];
        for (owner, reason) in owners {
            assert_eq!(NotOptimized::from(owner), reason);
            assert_eq!(reason.at(), None);
        }
    }
}

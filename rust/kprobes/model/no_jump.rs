// SPDX-License-Identifier: GPL-2.0

//! The reasons why a probe keeps its breakpoint and gets no jump.
//!
//! Such a probe works, and each hit of it costs a trap. So no reason is an error or has an errno.
//! The reasons help users who want fast probes. Most have the address of what prevents the jump. A
//! probe a few bytes before or after may have a jump.
//!
//! The reasons are found in:
//!
//! - `optimize/decide.rs`: other probes and their handlers, modules that are being loaded, text
//!   that cannot be read;
//! - `optimize/reasons.rs`: the sysctl, and a lack of memory;
//! - `text_metadata/image.rs` and `text_metadata/index.rs`: other code that changes the text or
//!   traps on it, init text;
//! - `arch/x86/kprobes/isa/region.rs`, with `classify.rs`: the instructions in the bytes of the
//!   jump, and branches into these bytes; `branch_targets.rs`: indirect jumps, breakpoints of
//!   debuggers, and what cannot be decoded. Both read text;
//! - `make_detour()` in `arch/*/kprobes/jump.rs`: memory and reach of the detour. On s390 and arm,
//!   also what is about the instruction.

use super::{
    addr::TextAddr,
    refusal::{
        c_string,
        Refusal, //
    }, //
};
use core::ffi::CStr;

/// The reason why a probe point has no jump, and its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoJump {
    /// The reason.
    pub(crate) reason: NoJumpReason,
    /// The address of the instruction that prevents the jump, such as the branch of `LocalBranch`.
    /// For `ForeignBranch`, `LabelTarget` and `FixupTarget`, the target, which is in the bytes of
    /// the jump. `None` if no single address does.
    pub(crate) at: Option<TextAddr>,
}

macro_rules! reasons {
    ($($name:ident $(($field:ty))? => $text:literal,)*) => {
        /// Reasons why a breakpoint is not replaced by a jump.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(dead_code, reason = "some are reasons of one architecture")]
        pub(crate) enum NoJumpReason {
            $(#[doc = $text] $name $(($field))?,)*
        }

        /// The reasons without their fields.
        enum Code {
            $($name,)*
        }

        impl NoJumpReason {
            /// Returns the reason in words.
            pub(crate) fn summary(self) -> &'static CStr {
                match self {
                    $(Self::$name { .. } => const { c_string(concat!($text, "\0")) },)*
                }
            }

            /// Returns its value in C's `enum kprobe_no_jump_reason`, which has the same reasons in
            /// the same order. Zero is no reason.
            pub(crate) fn code(self) -> u32 {
                match self {
                    $(Self::$name { .. } => Code::$name as u32 + 1,)*
                }
            }
        }
    };
}

reasons! {
    NearEnd => "too near the end of the function",
    CannotDecode => "the function has bytes that cannot be decoded",
    CannotRead => "the text cannot be read",
    InitText => "the function is init text, so the branches into it are not known",
    IndirectJump =>
        "the function has an indirect jump, which may lead anywhere in it: build the kernel with \
         IBT",
    SplitJump =>
        "another part of the split function has an indirect jump, which may lead anywhere in all \
         parts: build the kernel with IBT",
    LocalBranch => "a branch leads into the bytes of the jump",
    ForeignBranch => "a branch of another function leads into the bytes of the jump",
    LabelTarget => "a jump label leads into the bytes of the jump, or may",
    FixupTarget => "an exception fixup leads into the bytes of the jump",
    Ftrace => "ftrace changes the text",
    JumpLabel => "a jump label changes the text",
    StaticCall => "a static call changes the text",
    Bug => "BUG() or WARN() traps in the bytes of the jump",
    Debugger => "a debugger has a breakpoint in the function",
    CallCheck =>
        "an instruction belongs to the CFI check of an indirect call, which its trap decodes",
    MayFault => "an instruction is expected to fault",
    LandingPad => "an instruction is a landing pad of indirect branches",
    ShortLoop => "an instruction is a loop, which reaches no further than 127 bytes",
    IndirectCall => "an indirect call would return into the detour, or the jump",
    CannotMove(Refusal) => "an instruction cannot be probed itself",
    TooFar => "the detour is out of reach",
    NoMemory => "there was no memory for the detour",
    DetoursWait => "too many detours wait for Tasks RCU",
    PostHandler => "a probe has a post handler",
    ProbeInside => "another probe is in the bytes of the jump",
    SwitchedOff => "debug.kprobes-optimization is 0",
    Jprobe => "a jprobe is at the address",
    ModuleComing => "the module is being loaded, and its tables are not in order yet",
    // Where a jump replaces one instruction.
    ShortInsn => "the instruction is shorter than a jump",
    Emulated => "the instruction is emulated",
    PerCpuSection => "the instruction is in a per-CPU section, where interrupts change registers",
}

impl NoJumpReason {
    /// Returns the reason with its address; see [`NoJump::at`].
    pub(crate) const fn at(self, at: TextAddr) -> NoJump {
        NoJump {
            reason: self,
            at: Some(at),
        }
    }

    /// Returns whether the optimizer may decide differently the next time.
    pub(crate) fn is_temporary(self) -> bool {
        match self {
            Self::Debugger | Self::CannotRead | Self::CannotDecode | Self::ModuleComing => true,
            _ => self.is_shortage(),
        }
    }

    /// Returns whether memory is short and may be freed later.
    pub(crate) fn is_shortage(self) -> bool {
        matches!(self, Self::NoMemory | Self::DetoursWait)
    }

    /// Returns the reason in words. If an instruction cannot be probed, returns the refusal's.
    pub(crate) fn text(self) -> &'static CStr {
        match self {
            Self::CannotMove(refusal) => refusal.text(),
            _ => self.summary(),
        }
    }
}

impl From<NoJumpReason> for NoJump {
    fn from(reason: NoJumpReason) -> Self {
        Self { reason, at: None }
    }
}

/// Converts the refusal of an instruction or of a detour.
impl From<Refusal> for NoJump {
    fn from(refusal: Refusal) -> Self {
        Self::from(match refusal {
            Refusal::TooFar => NoJumpReason::TooFar,
            Refusal::NoMemory => NoJumpReason::NoMemory,
            other => NoJumpReason::CannotMove(other),
        })
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_no_jump))]
mod tests {
    use super::*;

    const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    #[test]
    fn reasons_have_a_text_and_an_address() {
        let found = NoJumpReason::LocalBranch.at(AT);
        let text = found.reason.summary();
        assert_eq!(text, c"a branch leads into the bytes of the jump");
        assert_eq!(found.reason.text(), text);
        assert_eq!(found.at, Some(AT));
        assert_eq!(NoJump::from(NoJumpReason::PostHandler).at, None);
        assert_eq!(
            NoJumpReason::ProbeInside.summary(),
            c"another probe is in the bytes of the jump"
        );
    }

    #[test]
    fn reasons_have_numbers_from_one_on() {
        assert_eq!(NoJumpReason::NearEnd.code(), 1);
        assert_eq!(NoJumpReason::CannotDecode.code(), 2);
        let moves = NoJumpReason::CannotMove(Refusal::Waits);
        assert_eq!(moves.code() + 1, NoJumpReason::TooFar.code());
    }

    #[test]
    fn cannot_move_has_the_text_of_its_refusal() {
        let reason = NoJumpReason::CannotMove(Refusal::Waits);
        assert_eq!(reason.at(AT).at, Some(AT));
        assert_eq!(reason.text(), Refusal::Waits.text());
    }

    #[test]
    fn reasons_know_whether_they_are_temporary() {
        let temporary = [
            (NoJumpReason::NoMemory, true),
            (NoJumpReason::DetoursWait, true),
            // A debugger's breakpoint was over a part of the function.
            (NoJumpReason::Debugger, false),
            (NoJumpReason::CannotRead, false),
            (NoJumpReason::CannotDecode, false),
            (NoJumpReason::ModuleComing, false),
        ];
        for (reason, is_shortage) in temporary {
            assert!(reason.is_temporary());
            assert_eq!(reason.is_shortage(), is_shortage);
        }
        let lasting = [
            NoJumpReason::NearEnd,
            NoJumpReason::LocalBranch,
            NoJumpReason::Ftrace,
        ];
        for reason in lasting {
            assert!(!reason.is_temporary() && !reason.is_shortage());
        }
    }
}

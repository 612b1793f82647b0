// SPDX-License-Identifier: GPL-2.0

//! The instructions that an EXRL executes from afar.
//!
//! A breakpoint there would trap after the EXRL, so such an instruction cannot be probed. It may
//! stand far from the EXRL: clang puts targets that several functions share at the end of an
//! object. So all text is searched: the kernel's once, and a part of a module when the first
//! instruction of that part is prepared. The targets are kept until another module comes.
//!
//! The search looks at each halfword, and does not decode from one instruction to the next: it
//! misses no EXRL. Bytes inside of another instruction may look like an EXRL. That costs a probe
//! only where such a bogus target is in text.

use super::isa::insn::Insn;
use crate::{
    contract::ReadText,
    sys::{
        blacklist,
        lock::{
            Guarded,
            Mutex, //
        },
        modules,
        prelude::*,
        sort,
        text, //
    }, //
};
use kernel::sync::SetOnce;

/// The targets in the kernel proper.
static KERNEL: SetOnce<Targets> = SetOnce::new();

/// The parts of modules that were searched, and the targets in them. Once a module is gone, other
/// text may be there; [`forget`] is called before such text is probed.
static SEARCHED: Guarded<KVec<(TextRange, Targets)>> = Guarded::new(Mutex::SLOTS, KVec::new());

/// The kernel's own text: what stays, and what is freed after boot.
fn kernel() -> [TextRange; 2] {
    let init = blacklist::between(
        &raw const bindings::_sinittext,
        &raw const bindings::_einittext,
    );
    [blacklist::core_text(), init]
}

/// Returns whether an address is in this text.
fn has(text: &[TextRange], at: TextAddr) -> bool {
    text.iter().any(|range| range.contains(at))
}

/// Finds the targets in the kernel. To be called once, while init memory is there.
pub(super) fn read_tables() -> Result<(), Refusal> {
    // SAFETY: The kernel's text stays, and its init text is still there.
    KERNEL.populate(unsafe { Targets::of(&kernel(), &mut text::read) }?);
    Ok(())
}

/// Forgets the targets in modules. To be called before text of a new module is probed.
pub(super) fn forget() {
    *SEARCHED.lock() = KVec::new();
}

/// Returns whether an EXRL in the text around `at` executes the instruction at `at`. `read` shows
/// an EXRL that is probed already.
pub(super) fn is_target(at: TextAddr, read: ReadText<'_>) -> Result<bool, Refusal> {
    if has(&kernel(), at) {
        // Without the targets, no instruction is known to be safe.
        return Ok(KERNEL.as_ref().is_none_or(|targets| targets.has(at)));
    }
    let mut searched = SEARCHED.lock();
    if let Some((_, targets)) = searched.iter().find(|(text, _)| text.contains(at)) {
        return Ok(targets.has(at));
    }
    // The caller has seen that the text may be probed.
    let Some(module) = modules::owner(at, |_| true)? else {
        return Ok(false);
    };
    let part = module.part(at).ok_or(Refusal::NotText)?;
    let part_of = |kind| module.parts().nth(kind as usize).unwrap_or(part);
    let text = [
        part_of(bindings::mod_mem_type_MOD_TEXT),
        part_of(bindings::mod_mem_type_MOD_INIT_TEXT),
    ];
    // Init text may execute what stays, but not once the module is initialized.
    let text = match module.module().is_coming() {
        true => text.as_slice(),
        false => core::slice::from_ref(&part),
    };
    // SAFETY: `module` keeps the module. Its init text is freed after our notifier, which waits for
    // the lock of the registry that the caller holds.
    let targets = unsafe { Targets::of(text, read) }?;
    let has = targets.has(at);
    searched.push((part, targets), GFP_KERNEL)?;
    Ok(has)
}

/// The targets in some text, in ascending order.
struct Targets(KVec<TextAddr>);

impl Targets {
    /// Finds the targets in some text.
    ///
    /// # Safety
    ///
    /// The text stays meanwhile.
    unsafe fn of(text: &[TextRange], read: ReadText<'_>) -> Result<Self, Refusal> {
        let mut targets = KVec::new();
        for range in text {
            let (mut at, end) = (range.start().get(), range.end().get());
            while at.wrapping_add(6) <= end {
                // SAFETY: The precondition is the same.
                let target = unsafe { executed_at(at, read) };
                if let Some(target) = target.filter(|&target| has(text, target)) {
                    targets.push(target, GFP_KERNEL)?;
                }
                at = at.wrapping_add(2);
            }
        }
        sort::ascending(&mut targets);
        Ok(Self(targets))
    }

    fn has(&self, at: TextAddr) -> bool {
        self.0.binary_search(&at).is_ok()
    }
}

/// Returns the target if there is an EXRL at `at`.
///
/// # Safety
///
/// `at` is in text that stays meanwhile.
unsafe fn executed_at(at: u64, read: ReadText<'_>) -> Option<TextAddr> {
    let from = core::ptr::with_exposed_provenance::<[u8; 2]>(at as usize);
    // SAFETY: By the precondition. Others may change the text, a halfword at a time.
    let [first, second] = unsafe { from.read_volatile() };
    // Decoding each would take seconds in an emulator. A probed EXRL begins as a breakpoint or as
    // a jump does.
    let may_execute = match first {
        0xc6 => second & 15 == 0,
        0xc0 => second & 15 == 4,
        0x00 => second == 0x02,
        _ => false,
    };
    let at = TextAddr::new(at);
    let insn = may_execute.then(|| Insn::read(at, read).ok()).flatten();
    insn?.executes(at)
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_s390_exrl_targets)]
mod tests {
    use super::*;

    /// `exrl %r1,.+8`, and the instruction that it executes: `lr %r2,%r3`.
    static EXRL: [u8; 10] = [0xc6, 0x10, 0, 0, 0, 4, 0x07, 0x07, 0x18, 0x23];
    /// [`EXRL`] with a probe's breakpoint on the first instruction.
    static PROBED: [u8; 10] = [0x00, 0x02, 0, 0, 0, 4, 0x07, 0x07, 0x18, 0x23];

    /// Returns which halfword is executed, as found in `text`, whose original is [`EXRL`].
    fn executed(text: &'static [u8; 10]) -> Result<Option<u64>, Refusal> {
        let start = text.as_ptr().addr() as u64;
        let range = TextRange::with_len(TextAddr::new(start), 10)?;
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let from = at.get().wrapping_sub(start) as usize;
            into.copy_from_slice(EXRL.get(from..)?.get(..into.len())?);
            Some(())
        };
        // SAFETY: The range is that of a static.
        let targets = unsafe { Targets::of(&[range], &mut read) }?;
        let offset = |at: &TextAddr| at.get().wrapping_sub(start);
        Ok(targets.0.first().map(offset))
    }

    #[test]
    fn a_probed_exrl_executes_its_target() -> Result<(), Refusal> {
        assert_eq!(executed(&EXRL)?, Some(8));
        assert_eq!(executed(&PROBED)?, Some(8));
        Ok(())
    }
}

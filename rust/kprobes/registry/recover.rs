// SPDX-License-Identifier: GPL-2.0

//! The original code of probed text, without our breakpoints and jumps.
//!
//! C counterpart: `recover_probed_instruction()` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::prelude::*;
use crate::sys::text;

/// Recovers the first instruction of `code`, which was read at `at`, for a fault handler. Returns
/// whether a probe point is at `at`, armed or not, whose breakpoint may be in `code`.
///
/// On the hit path.
pub(crate) fn recover(at: TextAddr, code: &mut [u8], no_preempt: &PreemptOff) -> bool {
    // If the text of a point was freed, other code may be at its address now.
    let point = points::find(at, no_preempt).filter(|point| !point.gone.get());
    let prepared = point.and_then(Point::prepared);
    let recovered = prepared.map(|prepared| Arch::recover(prepared, code));
    recovered.is_some()
}

impl Points {
    /// Reads the instruction at `from`, which may be a probe point. Fails where a debugger's
    /// breakpoint hides the instruction.
    pub(crate) fn read_original_insn(&self, from: TextAddr, code: &mut [u8]) -> Option<()> {
        text::read(from, code)?;
        #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
        self.recover_from_jumps(from, code);
        if !Arch::is_breakpoint(code) {
            return Some(());
        }
        let point = self.get(from).map(|found| found.point);
        let armed = point.filter(|point| point.armed.is(Armed::Breakpoint));
        if let Some(prepared) = armed.and_then(Point::prepared) {
            Arch::recover(prepared, code);
        } else if text::is_debugged(from) {
            return None;
        }
        Some(())
    }
}

#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
impl Points {
    /// Reads code that begins with an instruction and may have probe points anywhere. Fails where a
    /// debugger's breakpoint hides an instruction.
    pub(crate) fn read_original_code(&self, from: TextAddr, code: &mut [u8]) -> Option<()> {
        self.read_original_insn(from, code)?;
        for offset in 1..code.len() {
            let rest = code.get_mut(offset..)?;
            if !Arch::is_jump(rest) && !Arch::is_breakpoint(rest) {
                continue;
            }
            let at = from.after(offset as u64).ok()?;
            let point = self.get(at);
            let Some(point) = point.filter(|point| point.armed.is(Armed::Breakpoint)) else {
                if Arch::is_breakpoint(rest) && text::is_debugged(at) {
                    return None;
                }
                continue;
            };
            if let Some(prepared) = point.prepared() {
                Arch::recover(prepared, rest);
            }
            recover_from_jump(point, from, code);
        }
        Some(())
    }

    /// Replaces the bytes of jumps that overwrite the first byte of `code`.
    fn recover_from_jumps(&self, from: TextAddr, code: &mut [u8]) {
        if self.jumps.get() != 0 {
            let points = Iterator::chain(self.jumps_that_may_cover(from), self.get(from));
            points.for_each(|point| recover_from_jump(point, from, code));
        }
    }
}

/// Replaces the bytes of the jump at a point, if the point has one.
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
fn recover_from_jump(point: PointRef<'_>, from: TextAddr, code: &mut [u8]) {
    let jump = point.jump_decision.jump();
    if let Some(jump) = jump.filter(|jump| jump.node.state().has_jump()) {
        Arch::recover_jump(point.at, &jump.detour, from, code);
    }
}

// SPDX-License-Identifier: GPL-2.0

//! What a property saw: counted, and the unexplained shown.

use super::*;

const SHOWN: usize = 40;

#[derive(Default)]
struct Open {
    count: u64,
    example: String,
    /// Which reg fields of ModRM, with memory and with registers.
    regs: [u8; 2],
}

pub(super) struct Report {
    name: &'static str,
    strings: u64,
    valid: u64,
    only_ours: u64,
    explained: BTreeMap<&'static str, u64>,
    open: BTreeMap<Shape, Open>,
}

impl Report {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            strings: 0,
            valid: 0,
            only_ours: 0,
            explained: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// One more string, of which the judge says that it is an instruction.
    pub(super) fn valid(&mut self, counts: bool) {
        self.strings += 1;
        self.valid += u64::from(counts);
    }

    /// One more string, of which the judge says that it is none.
    pub(super) fn invalid(&mut self, ours: bool) {
        self.strings += 1;
        self.only_ours += u64::from(ours);
    }

    /// Ours is another length than the judge's.
    pub(super) fn disagrees(
        &mut self,
        text: &Text,
        len: usize,
        ours: Option<usize>,
        say: impl FnOnce() -> String,
    ) {
        let shape = Shape::of(text);
        if let Some(reason) = exception::reason(self.name, &shape, ours) {
            *self.explained.entry(reason).or_default() += 1;
            return;
        }
        let open = self.open.entry(shape.kind()).or_default();
        if open.count == 0 {
            open.example = format!("{text:02x?}: {len} {}, ours {ours:?}", say());
        }
        open.count += 1;
        open.regs[usize::from(shape.modrm >= 0xc0)] |= 1 << (shape.modrm >> 3 & 7);
    }

    /// Prints what was counted; fails if something is left without a reason.
    pub(super) fn finish(self) {
        println!(
            "{}: {} strings, {} agreed to be instructions, {} only ours",
            self.name, self.strings, self.valid, self.only_ours
        );
        for (reason, count) in &self.explained {
            println!("  {count} explained: {reason}");
        }
        let total: u64 = self.open.values().map(|open| open.count).sum();
        for open in self.open.values().take(SHOWN) {
            let [memory, register] = open.regs;
            println!(
                "  {} unexplained: {}; reg of memory {memory:08b}, of registers {register:08b}",
                open.count, open.example
            );
        }
        assert_eq!(total, 0, "unexplained, in {} kinds", self.open.len());
        assert!(self.valid > 0, "nothing was compared");
    }
}

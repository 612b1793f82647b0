// SPDX-License-Identifier: GPL-2.0

//! What a property saw: counted, and the unexplained shown.

use super::*;

const SHOWN: usize = 40;

#[derive(Default)]
pub(super) struct Report {
    name: String,
    strings: u64,
    valid: u64,
    only_ours: u64,
    explained: BTreeMap<&'static str, u64>,
    /// By kind, how many differences have no reason, and one of them.
    open: BTreeMap<String, (u64, String)>,
}

impl Report {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
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

    /// The judge is not followed so many times, for this reason.
    pub(super) fn explain(&mut self, reason: &'static str, count: u64) {
        *self.explained.entry(reason).or_default() += count;
    }

    /// Ours is another answer than the judge's. `open` says of which kind, and more about this one.
    pub(super) fn differs(
        &mut self,
        reason: Option<&'static str>,
        open: impl FnOnce() -> (String, String),
    ) {
        if let Some(reason) = reason {
            self.explain(reason, 1);
        } else {
            let (kind, example) = open();
            self.open.entry(kind).or_insert((0, example)).0 += 1;
        }
    }

    /// Prints what was counted; fails if something is left without a reason. Returns the reasons.
    pub(super) fn finish(self) -> BTreeSet<&'static str> {
        println!(
            "{}: {} strings, {} agreed to be instructions, {} only ours",
            self.name, self.strings, self.valid, self.only_ours
        );
        for (reason, count) in &self.explained {
            println!("  {count} explained: {reason}");
        }
        for (kind, (count, example)) in self.open.iter().take(SHOWN) {
            println!("  {count} unexplained: {kind}: {example}");
        }
        let kinds = self.open.len();
        assert_eq!(kinds, 0, "unexplained, in so many kinds");
        assert!(self.valid > 0, "nothing was compared");
        self.explained.into_keys().collect()
    }
}

// SPDX-License-Identifier: GPL-2.0

//! The images that were asked for: the kernel, and up to 64 parts of modules.
//!
//! The kernel's tables do not change after boot. Those of a live module are kept until it goes, or
//! more than 64 parts are asked for. While a module is coming, the kernel sorts its tables and
//! changes them, so they are read again for each probe.
//!
//! A module that is coming can be probed from the first module notifier on: if the load fails
//! earlier, no notifier is called. Its probes have jumps from the last notifier on, when the tables
//! are in order.

use super::{
    foreign_branches::{
        FindBranches,
        ForeignTargets, //
    },
    index::{
        EntryKind,
        Index,
        TextEntry, //
    },
    tables, //
};
use crate::{
    model::text_metadata::TextMetadata,
    prelude::*,
    sys::{
        blacklist,
        modules::{
            self,
            ModRef,
            Module, //
        },
        text, //
    }, //
};
use kernel::prelude::*;

/// How many parts of modules are kept. All are forgotten when there is one more.
const MAX_PARTS: usize = 64;

/// The images that were read.
pub(crate) struct Images {
    kernel: Option<Image>,
    /// Parts of modules.
    modules: KVec<Image>,
    /// The modules that are coming, and whether their tables are in order.
    coming: KVec<(Module, bool)>,
}

/// The metadata of an image: the kernel, or a part of a module.
pub(crate) struct Image {
    text: TextRange,
    /// Whether the module was being loaded when the image was read, or the image is init text of a
    /// module that was initialized. Such an image is read anew for the next probe.
    read_again: bool,
    entries: KVVec<TextEntry>,
    /// Added when the first jump is asked for.
    foreign_targets: Option<ForeignTargets>,
}

impl Images {
    /// No image was read.
    pub(crate) const EMPTY: Self = Self {
        kernel: None,
        modules: KVec::new(),
        coming: KVec::new(),
    };

    /// Adds a module that is being loaded. If the load fails, a notifier is called for its end.
    pub(crate) fn module_coming(&mut self, module: Module) -> Result<(), Refusal> {
        self.forget(module);
        Ok(self.coming.push((module, false), GFP_KERNEL)?)
    }

    /// Notes that the kernel has sorted the tables of a module that is being loaded.
    pub(crate) fn module_sorted(&mut self, module: Module) {
        for (_, sorted) in self.coming.iter_mut().filter(|(other, _)| *other == module) {
            *sorted = true;
        }
    }

    /// Returns whether the module is being loaded, and its tables are not sorted yet.
    pub(crate) fn is_unsorted(&self, module: Module) -> bool {
        self.coming.contains(&(module, false))
    }

    /// Returns the module whose text is at an address, or `None` for text of the kernel. Refuses
    /// text of a module that is being loaded and for which no notifier was called yet, or whose
    /// load has failed.
    pub(crate) fn owner(&self, at: TextAddr) -> Result<Option<ModRef>, Refusal> {
        modules::owner(at, |module| {
            self.coming.iter().any(|(coming, _)| *coming == module)
        })
    }

    /// Returns the image that has `at`, an address in text of `module` or of the kernel. The caller
    /// does not hold the text lock: reading the image takes the lock of jump labels, which comes
    /// first.
    pub(crate) fn image(
        &mut self,
        module: Option<&ModRef>,
        at: TextAddr,
    ) -> Result<&mut Image, Refusal> {
        // `retain()` moves each image.
        if self.modules.iter().any(|image| image.read_again) {
            self.modules.retain(|image| !image.read_again);
        }
        if self.known(module, at).is_none() {
            let image = Image::read(module, at)?;
            if module.is_none() {
                self.kernel = Some(image);
            } else {
                if self.modules.len() >= MAX_PARTS {
                    self.modules = KVec::new();
                }
                self.modules.push(image, GFP_KERNEL)?;
            }
        }
        self.known(module, at).ok_or(Refusal::NotText)
    }

    /// Returns the image with its branch targets. If they are not known yet, releases the text lock
    /// and finds them with `find`, if there is any.
    pub(crate) fn with_foreign_targets(
        &mut self,
        module: Option<&ModRef>,
        at: TextAddr,
        lock: &mut Option<text::Lock>,
        find: Option<FindBranches<'_>>,
    ) -> Result<&Image, NoJump> {
        // Init text is not decoded, so its branch targets are not known.
        if module.is_none() && blacklist::init_text().contains(at) {
            return Err(NoJumpReason::InitText.into());
        }
        let known = self.known(module, at);
        if known.is_none_or(|image| image.foreign_targets.is_none()) {
            *lock = None;
            let image = self.image(module, at)?;
            let text = module.map_or_else(blacklist::core_text, |_| image.text);
            let found = ForeignTargets::read(module, image.text, text, find)?;
            image.foreign_targets = Some(found);
        }
        let known = self.known(module, at).map(|image| &*image);
        known.ok_or(NoJumpReason::NoMemory.into())
    }

    /// Forgets the images of a module that comes, is live now, or goes.
    pub(crate) fn forget(&mut self, module: Module) {
        self.coming.retain(|(other, _)| *other != module);
        self.modules.retain(|image| !module.has(image.text.start()));
    }

    fn known(&mut self, module: Option<&ModRef>, at: TextAddr) -> Option<&mut Image> {
        let mut modules = self.modules.iter_mut();
        match module {
            None => self.kernel.as_mut(),
            Some(_) => modules.find(|image| image.text.contains(at)),
        }
    }
}

impl Image {
    fn read(module: Option<&ModRef>, at: TextAddr) -> Result<Self, Refusal> {
        let text = match module {
            Some(module) => module.part(at).ok_or(Refusal::NotText)?,
            None => TextRange::new(blacklist::core_text().start(), blacklist::init_text().end()),
        };
        Ok(Self {
            text,
            // Init text is freed soon, and other text may be there then.
            read_again: module
                .is_some_and(|module| module.module().is_coming() || module.has_freed(at)),
            entries: tables::entries(module, text)?,
            foreign_targets: None,
        })
    }

    /// Refuses text that the kernel changes, or traps on. Otherwise, returns the last start of an
    /// instruction that the tables have at or before `at`.
    pub(crate) fn start_unless_reserved(&self, at: TextAddr) -> Result<Option<TextAddr>, Refusal> {
        self.index(&self.entries).start_unless_reserved(at)
    }

    fn index<'a>(&self, entries: &'a [TextEntry]) -> Index<'a> {
        Index {
            origin: self.text.start(),
            entries,
        }
    }
}

impl TextMetadata for Image {
    fn image(&self) -> TextRange {
        self.text
    }

    fn reserved_by(&self, within: TextRange) -> Option<NoJump> {
        if text::is_reserved_by_ftrace(within) {
            return Some(NoJumpReason::Ftrace.into());
        }
        let mut bytes = (within.start().get()..within.end().get()).map(TextAddr::new);
        let debugged = bytes.find(|&at| text::is_debugged(at));
        let debugger = debugged.map(|at| NoJumpReason::Debugger.at(at));
        debugger.or_else(|| self.index(&self.entries).reserved_by(within))
    }

    fn may_fault(&self, at: TextAddr) -> bool {
        text::has_fixup(at)
    }

    fn branch_target(&self, within: TextRange) -> Option<TextAddr> {
        let found = self.foreign_targets.as_ref()?;
        self.index(&found.entries)
            .first(within, EntryKind::BranchTarget)
    }

    fn label_target(&self, within: TextRange) -> Option<TextAddr> {
        self.index(&self.entries)
            .first(within, EntryKind::LabelTarget)
    }

    fn fixup_target(&self, within: TextRange) -> Option<TextAddr> {
        self.index(&self.entries)
            .first(within, EntryKind::FixupTarget)
    }

    fn has_indirect_jump_into(&self, group: SplitGroup) -> bool {
        let found = self.foreign_targets.as_ref();
        found.is_some_and(|found| found.has_indirect_jump_into(group))
    }

    fn is_call_check(&self, at: TextAddr) -> bool {
        text::is_cfi_trap(at)
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
impl Images {
    /// The image of the kernel, if it was read.
    pub(crate) fn kernel(&self) -> Option<&Image> {
        self.kernel.as_ref()
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
impl Image {
    /// How many entries of a kind there are.
    pub(crate) fn count(&self, kind: EntryKind) -> usize {
        let targets = self.foreign_targets.as_ref();
        let targets = targets.map_or(&[][..], |found| &found.entries);
        let entries = Iterator::chain(self.entries.iter(), targets);
        entries.filter(|entry| entry.kind == kind).count()
    }
}

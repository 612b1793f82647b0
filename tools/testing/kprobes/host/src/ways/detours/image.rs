// SPDX-License-Identifier: GPL-2.0

//! A kernel, as its file says or the memory that it was booted in: text, symbols, and the tables
//! about text.
//!
//! In the file the text is as it was linked: alternatives are not chosen, no jump label is
//! switched. Memory has all that, but no more what is for the beginning, which the file is asked
//! for then.

use super::*;
use crate::{model::symbol::SplitGroup, x86::branch_targets::Thunks};

/// What kallsyms has room for of a name, with its NUL. It leaves out those that are longer.
const NAME_LEN: usize = 512;

const BUG_ENTRY: usize = 16;

/// Bytes of the call that a function begins with for ftrace, and of a static call.
const CALL_LEN: u64 = 5;

struct Section {
    name: String,
    at: u64,
    offset: usize,
    len: usize,
}

struct Memory {
    start: u64,
    bytes: Vec<u8>,
}

struct Symbol {
    at: u64,
    /// Whether it is one to name others after, and if not, how little.
    rank: (bool, bool, usize),
    name: String,
}

pub(super) struct Image {
    pub(super) name: String,
    pub(super) indirect: Indirect,
    file: Vec<u8>,
    memory: Option<Memory>,
    sections: Vec<Section>,
    symbols: BTreeMap<String, u64>,
    pub(super) functions: BTreeMap<u64, String>,
    /// Where others' bytes start and end.
    owned: BTreeMap<u64, (u64, NoJumpReason)>,
    /// Of all names of these.
    families: BTreeMap<u64, BTreeSet<SplitGroup>>,
    jumping: BTreeSet<SplitGroup>,
    pub(super) entered: BTreeSet<u64>,
    labels: BTreeSet<u64>,
    pub(super) faults: BTreeSet<u64>,
    fixups: BTreeSet<u64>,
    traps: BTreeSet<u64>,
    /// The instructions that BUG() and WARN() trap on.
    pub(super) bugs: BTreeSet<u64>,
    /// The functions that C says nobody may probe.
    pub(super) named: BTreeSet<u64>,
}

/// The kernels that the environment names. Without any the test says that it is skipped, and the
/// harness, which looks for that word, counts it so.
pub(super) fn images() -> Vec<Image> {
    let names = env::var("KPROBES_VMLINUX").unwrap_or_default();
    let names = names.split(':').filter(|name| !name.is_empty());
    let images: Vec<_> = names.map(Image::linked).collect();
    if images.is_empty() {
        println!("skipped: no kernel was built: KPROBES_VMLINUX names none");
    }
    images
}

impl Image {
    fn read(name: &str) -> Self {
        let file = fs::read(name).expect("a kernel that can be read");
        let options = Path::new(name).with_file_name(".config");
        let options = fs::read_to_string(options).unwrap_or_default();
        let has = |option: &str| options.lines().any(|line| line == option);
        let mut image = Self {
            name: name.into(),
            indirect: if has("CONFIG_X86_KERNEL_IBT=y") {
                Indirect::Endbr
            } else {
                Indirect::Anywhere(None)
            },
            file,
            memory: None,
            sections: Vec::new(),
            symbols: BTreeMap::new(),
            functions: BTreeMap::new(),
            owned: BTreeMap::new(),
            families: BTreeMap::new(),
            jumping: BTreeSet::new(),
            entered: BTreeSet::new(),
            labels: BTreeSet::new(),
            faults: BTreeSet::new(),
            fixups: BTreeSet::new(),
            traps: BTreeSet::new(),
            bugs: BTreeSet::new(),
            named: BTreeSet::new(),
        };
        image.read_sections();
        image.read_symbols();
        if image.indirect != Indirect::Endbr && has("CONFIG_MITIGATION_RETPOLINE=y") {
            image.indirect = Indirect::Anywhere(Some(image.thunks()));
        }
        image
    }

    /// What jumps lead to that go on where a register says.
    fn thunks(&self) -> Thunks {
        let kinds = [("", 32_u64), ("call_", 32), ("jump_", 32), ("its_", 64)];
        let kind = |(name, len)| {
            let start = self.symbol(&format!("__x86_indirect_{name}thunk_array"));
            let (start, len) = start.map_or((0, 0), |start| (start, 16 * len));
            range(start, start + len)
        };
        Thunks {
            images: [self.text(); 2],
            kinds: kinds.map(kind),
        }
    }

    /// As the file says.
    fn linked(name: &str) -> Self {
        let mut image = Self::read(name);
        image.read_tables();
        image
    }

    /// As it is in `memory`, which begins with its text.
    pub(super) fn booted(name: &str, memory: &str) -> Self {
        let mut image = Self::read(name);
        let start = image.text().start().get();
        let bytes = fs::read(memory).expect("memory that can be read");
        let end = image.symbols["__init_begin"];
        assert!(start + bytes.len() as u64 == end, "all that stays");
        image.memory = Some(Memory { start, bytes });
        image.read_kallsyms();
        image.read_tables();
        image.read_tables_of_probes();
        image
    }

    /// How many bytes of text in memory are not those of the file.
    pub(super) fn changed(&self) -> usize {
        let section = self.section(".text");
        let file = &self.file[section.offset..section.offset + section.len];
        let memory = self.bytes(section.at);
        file.iter().zip(memory).filter(|(a, b)| a != b).count()
    }

    fn number(&self, at: usize, size: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.file[at..at + size]);
        u64::from_le_bytes(bytes)
    }

    fn string(&self, at: usize) -> String {
        let bytes = self.file[at..].iter().take_while(|&&byte| byte != 0);
        bytes.map(|&byte| char::from(byte)).collect()
    }

    fn read_sections(&mut self) {
        let (table, size, count, names) = (
            self.number(0x28, 8) as usize,
            self.number(0x3a, 2) as usize,
            self.number(0x3c, 2) as usize,
            self.number(0x3e, 2) as usize,
        );
        let names = self.number(table + names * size + 0x18, 8) as usize;
        for index in 0..count {
            let at = table + index * size;
            let section = Section {
                name: self.string(names + self.number(at, 4) as usize),
                at: self.number(at + 0x10, 8),
                offset: self.number(at + 0x18, 8) as usize,
                len: self.number(at + 0x20, 8) as usize,
            };
            self.sections.push(section);
        }
    }

    fn section(&self, name: &str) -> &Section {
        let mut sections = self.sections.iter();
        sections
            .find(|section| section.name == name)
            .expect("the section")
    }

    fn read_symbols(&mut self) {
        const FUNCTION: u64 = 2;
        let text = self.text();
        let (table, names) = (self.section(".symtab"), self.section(".strtab").offset);
        let (start, len) = (table.offset, table.len);
        for at in (start..start + len).step_by(24) {
            let name = self.string(names + self.number(at, 4) as usize);
            let kind = self.number(at + 4, 1) & 0xf;
            let value = self.number(at + 8, 8);
            if name.is_empty() || kind > FUNCTION || name.starts_with(".L") {
                continue;
            }
            if text.contains(TextAddr::new(value)) {
                self.functions.insert(value, name.clone());
                self.be_called(value, &name);
            }
            self.symbols.insert(name, value);
        }
    }

    /// The functions by what kallsyms has, which a file beside the kernel's lists. Of several names
    /// the one counts that kallsyms puts first.
    fn read_kallsyms(&mut self) {
        let file = Path::new(&self.name).with_file_name("System.map");
        let file = fs::read_to_string(file).expect("a System.map");
        let mut found: Vec<_> = file.lines().map(Symbol::of).collect();
        found.retain(|symbol| symbol.name.len() < NAME_LEN);
        found.sort_by_key(|symbol| (symbol.at, symbol.rank));
        let text = self.text();
        self.functions.clear();
        self.families.clear();
        for symbol in found {
            if text.contains(TextAddr::new(symbol.at)) {
                self.be_called(symbol.at, &symbol.name);
                self.functions.entry(symbol.at).or_insert(symbol.name);
            }
        }
    }

    /// All symbols of the text, from one to the next.
    pub(super) fn pieces(&self) -> Vec<(u64, u64, &str)> {
        let starts = self.functions.iter();
        let ends = self.functions.keys().skip(1).copied();
        let pieces = starts.zip(ends.chain([self.text().end().get()]));
        let named = pieces.map(|((&start, name), end)| (start, end, name.as_str()));
        named.collect()
    }

    fn be_called(&mut self, at: u64, name: &str) {
        let name = CString::new(name).expect("no NUL");
        self.families
            .entry(at)
            .or_default()
            .insert(symbol::split_group(&name));
    }

    /// Notes which functions have an indirect jump, where one may lead anywhere.
    pub(super) fn look_for_jumps(&mut self) {
        let mut found = BTreeSet::new();
        let mut read = |at: TextAddr, into: &mut [u8]| self.read_text(at, into);
        for (start, end, _) in self.pieces() {
            let piece = range(start, end);
            let found_none = &mut |_| Ok(());
            let indirect = self.indirect;
            if branch_targets::branches_out_of(piece, indirect, &mut read, found_none) == Ok(true) {
                found.extend(self.families[&start].iter().copied());
            }
        }
        self.jumping = found;
    }

    /// May an indirect jump of another function that is a part of this one, or that this one is a
    /// part of, lead into it?
    pub(super) fn is_led_into(&self, start: u64) -> bool {
        let mut families = self.families[&start].iter();
        families.any(|&family| self.has_indirect_jump_into(family))
    }

    pub(super) fn text(&self) -> TextRange {
        let text = self.section(".text");
        range(text.at, text.at + text.len as u64)
    }

    /// From one symbol to another; nothing if the kernel has none.
    fn between(&self, start: &str, end: &str) -> (u64, u64) {
        let (start, end) = (self.symbol(start), self.symbol(end));
        start.zip(end).unwrap_or_default()
    }

    pub(super) fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }

    /// Is this the way from user space, traps and interrupts into C?
    pub(super) fn is_entry(&self, at: u64) -> bool {
        let (start, end) = self.between("__entry_text_start", "__entry_text_end");
        start <= at && at < end
    }

    pub(super) fn is_ftraces(&self, at: u64) -> bool {
        matches!(self.owned.get(&at), Some((_, NoJumpReason::Ftrace)))
    }

    pub(super) fn is_forbidden(&self, at: u64) -> bool {
        let ranges = [
            self.between("__entry_text_start", "__entry_text_end"),
            self.between("__noinstr_text_start", "__noinstr_text_end"),
            self.between("__kprobes_text_start", "__kprobes_text_end"),
        ];
        ranges.iter().any(|&(start, end)| start <= at && at < end)
    }

    /// What is at `at`, up to the end of its section.
    pub(super) fn bytes(&self, at: u64) -> &[u8] {
        let within = |section: &&Section| {
            section.at != 0 && section.at <= at && at - section.at < section.len as u64
        };
        self.sections
            .iter()
            .find(within)
            .map(|section| {
                let from = (at - section.at) as usize;
                if let Some(bytes) = self.in_memory(at, section.len - from) {
                    return bytes;
                }
                &self.file[section.offset + from..section.offset + section.len]
            })
            .unwrap_or_default()
    }

    fn in_memory(&self, at: u64, len: usize) -> Option<&[u8]> {
        let memory = self.memory.as_ref()?;
        let from = usize::try_from(at.checked_sub(memory.start)?).ok()?;
        memory.bytes.get(from..from + len)
    }

    pub(super) fn read_text(&self, at: TextAddr, into: &mut [u8]) -> Option<()> {
        into.copy_from_slice(self.bytes(at.get()).get(..into.len())?);
        Some(())
    }

    /// The number at `at` that is relative to itself.
    fn relative(&self, at: u64) -> u64 {
        let bytes: [u8; 4] = self.bytes(at)[..4].try_into().expect("four bytes");
        at.wrapping_add(i32::from_le_bytes(bytes) as u64)
    }

    fn entries(&self, start: &str, end: &str, size: usize) -> impl Iterator<Item = u64> {
        let (start, end) = self.between(start, end);
        (start..end).step_by(size)
    }

    fn read_tables(&mut self) {
        for at in self.entries("__start_mcount_loc", "__stop_mcount_loc", 8) {
            let bytes: [u8; 8] = self.bytes(at)[..8].try_into().expect("eight bytes");
            let place = u64::from_le_bytes(bytes);
            self.owned
                .insert(place, (place + CALL_LEN, NoJumpReason::Ftrace));
        }
        for at in self.entries("__start___jump_table", "__stop___jump_table", 16) {
            let place = self.relative(at);
            let insn = decode(self.bytes(place)).expect("a NOP or a jump");
            let end = place + insn.len() as u64;
            self.owned.insert(place, (end, NoJumpReason::JumpLabel));
            self.labels.insert(self.relative(at + 4));
        }
        for at in self.entries("__start_static_call_sites", "__stop_static_call_sites", 8) {
            let place = self.relative(at);
            self.owned
                .insert(place, (place + CALL_LEN, NoJumpReason::StaticCall));
        }
        for at in self.entries("__start___ex_table", "__stop___ex_table", 12) {
            self.faults.insert(self.relative(at));
            self.fixups.insert(self.relative(at + 4));
        }
        for at in self.entries("__start___kcfi_traps", "__stop___kcfi_traps", 4) {
            self.traps.insert(self.relative(at));
        }
        // Each kernel has these.
        assert!(self.faults.len() > 100 && self.fixups.len() > 100);
        assert!(self.functions.len() > 1000);
    }

    /// What registering probes asks for besides.
    fn read_tables_of_probes(&mut self) {
        for at in self.entries("__start___bug_table", "__stop___bug_table", BUG_ENTRY) {
            self.bugs.insert(self.relative(at));
        }
        for at in self.entries("__start_kprobe_blacklist", "__stop_kprobe_blacklist", 8) {
            let bytes: [u8; 8] = self.bytes(at)[..8].try_into().expect("eight bytes");
            self.named.insert(u64::from_le_bytes(bytes));
        }
        assert!(self.bugs.len() > 100 && self.named.len() > 10);
    }

    /// Who changes some of these bytes.
    pub(super) fn owner_but_bug(&self, within: TextRange) -> Option<NoJumpReason> {
        // None is longer than the step back.
        let from = within.start().get() - 2 * CALL_LEN;
        let owned = self.owned.range(from..within.end().get());
        let reaching = owned.filter(|(_, (end, _))| *end > within.start().get());
        let mut owners: Vec<_> = reaching.map(|(_, &(_, owner))| owner).collect();
        let ftraces = (owners.iter()).position(|&owner| owner == NoJumpReason::Ftrace);
        (!owners.is_empty()).then(|| owners.swap_remove(ftraces.unwrap_or(0)))
    }
}

impl Symbol {
    /// A line of System.map: address, type, name.
    fn of(line: &str) -> Self {
        let words: Vec<_> = line.split(' ').collect();
        let &[at, kind, name] = words.as_slice() else {
            panic!("a symbol: {line}");
        };
        let of_linker = ["__start_", "__stop_", "__end_"]
            .iter()
            .any(|start| name.starts_with(start))
            || ["_start", "_end"].iter().any(|end| name.ends_with(end));
        let underscores = name.bytes().take_while(|&byte| byte == b'_').count();
        Self {
            at: u64::from_str_radix(at, 16).expect("an address"),
            rank: (kind.eq_ignore_ascii_case("w"), of_linker, underscores),
            name: name.into(),
        }
    }
}

fn first(of: &BTreeSet<u64>, within: TextRange) -> Option<TextAddr> {
    let found = of.range(within.start().get()..within.end().get()).next();
    found.copied().map(TextAddr::new)
}

impl TextMetadata for Image {
    fn image(&self) -> TextRange {
        self.text()
    }

    fn reserved_by(&self, within: TextRange) -> Option<NoJump> {
        // As of the others, the first one that these bytes come to.
        let owner = self.owner_but_bug(within);
        let bug = first(&self.bugs, within);
        let earlier = bug.filter(|&bug| {
            let before = TextRange::new(within.start(), bug);
            owner != Some(NoJumpReason::Ftrace) && self.owner_but_bug(before).is_none()
        });
        let reason = earlier.map(|_| NoJumpReason::Bug).or(owner);
        reason.map(NoJump::from)
    }

    fn may_fault(&self, at: TextAddr) -> bool {
        self.faults.contains(&at.get())
    }

    fn branch_target(&self, within: TextRange) -> Option<TextAddr> {
        first(&self.entered, within)
    }

    fn label_target(&self, within: TextRange) -> Option<TextAddr> {
        first(&self.labels, within)
    }

    fn fixup_target(&self, within: TextRange) -> Option<TextAddr> {
        first(&self.fixups, within)
    }

    fn has_indirect_jump_into(&self, group: SplitGroup) -> bool {
        let mut from = group.leading_here();
        from.any(|one| self.jumping.contains(&one))
    }

    fn is_call_check(&self, at: TextAddr) -> bool {
        self.traps.contains(&at.get())
    }
}

// SPDX-License-Identifier: GPL-2.0

//! The forms of an opcode, put together by how they run.
//!
//! A form is a mandatory prefix and a ModRM, which may be the same instruction as another. What a
//! reader wants is the fewest words that tell the forms of one answer from the rest.

use super::*;

pub(super) const PREFIXES: [&[u8]; 4] = [&[], &[0x66], &[0xf3], &[0xf2]];

/// What makes one form of an opcode.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    prefix: usize,
    modrm: Option<u8>,
}

impl Form {
    /// Memory or register, and the reg field.
    fn class(self) -> Option<(bool, u8)> {
        self.modrm.map(|modrm| (modrm >= 0xc0, modrm >> 3 & 7))
    }
}

/// How each form of an opcode runs, and what it is called.
pub(super) type Forms = BTreeMap<Form, (String, String)>;

/// A line of a table: which forms, how they run, what they are called.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) forms: String,
    pub(super) way: String,
    pub(super) names: Vec<String>,
}

fn told(way: Result<Exec, Refusal>) -> String {
    match way {
        Ok(Exec::Emulate(_)) => "emulated".into(),
        Ok(Exec::Step) => "stepped".into(),
        Ok(Exec::Boost) => "boosted".into(),
        Err(reason) => format!("refused: {reason:?}"),
    }
}

/// The instruction of `head`, an opcode in a map and a ModRM, and how it runs.
pub(super) fn ask(head: &[u8]) -> Option<(Insn, String, String)> {
    let mut bytes = [0; MAX_INSN];
    bytes.get_mut(..head.len())?.copy_from_slice(head);
    let insn = decode(&bytes).ok()?;
    let name = iced(&bytes, AT).map(|insn| format!("{:?}", insn.mnemonic()).to_lowercase());
    let way = told(classify(&insn, None, false));
    Some((insn, way, name.unwrap_or_default()))
}

/// All forms of the opcode that `escape` and `byte` make, if they make `opcode`.
pub(super) fn forms(escape: &[u8], byte: u8, opcode: Opcode) -> Forms {
    let mut forms = Forms::new();
    for (prefix, &before) in PREFIXES.iter().enumerate() {
        for modrm in 0..=u8::MAX {
            let head = [before, escape, &[byte, modrm]].concat();
            let Some((insn, way, name)) = ask(&head) else {
                continue;
            };
            if insn.opcode != opcode {
                continue;
            }
            let modrm = insn.modrm.map(|_| modrm);
            forms.insert(Form { prefix, modrm }, (way, name));
        }
    }
    forms
}

/// The forms of an opcode, one line for each way: the most common one last.
///
/// Each line only has to be right for the forms that no line above it is about.
pub(super) fn lines(forms: &Forms) -> Vec<Line> {
    let mut ways = BTreeMap::<&str, Vec<Form>>::new();
    for (form, (way, _)) in forms {
        ways.entry(way).or_default().push(*form);
    }
    let mut ways: Vec<_> = ways.into_iter().collect();
    ways.sort_by_key(|(_, members)| members.len());
    let mut rest: Vec<Form> = forms.keys().copied().collect();
    let mut lines = Vec::new();
    for (way, members) in ways {
        let described = match (rest.len() == members.len(), lines.is_empty()) {
            (true, true) => String::new(),
            (true, false) => "others".into(),
            (false, _) => described(&rest, &members),
        };
        rest.retain(|form| !members.contains(form));
        lines.push(Line {
            forms: described,
            way: way.into(),
            names: names(members.iter().filter_map(|form| forms.get(form))),
        });
    }
    lines
}

fn names<'a>(members: impl Iterator<Item = &'a (String, String)>) -> Vec<String> {
    let mut names = Vec::new();
    for (_, name) in members {
        if !name.is_empty() && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Says which `members` of `rest` are meant, in as few words as do.
fn described(rest: &[Form], members: &[Form]) -> String {
    let mut labels = Vec::new();
    let whole = |is: &dyn Fn(&Form) -> bool| {
        let mut all = rest.iter().filter(|form| is(form)).peekable();
        all.peek().is_some() && all.all(|form| members.contains(form))
    };
    let prefixes: Vec<_> = (0..PREFIXES.len())
        .filter(|&prefix| whole(&|form| form.prefix == prefix))
        .collect();
    labels.extend(prefixes.iter().map(|&prefix| prefix_name(prefix).into()));
    let classes: BTreeSet<_> = members
        .iter()
        .filter(|form| !prefixes.contains(&form.prefix))
        .filter_map(|form| form.class())
        .collect();
    let mut partial = Vec::new();
    for &class in &classes {
        if whole(&|form| form.class() == Some(class)) {
            labels.push(class_name(class));
        } else {
            partial.push(class);
        }
    }
    for class in partial {
        for prefix in 0..PREFIXES.len() {
            let here = |form: &Form| form.class() == Some(class) && form.prefix == prefix;
            if whole(&here) {
                labels.push(format!("{} {}", prefix_name(prefix), class_name(class)));
                continue;
            }
            for form in members.iter().filter(|form| here(form)) {
                let modrm = form.modrm.unwrap_or_default();
                if whole(&|other| other.modrm == Some(modrm)) {
                    labels.push(format!("{modrm:02X}"));
                } else {
                    labels.push(format!("{} {modrm:02X}", prefix_name(prefix)));
                }
            }
        }
    }
    let mut seen = BTreeSet::new();
    labels.retain(|label| seen.insert(label.clone()));
    paired(labels).join(", ")
}

/// "/2 mem" and "/2 reg" are all of "/2".
fn paired(labels: Vec<String>) -> Vec<String> {
    let both = |label: &String| {
        let (field, _) = label.rsplit_once(' ')?;
        let has = |form| labels.contains(&format!("{field} {form}"));
        (has("mem") && has("reg")).then(|| field.to_string())
    };
    let mut paired: Vec<String> = Vec::new();
    for label in &labels {
        let label = both(label).unwrap_or_else(|| label.clone());
        if !paired.contains(&label) {
            paired.push(label);
        }
    }
    paired
}

fn prefix_name(prefix: usize) -> &'static str {
    ["none", "66", "F3", "F2"][prefix]
}

fn class_name((register, field): (bool, u8)) -> String {
    let form = if register { "reg" } else { "mem" };
    format!("/{field} {form}")
}

pub(super) fn alike(some: &[Line], others: &[Line]) -> bool {
    some.len() == others.len()
        && some
            .iter()
            .zip(others)
            .all(|(one, other)| one.forms == other.forms && one.way == other.way)
}

// SPDX-License-Identifier: GPL-2.0

//! What becomes of a probe on each instruction of a booted kernel, with us and with C.
//!
//! Text and tables are those in its memory. What we do is asked of the code that the kernel runs;
//! what C does is written down in [`stated`](super::stated). For each address a line says both, for
//! somebody who registers probes to compare with:
//!
//! ```text
//! ffffffff81000000 <tab> function+0x1c <tab> jump <tab> breakpoint: why
//! ```
//!
//! An answer is `jump`, `ftrace`, `breakpoint: why it stays one`, or `refused: why`.

use super::*;
use crate::{model::symbol::FunctionKind, x86::restrict::call_check_trap};
use std::{
    fs::File,
    io::{BufWriter, Write},
};

fn refused(why: &str) -> String {
    format!("refused: {why}")
}

fn refused_for(refusal: Refusal) -> String {
    refused(&refusal.text().to_string_lossy())
}

/// Where branches lead that leave their piece, and not to the start of another one.
fn entered(image: &Image) -> BTreeSet<u64> {
    let mut read = |at: TextAddr, into: &mut [u8]| image.read_text(at, into);
    let mut found = BTreeSet::new();
    for (start, end, _) in image.pieces() {
        // What cannot be decoded is no code.
        let piece = range(start, end);
        let _ = branch_targets::branches_out_of(piece, image.indirect, &mut read, &mut |to| {
            found.insert(to.get());
            Ok(())
        });
    }
    found.retain(|to| image.text().contains(TextAddr::new(*to)));
    found.retain(|to| !image.functions.contains_key(to));
    found
}

/// Do C's lists say that nobody may probe there, or in what the function was split from?
fn is_listed(image: &Image, at: u64, start: u64, name: &str) -> bool {
    let listed = |at, start| image.is_forbidden(at) || image.named.contains(&start);
    let mut name = name.as_bytes().to_vec();
    name.push(0);
    let base = symbol::split_from(&mut name).and_then(|base| image.symbol(base.to_str().ok()?));
    listed(at, start) || base.is_some_and(|base| listed(base, base))
}

/// Do others change the instruction, or trap there?
fn is_owned(image: &Image, at: u64) -> bool {
    let byte = range(at, at + 1);
    !image.is_ftraces(at) && image.reserved_by(byte).is_some()
}

/// Why we take no probe there, but for what is near it.
fn refusal(image: &Image, at: u64) -> Result<(), Refusal> {
    let bytes = image.bytes(at);
    if stated::is_forced(bytes) {
        return Err(Refusal::ForcedEmulation);
    }
    let insn = decode(bytes)?;
    let place = TextAddr::new(at);
    if call_check_trap(&insn, place).is_some_and(|trap| image.is_call_check(trap)) {
        return Err(Refusal::CallCheck);
    }
    let next = decode(&bytes[insn.len()..]).ok();
    match classify(&insn, next.as_ref(), image.faults.contains(&at))? {
        Exec::Emulate(Op::JumpMemory(_) | Op::CallMemory(_)) => {
            relocate::probing_load(&insn, place, THERE).map(|_| ())
        }
        Exec::Emulate(_) => Ok(()),
        Exec::Step | Exec::Boost => relocate::copy(&insn, place, THERE).map(|_| ()),
    }
}

fn ours(image: &Image, function: &mut Function, name: &str, at: u64) -> String {
    let start = function.text.start().get();
    let kind = symbol::kind(&CString::new(name).expect("no NUL"));
    let refused = if is_listed(image, at, start, name) {
        Some(Refusal::Blacklisted)
    } else if is_owned(image, at) || kind == FunctionKind::Trampoline {
        Some(Refusal::Reserved)
    } else if kind == FunctionKind::Preamble {
        Some(Refusal::Preamble)
    } else {
        None
    };
    if let Some(refusal) = refused {
        return refused_for(refusal);
    }
    if image.is_ftraces(at) {
        return "ftrace".into();
    }
    if let Err(refusal) = refusal(image, at) {
        return refused_for(refusal);
    }
    let mut read = |at: TextAddr, into: &mut [u8]| image.read_text(at, into);
    match function.region(at, image, &mut read) {
        Ok(_) => "jump".into(),
        // As debugfs shows it, but for addresses.
        Err(no) => format!("breakpoint: {}", no.reason.text().to_string_lossy()),
    }
}

fn theirs(
    image: &Image,
    function: &stated::Function,
    (start, name): (u64, &str),
    at: u64,
) -> String {
    if is_listed(image, at, start, name) {
        return refused("it handles probes or traps");
    }
    if image.is_ftraces(at) {
        return "ftrace".into();
    }
    // The instruction that BUG() traps on is refused as such, too.
    if is_owned(image, at) {
        return refused("a jump label or a static call changes it, or BUG traps there");
    }
    if name.starts_with("__cfi_") || name.starts_with("__pfx_") {
        return refused("it is not run");
    }
    if let Err(why) = stated::probes(image, at) {
        return refused(why);
    }
    match function.optimizes(image, at) {
        Ok(()) => "jump".into(),
        Err(why) => format!("breakpoint: {why}"),
    }
}

/// Tells `to` of all instructions; how many there are.
fn judge(image: &Image, to: &mut impl Write) -> usize {
    let mut count = 0;
    for (start, end, name) in image.pieces() {
        let mut function = Function::in_image(image, start, end);
        let stated = stated::Function::of(image, start, end);
        for at in coverage::starts(image, start, end) {
            let ours = ours(image, &mut function, name, at);
            let theirs = theirs(image, &stated, (start, name), at);
            let offset = at - start;
            writeln!(to, "{at:x}\t{name}+{offset:#x}\t{ours}\t{theirs}").expect("room for it");
            count += 1;
        }
    }
    count
}

/// The kernels that the environment names: a file, its memory, and where to write, and so on.
#[test]
fn each_instruction_of_a_booted_kernel_is_judged() {
    let names = env::var("KPROBES_BOOTED").unwrap_or_default();
    let names: Vec<_> = names.split(':').filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        println!("skipped: no kernel was booted: KPROBES_BOOTED names none");
    }
    for names in names.chunks(3) {
        let &[file, memory, to] = names else {
            panic!("a file, its memory, and where to write");
        };
        let mut image = Image::booted(file, memory);
        image.entered = entered(&image);
        image.look_for_jumps();
        let mut to = BufWriter::new(File::create(to).expect("a file to write to"));
        let count = judge(&image, &mut to);
        to.flush().expect("room for it");
        let text = image.text();
        let whole = (text.end().get() - text.start().get()) as usize;
        let changed = image.changed();
        println!("jumps: {count} instructions, {changed} bytes of text changed, of {file}");
        // Alternatives and calls of ftrace, and not much else.
        assert!(count > 100_000 && changed > 1000 && changed < whole / 10);
    }
}

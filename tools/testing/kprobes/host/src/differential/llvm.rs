// SPDX-License-Identifier: GPL-2.0

//! LLVM as a judge, through its interface for C.
//!
//! It knows all encodings, APX among them. It does not know which of them some CPU would refuse
//! for a prefix that may not stand there.

use super::*;
use std::ptr;

type Create = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut c_void,
) -> *mut c_void;
type Disassemble =
    unsafe extern "C" fn(*mut c_void, *const u8, u64, u64, *mut c_char, usize) -> usize;

/// Prefixes that it gives as instructions of their own, in words.
const PREFIXES: [&str; 3] = ["lock", "xacquire", "xrelease"];

pub(super) struct Llvm {
    context: *mut c_void,
    disassemble: Disassemble,
    said: [u8; 128],
}

impl Llvm {
    /// LLVM for x86-64.
    pub(super) fn open() -> Option<Self> {
        Self::open_for("X86", c"x86_64-linux-gnu", c"")
    }

    /// LLVM for a target as a CPU has it.
    pub(super) fn open_for(target: &str, triple: &CStr, cpu: &CStr) -> Option<Self> {
        let library = Library::named_by("KPROBES_LLVM")?;
        for part in ["TargetInfo", "TargetMC", "Disassembler"] {
            let name = CString::new(format!("LLVMInitialize{target}{part}")).expect("no NUL");
            // SAFETY: That is their type in <llvm-c/Target.h>.
            let initialize = unsafe { library.function::<unsafe extern "C" fn()>(&name) };
            // SAFETY: May be called at any time.
            unsafe { initialize() };
        }
        // SAFETY: These are the types in <llvm-c/Disassembler.h>.
        let create = unsafe { library.function::<Create>(c"LLVMCreateDisasmCPU") };
        // SAFETY: As above.
        let disassemble = unsafe { library.function::<Disassemble>(c"LLVMDisasmInstruction") };
        let (name, cpu, none) = (triple.as_ptr(), cpu.as_ptr(), ptr::null_mut());
        // SAFETY: Two strings; the callbacks and their data may be missing.
        let context = unsafe { create(name, cpu, none, 0, none, none) };
        assert!(!context.is_null(), "LLVM without {triple:?}");
        Some(Self {
            context,
            disassemble,
            said: [0; 128],
        })
    }

    /// Disassembles one instruction at `at`, and returns the instruction's length.
    pub(super) fn one(&mut self, bytes: &[u8], at: u64) -> Option<usize> {
        let (from, size) = (bytes.as_ptr(), bytes.len() as u64);
        let (to, room) = (self.said.as_mut_ptr(), self.said.len());
        // SAFETY: The context is open; bytes and buffer are as large as said.
        let len = unsafe { (self.disassemble)(self.context, from, size, at, to.cast(), room) };
        (len != 0).then_some(len)
    }

    /// The instruction in words.
    pub(super) fn said(&self) -> &str {
        let said = CStr::from_bytes_until_nul(&self.said).unwrap_or_default();
        said.to_str().unwrap_or_default().trim()
    }

    /// The displacement that the instruction's end is added to.
    pub(super) fn rip_displacement(&mut self, text: &Text) -> Option<i64> {
        self.len(text)?;
        let said = self.said();
        let end = said.find("(%rip").or_else(|| said.find("(%eip"))?;
        let start = said[..end].rfind(|digit: char| digit != '-' && !digit.is_ascii_digit());
        let number = &said[start.map_or(0, |at| at + 1)..end];
        Some(number.parse().unwrap_or(0))
    }
}

impl Judge for Llvm {
    fn name(&self) -> &'static str {
        "llvm"
    }

    fn len(&mut self, text: &Text) -> Option<usize> {
        let mut text = *text;
        for _ in 0..MAX_INSN {
            let len = self.one(&text, AT)?;
            let said = self.said();
            if !PREFIXES.iter().any(|prefix| said.ends_with(prefix)) {
                // It puts no limit on what prefixes add.
                return Some(len).filter(|&len| len <= MAX_INSN);
            }
            // The last byte is that prefix: let one stand there that stays with its instruction.
            *text.get_mut(len - 1)? = 0x3e;
        }
        None
    }

    fn say(&mut self, text: &Text) -> String {
        self.len(text);
        self.said().replace('\t', " ")
    }
}

// SPDX-License-Identifier: GPL-2.0

//! Capstone as a judge of instructions of Arm and s390x, through its interface for C, version 5.

use super::*;
use std::ptr;

type Open = unsafe extern "C" fn(c_int, c_int, *mut usize) -> c_int;
type SetOption = unsafe extern "C" fn(usize, c_int, usize) -> c_int;
type Allocate = unsafe extern "C" fn(usize) -> *mut CsInsn;
type Disassemble =
    unsafe extern "C" fn(usize, *mut *const u8, *mut usize, *mut u64, *mut CsInsn) -> bool;
type Registers = unsafe extern "C" fn(
    usize,
    *const CsInsn,
    *mut [u16; 64],
    *mut u8,
    *mut [u16; 64],
    *mut u8,
) -> c_int;

/// `cs_insn`.
#[repr(C)]
struct CsInsn {
    id: u32,
    address: u64,
    size: u16,
    bytes: [u8; 24],
    mnemonic: [u8; 32],
    operands: [u8; 160],
    detail: *mut c_void,
}

/// `CS_OPT_DETAIL`, `CS_OPT_ON`, `ARM_REG_PC`.
const DETAIL: c_int = 2;
const ON: usize = 3;
const PC: u16 = 11;

/// One of `CS_ARCH_*`.
pub(super) const ARM: c_int = 0;

pub(super) struct Capstone {
    arch: c_int,
    handle: usize,
    insn: *mut CsInsn,
    disassemble: Disassemble,
    registers: Registers,
}

/// An instruction, as capstone sees it.
pub(super) struct Seen {
    pub(super) len: u64,
    pub(super) said: String,
    pub(super) reads_pc: bool,
    pub(super) writes_pc: bool,
}

impl Capstone {
    /// Capstone for an instruction set: one of `CS_ARCH_*` and of `CS_MODE_*`.
    pub(super) fn open(arch: c_int, mode: c_int) -> Option<Self> {
        let library = Library::named_by("KPROBES_CAPSTONE")?;
        // SAFETY: These are the types in <capstone/capstone.h>.
        let (open, set, allocate, disassemble, registers) = unsafe {
            (
                library.function::<Open>(c"cs_open"),
                library.function::<SetOption>(c"cs_option"),
                library.function::<Allocate>(c"cs_malloc"),
                library.function::<Disassemble>(c"cs_disasm_iter"),
                library.function::<Registers>(c"cs_regs_access"),
            )
        };
        let mut handle = 0;
        // SAFETY: The handle is written.
        assert_eq!(unsafe { open(arch, mode, &raw mut handle) }, 0);
        // SAFETY: The handle is open.
        assert_eq!(unsafe { set(handle, DETAIL, ON) }, 0);
        // SAFETY: As above.
        let insn = unsafe { allocate(handle) };
        assert_ne!(insn, ptr::null_mut());
        Some(Self {
            arch,
            handle,
            insn,
            disassemble,
            registers,
        })
    }

    /// Disassembles one instruction at `at`.
    pub(super) fn one(&mut self, bytes: &[u8], mut at: u64) -> Option<Seen> {
        let (mut from, mut size) = (bytes.as_ptr(), bytes.len());
        let (handle, to) = (self.handle, self.insn);
        // SAFETY: The handle is open, the bytes are as many as said, and `to` was allocated.
        if !unsafe { (self.disassemble)(handle, &mut from, &mut size, &mut at, to) } {
            return None;
        }
        let (mut read, mut written) = ([0; 64], [0; 64]);
        let (mut reads, mut writes) = (0, 0);
        // SAFETY: The instruction was disassembled; the arrays have the size that is asked for.
        let status = unsafe {
            (self.registers)(handle, to, &mut read, &mut reads, &mut written, &mut writes)
        };
        // Capstone 5 knows no registers of s390x.
        assert_eq!(status == 0, self.arch == ARM);
        // SAFETY: It was written.
        let insn = unsafe { &*to };
        let text = |bytes| {
            let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
            text.to_string_lossy().into_owned()
        };
        Some(Seen {
            len: insn.size.into(),
            said: format!("{}\t{}", text(&insn.mnemonic), text(&insn.operands)),
            reads_pc: read[..reads.into()].contains(&PC),
            writes_pc: written[..writes.into()].contains(&PC),
        })
    }
}

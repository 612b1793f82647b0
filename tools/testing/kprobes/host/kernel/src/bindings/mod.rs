// SPDX-License-Identifier: GPL-2.0

//! What C gives: types and variables here, functions below.
//!
//! Structures have the members that the Rust kprobes use, by C's names and types, and of those that
//! must be laid out as C's ([`kprobe`]) all of them.

#![expect(
    clippy::missing_safety_doc,
    non_upper_case_globals,
    missing_docs,
    reason = "as bindgen has it, C says what they are and want"
)]

mod functions;
mod jprobes;
mod no_jump;
mod returns;

pub use functions::*;
pub use jprobes::*;
pub use no_jump::*;
pub use returns::*;

use crate::base::*;

pub const KPROBE_FLAG_GONE: u32 = 1;
pub const KPROBE_FLAG_DISABLED: u32 = 2;
pub const KPROBE_FLAG_FTRACE: u32 = 8;
pub const KPROBE_FLAG_ON_FUNC_ENTRY: u32 = 16;
pub const KPROBE_INSN_PAGE_SYM: &[u8; 17] = b"kprobe_insn_page\0";
pub const KPROBE_OPTINSN_PAGE_SYM: &[u8; 20] = b"kprobe_optinsn_page\0";
pub const X86_TRAP_GP: u32 = 13;
pub const X86_TRAP_PF: u32 = 14;
pub const MODULE_NAME_LEN: usize = 56;
pub const KSYM_NAME_LEN: u32 = 512;
pub const RUST_KPROBES_SYMBOL_LEN: u32 = 700;
pub const module_state_MODULE_STATE_LIVE: c_uint = 0;
pub const module_state_MODULE_STATE_COMING: c_uint = 1;
pub const module_state_MODULE_STATE_GOING: c_uint = 2;

pub const RUST_KPROBES_JUMP_LABEL: c_uint = 1;
pub const RUST_KPROBES_STATIC_CALL: c_uint = 2;
pub const RUST_KPROBES_BUG: c_uint = 3;
pub const RUST_KPROBES_LABEL_TARGET: c_uint = 4;
pub const RUST_KPROBES_FIXUP_TARGET: c_uint = 5;

pub type rust_kprobes_metadata_fn =
    Option<unsafe extern "C" fn(data: *mut c_void, kind: c_uint, at: *const c_void, len: usize)>;
pub type kprobe_opcode_t = u8;
pub type kprobe_pre_handler_t =
    Option<unsafe extern "C" fn(p: *mut kprobe, regs: *mut pt_regs) -> c_int>;
pub type kprobe_post_handler_t =
    Option<unsafe extern "C" fn(p: *mut kprobe, regs: *mut pt_regs, flags: c_ulong)>;
pub type kprobe_fault_handler_t =
    Option<unsafe extern "C" fn(p: *mut kprobe, regs: *mut pt_regs, trap: c_int) -> c_int>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct list_head {
    pub next: *mut list_head,
    pub prev: *mut list_head,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct arch_specific_insn {
    pub insn: *mut kprobe_opcode_t,
    pub rest: [usize; 3],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kprobe {
    pub hlist: [*mut c_void; 2],
    pub list: list_head,
    pub nmissed: c_ulong,
    pub addr: *mut kprobe_opcode_t,
    pub symbol_name: *const c_char,
    pub offset: c_uint,
    pub pre_handler: kprobe_pre_handler_t,
    pub post_handler: kprobe_post_handler_t,
    pub opcode: kprobe_opcode_t,
    pub ainsn: arch_specific_insn,
    pub flags: u32,
    pub fault_handler: kprobe_fault_handler_t,
}

impl kprobe {
    /// All zero, as C begins.
    // SAFETY: Numbers, pointers that may be NULL, and handlers that need not be there.
    pub const ZERO: Self = unsafe { core::mem::zeroed() };
}

// SAFETY: What it leads to is what who makes it says.
unsafe impl Sync for kprobe {}

#[repr(C)]
#[derive(Clone, Copy)]
pub union pt_regs__bindgen_ty_1 {
    pub cs: u16,
    pub csx: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union pt_regs__bindgen_ty_2 {
    pub ss: u16,
    pub ssx: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pt_regs {
    pub r15: c_ulong,
    pub r14: c_ulong,
    pub r13: c_ulong,
    pub r12: c_ulong,
    pub bp: c_ulong,
    pub bx: c_ulong,
    pub r11: c_ulong,
    pub r10: c_ulong,
    pub r9: c_ulong,
    pub r8: c_ulong,
    pub ax: c_ulong,
    pub cx: c_ulong,
    pub dx: c_ulong,
    pub si: c_ulong,
    pub di: c_ulong,
    pub orig_ax: c_ulong,
    pub ip: c_ulong,
    pub __bindgen_anon_1: pt_regs__bindgen_ty_1,
    pub flags: c_ulong,
    pub sp: c_ulong,
    pub __bindgen_anon_2: pt_regs__bindgen_ty_2,
}

#[repr(C)]
pub struct callback_head {
    pub next: *mut callback_head,
    pub func: Option<unsafe extern "C" fn(head: *mut callback_head)>,
}

pub struct kvfree_rcu_head(());

#[repr(C)]
pub struct module {
    pub state: c_uint,
    pub name: [c_char; MODULE_NAME_LEN],
    pub mem: [module_memory; 2],
    pub kprobes_text_start: *mut c_void,
    pub kprobes_text_size: c_uint,
    pub noinstr_text_start: *mut c_void,
    pub noinstr_text_size: c_uint,
    pub kprobe_blacklist: *mut c_ulong,
    pub num_kprobe_blacklist: c_uint,
}

/// The one module that there may be.
// SAFETY: Numbers, and pointers that may be NULL.
pub(crate) static mut the_module: module = unsafe { core::mem::zeroed() };

#[repr(C)]
#[derive(Clone, Copy)]
pub struct module_memory {
    pub base: *mut c_void,
    pub size: c_uint,
}

/// A lock, by the name that it has among [`events`](crate::events).
pub struct mutex(pub(crate) crate::events::Lock);

pub static mut rust_kprobes_mutex: mutex = mutex(crate::events::Lock::Registry);
pub static mut rust_kprobes_slots_mutex: mutex = mutex(crate::events::Lock::Slots);
pub static mut rust_kprobes_returns_mutex: mutex = mutex(crate::events::Lock::Returns);
pub static mut text_mutex: mutex = mutex(crate::events::Lock::Text);

pub struct delayed_work(());

pub static mut rust_kprobes_worker: delayed_work = delayed_work(());

pub struct ftrace_ops {
    pub flags: c_ulong,
}

pub static mut rust_kprobe_ftrace_ops: [ftrace_ops; 2] = [const { ftrace_ops { flags: 0 } }; 2];
pub static mut kprobe_ftrace_disabled: bool = false;

/// There is one CPU, whose data is where the linker has put it.
pub static mut this_cpu_off: c_ulong = 0;
pub static mut current_kprobe: *mut kprobe = null_mut();

pub static rust_kprobes_busy: kprobe = kprobe::ZERO;

pub struct kprobe_insn_cache(());

pub static mut kprobe_optinsn_slots: kprobe_insn_cache = kprobe_insn_cache(());

pub const RUST_KPROBES_LIST: c_uint = 0;
pub const RUST_KPROBES_ENABLED: c_uint = 1;
pub const RUST_KPROBES_BLACKLIST: c_uint = 2;
pub const RUST_KPROBES_REFUSED: c_uint = 3;
pub const RUST_KPROBES_UNOPTIMIZED: c_uint = 5;

#[repr(C)]
pub struct seq_file {
    _nothing: [u8; 0],
}

macro_rules! symbols_of_the_linker {
    ($($start:ident..$end:ident;)*) => {
        $(pub static mut $start: [c_char; 1] = [0];
        pub static mut $end: [c_char; 1] = [0];)*

        /// The stretches of addresses that the Rust kprobes take for sections of the kernel.
        pub(crate) fn sections() -> impl Iterator<Item = Range<u64>> {
            let bounds = [$([(&raw const $start).addr(), (&raw const $end).addr()]),*];
            bounds.into_iter().map(|[start, end]| start as u64..end as u64)
        }
    };
}
symbols_of_the_linker! {
    __init_begin..__init_end;
    __kprobes_text_start..__kprobes_text_end;
    __noinstr_text_start..__noinstr_text_end;
    __entry_text_start..__entry_text_end;
}
pub static mut _stext: [c_char; 1] = [0];
pub static mut _etext: [c_char; 1] = [0];
pub static mut __start_kprobe_blacklist: [c_ulong; 0] = [];
pub static mut __stop_kprobe_blacklist: [c_ulong; 0] = [];

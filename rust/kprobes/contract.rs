// SPDX-License-Identifier: GPL-2.0

//! What an architecture's back end provides.
//!
//! [`Isa`] has facts about instructions; it is pure, so its implementations also compile on the
//! host. [`Machine`] uses the CPU and its text. [`JprobeOps`] is for jprobes, and also mandatory. A
//! back end also implements [`Jumps`] (a jump replaces a breakpoint) with
//! `CONFIG_RUST_KPROBES_JUMPS`, and [`Returns`] (return probes) with `CONFIG_KRETPROBES`. The core
//! calls a back end through these traits, by the name `arch::Arch`.
//!
//! A back end chooses for each instruction whether the trap handler emulates it, or the CPU runs a
//! copy that ends in a breakpoint or in a jump back; [`Outcome`] tells the core which. How
//! architectures implement each method is described in
//! `Documentation/trace/rust-kprobes/porting.rst`.
//!
//! A back end also has assembly (the trampolines of detours and return probes, and `jprobe.S`) and
//! `entry.rs`: the entry of its breakpoint trap, which calls
//! [`hit::breakpoint::handle_trap`](crate::hit::breakpoint::handle_trap). Entries that all
//! architectures share are in `abi.rs`, `abi/jump.rs`, `abi/copies.rs`, `abi/ftrace.rs`,
//! `returns/abi.rs` and `jprobes/abi.rs`.

mod isa;
#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
pub(crate) mod tests;

pub(crate) use isa::{
    Isa,
    ReadText, //
};

use crate::{
    model::{
        hit_state::{
            AfterStep,
            Outcome, //
        },
        target::ProbeAddr,
        text_metadata::TextMetadata, //
    },
    sys::{
        prelude::*,
        probe::{
            Chain,
            CurrentProbe, //
        },
        symbols,
        text,
        this_cpu::{
            rust_kprobes_hit,
            rust_kprobes_jprobe_state,
            CpuHits,
            JprobeState,
            PerCpu, //
        }, //
    }, //
};
use core::ffi::CStr;

/// A CPU and its text.
///
/// # Safety
///
/// Implementers guarantee that
///
/// - [`set_current_probe`](Machine::set_current_probe) writes only the current CPU's variable that
///   [`current_probe`](Machine::current_probe) reads, and [`cpu_copy`](Machine::cpu_copy) returns
///   the current CPU's copy;
/// - after [`arm`](Machine::arm) has returned, every CPU that reaches an address traps;
/// - after [`disarm`](Machine::disarm) has returned, no CPU traps there. If a CPU still handles an
///   earlier trap, [`resume_if_stale`](Machine::resume_if_stale) recognises its hit;
/// - an [`ArchInsn`](Machine::ArchInsn) may be dropped once no CPU handles a hit of its address:
///   copies that a CPU may still run stay in memory until no CPU does.
pub(crate) unsafe trait Machine: Isa {
    /// A probed instruction: its original bytes, and how it is executed. C's
    /// `struct arch_specific_insn`.
    type ArchInsn: Send + Sync + 'static;

    /// Bytes from a breakpoint to the address that its trap saves.
    const TRAP_IP_OFFSET: u64;

    /// Bytes of the call that ftrace makes at the entry of a function.
    const FTRACE_LEN: u64;

    /// Whether C's kprobes on this architecture return EILSEQ or EOPNOTSUPP for an instruction that
    /// cannot be probed. If not, they return EINVAL.
    const HAS_INSN_ERRNO: bool = false;

    /// Traps on which C calls `kprobe_fault_handler()`.
    const FAULTS: &'static [c_uint];

    /// Returns the address that `offset` in `function` means to a client, and whether it is the
    /// function's entry. The entry need not be the first byte: ENDBR64, for instance, stays as it
    /// is. The default is for entries at the first byte.
    fn adjust_addr(function: TextAddr, offset: u64) -> Option<ProbeAddr> {
        let at = symbols::function_address(function.after(offset).ok()?.get() as usize);
        let on_entry = at == function;
        Some(ProbeAddr { at, on_entry })
    }

    /// Reads the tables of the kernel that the back end needs, while init memory is there: on
    /// s390x, the targets of EXRL, which cannot be probed. If this fails, `prepare` refuses the
    /// kernel's text.
    fn read_tables() -> Result<(), Refusal> {
        Ok(())
    }

    /// Called before the text of a module that is being loaded is probed. On s390x, forgets the
    /// targets of EXRL in modules that may be gone.
    fn module_coming() {}

    /// Returns the text that the architecture itself forbids to probe, such as the entry code of
    /// traps.
    fn arch_blacklist() -> impl Iterator<Item = TextRange>;

    /// Returns the address of this CPU's copy of a per-CPU variable.
    fn cpu_copy<T>(original: *const T, no_preempt: &PreemptOff) -> *mut T;

    /// Returns whether this CPU is in a hit: it handles one, or steps an instruction.
    #[inline(always)]
    fn is_in_hit(no_preempt: &PreemptOff) -> bool {
        Self::current_probe(no_preempt).is_some()
    }

    /// Returns the probe whose hit this CPU handles: C's `current_kprobe`.
    #[inline(always)]
    fn current_probe(no_preempt: &PreemptOff) -> Option<CurrentProbe> {
        let probe = Self::cpu_copy(&raw const bindings::current_kprobe, no_preempt);
        // SAFETY: It is the value of `current_kprobe`, which only this CPU changes.
        unsafe { CurrentProbe::from_word(probe.read_volatile()) }
    }

    /// Sets the probe whose hit this CPU handles.
    #[inline(always)]
    fn set_current_probe(probe: Option<CurrentProbe>, no_preempt: &PreemptOff) {
        let word = probe.map_or(core::ptr::null_mut(), CurrentProbe::to_word);
        // SAFETY: As in `current_probe`; C takes NULL, or a probe that lives.
        unsafe {
            Self::cpu_copy(&raw const bindings::current_kprobe, no_preempt).write_volatile(word)
        };
    }

    /// Returns this CPU's copy of per-CPU memory.
    #[inline(always)]
    fn per_cpu<'a, T: Zeroable>(all: &'static PerCpu<T>, no_preempt: &'a PreemptOff) -> &'a T {
        // SAFETY: Memory of the CPU that the caller stays on. It starts as zeroes, which are a
        // value, and it is never borrowed mutably.
        unsafe { &*Self::cpu_copy(all.original(), no_preempt) }
    }

    /// Returns the state of the hits that this CPU handles.
    #[inline(always)]
    fn this_cpu(no_preempt: &PreemptOff) -> &CpuHits {
        Self::per_cpu(&rust_kprobes_hit, no_preempt)
    }

    /// Reads the instruction that starts at `at`, decides how it is executed, and writes its
    /// copies.
    ///
    /// `function` is the function around it: on arm, no probe may be between an exclusive load and
    /// its store. `fixup` tells that the kernel expects this instruction to fault: its address is
    /// in the exception table.
    fn prepare(
        at: TextAddr,
        function: TextRange,
        fixup: bool,
        read: ReadText<'_>,
        text_lock: &mut text::Lock,
    ) -> Result<Self::ArchInsn, Refusal>;

    /// Writes a breakpoint at each instruction, at least one, and waits once until all CPUs see all
    /// of them.
    fn arm(points: &mut dyn Iterator<Item = &Self::ArchInsn>, text_lock: &mut text::Lock);

    /// Restores each instruction, as [`arm`](Machine::arm) writes breakpoints.
    fn disarm(points: &mut dyn Iterator<Item = &Self::ArchInsn>, text_lock: &mut text::Lock);

    /// Calls `write`, which writes text, and returns when every CPU sees the new text. The default
    /// is for back ends with a function `rust_kprobes_change_text()` in C.
    #[allow(dead_code)] // x86 does without.
    fn change_text<F: FnMut(&mut text::Lock)>(write: F, text_lock: &mut text::Lock) {
        /// # Safety
        ///
        /// `data` points to a function and the text lock, which nothing else uses meanwhile.
        unsafe extern "C" fn call<F: FnMut(&mut text::Lock)>(data: *mut c_void) -> c_int {
            // SAFETY: By the precondition, nothing else uses them.
            let (write, text_lock) = unsafe { &mut *data.cast::<(F, &mut text::Lock)>() };
            write(text_lock);
            0
        }
        let mut data = (write, text_lock);
        // SAFETY: The function passes the pointer to `call`, once. The text lock also holds the
        // read lock of the CPUs.
        unsafe { bindings::rust_kprobes_change_text(Some(call::<F>), (&raw mut data).cast()) };
    }

    /// Replaces the breakpoint in `code`, which was read from the probed address, by the original
    /// bytes.
    fn recover(prepared: &Self::ArchInsn, code: &mut [u8]);

    /// Returns the code that the breakpoint replaces, as C's `opcode` has it.
    fn opcode(prepared: &Self::ArchInsn) -> bindings::kprobe_opcode_t {
        let mut code = [0; size_of::<bindings::kprobe_opcode_t>()];
        Self::recover(prepared, &mut code);
        bindings::kprobe_opcode_t::from_ne_bytes(code)
    }

    /// Returns the address at which the CPU continues.
    fn ip(registers: &Registers) -> TextAddr;

    /// Sets the address at which the CPU continues.
    fn set_ip(registers: &mut Registers, ip: TextAddr);

    /// Returns the stack pointer of the interrupted code.
    fn sp(registers: &mut Registers) -> &mut usize;

    /// Returns the address of the breakpoint that was hit.
    #[inline(always)]
    fn hit_at(registers: &Registers) -> TextAddr {
        TextAddr::new(Self::ip(registers).get().wrapping_sub(Self::TRAP_IP_OFFSET))
    }

    /// Called when ftrace calls from `at`: sets the instruction pointer to the value that handlers
    /// see, by default the one that a breakpoint at `at` saves. Returns the address at which the
    /// CPU would have continued.
    #[inline(always)]
    fn enter_ftrace(registers: &mut Registers, at: TextAddr) -> TextAddr {
        let next = Self::ip(registers);
        let shown = at.get().wrapping_add(Self::TRAP_IP_OFFSET);
        Self::set_ip(registers, TextAddr::new(shown));
        next
    }

    /// Sets the instruction pointer to the address after ftrace's call at `at`.
    #[inline(always)]
    fn pass_ftrace(registers: &mut Registers, at: TextAddr) {
        let next = at.get().wrapping_add(Self::FTRACE_LEN);
        Self::set_ip(registers, TextAddr::new(next));
    }

    /// If the condition of the instruction fails, sets the registers to continue after it, and
    /// returns true: no handler is called. On arm, the breakpoint has the condition of its
    /// instruction, but may trap even if the condition fails.
    #[inline(always)]
    fn skip_if_condition_fails(_prepared: &Self::ArchInsn, _registers: &mut Registers) -> bool {
        false
    }

    /// Handles a trap at an address without a probe point. If the text has no breakpoint any more,
    /// sets the registers to execute the instruction there, and returns true. Back ends whose
    /// [`disarm`](Machine::disarm) does not wait for such traps implement this.
    #[inline(always)]
    fn resume_if_stale(_registers: &mut Registers) -> bool {
        false
    }

    /// Executes the instruction, or begins to. With `has_post_handler` it is emulated or stepped,
    /// never [`Outcome::Redirected`]: the CPU comes back after the instruction.
    ///
    /// The core passes the registers of the trap that this CPU handles: emulation uses the stack of
    /// the interrupted code.
    fn run(prepared: &Self::ArchInsn, registers: &mut Registers, has_post_handler: bool)
        -> Outcome;

    /// Returns the address of the instruction.
    fn insn_addr(prepared: &Self::ArchInsn) -> TextAddr;

    /// Returns whether this trap ends the step that [`run`](Machine::run) has begun.
    fn ends_step(prepared: &Self::ArchInsn, registers: &Registers) -> bool;

    /// After a step: sets the registers to the values that the original instruction leaves, and
    /// returns [`AfterStep::Done`]. If the step was only the memory access of an instruction that
    /// is emulated otherwise, sets them to the values before the instruction, and returns
    /// [`AfterStep::Again`]: the breakpoint is hit again. `saved` is the value of
    /// [`Outcome::Stepping`].
    fn after_step(prepared: &Self::ArchInsn, registers: &mut Registers, saved: usize) -> AfterStep;

    /// Returns whether a fault during a step is one of the stepped copy.
    fn faults_in_step(prepared: &Self::ArchInsn, registers: &Registers) -> bool;

    /// After a fault of the stepped copy: sets the registers to the values before the original
    /// instruction.
    fn undo_step(prepared: &Self::ArchInsn, registers: &mut Registers, saved: usize);
}

/// Calls a function with each probe point whose text changes: its address, its instruction, and its
/// detour. Each call has the same order.
pub(crate) type ForEachPoint<'a, M> =
    &'a dyn Fn(&mut dyn FnMut(TextAddr, &<M as Machine>::ArchInsn, &<M as Jumps>::Detour));

/// Jump optimization: a jump replaces a breakpoint.
///
/// The jump leads to a detour, which saves the registers, calls the handlers, restores the
/// registers, runs copies of the instructions that the jump has overwritten, and jumps to the
/// address after them.
///
/// # Safety
///
/// Implementers guarantee that
///
/// - a CPU reaches the overwritten bytes, other than the first one, only if it has executed the
///   probed instruction in a copy or by emulation, or if another probe is in these bytes;
/// - no task sleeps with an instruction pointer in these bytes or in a detour;
/// - after [`optimize`](Jumps::optimize) and [`unoptimize`](Jumps::unoptimize) have returned,
///   every CPU sees what they wrote; until then each CPU reaches the detour from the probed
///   address, by the jump or by the breakpoint;
/// - if [`disarms_jumps`](Jumps::disarms_jumps), `disarm` restores all bytes that a jump
///   overwrites, and no CPU executes a mixture of both, not even in the loop that it is stopped in;
/// - a detour's memory stays until no task is in it; dropping the detour does not wait.
pub(crate) unsafe trait Jumps: Machine {
    /// A detour: C's `struct arch_optimized_insn`. Addresses in it can be translated until it is
    /// dropped.
    type Detour: Send + Sync + 'static;
    /// The targets of branches into a function; the default is none.
    type BranchTargets: Default;

    /// Bytes that a jump overwrites at most. Text that is read in these bytes is recovered.
    const MAX_OPTIMIZED_LEN: u64;

    /// Whether a jump may overwrite several instructions, so that branches may lead into it.
    const OVERWRITES_SEVERAL: bool = false;

    /// Finds the targets of branches into a function, once for all probe points in it. The text
    /// lock keeps other code from changing text meanwhile. The default is for architectures whose
    /// jumps overwrite one instruction only: no branch leads into such a jump.
    fn branch_targets(
        _function: TextRange,
        _group: SplitGroup,
        _metadata: &impl TextMetadata,
        _read: ReadText<'_>,
        _text_lock: &mut text::Lock,
    ) -> Result<Self::BranchTargets, NoJump> {
        Ok(Self::BranchTargets::default())
    }

    /// Writes the detour of a probe point in `function`, or returns why it cannot have one. No jump
    /// leads to the detour yet, and it calls no handler.
    fn make_detour(
        at: TextAddr,
        function: TextRange,
        targets: &Self::BranchTargets,
        prepared: &Self::ArchInsn,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        text_lock: &mut text::Lock,
    ) -> Result<Self::Detour, NoJump>;

    /// Calls `found` with the target of each branch that leaves `piece`. Returns true if `piece`
    /// has an indirect jump whose target may be anywhere in its function, or in the function it was
    /// split from.
    ///
    /// If the length of instructions varies and a byte cannot be decoded, the search begins anew,
    /// and takes each byte of `piece` for the start of an instruction. The default is for
    /// architectures whose jumps overwrite one instruction only: no branch leads into such a jump.
    fn branches_out_of(
        _piece: TextRange,
        _image: TextRange,
        _read: ReadText<'_>,
        _found: &mut dyn FnMut(TextAddr) -> Result<(), NoJump>,
        _text_lock: &mut text::Lock,
    ) -> Result<bool, NoJump> {
        Ok(false)
    }

    /// From now on, the detour calls the handlers of `chain`, or none.
    ///
    /// A task that was preempted at the beginning of the detour calls them later than any grace
    /// period. So a chain stays until a grace period after the detour has got another one.
    fn set_chain(detour: &Self::Detour, chain: Option<&Chain>);

    /// From now on, [`run`](Machine::run) sends a hit without post handlers to the copies in
    /// `detour`; with `None`, it executes the instruction as before the first call. Every CPU sees
    /// the change before the next grace period begins. The default is for architectures whose jumps
    /// overwrite one instruction only: its copy leads to the address after the jump.
    fn redirect(_prepared: &Self::ArchInsn, _detour: Option<&Self::Detour>) {}

    /// Replaces breakpoints by jumps. The points are in the order of their addresses, and their
    /// hits are redirected to their detours already.
    fn optimize(points: ForEachPoint<'_, Self>, text_lock: &mut text::Lock);

    /// Replaces jumps by breakpoints: writes all breakpoints, and once every CPU sees them,
    /// restores the other bytes.
    fn unoptimize(points: ForEachPoint<'_, Self>, text_lock: &mut text::Lock);

    /// Returns whether [`disarm`](Machine::disarm) also restores the instruction under a jump, so
    /// that no breakpoint need replace the jump first.
    fn disarms_jumps() -> bool {
        false
    }

    /// If `at` is in a detour, returns the address in the original, and how many bytes are on the
    /// stack that are not there in the original.
    fn detour_origin(at: TextAddr, no_preempt: &PreemptOff) -> Option<(TextAddr, usize)>;

    /// Returns whether this code starts with the opcode of the jumps.
    fn is_jump(code: &[u8]) -> bool;

    /// Returns the original bytes that the jump overwrites.
    fn overwritten(detour: &Self::Detour) -> &[u8];

    /// Replaces the bytes of the jump at `at` in `code`, which was read from `from`, by the
    /// original ones.
    fn recover_jump(at: TextAddr, detour: &Self::Detour, from: TextAddr, code: &mut [u8]) {
        for (&original, addr) in Self::overwritten(detour).iter().zip(at.get()..) {
            let offset = addr.checked_sub(from.get());
            if let Some(byte) = offset.and_then(|offset| code.get_mut(offset as usize)) {
                *byte = original;
            }
        }
    }
}

/// Return probes: a hooked function returns to a trampoline.
///
/// # Safety
///
/// Implementers guarantee that [`rethooks`](Returns::rethooks) is the list of the current task, and
/// that [`cpu`](Returns::cpu) is the number of the current CPU.
pub(crate) unsafe trait Returns: Machine {
    /// Functions whose returns are not to be hooked.
    const KRETPROBE_BLACKLIST: &'static [&'static CStr] = &[];

    /// Returns the number of this CPU.
    #[inline(always)]
    fn cpu(_no_preempt: &PreemptOff) -> usize {
        // SAFETY: May be called in any context. The CPU stays the same, as preemption is off.
        unsafe { bindings::rust_kprobes_this_cpu() as usize }
    }

    /// Returns the address of this task's list of hooked calls.
    #[inline(always)]
    fn rethooks(_no_preempt: &PreemptOff) -> *const bindings::llist_head {
        // SAFETY: May be called in any context.
        unsafe { bindings::rust_kprobes_rethooks() }
    }

    /// Returns the address of the trampoline, which hooked functions return to.
    #[inline(always)]
    fn trampoline() -> usize {
        bindings::arch_rethook_trampoline as *const () as usize
    }

    /// Returns the value that identifies the frame of the function whose entry `registers` are at
    /// (x86: sp).
    fn return_frame(registers: &Registers) -> usize;

    /// The function has returned to the trampoline, which has saved `registers`: returns the same
    /// value.
    #[inline(always)]
    fn frame_returned(registers: &mut Registers) -> usize {
        Self::return_frame(registers)
    }

    /// Returns the address that this function returns to.
    ///
    /// # Safety
    ///
    /// `registers` are those of a hit at the entry of the function.
    unsafe fn returns_to(registers: &Registers) -> usize;

    /// Makes this function return to the trampoline.
    ///
    /// # Safety
    ///
    /// As for [`returns_to`](Returns::returns_to).
    unsafe fn hook_return(registers: &mut Registers);

    /// A hooked function has returned: shows its clients `to` as the address that the task
    /// continues at.
    fn show_return_address(registers: &mut Registers, to: usize);

    /// The clients were called: makes the task continue at `to`.
    ///
    /// # Safety
    ///
    /// `registers` are those that the trampoline has saved.
    unsafe fn unhook_return(registers: &mut Registers, to: usize);
}

/// Jprobes: a client's function runs before a probed function, with the same arguments.
///
/// The handler has the arguments in the registers, and a copy of those on the stack. It returns, or
/// calls C's `jprobe_return()`. Both end in a trap that
/// [`ends_jprobe`](JprobeOps::ends_jprobe) recognises.
///
/// # Safety
///
/// Implementers guarantee that after [`enter_jprobe`](JprobeOps::enter_jprobe) the CPU continues in
/// the handler with the registers that C expects, and that the handler does not write to the stack
/// of the function's caller.
pub(crate) unsafe trait JprobeOps: Machine {
    /// Words on the stack between the stack pointer and the arguments, at the entry of a function.
    const FRAME_WORDS: usize;

    /// Returns the state that this CPU keeps while the handler runs.
    fn jprobe_state(no_preempt: &PreemptOff) -> &JprobeState {
        Self::per_cpu(&rust_kprobes_jprobe_state, no_preempt)
    }

    /// Saves the registers, which are at the entry of a function, and makes them lead to the
    /// handler.
    fn enter_jprobe(registers: &mut Registers, handler: TextAddr, no_preempt: &PreemptOff) {
        let sp = *Self::sp(registers);
        Self::jprobe_state(no_preempt).keep(registers, handler, sp, Self::FRAME_WORDS);
        let enter = bindings::rust_kprobes_jprobe_enter as *const () as u64;
        Self::set_ip(registers, TextAddr::new(enter));
    }

    /// Returns whether this trap is the end of a handler: a breakpoint in `jprobe.S`.
    fn ends_jprobe(registers: &Registers) -> bool {
        let returned = bindings::rust_kprobes_jprobe_handler_returned as *const () as usize;
        let over = bindings::rust_kprobes_jprobe_return_trap as *const () as usize;
        let at = Self::hit_at(registers);
        at == symbols::function_address(returned) || at == symbols::function_address(over)
    }

    /// Restores the registers that were kept.
    fn restore_jprobe(registers: &mut Registers, no_preempt: &PreemptOff);

    /// Returns the stack pointer at the entry of the function.
    fn jprobe_sp(no_preempt: &PreemptOff) -> usize {
        *Self::sp(&mut Self::jprobe_state(no_preempt).registers.get())
    }
}

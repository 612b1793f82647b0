// SPDX-License-Identifier: GPL-2.0

//! What an architecture's back end provides.
//!
//! [`Isa`] is what can be said about instructions without touching any: pure and safe, so every
//! implementation of it also compiles on the host. [`Machine`] touches the CPU it runs on and the
//! text it runs; where a jump can take the place of a breakpoint, it is a [`Detour`] as well.
//! Other code knows back ends through these traits only, by the name `arch::Current`.
//!
//! The traits say what must come true, not how. Whether an instruction is carried out by the trap
//! handler, by a copy with a trap behind it, by a hardware step, or by a copy that goes on by
//! itself is the back end's choice, told by [`Next`]. How the architectures fill each method stands
//! in `Documentation/trace/rust-kprobes/porting.rst`.

mod isa;

pub(crate) use isa::{
    Isa,
    ReadText, //
};

use crate::{
    model::{
        plan::{
            AfterStep,
            Next, //
        },
        target::Site,
        text_metadata::TextMetadata, //
    },
    prelude::*,
    sys::{
        modules::Loaded,
        preempt::Pinned,
        probe::{
            Chain,
            Running, //
        },
        text,
        this_cpu::{
            rust_kprobes_hit,
            rust_kprobes_stand_in,
            Cpu,
            PerCpu,
            StandIn, //
        },
        Registers, //
    }, //
};
use core::ffi::CStr;
use kernel::{
    bindings,
    prelude::*, //
};

/// A CPU that can be probed, and the text it runs.
///
/// # Safety
///
/// Implementers guarantee that
///
/// - [`set_running`](Machine::set_running) writes nothing but what [`running`](Machine::running)
///   reads, of the CPU it runs on, and what [`per_cpu`](Machine::per_cpu) returns is that CPU's;
/// - after [`arm`](Machine::arm) has returned, every CPU that comes to the place traps, and after
///   [`disarm`](Machine::disarm) has returned, none does and none is still between the trap and the
///   end of its handling, or [`is_stale`](Machine::is_stale) recognises its hit;
/// - a [`ArchInsn`](Machine::ArchInsn) may be dropped once no CPU can be in the handling of a hit
///   of its place: what a CPU may run even then stays until none does.
pub(crate) unsafe trait Machine: Isa {
    /// What it takes to break at a place and to carry out the instruction there.
    type ArchInsn: Send + Sync + 'static;

    /// Bytes from a breakpoint to the address that its trap saves.
    const TRAP_LEN: u64;

    /// Bytes of the call that ftrace makes at the entry of a function.
    const FTRACE_LEN: u64;

    /// Traps on which C calls `kprobe_fault_handler()`.
    const FAULTS: &'static [c_uint];

    /// The place that `offset` bytes into `function` means to a client, and whether that is the
    /// function's entry, which need not be its first byte: what it may start with for its callers'
    /// sake stays as it is.
    fn site(function: TextAddr, offset: u64) -> Option<Site>;

    /// Learns what the back end must know of text before the first probe on it: of the kernel's
    /// own, while init memory is there, or of a module that comes. On x86, [`known_start`] needs
    /// the kernel's alternatives; on s390x, EXRL may execute an instruction from afar.
    ///
    /// [`known_start`]: Machine::known_start
    fn learn(_module: Option<Loaded>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Returns the start of an instruction, as near before `at` as the architecture's own tables
    /// tell, or at it. Without such tables, nothing is known.
    fn known_start(_at: TextAddr) -> Option<TextAddr> {
        None
    }

    /// Returns the text that no probe may touch for the architecture's own reasons, such as the way
    /// from a trap to its handler.
    fn reserved() -> impl Iterator<Item = TextRange>;

    /// Is a hit handled on this CPU?
    fn is_running(pinned: &Pinned) -> bool;

    /// Who handles a hit on this CPU, if one is handled.
    fn running(pinned: &Pinned) -> Option<Running>;

    /// Notes who handles a hit on this CPU.
    fn set_running(running: Option<Running>, pinned: &Pinned);

    /// Returns this CPU's copy of per-CPU memory.
    fn per_cpu<'a, T: Zeroable>(all: &'static PerCpu<T>, pinned: &'a Pinned) -> &'a T;

    /// Returns what this CPU knows of the hits that it handles.
    #[inline(always)]
    fn this_cpu(pinned: &Pinned) -> &Cpu {
        Self::per_cpu(&rust_kprobes_hit, pinned)
    }

    /// Reads the instruction at `at`, where one starts, decides how it will be carried out, and
    /// gets ready for it.
    ///
    /// `function` is the function around it: on arm and ppc64le, no probe may be between a
    /// load-linked and its store-conditional. `fixup` tells that the kernel expects this
    /// instruction to fault: its address is in the exception table.
    fn prepare(
        at: TextAddr,
        function: TextRange,
        fixup: bool,
        read: ReadText<'_>,
        text: &mut text::Lock,
    ) -> Result<Self::ArchInsn, Refusal>;

    /// Puts the breakpoint at each place, and waits once until all CPUs see all of them.
    fn arm(places: &mut dyn Iterator<Item = (TextAddr, &Self::ArchInsn)>, text: &mut text::Lock);

    /// Puts the instruction back at each place, and waits once until all CPUs see all of them.
    fn disarm(places: &mut dyn Iterator<Item = (TextAddr, &Self::ArchInsn)>, text: &mut text::Lock);

    /// Puts the code that the place's breakpoint is over into `code`, which was read from there.
    fn recover(prepared: &Self::ArchInsn, code: &mut [u8]);

    /// Returns the address that the CPU goes on at.
    fn ip(registers: &Registers) -> TextAddr;

    /// Sets the address that the CPU goes on at.
    fn set_ip(registers: &mut Registers, ip: TextAddr);

    /// Returns the stack pointer of what was interrupted.
    fn sp(registers: &mut Registers) -> &mut usize;

    /// Returns the address of the breakpoint that was hit.
    #[inline(always)]
    fn hit_at(registers: &Registers) -> TextAddr {
        TextAddr::new(Self::ip(registers).get().wrapping_sub(Self::TRAP_LEN))
    }

    /// Ftrace has called from `at`: makes the registers those that a breakpoint there shows, and
    /// returns the address that the CPU would have gone on at.
    #[inline(always)]
    fn enter_ftrace(registers: &mut Registers, at: TextAddr) -> TextAddr {
        let next = Self::ip(registers);
        let shown = at.get().wrapping_add(Self::TRAP_LEN);
        Self::set_ip(registers, TextAddr::new(shown));
        next
    }

    /// Makes the registers those behind ftrace's call at `at`.
    #[inline(always)]
    fn pass_ftrace(registers: &mut Registers, at: TextAddr) {
        let behind = at.get().wrapping_add(Self::FTRACE_LEN);
        Self::set_ip(registers, TextAddr::new(behind));
    }

    /// Returns whether handlers are called. If not, the registers become those behind the
    /// instruction: on arm, the breakpoint has the condition of its instruction, and may trap all
    /// the same.
    #[inline(always)]
    fn passes(_prepared: &Self::ArchInsn, _registers: &mut Registers) -> bool {
        true
    }

    /// There is no probe at the breakpoint that was hit. Returns whether the text has none any more
    /// either; then the registers become those that repeat the instruction. On ppc64le and s390x,
    /// [`disarm`](Machine::disarm) does not wait for such hits.
    #[inline(always)]
    fn is_stale(_registers: &mut Registers) -> bool {
        false
    }

    /// Carries out the instruction of the place, or begins to. `has_post_handler` tells that a
    /// client wants to be called after it.
    fn run(prepared: &Self::ArchInsn, registers: &mut Registers, has_post_handler: bool) -> Next;

    /// Where the instruction is.
    fn place(prepared: &Self::ArchInsn) -> TextAddr;

    /// Is this trap the end of the step that [`run`](Machine::run) has begun?
    fn ends_step(prepared: &Self::ArchInsn, registers: &Registers) -> bool;

    /// After the step: the registers become what the instruction itself would have left.
    fn after_step(prepared: &Self::ArchInsn, registers: &mut Registers, kept: usize) -> AfterStep;

    /// A fault came while the instruction is run as a step: was it the instruction that faulted?
    fn faults_in_step(prepared: &Self::ArchInsn, registers: &Registers) -> bool;

    /// It was: the registers become what they were at the place itself.
    fn faulted(prepared: &Self::ArchInsn, registers: &mut Registers, kept: usize);
}

/// Places whose text is to change, told of as often as they are asked for, each time in the same
/// order: where each is, what it takes to break there, and its detour.
pub(crate) type Places<'a, M> =
    &'a dyn Fn(&mut dyn FnMut(TextAddr, &<M as Machine>::ArchInsn, &<M as Detour>::OptInsn));

/// A CPU on which a jump can take the place of a breakpoint.
///
/// The jump leads to a detour. That does what the breakpoint's trap does but for the instruction's
/// own sake, then runs a copy of what the jump is over, and goes on behind it.
///
/// # Safety
///
/// Implementers guarantee that
///
/// - nobody comes to what a jump is over, behind its start, but who has come from the place itself,
///   by its instruction's copy or its emulation, or from another probe in there;
/// - who is there, or in a detour, does not sleep before being out;
/// - after [`optimize`](Detour::optimize) and [`unoptimize`](Detour::unoptimize) have returned,
///   every CPU sees what they wrote, and until then each CPU comes to the detour from the place, by
///   the jump, or by the breakpoint;
/// - a detour's memory stays until no task is in it: dropping it asks for that, and waits for
///   nothing.
pub(crate) unsafe trait Detour: Machine {
    /// Where a jump leads to. What an address in it stands for is known until it is dropped.
    type OptInsn: Send + Sync + 'static;
    /// Where the branches of a function lead into it.
    type BranchTargets;

    /// How many bytes a jump is over.
    const REACH: u64;

    /// Finds out what leads into a function, once for all places in it. Meanwhile nobody changes
    /// text: an instruction of which a part is written is another one, or none.
    fn branch_targets(
        function: TextRange,
        group: SplitGroup,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        text: &mut text::Lock,
    ) -> Result<Self::BranchTargets, NotOptimized>;

    /// Makes the detour of a place in `function`, or says why there cannot be one. Nobody comes to
    /// it yet, and it calls nobody.
    fn detour(
        at: TextAddr,
        function: TextRange,
        targets: &Self::BranchTargets,
        prepared: &Self::ArchInsn,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        text: &mut text::Lock,
    ) -> Result<Self::OptInsn, NotOptimized>;

    /// Tells `found` the target of each branch in a piece of an image that leads out of the piece,
    /// and returns whether there is a jump that may lead anywhere in the function that the piece is
    /// of, or was split from. Where instructions have several lengths, one may start at each byte
    /// of what cannot be decoded. Where a jump is over one instruction only, nothing leads into it.
    fn leaving(
        _piece: TextRange,
        _image: TextRange,
        _read: ReadText<'_>,
        _found: &mut dyn FnMut(TextAddr) -> Result<(), NotOptimized>,
        _text: &mut text::Lock,
    ) -> Result<bool, NotOptimized> {
        Ok(false)
    }

    /// From now on, who comes to the detour calls the handlers of `owner`, or nobody's.
    ///
    /// Tasks that were preempted there come later than any grace period. So whoever is named here
    /// stays until a grace period after somebody else, or nobody, has been.
    fn set_owner(detour: &Self::OptInsn, owner: Option<&Chain>);

    /// From now on, a hit of the place that need not come back goes on where the detour runs what
    /// the jump is to be over, or as it did before there was one. It changes what
    /// [`run`](Machine::run) does, and is seen by every CPU no later than the next grace period
    /// begins.
    fn redirect(prepared: &Self::ArchInsn, detour: Option<&Self::OptInsn>);

    /// Puts the jump in the place of each breakpoint. The places are in the order of their
    /// addresses, and their hits go to their detours already.
    fn optimize(places: Places<'_, Self>, text: &mut text::Lock);

    /// Puts the breakpoint in the place of each jump: all breakpoints first, then, when every CPU
    /// has seen them, what the rest of the jumps was over.
    fn unoptimize(places: Places<'_, Self>, text: &mut text::Lock);

    /// If `at` is in a detour, returns the address in the original, and how many bytes are on the
    /// stack that are not there in the original.
    fn original(at: TextAddr, pinned: &Pinned) -> Option<(TextAddr, usize)>;

    /// Does this code start as the jumps do?
    fn is_jump(code: &[u8]) -> bool;

    /// Puts what the jump at `at` is over into `code`, which was read from `from`, as far as it is
    /// in there.
    fn recover_jump(at: TextAddr, detour: &Self::OptInsn, from: TextAddr, code: &mut [u8]);
}

/// A CPU on which the return of a function can be hooked: it then leads to a trampoline.
///
/// # Safety
///
/// Implementers guarantee that [`calls`](Returns::calls) leads to the list of the task that runs,
/// and that [`cpu`](Returns::cpu) is the number of the CPU that it runs on.
pub(crate) unsafe trait Returns: Machine {
    /// Functions whose returns are not to be hooked.
    const NEVER: &'static [&'static CStr];

    /// The number of this CPU.
    fn cpu(pinned: &Pinned) -> usize;

    /// Where this task's list is.
    fn calls(pinned: &Pinned) -> *const bindings::llist_head;

    /// Where hooked functions return to.
    fn trampoline() -> usize;

    /// What the frame of the function is known by that these registers are at the entry of.
    fn frame(registers: &Registers) -> usize;

    /// Where that function returns to.
    fn returns_to(registers: &Registers) -> usize;

    /// It returns to the trampoline.
    fn hook(registers: &mut Registers);

    /// A hooked function has returned: its clients are told that it goes on at `to`.
    fn goes_on(registers: &mut Registers, to: usize);

    /// They were told: the task goes on there.
    fn unhook(registers: &mut Registers, to: usize);
}

/// A CPU on which a client's function can run in the place of a probed one.
///
/// It is called as if the function's caller had called it: it finds the arguments in the registers,
/// and a copy of those that are on the stack. It ends as functions do, or by a call of C's
/// `jprobe_return()`. Either way it ends in a trap that [`ends`](JprobeOps::ends) knows.
///
/// # Safety
///
/// Implementers guarantee that a CPU that continues with the registers that
/// [`enter`](JprobeOps::enter) leaves is in the handler as C wants it to be, and leaves the stack
/// as it was from where the function's caller has left it.
pub(crate) unsafe trait JprobeOps: Machine {
    /// Returns what this CPU keeps while the handler runs.
    fn stand_in(pinned: &Pinned) -> &StandIn {
        Self::per_cpu(&rust_kprobes_stand_in, pinned)
    }

    /// The registers are those at the entry of a function: keeps them, and makes them those by
    /// which the CPU comes to the handler at `handler`.
    fn enter(registers: &mut Registers, handler: TextAddr, pinned: &Pinned);

    /// Is this the trap that such a handler ends in?
    fn ends(registers: &Registers) -> bool;

    /// The registers become what was kept.
    fn leave(registers: &mut Registers, pinned: &Pinned);

    /// Where the stack was at the entry of the function.
    fn stack(pinned: &Pinned) -> usize;
}

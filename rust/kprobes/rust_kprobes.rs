// SPDX-License-Identifier: GPL-2.0

//! Kprobes.
//!
//! In reading order, from the basic types to the interface. Each layer uses earlier layers only,
//! with two exceptions. A back end also uses `slots`, and its `entry.rs` calls `hit`.
//! `returns/abi.rs` and `jprobes/abi.rs`, which belong to the C interface, use [`abi`].
//!
//! - [`atomics`]: the atomics of `core`, or of a model checker;
//! - [`model`]: basic types and state machines, pure; [`prelude`] has the most used ones;
//! - [`sys`]: the kernel services that probing uses;
//! - [`contract`]: the interface of back ends;
//! - [`arch`]: the back end of this kernel;
//! - [`text_metadata`]: metadata of text, from the kernel's tables;
//! - [`table`]: finds the entry for an address;
//! - [`slots`]: executable memory for copies of instructions;
//! - [`registry`]: the probe points;
//! - [`optimize`]: jumps that replace breakpoints;
//! - [`hit`]: hits of probe points;
//! - [`lifecycle`]: registration, arming, unregistration;
//! - `returns` and `jprobes`: return probes and jprobes, clients of [`lifecycle`];
//! - `debugfs`: the files in debugfs;
//! - [`abi`]: the C interface, `<linux/kprobes.h>`.
//!
//! C counterpart: [`kernel/kprobes.c`](srctree/kernel/kprobes.c) and the kprobes directories of the
//! architectures. A walk through a hit starts in `arch/*/kprobes/entry.rs`;
//! `Documentation/trace/rust-kprobes/life.rst` has it in words. `optimize/mod.rs` has the path of a
//! decision about a jump. C's functions:
//!
//! | in C | here |
//! |---|---|
//! | `init_kprobes()` | `abi.rs`: `rust_kprobes_init()`, an initcall of `abi.c` |
//! | `register_kprobe()` | `lifecycle/register.rs`: `all()` |
//! | `_kprobe_addr()` | `lifecycle/check.rs`: `resolve()` |
//! | `check_kprobe_address_safe()` | `lifecycle/check.rs`: `check_address()` |
//! | `jump_label_text_reserved()`, `find_bug()` | `text_metadata/index.rs` |
//! | `static_call_text_reserved()` | `text_metadata/index.rs` |
//! | `prepare_kprobe()` | `lifecycle/register.rs`: `prepare_insn()` |
//! | `can_probe()` | `prepare_insn()`, then `arch/*/kprobes/isa/boundary.rs` |
//! | `arch_prepare_kprobe()` | `arch/*/kprobes/prepare.rs` |
//! | `can_boost()` | `classify()` in `arch/*/kprobes/isa/` |
//! | `recover_probed_instruction()` | `registry/recover.rs`: `read_original_insn()` |
//! | `arm_kprobe()`, `disarm_kprobe()` | `lifecycle/arming.rs` |
//! | `arch_arm_kprobe()` | `arm()` in `arch/*/kprobes/machine.rs` |
//! | `arch_disarm_kprobe()` | `disarm()` in `arch/*/kprobes/machine.rs` |
//! | `unregister_kprobes()` | `lifecycle/unregister.rs`: `all()`, `all_no_wait()` |
//! | `within_kprobe_blacklist()` | `lifecycle/check.rs`: `blacklisted()` |
//! | `populate_kprobe_blacklist()` | `sys/blacklist.rs` |
//! | `enable_kprobe()`, `disable_kprobe()` | `lifecycle/enable.rs` |
//! | `kprobes_module_callback()`, `kill_kprobe()` | `lifecycle/modules.rs` |
//! | `kprobe_int3_handler()` | `arch/*/kprobes/entry.rs`, then `hit/breakpoint.rs` |
//! | `aggr_pre_handler()` | `hit/handlers.rs`: `call_pre_handlers()` |
//! | `aggr_post_handler()` | `hit/handlers.rs`: `call_post_handlers()` |
//! | `kprobe_busy_begin()`, `kprobe_busy_end()` | `abi.rs`, then `hit/handlers.rs` |
//! | `setup_singlestep()` | `run()` in `arch/*/kprobes/machine.rs` |
//! | `resume_singlestep()` | `after_step()` in `arch/*/kprobes/machine.rs` |
//! | `reenter_kprobe()` | `hit/breakpoint.rs`: `reenter()` |
//! | `kprobe_post_process()` | `hit/breakpoint.rs`: `try_end_step()` |
//! | `kprobe_fault_handler()` | `abi/copies.rs`, then `hit/fault.rs` |
//! | `kprobe_ftrace_handler()` | `abi.c`, `abi/ftrace.rs`, then `hit/ftrace.rs` |
//! | `optimized_callback()` | `arch/*/kprobes/trampoline.S`, `abi/jump.rs`, then `hit/jump.rs` |
//! | `get_kprobe()` in a hit | `registry/points.rs`: `find()` |
//! | `get_kprobe()` of other code | `abi.rs`: `get_kprobe()` |
//! | `__get_insn_slot()`, `__free_insn_slot()` | `slots.rs`: `SlotPool::take()`, `Slot::drop()` |
//! | `collect_garbage_slots()` | `slots.rs`: `tasks_rcu_callback()`, `free_unused_pages()` |
//! | `can_optimize()` | `decide_by_text()` in `optimize/decide.rs`, x86 `isa/region.rs` |
//! | `optimize_kprobe()` | `optimize/decide.rs`: `try_to_optimize()` |
//! | `unoptimize_kprobe()` | `optimize/remove.rs`: `remove_jumps()` |
//! | `kprobe_optimizer()` | `optimize/worker.rs` |
//! | `arch_prepare_optimized_kprobe()`, `arch_optimize_kprobes()` | `arch/*/kprobes/jump.rs` |
//! | `register_kretprobe()` | `returns/register.rs` |
//! | `pre_handler_kretprobe()`, `rethook_trampoline_handler()` | `returns/hit.rs` |
//! | `struct kprobe` | `sys/probe.rs`: `Probe` |
//! | the aggregate probe | `registry/points.rs`: `Point`, with a `Chain` of `sys/probe/chain.rs` |
//! | `struct optimized_kprobe` | `registry/optimizer.rs`: `Jump` |
//! | `struct arch_specific_insn` | `arch/*/kprobes/prepare.rs`: `ArchInsn` |
//! | `struct arch_optimized_insn` | `arch/*/kprobes/jump.rs`: `Detour` |
//! | `struct kprobe_ctlblk` | `sys/this_cpu.rs`: `CpuHits` |
//! | `struct kprobe_insn_cache` | `slots.rs`: `SlotPool` |
//! | `struct rethook` | `returns/pool.rs`: `Pool` |

// Without one of these options, some code is unused. Only x86 uses all code: on other architectures
// a jump replaces one instruction, so nothing looks for branches into it.
#![cfg_attr(
    not(all(
        CONFIG_X86,
        CONFIG_MODULES,
        CONFIG_DEBUG_FS,
        CONFIG_KPROBES_ON_FTRACE,
        CONFIG_RUST_KPROBES_JPROBES,
        CONFIG_RUST_KPROBES_JUMPS,
        CONFIG_KRETPROBES
    )),
    expect(dead_code)
)]

mod atomics;
mod model;
mod prelude;

mod contract;

mod arch;
mod sys;
mod text_metadata;

mod slots;
mod table;

mod hit;
#[cfg(CONFIG_RUST_KPROBES_JPROBES)]
mod jprobes;
mod lifecycle;
mod optimize;
mod registry;

#[cfg(CONFIG_KRETPROBES)]
mod returns;

mod abi;
#[cfg(CONFIG_DEBUG_FS)]
mod debugfs;

/// Prefix of this crate's messages in the kernel log.
const __LOG_PREFIX: &[u8] = b"kprobes\0";

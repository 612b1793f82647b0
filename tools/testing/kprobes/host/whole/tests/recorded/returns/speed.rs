// SPDX-License-Identifier: GPL-2.0

//! The time of a hit and of the return, with several CPUs at once, for `make host-bench`.
//!
//! Each CPU is a thread. As the `%gs` base of a CPU leads to its per-CPU variables, the base of a
//! thread leads to a copy of all variables of this program. So the threads run the hit path as CPUs
//! do, and share a pool. The time is the CPU time of the threads: the machine may be busy, and may
//! have fewer CPUs than there are threads.

use super::*;
use std::{sync::Barrier, thread, time::Duration};

const CPUS: usize = 8;

/// The hits of each thread in a round. `make host-test` only looks whether each finds an instance.
const HITS: usize = [4_000_000, 10_000][cfg!(debug_assertions) as usize];

/// The rounds, of which the fastest counts.
const ROUNDS: usize = 5;

/// How many times as long a hit may take with eight threads as with one. It takes 0.9 to 1.4 times
/// as long if each CPU writes to cache lines of its own. If all write to the same line, and two of
/// them run at the same time, it takes 5 to 6 times as long.
const MOST: f64 = 3.0;

const ARCH_SET_GS: c_int = 0x1001;

// The linker's names of the first variable, and of the end of all.
unsafe extern "C" {
    static __data_start: usize;
    static _end: usize;
}

/// Returns the CPU time of this thread.
fn cpu_time() -> Duration {
    let [tv_sec, tv_nsec] = [0; 2];
    let mut time = libc::timespec { tv_sec, tv_nsec };
    // SAFETY: There is room for the time.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Plays a CPU that hits the probe at `entry`. Each hit must find an instance. Returns the CPU time
/// of [`HITS`] hits and returns.
fn play(cpu: c_int, entry: usize, begin: &Barrier) -> Duration {
    let start = &raw const __data_start;
    let len = (&raw const _end).addr() - start.addr();
    let mut room = vec![0u8; len + 4096];
    // Variables keep their places in cache lines and pages.
    let offset = room.as_mut_ptr().expose_provenance() - start.addr();
    let offset = offset.next_multiple_of(4096);
    let at = |variable: usize| core::ptr::with_exposed_provenance_mut::<usize>(variable + offset);
    let task = Task::new();
    let current = task.as_c().expose_provenance();
    // SAFETY: There is room for the copy, which only this thread uses. Nothing changes the
    // originals meanwhile.
    unsafe {
        at(start.addr()).copy_from_nonoverlapping(start, len.div_ceil(8));
        at((&raw mut cpu_number).addr()).cast::<c_int>().write(cpu);
        at((&raw mut current_task).addr()).write(current);
        at((&raw mut this_cpu_off).addr()).write(offset);
        assert_eq!(libc::syscall(libc::SYS_arch_prctl, ARCH_SET_GS, offset), 0);
    }
    let (to, mut registers) = (CALLER, cpu::registers(0));
    let mut frame = Frame { registers, to };
    let frame = &raw mut frame;
    // SAFETY: The frame stays until the end of this function.
    registers.sp = unsafe { &raw mut (*frame).to }.expose_provenance();
    let mut hit = || {
        let entry = core::ptr::with_exposed_provenance_mut(entry);
        // SAFETY: The probe is registered, and the function that is hooked then returns.
        unsafe {
            rust_kprobes_function_entered(entry, &mut registers);
            assert_ne!((*frame).to, CALLER, "a hit has found no instance");
            c::rust_kprobes_returned(frame.cast());
        }
    };
    begin.wait();
    (0..HITS / 10).for_each(|_| hit());
    let before = cpu_time();
    (0..HITS).for_each(|_| hit());
    cpu_time() - before
}

#[test]
fn hits_take_as_long_on_several_cpus_as_on_one() {
    let (_world, function) = quiet_at(&MOVE);
    tasks::set_cpus([CPUS; 3]);
    let [one, .., all] = [1, 2, 4, CPUS].map(|threads| {
        let client = Client::silent(function, 2 * CPUS, size_of::<usize>());
        let (entry, begin) = (client.as_c().expose_provenance(), &Barrier::new(threads));
        let round = |_| {
            thread::scope(|scope| {
                let run = |cpu| scope.spawn(move || play(cpu, entry, begin));
                let running: Vec<_> = (0..threads as c_int).map(run).collect();
                let times = running.into_iter().map(|thread| thread.join());
                times.sum::<thread::Result<Duration>>().expect("hits")
            })
        };
        let best = (0..ROUNDS).map(round).min().expect("a round");
        assert_eq!(client.missed(), 0);
        client.ends();
        let each = best.as_nanos() as f64 / (threads * HITS) as f64;
        println!("hit and return: {threads} threads, {each:.1} ns");
        each
    });
    assert!(cfg!(debug_assertions) || all < MOST * one, "{all:.1} ns");
}

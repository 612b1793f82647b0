// SPDX-License-Identifier: GPL-2.0

//! Tasks and CPUs: a test says which of them it is.

use crate::base::*;

/// How many numbers CPUs have, how many there may be, and how many there are.
static CPUS: [AtomicUsize; 3] = [
    AtomicUsize::new(4),
    AtomicUsize::new(3),
    AtomicUsize::new(2),
];

/// How often the stores of return probes were to be tended.
static ASKED: AtomicUsize = AtomicUsize::new(0);

pub fn cpus() -> [usize; 3] {
    core::array::from_fn(|number| CPUS[number].load(Relaxed))
}

pub fn set_cpus(counts: [usize; 3]) {
    let both = CPUS.iter().zip(counts);
    both.for_each(|(cpus, count)| cpus.store(count, Relaxed));
}

/// A task, which stays where it is.
pub struct Task(*mut task_struct);

impl Task {
    #[expect(clippy::new_without_default, reason = "there are never two alike")]
    pub fn new() -> Self {
        let rethooks = llist_head {
            first: core::ptr::null_mut(),
        };
        Self(Box::into_raw(Box::new(task_struct { rethooks })))
    }

    pub fn as_c(&self) -> *mut task_struct {
        self.0
    }

    /// Does it wait for the end of a call that is watched?
    pub fn has_calls(&self) -> bool {
        // SAFETY: Nothing else runs now.
        unsafe {
            !(&raw const (*self.0).rethooks.first)
                .read_volatile()
                .is_null()
        }
    }

    /// The CPU runs it, and has that number.
    pub fn run(&self, cpu: i32) {
        // SAFETY: Nothing else runs now.
        unsafe {
            (&raw mut bindings::current_task).write(self.0);
            (&raw mut bindings::cpu_number).write(cpu);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // SAFETY: It came from a box.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Where hooked functions return to.
pub fn trampoline() -> usize {
    // Under Miri a function does not have the same address each time.
    if cfg!(miri) {
        return 0x10;
    }
    bindings::arch_rethook_trampoline as *const () as usize
}

pub(crate) fn ask() {
    ASKED.fetch_add(1, Relaxed);
}

/// Were they to be tended since this was last asked?
pub fn are_asked() -> bool {
    ASKED.swap(0, Relaxed) != 0
}

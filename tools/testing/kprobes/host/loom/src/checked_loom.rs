// SPDX-License-Identifier: GPL-2.0

//! The atomics of [`checked`](crate::checked) themselves: what they find, and that a weakened
//! access is weak.

use crate::{
    loom_kit::*,
    sys::flags::{Armed, AtomicArmed, Flags},
};

/// Data, and a flag that says that it is there.
struct Message {
    state: AtomicArmed,
    data: Watched,
}

fn pass() {
    run_model(None, || {
        let message = Arc::new(Message {
            state: AtomicArmed::new(),
            data: Watched::new(false),
        });
        let reader = thread::spawn({
            let message = message.clone();
            move || {
                if message.state.is(Armed::Breakpoint) {
                    message.data.look("it is not there");
                }
            }
        });
        message.data.set(true);
        message.state.set(Armed::Breakpoint);
        reader.join().unwrap();
    });
}

/// Each of two threads sets a bit of a word, which is not zero, and lets nobody come in between.
fn count() {
    run_model(None, || {
        let word = Arc::new(checked::AtomicU32::new(4));
        let threads = [1, 2].map(|bit| {
            let word = word.clone();
            thread::spawn(move || word.fetch_or(bit, Relaxed))
        });
        let seen = threads.map(|thread| thread.join().unwrap());
        assert!(seen.contains(&4) && word.load(Relaxed) == 7);
        assert_eq!(word.compare_exchange(7, 1, Relaxed, Relaxed), Ok(7));
        assert_eq!(word.swap(2, Relaxed), 1);
    });
}

/// The same, not in one step.
fn set() {
    run_model(None, || {
        let flags = Arc::new(Flags::new());
        let threads = [1, 2].map(|bit| {
            let flags = flags.clone();
            thread::spawn(move || flags.set(bit, true))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(flags.any(1) && flags.any(2), "a bit is lost");
    });
}

/// A static has its first value in each run.
fn again() {
    static WORD: checked::AtomicUsize = checked::AtomicUsize::new(3);
    for _ in 0..2 {
        run_model(None, || {
            assert_eq!(WORD.load(Relaxed), 3);
            WORD.store(5, Relaxed);
            assert_eq!(WORD.load(Relaxed), 5);
        });
    }
    assert_eq!(WORD.load(Relaxed), 3);
}

models! {
    messages_are_passed: pass();
    a_read_modify_write_is_one_step: count();
    statics_begin_anew: again();
    update_in_two_steps_is_caught fails "a bit is lost": set();
    weak_store_is_caught with "self.0.store(armed" in "sys/flags.rs" fails "Causality violation":
        pass();
    weak_load_is_caught with "self.0.load(Ordering::Acquire)" in "sys/flags.rs"
        fails "Causality violation": pass();
    strong_enough_store_is_not_caught with "self.0.store(armed" in "sys/flags.rs" as SeqCst:
        pass();
    access_that_never_comes_is_caught with "self.0.store(all" in "sys/flags.rs"
        fails "never came": pass();
    access_that_is_nowhere_is_caught with "self.1.store(" in "sys/flags.rs"
        fails "no line of": pass();
}

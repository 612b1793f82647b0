// SPDX-License-Identifier: GPL-2.0

//! Tests of return probes.

/// What the tests probe.
mod target {
    use super::super::*;

    targets! {
        rust_kernel_kprobes_returns
        rust_kernel_kprobes_unwatched
    }

    /// Sleeps as long as it is told to.
    #[no_mangle]
    #[inline(never)]
    pub(super) extern "C" fn rust_kernel_kprobes_sleeps(until: &crate::sync::Completion) -> u32 {
        until.wait_for_completion();
        black_box(5)
    }
}

#[kernel::macros::kunit_tests(rust_kernel_kprobes_returns)]
mod cases {
    use super::{
        super::{
            super::*,
            *, //
        },
        target::*, //
    };
    use crate::{
        sync::{
            Arc,
            Completion, //
        },
        workqueue, //
    };

    /// More than an instance is aligned to.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(64))]
    struct Kept {
        number: usize,
        name: [u8; 3],
    }

    struct Hands;

    impl ReturnHandler for Hands {
        /// What was seen at the end of a call.
        type State = [Atomic<i64>; 7];
        type Data = Kept;

        fn enter(_: &Self::State, call: &Entry<'_>) -> Option<Kept> {
            Some(Kept {
                number: call.argument(0)?,
                name: *b"abc",
            })
        }

        fn leave(over: &Self::State, kept: Kept, call: &Return<'_>) {
            let aligned = black_box(&raw const kept).is_aligned();
            // The caller's stack ends above this handler's.
            let below = call.stack_pointer().wrapping_sub((&raw const kept).addr());
            let seen = [
                kept.number as i64,
                (aligned && kept.name == *b"abc").into(),
                call.value::<i32>().into(),
                call.value::<u8>().into(),
                call.address() as i64,
                call.to() as i64,
                below as i64,
            ];
            for (to, value) in over.iter().zip(seen) {
                to.store(value, Relaxed);
            }
        }
    }

    #[test]
    fn data_of_the_entry_reaches_the_return_handler() -> Result {
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"rust_kernel_kprobes_returns");
        let over = || [const { Atomic::new(0) }; 7];
        let probe = ReturnProbe::<Hands>::register(&here, place, over())?;
        let later = ReturnProbe::<Hands>::register(&here, place, over())?;
        let function = black_box(rust_kernel_kprobes_returns as Target);
        assert_eq!(function(7, 250, true, core::ptr::null()), 258);
        let [seen @ .., to, below] = probe.state().each_ref().map(|value| value.load(Relaxed));
        assert_eq!(seen, [7, 1, 258, 2, probe.address() as i64]);
        // SAFETY: It takes any address.
        assert!(unsafe { crate::bindings::kernel_text_address(to as usize) } != 0);
        // Neither probe is told the trampoline's address.
        assert_eq!(to, later.state()[5].load(Relaxed));
        assert!((1..0x2000).contains(&below));
        Ok(())
    }

    struct Odd;

    struct Both {
        entered: Atomic<u64>,
        left: Atomic<u64>,
    }

    impl ReturnHandler for Odd {
        type State = Both;
        type Data = usize;

        fn enter(state: &Both, call: &Entry<'_>) -> Option<usize> {
            state.entered.fetch_add(1, Relaxed);
            call.argument(0).filter(|number| number % 2 == 1)
        }

        fn leave(state: &Both, data: usize, _: &Return<'_>) {
            state.left.fetch_add(data as u64, Relaxed);
        }
    }

    impl Both {
        const fn new() -> Self {
            Self {
                entered: Atomic::new(0),
                left: Atomic::new(0),
            }
        }

        fn counts(&self) -> (u64, u64) {
            (self.entered.load(Relaxed), self.left.load(Relaxed))
        }
    }

    #[test]
    fn entry_handler_may_skip_a_call() -> Result {
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"rust_kernel_kprobes_unwatched");
        let probe = ReturnProbe::<Odd>::register(&here, place, Both::new())?;
        for number in 0..6 {
            black_box(rust_kernel_kprobes_unwatched as Target)(number, 0, true, core::ptr::null());
        }
        assert_eq!(probe.state().counts(), (6, 1 + 3 + 5));
        assert_eq!(probe.missed(), 0);
        Ok(())
    }

    #[test]
    fn return_batch_watches_each_function() -> Result {
        let here = ProcessContext::here()?;
        let names = [
            c"rust_kernel_kprobes_returns",
            c"rust_kernel_kprobes_unwatched",
        ];
        let unknown = c"rust_kernel_kprobes_no_such_function";
        let bad = [names[0], unknown].map(Place::symbol);
        let refused = ReturnBatch::<Odd>::register(&here, &bad, |_| Both::new()).err();
        assert_eq!(refused.and_then(|refused| refused.index()), Some(1));
        let batch =
            ReturnBatch::<Odd>::register(&here, &names.map(Place::symbol), |_| Both::new())?;
        for number in 0..4 {
            black_box(rust_kernel_kprobes_returns as Target)(number, 0, true, core::ptr::null());
        }
        black_box(rust_kernel_kprobes_unwatched as Target)(7, 0, true, core::ptr::null());
        let counts = |batch: &ReturnBatch<Odd>| {
            let mut counts = batch.probes().map(|probe| probe.state().counts());
            [counts.next(), counts.next()]
        };
        assert_eq!(counts(&batch), [Some((4, 1 + 3)), Some((1, 7))]);
        batch.disable(&here)?;
        black_box(rust_kernel_kprobes_unwatched as Target)(7, 0, true, core::ptr::null());
        assert_eq!(counts(&batch), [Some((4, 1 + 3)), Some((1, 7))]);
        drop(batch);
        black_box(rust_kernel_kprobes_unwatched as Target)(7, 0, true, core::ptr::null());
        Ok(())
    }

    /// A function that others sleep in, until it is told to go on.
    struct Sleeper {
        go: Arc<Completion>,
        gone: Arc<Completion>,
    }

    impl Sleeper {
        fn new() -> Result<Self> {
            let sleeper = Self {
                go: Arc::pin_init(Completion::new(), GFP_KERNEL)?,
                gone: Arc::pin_init(Completion::new(), GFP_KERNEL)?,
            };
            let (go, gone) = (sleeper.go.clone(), sleeper.gone.clone());
            workqueue::system_unbound().try_spawn(GFP_KERNEL, move || {
                black_box(rust_kernel_kprobes_sleeps as extern "C" fn(&Completion) -> u32)(&go);
                gone.complete_all();
            })?;
            Ok(sleeper)
        }

        fn ends(self) {
            self.go.complete_all();
            self.gone.wait_for_completion();
        }
    }

    struct Sleeps;

    impl ReturnHandler for Sleeps {
        type State = (Counted, Both);
        type Data = ();

        fn enter((_, both): &Self::State, _: &Entry<'_>) -> Option<()> {
            both.entered.fetch_add(1, Relaxed);
            Some(())
        }

        fn leave((_, both): &Self::State, (): (), call: &Return<'_>) {
            both.left.fetch_add(u64::from(call.value::<u32>()), Relaxed);
        }
    }

    /// Waits until something has come about, some seconds at most.
    fn comes_about(done: impl Fn() -> bool) -> bool {
        for _ in 0..2000 {
            if done() {
                return true;
            }
            crate::time::delay::fsleep(crate::time::Delta::from_millis(5));
        }
        false
    }

    /// Waits until `count` calls are under way.
    fn under_way(both: &Both, count: u64) -> bool {
        comes_about(|| both.entered.load(Relaxed) == count)
    }

    #[test]
    fn calls_outlive_their_probe() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"rust_kernel_kprobes_sleeps");
        let state = || (Counted::new(&DROPPED), Both::new());
        let probe = ReturnProbe::<Sleeps>::register(&here, place, state())?;
        let other = ReturnProbe::<Sleeps>::register(&here, place, state())?;
        let sleepers = [Sleeper::new()?, Sleeper::new()?];
        assert!(under_way(&probe.state().1, 2));
        drop(probe);
        assert_eq!(DROPPED.load(Relaxed), 1);
        sleepers.into_iter().for_each(Sleeper::ends);
        // The other probe's handlers are called.
        assert_eq!(other.state().1.counts(), (2, 10));
        assert_eq!(other.missed(), 0);
        Ok(())
    }

    #[test]
    fn calls_are_watched_up_to_the_reserved_number() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"rust_kernel_kprobes_sleeps");
        let state = (Counted::new(&DROPPED), Both::new());
        let seen = [const { Atomic::new(0) }; 7];
        let refused = ReturnProbe::<Hands>::register_for(&here, place, 1 << 24, seen).err();
        assert_eq!(refused.map(|why| why.reason()), Some(Reason::NoMemory));
        let probe = ReturnProbe::<Sleeps>::register_for(&here, place, 1, state)?;
        let first = Sleeper::new()?;
        assert!(under_way(&probe.state().1, 1));
        #[cfg(CONFIG_RUST_KPROBES)]
        probe.reserve(&here, 2)?;
        let second = Sleeper::new()?;
        let more = cfg!(CONFIG_RUST_KPROBES);
        // The second call must begin before the first one ends and frees its room.
        if more {
            assert!(under_way(&probe.state().1, 2));
        } else {
            assert!(comes_about(|| probe.missed() == 1));
        }
        first.ends();
        second.ends();
        let told = if more { 2 } else { 1 };
        assert_eq!(probe.state().1.counts(), (told, told * 5));
        assert_eq!(probe.missed(), usize::from(!more));
        Ok(())
    }
}

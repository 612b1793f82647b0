// SPDX-License-Identifier: GPL-2.0

//! Tests of many probes at once, and of questions.

/// What the tests probe.
mod target {
    use super::super::*;

    targets! {
        rust_kernel_kprobes_first
        rust_kernel_kprobes_second
        rust_kernel_kprobes_third
        rust_kernel_kprobes_asked
    }
}

#[kernel::macros::kunit_tests(rust_kernel_kprobes_batch)]
mod cases {
    use super::{
        super::{
            super::*,
            *, //
        },
        target::*, //
    };
    const NAMES: [&CStr; 3] = [
        c"rust_kernel_kprobes_first",
        c"rust_kernel_kprobes_second",
        c"rust_kernel_kprobes_third",
    ];
    const TARGETS: [Target; 3] = [
        rust_kernel_kprobes_first,
        rust_kernel_kprobes_second,
        rust_kernel_kprobes_third,
    ];

    fn call_all() {
        for target in TARGETS {
            call(target);
        }
    }

    struct Own;

    impl EntryHandler for Own {
        type State = (Counted, usize);

        fn enter((counted, step): &Self::State, _: &Entry<'_>) {
            counted.hits.fetch_add(*step as u64, Relaxed);
        }
    }

    fn hits(batch: &EntryBatch<Own>) -> [u64; 3] {
        let mut hits = batch.probes().map(|probe| probe.state().0.hits());
        [(); 3].map(|()| hits.next().unwrap_or(99))
    }

    #[test]
    fn each_probe_has_its_own_state() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        let state = |index| (Counted::new(&DROPPED), index + 1);
        let batch = EntryBatch::<Own>::register(&here, &NAMES.map(Place::symbol), state)?;
        assert_eq!(batch.probes().len(), 3);
        call_all();
        assert_eq!(hits(&batch), [1, 2, 3]);
        batch.disable(&here)?;
        call_all();
        assert_eq!(hits(&batch), [1, 2, 3]);
        batch.enable(&here)?;
        call_all();
        assert_eq!(hits(&batch), [2, 4, 6]);
        drop(batch);
        assert_eq!(DROPPED.load(Relaxed), 3);
        call_all();
        Ok(())
    }

    #[test]
    fn batch_registered_disabled_has_no_hits() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        let state = |index| (Counted::new(&DROPPED), index + 1);
        let places = NAMES.map(Place::symbol);
        let batch = EntryBatch::<Own>::register_disabled(&here, &places, state)?;
        call_all();
        assert_eq!(hits(&batch), [0, 0, 0]);
        batch.enable(&here)?;
        call_all();
        assert_eq!(hits(&batch), [1, 2, 3]);
        Ok(())
    }

    /// Counts where its hits can be seen when its state cannot.
    struct Plain;

    static PLAIN: Atomic<u64> = Atomic::new(0);

    impl Handler for Plain {
        type State = Counted;

        fn before(_: &Counted, _: &Hit<'_>) {
            PLAIN.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn refused_place_refuses_the_whole_batch() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        static MADE: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        let before = PLAIN.load(Relaxed);
        let [first, second, third] = NAMES.map(Place::symbol);
        let bad = Place::symbol(c"notify_die");
        let unknown = Place::symbol(c"rust_kernel_kprobes_no_such_function");
        for (places, index, reason) in [
            ([first, second, bad], 2, Reason::Blacklisted),
            ([first, unknown, third], 1, Reason::UnknownSymbol),
        ] {
            let refused = ProbeBatch::<Plain>::register(&here, &places, |_| {
                MADE.fetch_add(1, Relaxed);
                Counted::new(&DROPPED)
            })
            .err();
            assert_eq!(refused.and_then(|refused| refused.index()), Some(index));
            let words = refused.map(|refused| crate::str::CString::try_from_fmt(fmt!("{refused}")));
            let begin = if index == 1 {
                b"place 1: the "
            } else {
                b"place 2: the "
            };
            assert!(words
                .is_some_and(|words| words.is_ok_and(|words| words.to_bytes().starts_with(begin))));
            let said = refused.map(|refused| refused.refused().reason());
            assert_eq!(said, Some(reason));
            call_all();
            assert_eq!(PLAIN.load(Relaxed), before);
        }
        // Where only entries are allowed, unknown symbols are refused before a state is made.
        assert!(MADE.load(Relaxed) >= 4);
        assert_eq!(DROPPED.load(Relaxed), MADE.load(Relaxed));
        Ok(())
    }

    /// Counts what was executed.
    struct Executed;

    impl Handler for Executed {
        type State = Counted;

        fn before(_: &Counted, _: &Hit<'_>) {}
    }

    impl HandlerAfter for Executed {
        fn after(state: &Counted, _: &Hit<'_>) {
            state.hits.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn kinds_without_an_alias_have_batches() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        let places = NAMES.map(Place::symbol);
        let batch = Batch::<kind::InstructionAfter<Executed>>::register(&here, &places, |_| {
            Counted::new(&DROPPED)
        })?;
        call_all();
        for probe in batch.probes() {
            assert_eq!(probe.state().hits(), 1);
        }
        drop(batch);
        assert_eq!(DROPPED.load(Relaxed), 3);
        Ok(())
    }

    #[test]
    fn empty_batch_is_registered() -> Result {
        let here = ProcessContext::here()?;
        let batch = ProbeBatch::<Plain>::register(&here, &[], |_| Counted::new(&NOBODY))?;
        assert_eq!(batch.probes().len(), 0);
        batch.enable(&here)?;
        Ok(())
    }

    struct Drops;

    impl Handler for Drops {
        type State = Slot<ProbeBatch<Plain>>;

        fn before(state: &Self::State, _: &Hit<'_>) {
            drop(state.take());
        }
    }

    #[test]
    fn batch_dropped_in_a_handler_stays_without_calls() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        let places = NAMES.map(Place::symbol);
        let batch = ProbeBatch::<Plain>::register(&here, &places, |_| Counted::new(&DROPPED))?;
        let place = Place::symbol(c"rust_kernel_kprobes_asked");
        let probe = Probe::<Drops>::register(&here, place, Slot::new(batch))?;
        call_all();
        assert_eq!(PLAIN.load(Relaxed), 3);
        call(rust_kernel_kprobes_asked);
        call_all();
        assert_eq!(PLAIN.load(Relaxed), 3);
        assert_eq!(DROPPED.load(Relaxed), 0);
        assert!(probe.state().take().is_none());
        Ok(())
    }

    #[test]
    fn query_says_how_a_probe_would_be_hit() -> Result {
        let here = ProcessContext::here()?;
        let asked = Place::symbol(c"rust_kernel_kprobes_asked");
        // A function of C's, and where ftrace calls it, if it does.
        let way = query(&here, Place::symbol(c"kernel_clone"))?;
        assert_eq!((way == Way::Ftrace), cfg!(CONFIG_KPROBES_ON_FTRACE));
        let right = match query(&here, asked)? {
            Way::Jump => cfg!(CONFIG_RUST_KPROBES_JUMPS),
            Way::Unknown => !cfg!(CONFIG_RUST_KPROBES_JUMPS),
            // There, a jump replaces one instruction.
            Way::Breakpoint(why) if cfg!(CONFIG_S390) => {
                why.text() == c"the instruction is shorter than a jump"
            }
            _ => false,
        };
        assert!(right);
        let refused = query(&here, Place::symbol(c"notify_die")).err();
        assert_eq!(
            refused.map(|refused| refused.reason()),
            Some(Reason::Blacklisted)
        );
        // A handler from after the instruction keeps it from a jump.
        if cfg!(CONFIG_RUST_KPROBES_JUMPS) {
            let probe = ProbeAfter::<Executed>::register(&here, asked, Counted::new(&NOBODY))?;
            let Way::Breakpoint(why) = probe.way(&here)? else {
                assert!(false);
                return Ok(());
            };
            assert!(!why.text().to_bytes().is_empty());
            assert_eq!(why.at(), None);
        }
        Ok(())
    }
}

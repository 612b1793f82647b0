// SPDX-License-Identifier: GPL-2.0

//! Tests of probes that have the kernel go on elsewhere.

/// What the tests probe.
mod target {
    use super::super::*;

    targets! {
        rust_kernel_kprobes_fails
        rust_kernel_kprobes_replaced
        rust_kernel_kprobes_again
    }

    /// What is called in the place of another.
    #[inline(never)]
    pub(super) extern "C" fn in_its_place(
        number: usize,
        negative: i32,
        yes: bool,
        at: *const u8,
    ) -> i64 {
        let mixed = black_box(number as i64).wrapping_mul(1_000);
        mixed
            .wrapping_add(i64::from(negative))
            .wrapping_add(i64::from(yes))
            - at.addr() as i64
    }
}

#[kernel::macros::kunit_tests(rust_kernel_kprobes_path)]
mod cases {
    use super::{
        super::{
            super::*,
            *, //
        },
        target::*, //
    };

    /// What [`call`] gets of a target that is executed, and of what is called in its place.
    const AS_IT_IS: i64 = 16;
    const IN_ITS_PLACE: i64 = 1_000 - 2 + 1 - 16;

    /// Has every second call fail.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    struct Fail;

    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    impl PathHandler for Fail {
        type State = Counted;

        fn enter<'a>(state: &Counted, _: &Entry<'a>, path: Path<'a>) -> Next<'a> {
            if state.hits.fetch_add(1, Relaxed) % 2 == 0 {
                // SAFETY: The target has done nothing yet, and returns a number.
                unsafe { path.fail(EIO) }
            } else {
                path.unchanged()
            }
        }
    }

    /// Has another function called while its state is true.
    struct Replace;

    impl PathHandler for Replace {
        type State = Atomic<bool>;

        fn enter<'a>(state: &Atomic<bool>, call: &Entry<'a>, path: Path<'a>) -> Next<'a> {
            // The arguments are there to decide by.
            if state.load(Relaxed) && call.argument(0) == Some(1usize) {
                // SAFETY: It is a function of the same type, which nobody frees.
                unsafe { path.go_on_at(in_its_place as *const () as usize) }
            } else {
                path.unchanged()
            }
        }
    }

    #[test]
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    fn a_function_fails_without_being_executed() -> Result {
        let here = ProcessContext::here()?;
        let probe = PathProbe::<Fail>::register(
            &here,
            Place::symbol(c"rust_kernel_kprobes_fails"),
            Counted::new(&NOBODY),
        )?;
        for _ in 0..10 {
            // It is a `long` that is returned in its place, which has fewer bits on arm.
            let failed = call(rust_kernel_kprobes_fails) as isize;
            assert_eq!(failed, EIO.to_errno() as isize);
            assert_eq!(call(rust_kernel_kprobes_fails), AS_IT_IS);
        }
        assert_eq!(probe.state().hits(), 20);
        drop(probe);
        assert_eq!(call(rust_kernel_kprobes_fails), AS_IT_IS);
        Ok(())
    }

    #[test]
    fn another_function_is_called_in_its_place() -> Result {
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"rust_kernel_kprobes_replaced");
        let probe = PathProbe::<Replace>::register(&here, place, Atomic::new(true))?;
        assert_eq!(call(rust_kernel_kprobes_replaced), IN_ITS_PLACE);
        probe.state().store(false, Relaxed);
        assert_eq!(call(rust_kernel_kprobes_replaced), AS_IT_IS);
        probe.state().store(true, Relaxed);
        assert_eq!(call(rust_kernel_kprobes_replaced), IN_ITS_PLACE);
        probe.disable(&here)?;
        assert_eq!(call(rust_kernel_kprobes_replaced), AS_IT_IS);
        Ok(())
    }

    /// What is reached by a jump could not say how the kernel goes on.
    #[test]
    fn the_path_is_changed_for_as_long_as_others_are_there() -> Result {
        struct Look;

        impl EntryHandler for Look {
            type State = Counted;

            fn enter(state: &Counted, _: &Entry<'_>) {
                state.hits.fetch_add(1, Relaxed);
            }
        }

        let here = ProcessContext::here()?;
        let place = Place::symbol(c"rust_kernel_kprobes_again");
        let before = EntryProbe::<Look>::register(&here, place, Counted::new(&NOBODY))?;
        let probe = PathProbe::<Replace>::register(&here, place, Atomic::new(true))?;
        let after = EntryProbe::<Look>::register(&here, place, Counted::new(&NOBODY))?;
        for _ in 0..10 {
            assert_eq!(call(rust_kernel_kprobes_again), IN_ITS_PLACE);
        }
        assert!(!matches!(probe.way(&here)?, Way::Jump));
        // Who came last is told first, and nobody is told of what is not executed.
        assert_eq!(after.state().hits(), 10);
        assert_eq!(before.state().hits(), 0);
        drop(probe);
        assert_eq!(call(rust_kernel_kprobes_again), AS_IT_IS);
        assert_eq!(before.state().hits(), 1);
        Ok(())
    }
}

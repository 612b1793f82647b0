// SPDX-License-Identifier: GPL-2.0

//! Tests of probes that have the kernel go on elsewhere, and of those that have a function fail.

/// What the tests probe.
mod target {
    use super::super::*;
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    use crate::bindings;

    targets! {
        rust_kernel_kprobes_fails
        rust_kernel_kprobes_replaced
        rust_kernel_kprobes_again
        rust_kernel_kprobes_listed
        rust_kernel_kprobes_listed_null
        rust_kernel_kprobes_returns_null
        rust_kernel_kprobes_returns_true
        rust_kernel_kprobes_not_listed
    }

    /// What `ALLOW_ERROR_INJECTION()` makes, `struct error_injection_entry`, with a pointer that
    /// the compiler can write.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    #[repr(C)]
    struct Listed {
        function: Target,
        kind: c_uint,
    }

    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    const _: () = assert!(size_of::<Listed>() == size_of::<bindings::error_injection_entry>());

    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    #[used(compiler)]
    #[link_section = "_error_injection_whitelist"]
    static LISTED: [Listed; 4] = [
        Listed {
            function: rust_kernel_kprobes_listed,
            kind: bindings::EI_ETYPE_ERRNO,
        },
        Listed {
            function: rust_kernel_kprobes_listed_null,
            kind: bindings::EI_ETYPE_ERRNO_NULL,
        },
        Listed {
            function: rust_kernel_kprobes_returns_null,
            kind: bindings::EI_ETYPE_NULL,
        },
        Listed {
            function: rust_kernel_kprobes_returns_true,
            kind: bindings::EI_ETYPE_TRUE,
        },
    ];

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

        const TARGET: Place<'static> = Place::symbol(c"rust_kernel_kprobes_fails");

        fn enter<'a>(state: &Counted, _: &Entry<'a>, path: Path<'a, Self>) -> Next<'a> {
            if state.hits.fetch_add(1, Relaxed) % 2 == 0 {
                // SAFETY: The target only calculates, and returns a number. The test calls it.
                unsafe { path.fail(EIO) }
            } else {
                path.unchanged()
            }
        }
    }

    /// Has another function called while its state is true, of either target.
    struct Replace<const AGAIN: bool>;

    impl<const AGAIN: bool> PathHandler for Replace<AGAIN> {
        type State = Atomic<bool>;

        const TARGET: Place<'static> = Place::symbol(if AGAIN {
            c"rust_kernel_kprobes_again"
        } else {
            c"rust_kernel_kprobes_replaced"
        });

        fn enter<'a>(state: &Atomic<bool>, call: &Entry<'a>, path: Path<'a, Self>) -> Next<'a> {
            // The arguments are there to decide by.
            if state.load(Relaxed) && call.argument(0) == Some(1usize) {
                // SAFETY: It is a function of the type that both targets have, which nobody frees.
                // They only calculate, and the tests call them.
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
        let probe = PathProbe::<Fail>::register(&here, Counted::new(&NOBODY))?;
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
        let probe = PathProbe::<Replace<false>>::register(&here, Atomic::new(true))?;
        assert_eq!(call(rust_kernel_kprobes_replaced), IN_ITS_PLACE);
        probe.state().store(false, Relaxed);
        assert_eq!(call(rust_kernel_kprobes_replaced), AS_IT_IS);
        probe.state().store(true, Relaxed);
        assert_eq!(call(rust_kernel_kprobes_replaced), IN_ITS_PLACE);
        probe.disable(&here)?;
        assert_eq!(call(rust_kernel_kprobes_replaced), AS_IT_IS);
        Ok(())
    }

    /// A handler that is called through a jump could not change the path.
    #[test]
    fn path_is_changed_beside_other_probes_and_without_a_jump() -> Result {
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"rust_kernel_kprobes_again");
        let before = EntryProbe::<Count>::register(&here, place, Counted::new(&NOBODY))?;
        let probe = PathProbe::<Replace<true>>::register(&here, Atomic::new(true))?;
        let after = EntryProbe::<Count>::register(&here, place, Counted::new(&NOBODY))?;
        for _ in 0..10 {
            assert_eq!(call(rust_kernel_kprobes_again), IN_ITS_PLACE);
        }
        assert!(!matches!(probe.way(&here)?, Way::Jump));
        // The newest probe is called first, and none for an instruction that is skipped.
        assert_eq!(after.state().hits(), 10);
        assert_eq!(before.state().hits(), 0);
        drop(probe);
        assert_eq!(call(rust_kernel_kprobes_again), AS_IT_IS);
        assert_eq!(before.state().hits(), 1);
        Ok(())
    }

    /// Has every second call fail.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    struct Inject;

    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    impl InjectionHandler for Inject {
        type State = Counted;

        fn enter(state: &Counted, _: &Entry<'_>) -> Option<Error> {
            (state.hits.fetch_add(1, Relaxed) % 2 == 0).then_some(EIO)
        }
    }

    #[test]
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    fn a_function_on_the_list_fails() -> Result {
        let here = ProcessContext::here()?;
        let targets: [(&CStr, Target); 2] = [
            (c"rust_kernel_kprobes_listed", rust_kernel_kprobes_listed),
            (
                c"rust_kernel_kprobes_listed_null",
                rust_kernel_kprobes_listed_null,
            ),
        ];
        for (name, target) in targets {
            let place = Place::symbol(name);
            let probe = InjectionProbe::<Inject>::register(&here, place, Counted::new(&NOBODY))?;
            assert!(!matches!(probe.way(&here)?, Way::Jump));
            for _ in 0..10 {
                assert_eq!(call(target) as isize, EIO.to_errno() as isize);
                assert_eq!(call(target), AS_IT_IS);
            }
            probe.disable(&here)?;
            assert_eq!(call(target), AS_IT_IS);
            assert_eq!(probe.state().hits(), 20);
            drop(probe);
            assert_eq!(call(target), AS_IT_IS);
        }
        Ok(())
    }

    #[test]
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    fn injection_fails_the_function_once_enabled() -> Result {
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"rust_kernel_kprobes_listed");
        let state = Counted::new(&NOBODY);
        let probe = InjectionProbe::<Inject>::register_disabled(&here, place, state)?;
        assert_eq!(call(rust_kernel_kprobes_listed), AS_IT_IS);
        assert_eq!(probe.state().hits(), 0);
        probe.enable(&here)?;
        let failed = call(rust_kernel_kprobes_listed) as isize;
        assert_eq!(failed, EIO.to_errno() as isize);
        Ok(())
    }

    /// Has every call fail.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    struct Always;

    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    static ALWAYS: Atomic<u64> = Atomic::new(0);

    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    impl InjectionHandler for Always {
        type State = Counted;

        fn enter(_: &Counted, _: &Entry<'_>) -> Option<Error> {
            ALWAYS.fetch_add(1, Relaxed);
            Some(EIO)
        }
    }

    #[test]
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    fn injection_is_refused_off_the_error_list() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        type Fails = InjectionProbe<Always>;
        let here = ProcessContext::here()?;
        let targets: [(&CStr, Target); 3] = [
            (
                c"rust_kernel_kprobes_not_listed",
                rust_kernel_kprobes_not_listed,
            ),
            (
                c"rust_kernel_kprobes_returns_null",
                rust_kernel_kprobes_returns_null,
            ),
            (
                c"rust_kernel_kprobes_returns_true",
                rust_kernel_kprobes_returns_true,
            ),
        ];
        for (name, target) in targets {
            let place = Place::symbol(name);
            let refused = [
                Fails::register(&here, place, Counted::new(&DROPPED)).err(),
                Fails::register_disabled(&here, place, Counted::new(&DROPPED)).err(),
            ];
            for refused in refused {
                assert_eq!(refused.map(|why| why.reason()), Some(Reason::NotInjectable));
                assert_eq!(refused.map(|why| why.errno()), Some(EINVAL.to_errno()));
            }
            assert_eq!(call(target), AS_IT_IS);
        }
        // The list has the whole function, and a call begins in one place of it.
        let inside = Place::symbol(c"rust_kernel_kprobes_listed").plus(20);
        let refused = Fails::register(&here, inside, Counted::new(&DROPPED)).err();
        assert_eq!(refused.map(|why| why.reason()), Some(Reason::NotAnEntry));
        if cfg!(CONFIG_X86_64) {
            let place = Place::symbol(c"__x64_sys_exit_group");
            let refused = Fails::register(&here, place, Counted::new(&NOBODY)).err();
            assert_eq!(refused.map(|why| why.reason()), Some(Reason::NotInjectable));
        }
        assert_eq!(call(rust_kernel_kprobes_listed), AS_IT_IS);
        assert_eq!(ALWAYS.load(Relaxed), 0);
        // Each state is dropped, made or not.
        assert_eq!(DROPPED.load(Relaxed), 7);
        Ok(())
    }
}

// SPDX-License-Identifier: GPL-2.0

//! Tests of what clients see, in the kernel, with whichever implementation of kprobes it has.

use crate::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};
use core::{
    cell::UnsafeCell,
    hint::black_box, //
};

/// What the tests probe. Each test has a function of its own: what one leaves behind is not seen by
/// another.
macro_rules! targets {
    ($($name:ident)*) => {$(
        /// Returns what its arguments make together.
        #[no_mangle]
        #[inline(never)]
        pub(in super::super) extern "C" fn $name(
            number: usize,
            negative: i32,
            yes: bool,
            at: *const u8,
        ) -> i64 {
            // Functions that are the same would be at one address.
            black_box(stringify!($name));
            let mixed = black_box(number as i64).wrapping_add(i64::from(negative));
            mixed.wrapping_add(i64::from(yes)).wrapping_add(at.addr() as i64)
        }
    )*};
}

mod batch;
mod memory;
mod path;
#[cfg(CONFIG_KRETPROBES)]
mod returns;
mod typed;

mod target {
    use super::*;

    targets! {
        rust_kernel_kprobes_probed
        rust_kernel_kprobes_inner
        rust_kernel_kprobes_outer
        rust_kernel_kprobes_abandoned
        rust_kernel_kprobes_abandoner
    }
}

type Target = extern "C" fn(usize, i32, bool, *const u8) -> i64;

/// Calls a target in a way that the compiler does not see through.
fn call(function: Target) -> i64 {
    black_box(function)(1, -2, true, core::ptr::without_provenance(16))
}

/// Of who does not care.
static NOBODY: Atomic<u64> = Atomic::new(0);

/// Counts its hits, and, in what it is told, its end.
struct Counted {
    hits: Atomic<u64>,
    dropped: &'static Atomic<u64>,
}

impl Counted {
    fn new(dropped: &'static Atomic<u64>) -> Self {
        Self {
            hits: Atomic::new(0),
            dropped,
        }
    }

    fn hits(&self) -> u64 {
        self.hits.load(Relaxed)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Relaxed);
    }
}

struct Count;

impl super::Handler for Count {
    type State = Counted;

    fn before(state: &Counted, _: &super::Hit<'_>) {
        state.hits.fetch_add(1, Relaxed);
    }
}

impl super::EntryHandler for Count {
    type State = Counted;

    fn enter(state: &Counted, _: &super::Entry<'_>) {
        state.hits.fetch_add(1, Relaxed);
    }
}

/// What one handler takes, once, without a lock, which could sleep with `CONFIG_PREEMPT_RT`.
struct Slot<T> {
    taken: Atomic<bool>,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: The value goes to who takes it, and is nobody else's.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    fn new(value: T) -> Self {
        Self {
            taken: Atomic::new(false),
            value: UnsafeCell::new(Some(value)),
        }
    }

    fn take(&self) -> Option<T> {
        if self.taken.xchg(true, Relaxed) {
            return None;
        }
        // SAFETY: Nobody else comes to this.
        unsafe { (*self.value.get()).take() }
    }
}

#[kernel::macros::kunit_tests(rust_kernel_kprobes)]
mod cases {
    use super::{
        super::*,
        target::*,
        *, //
    };
    use crate::{
        alloc::AllocError,
        bindings,
        error::code,
        sync::{
            Arc,
            Completion, //
        },
        workqueue, //
    };

    /// The memory behind the base of a stack may be unmapped.
    #[cfg(CONFIG_ARM)]
    #[test]
    fn kprobe_stack_nth_reads_nothing_behind_a_stack() -> Result {
        let behind = KVVec::from_elem(1_u8, 2 * 8192, GFP_KERNEL)?;
        let mut registers: bindings::pt_regs = pin_init::zeroed();
        registers.uregs[13] = behind.as_ptr().addr().next_multiple_of(8192);
        // SAFETY: The registers exist.
        assert_eq!(unsafe { bindings::kprobe_stack_nth(&mut registers, 0) }, 0);
        Ok(())
    }

    /// The function that most tests probe.
    const PROBED: Place<'static> = Place::symbol(c"rust_kernel_kprobes_probed");

    struct Arguments;

    impl EntryHandler for Arguments {
        type State = [Atomic<i64>; 8];

        fn enter(seen: &Self::State, call: &Entry<'_>) {
            let beyond = call.argument::<usize>(8).is_none();
            let entry: extern "C" fn(_, _, _, _) -> _ = rust_kernel_kprobes_probed;
            // A landing pad may come first. A pointer to Thumb code is odd.
            let inside = call.address().wrapping_sub(entry as usize & !1) <= 16;
            // SAFETY: It takes any address.
            let called = unsafe { bindings::kernel_text_address(call.stack(0)) } != 0;
            let pointed = call.stack_pointer() != 0 && call.instruction_pointer() != 0;
            // Only x86 has put the caller's address there.
            let stack = pointed && (called || !cfg!(CONFIG_X86));
            let all = [
                call.argument::<usize>(0).map(|number| number as i64),
                call.argument::<i32>(1).map(i64::from),
                call.argument::<i8>(1).map(i64::from),
                call.argument::<bool>(2).map(i64::from),
                call.argument::<*const u8>(3).map(|at| at.addr() as i64),
                Some(beyond.into()),
                Some(inside.into()),
                Some(stack.into()),
            ];
            for (to, value) in seen.iter().zip(all) {
                to.store(value.unwrap_or(99), Relaxed);
            }
        }
    }

    #[test]
    fn entry_sees_the_arguments() -> Result {
        let here = ProcessContext::here()?;
        let seen = [const { Atomic::new(77) }; 8];
        let probe = EntryProbe::<Arguments>::register(&here, PROBED, seen)?;
        assert_eq!(call(rust_kernel_kprobes_probed), 16);
        let seen = probe.state().each_ref().map(|value| value.load(Relaxed));
        assert_eq!(seen, [1, -2, -2, 1, 16, 1, 1, 1]);
        Ok(())
    }

    /// Where the first argument is.
    const FIRST: &CStr = if cfg!(CONFIG_X86_64) {
        c"di"
    } else if cfg!(CONFIG_S390) {
        c"r2"
    } else if cfg!(CONFIG_PPC) {
        c"gpr3"
    } else {
        c"r0"
    };

    struct LooksAtOne;

    impl Handler for LooksAtOne {
        type State = (Register, Atomic<usize>, Atomic<i8>);

        fn before((register, all, low): &Self::State, hit: &Hit<'_>) {
            all.store(hit.register(*register), Relaxed);
            low.store(hit.register(*register), Relaxed);
        }
    }

    #[test]
    fn registers_are_read_by_name() -> Result {
        let here = ProcessContext::here()?;
        assert!(Register::named(c"no_such_register").is_none());
        let first = Register::named(FIRST).ok_or(code::EINVAL)?;
        assert!(Register::named(c"sp").is_none_or(|sp| sp != first));
        let state = (first, Atomic::new(0), Atomic::new(0));
        let probe = Probe::<LooksAtOne>::register(&here, PROBED, state)?;
        black_box(rust_kernel_kprobes_probed as Target)(0x1234_56fe, 0, false, core::ptr::null());
        let (_, all, low) = probe.state();
        assert_eq!(all.load(Relaxed), 0x1234_56fe);
        assert_eq!(low.load(Relaxed), -2);
        Ok(())
    }

    struct Around;

    impl Handler for Around {
        type State = [Atomic<usize>; 2];

        fn before(state: &Self::State, hit: &Hit<'_>) {
            state[0].store(hit.address(), Relaxed);
        }
    }

    impl HandlerAfter for Around {
        fn after(state: &Self::State, hit: &Hit<'_>) {
            state[1].store(hit.instruction_pointer(), Relaxed);
        }
    }

    #[test]
    fn handlers_are_called_before_and_after() -> Result {
        let here = ProcessContext::here()?;
        let state = [Atomic::new(0), Atomic::new(0)];
        let probe = ProbeAfter::<Around>::register(&here, PROBED, state)?;
        call(rust_kernel_kprobes_probed);
        let [before, after] = probe.state();
        assert_eq!(before.load(Relaxed), probe.address());
        assert!(after.load(Relaxed) > probe.address());
        assert!(after.load(Relaxed) <= probe.address() + 16);
        Ok(())
    }

    #[test]
    fn state_is_dropped_once_and_handlers_end() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        let probe = Probe::<Count>::register(&here, PROBED, Counted::new(&DROPPED))?;
        // What is registered does not move with what the client has of it.
        let moved = KBox::new(probe, GFP_KERNEL)?;
        call(rust_kernel_kprobes_probed);
        assert_eq!(moved.state().hits(), 1);
        assert_eq!(DROPPED.load(Relaxed), 0);
        let second = EntryProbe::<Count>::register(&here, PROBED, Counted::new(&NOBODY))?;
        drop(moved);
        assert_eq!(DROPPED.load(Relaxed), 1);
        call(rust_kernel_kprobes_probed);
        assert_eq!(second.state().hits(), 1);
        Ok(())
    }

    /// Registers a probe that must be refused, at `place`, and tells why.
    fn refused<K: kind::AnyPlace<State = Counted>>(place: Place<'_>) -> Option<(Reason, Error)> {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        static MADE: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here().ok()?;
        let state = || {
            MADE.fetch_add(1, Relaxed);
            Counted::new(&DROPPED)
        };
        let refused = Registration::<K>::register(&here, place, state()).err()?;
        // Whatever was made is gone.
        (MADE.load(Relaxed) == DROPPED.load(Relaxed)).then(|| (refused.reason(), refused.into()))
    }

    #[test]
    fn refusals_have_their_reasons() {
        let any = refused::<kind::Instruction<Count>>;
        let entries = refused::<kind::FunctionEntry<Count>>;
        let unknown = Place::symbol(c"rust_kernel_kprobes_no_such_function");
        let elsewhere = Place::in_module(c"no_module", c"kernel_clone");
        let no_name = Place::in_module(c"\xff", c"x");
        let listed = Place::symbol(c"notify_die");
        let inside = Place::symbol(c"kernel_clone").plus(16);
        for (found, reason, error) in [
            (any(unknown), Reason::UnknownSymbol, code::ENOENT),
            (entries(unknown), Reason::UnknownSymbol, code::ENOENT),
            (any(elsewhere), Reason::UnknownSymbol, code::ENOENT),
            (any(no_name), Reason::BadName, code::EINVAL),
            (any(listed), Reason::Blacklisted, code::EINVAL),
            (entries(inside), Reason::NotAnEntry, code::EINVAL),
        ] {
            assert_eq!(found, Some((reason, error)));
        }
        // In ftrace's NOP of five bytes. Others than x86 call it invalid, which is many things.
        if cfg!(all(CONFIG_X86, CONFIG_FUNCTION_TRACER)) {
            let inside = Place::symbol(c"kernel_clone").plus(1);
            let expected = Some((Reason::NotAnInstruction, code::EILSEQ));
            assert_eq!(any(inside), expected);
        }
        // A variable: it has a symbol, but is no code.
        let variable = Place::address((&raw const NOBODY).addr());
        let found = any(variable).map(|(reason, _)| reason);
        assert_eq!(found, Some(Reason::NotText));
        for address in [0, 8] {
            let nowhere = Place::address(address);
            for found in [any(nowhere), entries(nowhere)] {
                assert_eq!(found.map(|(reason, _)| reason), Some(Reason::NotText));
            }
        }
    }

    /// Traps somewhere in it, if it were called.
    #[no_mangle]
    #[inline(never)]
    extern "C" fn rust_kernel_kprobes_warns(number: usize) -> usize {
        crate::warn_on!(black_box(number) == 77);
        black_box(number)
    }

    #[test]
    #[cfg(all(CONFIG_X86, CONFIG_GENERIC_BUG))]
    fn instruction_of_a_warning_is_refused() {
        black_box(rust_kernel_kprobes_warns as extern "C" fn(usize) -> usize)(5);
        let place = Place::symbol(c"rust_kernel_kprobes_warns");
        let found = |offset| refused::<kind::Instruction<Count>>(place.plus(offset));
        let reserved = Some((Reason::Reserved, code::EINVAL));
        assert!((1..64).any(|offset| found(offset) == reserved));
    }

    /// What is given to a machine whose kprobes look at nothing but the place itself.
    #[test]
    #[cfg(not(any(CONFIG_RUST_KPROBES, CONFIG_X86, CONFIG_S390)))]
    fn only_entries_are_probed() {
        let inside = Place::symbol(c"kernel_clone").plus(16);
        assert_eq!(
            refused::<kind::Instruction<Count>>(inside),
            Some((Reason::NotAnEntry, code::EINVAL))
        );
    }

    #[test]
    fn errnos_have_their_reasons() {
        for (error, reason) in [
            (code::ENOMEM, Reason::NoMemory),
            (code::EBUSY, Reason::Taken),
            (code::EILSEQ, Reason::NotAnInstruction),
            (code::EOPNOTSUPP, Reason::Immovable),
            (code::EIO, Reason::Other),
        ] {
            let refused = Refused::of(error);
            assert_eq!(refused.reason(), reason);
            assert_eq!(refused.errno(), error.to_errno());
        }
        let refused = Refused::from(AllocError);
        assert_eq!(refused.reason(), Reason::NoMemory);
        assert_eq!(Error::from(refused), code::ENOMEM);
    }

    #[test]
    fn state_that_fails_leaves_nothing() -> Result {
        let here = ProcessContext::here()?;
        // SAFETY: It never says that it has initialized anything.
        let failing = unsafe { pin_init::pin_init_from_closure(|_: *mut Counted| Err(EIO)) };
        let refused = Probe::<Count>::register(&here, PROBED, failing).err();
        assert_eq!(
            refused.map(|refused| refused.reason()),
            Some(Reason::NoState)
        );
        assert_eq!(refused.map(|refused| refused.errno()), Some(EIO.to_errno()));
        Ok(())
    }

    #[test]
    fn disabled_probes_are_not_hit() -> Result {
        let here = ProcessContext::here()?;
        let probe = Probe::<Count>::register_disabled(&here, PROBED, Counted::new(&NOBODY))?;
        call(rust_kernel_kprobes_probed);
        assert_eq!(probe.state().hits(), 0);
        for (enabled, hits) in [(false, 0), (true, 1), (true, 2), (false, 2), (true, 3)] {
            if enabled {
                probe.enable(&here)?;
            } else {
                probe.disable(&here)?;
            }
            call(rust_kernel_kprobes_probed);
            assert_eq!(probe.state().hits(), hits);
        }
        Ok(())
    }

    struct Outer;

    impl Handler for Outer {
        type State = ();

        fn before((): &(), _: &Hit<'_>) {
            call(rust_kernel_kprobes_inner);
            rust_kernel_kprobes_called_by_handler();
        }
    }

    /// Part of a handler, under a name that can be probed.
    #[no_mangle]
    #[inline(never)]
    extern "C" fn rust_kernel_kprobes_called_by_handler() {
        black_box(());
    }

    #[test]
    fn hits_in_handlers_are_missed() -> Result {
        let here = ProcessContext::here()?;
        let counted =
            |name| Probe::<Count>::register(&here, Place::symbol(name), Counted::new(&NOBODY));
        let inner = counted(c"rust_kernel_kprobes_inner")?;
        // A handler's own code may be probed, too.
        let own = counted(c"rust_kernel_kprobes_called_by_handler")?;
        let place = Place::symbol(c"rust_kernel_kprobes_outer");
        let outer = Probe::<Outer>::register(&here, place, ())?;
        call(rust_kernel_kprobes_outer);
        call(rust_kernel_kprobes_inner);
        for (probe, hits) in [(&inner, 1), (&own, 0)] {
            assert_eq!(probe.missed(), 1);
            assert_eq!(probe.state().hits(), hits);
        }
        assert_eq!(outer.missed(), 0);
        Ok(())
    }

    struct Wants;

    impl Handler for Wants {
        /// What it is answered: an errno.
        type State = Atomic<i32>;

        fn before(state: &Self::State, _: &Hit<'_>) {
            let said = match ProcessContext::here() {
                Ok(_) => 1,
                Err(refused) => refused.errno(),
            };
            state.store(said, Relaxed);
        }
    }

    #[test]
    fn handlers_get_no_process_context() -> Result {
        let here = ProcessContext::here()?;
        let probe = Probe::<Wants>::register(&here, PROBED, Atomic::new(0))?;
        call(rust_kernel_kprobes_probed);
        assert_eq!(probe.state().load(Relaxed), EDEADLK.to_errno());
        // Nor does a token from before count where interrupts are off.
        let off = crate::interrupt::local_interrupt_disable();
        let refused = probe.disable(&here).err().map(|refused| refused.reason());
        drop(off);
        assert_eq!(refused, Some(Reason::MayNotWait));
        Ok(())
    }

    /// Counts where its hits can be seen when its state cannot.
    struct CountOutside;

    static OUTSIDE: Atomic<u64> = Atomic::new(0);

    impl Handler for CountOutside {
        type State = Counted;

        fn before(_: &Counted, _: &Hit<'_>) {
            OUTSIDE.fetch_add(1, Relaxed);
        }
    }

    struct Drops;

    impl Handler for Drops {
        type State = Slot<Probe<CountOutside>>;

        fn before(state: &Self::State, _: &Hit<'_>) {
            drop(state.take());
        }
    }

    #[test]
    fn probe_dropped_in_a_handler_stays_without_calls() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"rust_kernel_kprobes_abandoned");
        let victim = Probe::register(&here, place, Counted::new(&DROPPED))?;
        let place = Place::symbol(c"rust_kernel_kprobes_abandoner");
        let probe = Probe::<Drops>::register(&here, place, Slot::new(victim))?;
        call(rust_kernel_kprobes_abandoned);
        assert_eq!(OUTSIDE.load(Relaxed), 1);
        call(rust_kernel_kprobes_abandoner);
        call(rust_kernel_kprobes_abandoned);
        assert_eq!(OUTSIDE.load(Relaxed), 1);
        assert_eq!(DROPPED.load(Relaxed), 0);
        assert!(probe.state().take().is_none());
        Ok(())
    }

    struct Sized<const N: usize>;

    impl<const N: usize> Handler for Sized<N> {
        type State = [u8; N];

        fn before(state: &[u8; N], _: &Hit<'_>) {
            black_box(state.last());
        }
    }

    #[test]
    fn state_may_be_empty_or_huge() -> Result {
        let here = ProcessContext::here()?;
        let none = Probe::<Sized<0>>::register(&here, PROBED, [])?;
        // More than there is of the stack.
        const HUGE: usize = 256 * 1024;
        let huge = Probe::<Sized<HUGE>>::register(&here, PROBED, pin_init::init_zeroed())?;
        call(rust_kernel_kprobes_probed);
        assert_eq!(none.state().len(), 0);
        assert_eq!(huge.state().last(), Some(&0));
        assert_eq!(none.address(), huge.address());
        Ok(())
    }

    #[test]
    fn enabling_and_dropping_at_once() -> Result {
        static DROPPED: Atomic<u64> = Atomic::new(0);
        let here = ProcessContext::here()?;
        for _ in 0..10 {
            let probe = Probe::<Count>::register(&here, PROBED, Counted::new(&DROPPED))?;
            let probe = Arc::new(probe, GFP_KERNEL)?;
            let done = Arc::pin_init(Completion::new(), GFP_KERNEL)?;
            let (other, told) = (probe.clone(), done.clone());
            workqueue::system_unbound().try_spawn(GFP_KERNEL, move || {
                for _ in 0..5 {
                    if let Ok(here) = ProcessContext::here() {
                        let _ = other.disable(&here).and_then(|()| other.enable(&here));
                    }
                    call(rust_kernel_kprobes_probed);
                }
                // Whoever comes last unregisters.
                drop(other);
                told.complete_all();
            })?;
            call(rust_kernel_kprobes_probed);
            drop(probe);
            done.wait_for_completion();
        }
        assert_eq!(DROPPED.load(Relaxed), 10);
        Ok(())
    }
}

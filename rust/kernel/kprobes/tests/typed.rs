// SPDX-License-Identifier: GPL-2.0

//! Tests of functions as handlers.

/// What the tests probe.
mod target {
    use super::super::*;

    /// More arguments than any machine has registers for, of all sizes. On machines of 32 bits some
    /// are in pairs of words, which leave others out.
    #[no_mangle]
    #[inline(never)]
    pub(in super::super) extern "C" fn rust_kernel_kprobes_many(
        small: u8,
        wide: u64,
        negative: i16,
        word: usize,
        at: *const u8,
        low: i64,
        yes: bool,
        tiny: i8,
        last_wide: u64,
        no: bool,
        short: u16,
        number: i32,
        end: i64,
    ) -> u64 {
        // They are read, or the caller need not say them.
        black_box((small, wide, negative, word, at, low, yes));
        black_box((tiny, last_wide, no, short, number, end));
        wide
    }

    /// Bits that are not the argument's are what the caller has left there.
    #[no_mangle]
    #[inline(never)]
    pub(in super::super) extern "C" fn rust_kernel_kprobes_narrow(first: u32, second: u32) -> u32 {
        black_box(first).wrapping_add(black_box(second))
    }

    /// Returns more than a register has on some machines.
    #[no_mangle]
    #[inline(never)]
    pub(in super::super) extern "C" fn rust_kernel_kprobes_half(number: u64) -> u64 {
        black_box(number) / 2
    }

    targets! {
        rust_kernel_kprobes_typed
        rust_kernel_kprobes_typed_too
        rust_kernel_kprobes_kept
    }
}

#[kernel::macros::kunit_tests(rust_kernel_kprobes_typed)]
mod cases {
    use super::{
        super::{
            super::*,
            *, //
        },
        target::*, //
    };
    use crate::{
        bindings,
        uaccess::UserPtr, //
    };

    /// The sum of what was seen; each of it at its own place.
    struct Sum {
        seen: Atomic<u64>,
        calls: Atomic<u64>,
    }

    impl Sum {
        const fn new() -> Self {
            Self {
                seen: Atomic::new(0),
                calls: Atomic::new(0),
            }
        }

        fn add(&self, seen: u64) {
            self.seen.fetch_add(seen, Relaxed);
            self.calls.fetch_add(1, Relaxed);
        }

        fn all(&self) -> (u64, u64) {
            (self.seen.load(Relaxed), self.calls.load(Relaxed))
        }
    }

    #[kprobe(symbol = "rust_kernel_kprobes_many")]
    #[expect(clippy::too_many_arguments)]
    fn on_many(
        seen: &[Atomic<u64>; 13],
        small: u8,
        wide: u64,
        negative: i16,
        word: usize,
        at: *const u8,
        low: i64,
        yes: bool,
        tiny: i8,
        last_wide: u64,
        no: bool,
        short: u16,
        number: i32,
        end: i64,
    ) {
        let all = [
            small.into(),
            wide,
            i64::from(negative) as u64,
            word as u64,
            at.addr() as u64,
            low as u64,
            yes.into(),
            i64::from(tiny) as u64,
            last_wide,
            no.into(),
            short.into(),
            i64::from(number) as u64,
            end as u64,
        ];
        for (seen, argument) in seen.iter().zip(all) {
            seen.store(argument, Relaxed);
        }
    }

    #[test]
    fn all_arguments_are_seen() -> Result {
        const WIDE: u64 = 0x1122_3344_5566_7788;
        let here = ProcessContext::here()?;
        let seen = [const { Atomic::new(77) }; 13];
        let probe = on_many::register(&here, seen)?;
        let at = core::ptr::without_provenance(0x1234);
        let answer = rust_kernel_kprobes_many(
            200, WIDE, -3, 4, at, -5, true, -7, !WIDE, false, 0xbeef, -8, -9,
        );
        assert_eq!(answer, WIDE);
        let expected = [
            200,
            WIDE,
            -3i64 as u64,
            4,
            0x1234,
            -5i64 as u64,
            1,
            -7i64 as u64,
            !WIDE,
            0,
            0xbeef,
            -8i64 as u64,
            -9i64 as u64,
        ];
        for (seen, expected) in probe.state().iter().zip(expected) {
            assert_eq!(seen.load(Relaxed), expected);
        }
        Ok(())
    }

    #[kprobe(symbol = "rust_kernel_kprobes_narrow")]
    fn on_narrow(sum: &Sum, first: u8, second: i8) {
        sum.add(u64::from(first) + (i64::from(second) + 1000) as u64);
    }

    #[test]
    fn upper_bits_of_narrow_arguments_are_ignored() -> Result {
        let here = ProcessContext::here()?;
        let probe = on_narrow::register(&here, Sum::new())?;
        let answer = rust_kernel_kprobes_narrow(0x7fff_ff01, 0x1234_56fe);
        assert_eq!(answer, 0x9234_55ff);
        assert_eq!(probe.state().all(), (1 + 998, 1));
        Ok(())
    }

    /// Without a state, it has to count elsewhere.
    static CALLS: Atomic<u64> = Atomic::new(0);

    #[kprobe(symbol = "rust_kernel_kprobes_typed")]
    fn without_anything() {
        CALLS.fetch_add(1, Relaxed);
    }

    #[kprobe(symbol = "rust_kernel_kprobes_typed")]
    fn with_the_call(call: &Entry<'_>, number: usize, negative: i32) {
        // Who asks for the call has all that it tells.
        if call.argument(0) == Some(number) && negative == -2 {
            CALLS.fetch_add(100, Relaxed);
        }
    }

    #[test]
    fn handler_may_leave_out_state_and_call() -> Result {
        let here = ProcessContext::here()?;
        let probes = (
            without_anything::register(&here)?,
            with_the_call::register(&here)?,
        );
        call(rust_kernel_kprobes_typed);
        assert_eq!(CALLS.load(Relaxed), 101);
        drop(probes);
        call(rust_kernel_kprobes_typed);
        assert_eq!(CALLS.load(Relaxed), 101);
        Ok(())
    }

    #[kprobe(symbol = "rust_kernel_kprobes_typed")]
    fn on_typed(sum: &Sum, number: usize, _: i32, yes: bool, at: *const u8) {
        sum.add(number as u64 + u64::from(yes) + at.addr() as u64);
    }

    #[test]
    fn typed_handlers_serve_other_places_in_batches() -> Result {
        let here = ProcessContext::here()?;
        let places = [
            on_typed::PLACE,
            Place::symbol(c"rust_kernel_kprobes_typed_too"),
        ];
        let batch = EntryBatch::<on_typed>::register(&here, &places, |_| Sum::new())?;
        call(rust_kernel_kprobes_typed);
        call(rust_kernel_kprobes_typed_too);
        call(rust_kernel_kprobes_typed_too);
        let mut all = batch.probes().map(|probe| probe.state().all());
        assert_eq!(all.next(), Some((18, 1)));
        assert_eq!(all.next(), Some((36, 2)));
        let inside = on_typed::PLACE.plus(24);
        let refused = EntryProbe::<on_typed>::register(&here, inside, Sum::new()).err();
        assert_eq!(refused.map(|why| why.reason()), Some(Reason::NotAnEntry));
        Ok(())
    }

    /// `void msleep(unsigned int msecs)`
    #[kprobe(function = bindings::msleep)]
    fn on_sleep(sum: &Sum, milliseconds: c_uint) {
        // Others may sleep meanwhile.
        if milliseconds == 17 {
            sum.add(1);
        }
    }

    #[test]
    fn declaration_names_the_probed_function() -> Result {
        let here = ProcessContext::here()?;
        let probe = on_sleep::register(&here, Sum::new())?;
        // SAFETY: One may wait here.
        unsafe { bindings::msleep(17) };
        assert_eq!(probe.state().all(), (1, 1));
        Ok(())
    }

    /// Where the function begins ftrace has its call, and calls the probe, with a stack of its own
    /// between that and the arguments.
    #[kprobe(function = bindings::allocate_resource)]
    #[expect(clippy::too_many_arguments)]
    fn on_allocate(
        sum: &Sum,
        root: *const bindings::resource,
        new: UserPtr,
        size: bindings::resource_size_t,
        least: bindings::resource_size_t,
        most: bindings::resource_size_t,
        align: bindings::resource_size_t,
        function: *const c_void,
        data: *mut c_void,
    ) {
        if size != 0x2000 || root.is_null() || new.as_const_ptr() == root.cast() {
            // Of others.
            return;
        }
        let numbers = (least + most + align) as usize + usize::from(function.is_null());
        sum.add((numbers + data.addr()) as u64);
    }

    #[test]
    fn arguments_on_the_stack_are_those_of_c() -> Result {
        let here = ProcessContext::here()?;
        let probe = on_allocate::register(&here, Sum::new())?;
        let mut root = bindings::resource {
            end: 0xfff,
            ..pin_init::zeroed()
        };
        let mut new = pin_init::zeroed();
        let data = core::ptr::without_provenance_mut(0x5_0000);
        // SAFETY: Both are there. There is not as much room as that, so nothing becomes of it.
        let answer = unsafe {
            bindings::allocate_resource(&mut root, &mut new, 0x2000, 0x10, 0x4000, 8, None, data)
        };
        assert_eq!(answer, EBUSY.to_errno());
        assert_eq!(probe.state().all(), (0x5_4019, 1));
        Ok(())
    }

    /// Has one argument more than `msleep()`.
    #[kprobe(symbol = "msleep")]
    fn has_more(_: c_uint, _: c_uint) {}

    /// Has an argument that is another one than that of `msleep()`.
    #[kprobe(symbol = "msleep")]
    fn has_another(_: u64) {}

    /// Has one argument less than `usleep_range_state()`.
    #[kprobe(symbol = "usleep_range_state")]
    fn has_fewer(_: c_ulong, _: c_ulong) {}

    /// Says that there may be more.
    #[kprobe(symbol = "usleep_range_state")]
    fn has_the_first(_: c_ulong, _: c_ulong, _: ...) {}

    #[test]
    fn wrong_arguments_are_refused_where_btf_has_types() -> Result {
        let here = ProcessContext::here()?;
        let expected = cfg!(CONFIG_DEBUG_INFO_BTF).then_some(Reason::OtherArguments);
        for refused in [
            has_more::register(&here).err(),
            has_another::register(&here).err(),
            has_fewer::register(&here).err(),
        ] {
            assert_eq!(refused.map(|refused| refused.reason()), expected);
        }
        drop(has_the_first::register(&here)?);
        Ok(())
    }

    /// What is read by hand, of a call of what [`on_many`] probes.
    struct ByHand;

    impl EntryHandler for ByHand {
        type State = Sum;

        fn enter(sum: &Sum, call: &Entry<'_>) {
            let mut arguments = call.arguments();
            let _: u8 = arguments.take();
            sum.add(arguments.take());
        }
    }

    #[test]
    fn arguments_may_be_taken_by_hand() -> Result {
        let here = ProcessContext::here()?;
        let probe = EntryProbe::<ByHand>::register(&here, on_many::PLACE, Sum::new())?;
        let null = core::ptr::null();
        rust_kernel_kprobes_many(0, 1 << 40, 0, 0, null, 0, true, 0, 0, true, 0, 0, 0);
        assert_eq!(probe.state().all(), (1 << 40, 1));
        Ok(())
    }

    #[cfg(CONFIG_KRETPROBES)]
    #[kretprobe(symbol = "rust_kernel_kprobes_half")]
    fn on_half(sum: &Sum, call: &Return<'_>, half: u64) {
        sum.add(if call.to() == 0 { 0 } else { half });
    }

    #[cfg(CONFIG_KRETPROBES)]
    #[test]
    fn return_values_are_seen() -> Result {
        let here = ProcessContext::here()?;
        let probe = on_half::register(&here, Sum::new())?;
        assert_eq!(rust_kernel_kprobes_half(0x2468_0000_2468), 0x1234_0000_1234);
        assert_eq!(probe.state().all(), (0x1234_0000_1234, 1));
        Ok(())
    }

    #[cfg(CONFIG_KRETPROBES)]
    /// What is kept is of the client's own type.
    #[derive(Clone, Copy)]
    struct Kept {
        number: usize,
        name: [u8; 3],
    }

    #[cfg(CONFIG_KRETPROBES)]
    struct Odd;

    #[cfg(CONFIG_KRETPROBES)]
    #[kretprobe(symbol = "rust_kernel_kprobes_kept")]
    impl Odd {
        fn enter(number: usize, negative: i32) -> Option<Kept> {
            Self::is_odd(number).then_some(Kept {
                number,
                name: [1, 2, negative.unsigned_abs() as u8],
            })
        }

        fn leave(sum: &Sum, kept: Kept, value: i64) {
            let name: u64 = kept.name.iter().copied().map(u64::from).sum();
            sum.add(kept.number as u64 * 1_000_000 + name * 1000 + value as u64);
        }

        fn is_odd(number: usize) -> bool {
            number % 2 == 1
        }
    }

    #[cfg(CONFIG_KRETPROBES)]
    #[test]
    fn data_of_the_entry_reaches_the_return_handler() -> Result {
        let here = ProcessContext::here()?;
        let probe = Odd::register(&here, Sum::new())?;
        for number in 4..6 {
            let function = black_box(rust_kernel_kprobes_kept as Target);
            assert_eq!(
                function(number, -4, true, core::ptr::null()),
                number as i64 - 3
            );
        }
        // Of the second call alone: 5, 1 + 2 + 4, 2.
        assert_eq!(probe.state().all(), (5_007_002, 1));
        Ok(())
    }

    #[cfg(CONFIG_KRETPROBES)]
    struct Plain;

    /// Neither a state nor anything that is kept.
    #[cfg(CONFIG_KRETPROBES)]
    #[kretprobe(symbol = "rust_kernel_kprobes_kept")]
    impl Plain {
        fn enter(number: usize, _: ...) {
            CALLS_KEPT.fetch_add(number as u64, Relaxed);
        }

        fn leave(value: i64) {
            CALLS_KEPT.fetch_add(value as u64, Relaxed);
        }
    }

    #[cfg(CONFIG_KRETPROBES)]
    static CALLS_KEPT: Atomic<u64> = Atomic::new(0);

    #[cfg(CONFIG_KRETPROBES)]
    #[test]
    fn return_handler_needs_no_data_of_the_entry() -> Result {
        let here = ProcessContext::here()?;
        let probe = Plain::register(&here)?;
        call(rust_kernel_kprobes_kept);
        assert_eq!(CALLS_KEPT.load(Relaxed), 1 + 16);
        drop(probe);
        Ok(())
    }
}

// SPDX-License-Identifier: GPL-2.0

//! Tests of what handlers read behind pointers.

/// What the tests probe.
mod target {
    use super::super::*;

    targets! {
        rust_kernel_kprobes_reads
    }
}

#[kernel::macros::kunit_tests(rust_kernel_kprobes_memory)]
mod cases {
    use super::{
        super::{
            super::*,
            *, //
        },
        target::*, //
    };
    use crate::{
        alloc::allocator::Vmalloc,
        bindings,
        page::PAGE_SIZE,
        uaccess::{
            UserPtr,
            UserSlice, //
        }, //
    };
    use core::mem::{
        offset_of,
        MaybeUninit, //
    };

    /// What a handler is to find out about the pointer that the function is given.
    type Ask = fn(&Entry<'_>, *const u8) -> bool;

    struct Asked {
        ask: Ask,
        yes: Atomic<u64>,
    }

    struct Asks;

    impl EntryHandler for Asks {
        type State = Asked;

        fn enter(asked: &Asked, call: &Entry<'_>) {
            let at = call.argument(3).unwrap_or(core::ptr::null());
            if (asked.ask)(call, at) {
                asked.yes.fetch_add(1, Relaxed);
            }
        }
    }

    /// Calls the function with `at`; what the handler says to `ask`.
    fn in_handler(at: *const u8, ask: Ask) -> Result<bool> {
        let here = ProcessContext::here()?;
        let asked = Asked {
            ask,
            yes: Atomic::new(0),
        };
        let place = Place::symbol(c"rust_kernel_kprobes_reads");
        let probe = EntryProbe::<Asks>::register(&here, place, asked)?;
        black_box(rust_kernel_kprobes_reads)(1, -2, true, at);
        Ok(probe.state().yes.load(Relaxed) == 1)
    }

    #[derive(FromBytes, Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Known {
        wide: u64,
        number: i32,
        bytes: [u8; 4],
    }

    const KNOWN: Known = Known {
        wide: 0x1122_3344_5566_7788,
        number: -9,
        bytes: *b"abcd",
    };

    #[test]
    fn values_are_read() -> Result {
        // One that is aligned, and one that is not.
        #[repr(C, packed)]
        struct Both(Known, u8, Known);

        static BOTH: Both = Both(KNOWN, 0, KNOWN);

        let at = (&raw const BOTH).cast();
        assert!(in_handler(at, |call, at| {
            let behind = at.wrapping_add(size_of::<Known>() + 1);
            call.read(at.cast()) == Ok(KNOWN)
                && call.read(behind.cast()) == Ok(KNOWN)
                && call.read(at.cast()) == Ok(KNOWN.wide)
        })?);

        // A member of a structure of C's, which cannot be read as a whole.
        let mut file = MaybeUninit::<bindings::file>::zeroed();
        let member = (&raw mut file).wrapping_byte_add(offset_of!(bindings::file, f_flags));
        // SAFETY: It is in there, and a number.
        unsafe { member.cast::<u32>().write(0x4321) };
        assert!(in_handler(file.as_ptr().cast(), |call, at| {
            let file = at.cast::<bindings::file>();
            let flags = file.wrapping_byte_add(offset_of!(bindings::file, f_flags));
            call.read(flags.cast::<u32>()) == Ok(0x4321)
        })?);
        Ok(())
    }

    #[test]
    fn strings_are_read() -> Result {
        let at = c"known".as_char_ptr();
        assert!(in_handler(at, |call, at| {
            let mut room = [b'x'; 16];
            call.read_str(at, &mut room) == Ok(c"known")
        })?);
        Ok(())
    }

    #[test]
    fn string_is_cut_to_a_short_buffer() -> Result {
        let at = c"known".as_char_ptr();
        assert!(in_handler(at, |call, at| {
            call.read_str(at, &mut [b'x'; 6]) == Ok(c"known")
                && call.read_str(at, &mut [b'x'; 5]) == Ok(c"know")
                && call.read_str(at, &mut [b'x'; 1]) == Ok(c"")
                && call.read_str(at, &mut []) == Err(Unreadable::NoRoom)
        })?);
        Ok(())
    }

    /// Looks behind a pointer when the call is over.
    #[cfg(CONFIG_KRETPROBES)]
    struct LooksBack;

    #[cfg(CONFIG_KRETPROBES)]
    #[kretprobe(symbol = "rust_kernel_kprobes_reads")]
    impl LooksBack {
        fn enter(_: usize, _: i32, _: bool, at: *const u8) -> usize {
            at.addr()
        }

        fn leave(same: &Atomic<u64>, call: &Return<'_>, at: usize) {
            let at = core::ptr::with_exposed_provenance::<u8>(at);
            let user = UserPtr::from_addr(0x1000);
            let mut room = [0; 8];
            if call.read(at.cast()) == Ok(*b"known\0")
                && call.read_str(at, &mut room) == Ok(c"known")
                && call.read_user::<u8>(user) == Err(Unreadable::NoUser)
                && call.read_user_str(user, &mut room) == Err(Unreadable::NoUser)
            {
                same.fetch_add(1, Relaxed);
            }
        }
    }

    #[cfg(CONFIG_KRETPROBES)]
    #[test]
    fn memory_is_read_at_return() -> Result {
        let here = ProcessContext::here()?;
        let probe = LooksBack::register(&here, Atomic::new(0))?;
        let at = c"known".as_char_ptr();
        at.expose_provenance();
        black_box(rust_kernel_kprobes_reads)(1, -2, true, at);
        assert_eq!(probe.state().load(Relaxed), 1);
        Ok(())
    }

    /// Nobody can read what is not there: a string, a value, or either half of one.
    fn nothing(call: &Entry<'_>, at: *const u8) -> bool {
        let mut room = [0; 8];
        call.read::<u8>(at) == Err(Unreadable::NotThere)
            && call.read::<u64>(at.wrapping_sub(4).cast()) == Err(Unreadable::NotThere)
            && call.read_str(at, &mut room) == Err(Unreadable::NotThere)
    }

    #[test]
    fn reads_of_unmapped_memory_fail() -> Result {
        // A page with an unmapped page behind it, which separates it from other allocations.
        let page = Vec::<u8, Vmalloc>::with_capacity(PAGE_SIZE, GFP_KERNEL)?;
        let end = page.as_ptr().wrapping_add(PAGE_SIZE);
        assert!(in_handler(end, nothing)?);
        // NULL and addresses that the kernel has no memory at; other machines may have some.
        if cfg!(CONFIG_X86_64) {
            for at in [0x10, 1 << 46, 1 << 63, usize::MAX - 7] {
                let at = core::ptr::without_provenance(at);
                assert!(in_handler(at, nothing)?);
            }
            assert!(in_handler(core::ptr::null(), nothing)?);
        }
        Ok(())
    }

    #[test]
    fn string_may_end_right_before_an_unmapped_page() -> Result {
        let mut page = Vec::<u8, Vmalloc>::with_capacity(PAGE_SIZE, GFP_KERNEL)?;
        page.resize(PAGE_SIZE - 6, b'.', GFP_KERNEL)?;
        page.extend_from_slice(b"tail\0!", GFP_KERNEL)?;
        let at = page.as_ptr().wrapping_add(PAGE_SIZE - 6);
        assert!(in_handler(at, |call, at| {
            let mut room = [0; 16];
            let mut too_short = [0; 1];
            let end = at.wrapping_add(5);
            call.read_str(at, &mut room) == Ok(c"tail")
                    // No NUL follows, but a short buffer is full before the page ends.
                    && call.read_str(end, &mut room) == Err(Unreadable::NotThere)
                    && call.read_str(end, &mut too_short) == Ok(c"")
                    && call.read(at.cast()) == Ok(*b"tail\0!")
        })?);
        Ok(())
    }

    #[test]
    fn kernel_task_has_no_user_memory() -> Result {
        let at = c"known".as_char_ptr();
        assert!(in_handler(at, |call, _| {
            let at = UserPtr::from_addr(0x1000);
            let mut room = [0; 8];
            call.read_user::<u32>(at) == Err(Unreadable::NoUser)
                && call.read_user_str(at, &mut room) == Err(Unreadable::NoUser)
        })?);
        Ok(())
    }

    /// Has the task have memory of a user: two pages, of which the second is not there yet.
    fn user_pages() -> Result<UserPtr> {
        // The bindings have no macros of this kind.
        const READ_AND_WRITE: usize = 3;
        const PRIVATE_AND_ANONYMOUS: usize = 0x22;

        // SAFETY: It is a task of its own that runs a test, and ends with it.
        let attached = unsafe { bindings::kunit_attach_mm() };
        crate::error::to_result(attached)?;
        let (none, most) = (core::ptr::null_mut(), 2 * PAGE_SIZE);
        let how = PRIVATE_AND_ANONYMOUS;
        // SAFETY: There is an `mm` now, and no file is wanted.
        let at = unsafe { bindings::vm_mmap(none, 0, most, READ_AND_WRITE, how, 0) };
        if at % PAGE_SIZE != 0 {
            return Err(ENOMEM);
        }
        Ok(UserPtr::from_addr(at))
    }

    #[test]
    fn user_memory_is_read() -> Result {
        let pages = user_pages()?;
        let mut text = [b'.'; 32];
        text[..8].copy_from_slice(b"of user\0");
        UserSlice::new(pages, text.len())
            .writer()
            .write_slice(&text)?;
        assert!(in_handler(pages.as_const_ptr().cast(), |call, at| {
            let user = UserPtr::from_ptr(at.cast_mut().cast());
            let not_there = user.wrapping_byte_add(PAGE_SIZE);
            let kernel = UserPtr::from_ptr(c"known".as_char_ptr().cast_mut().cast());
            let mut room = [b'x'; 16];
            let strings = call.read_user_str(user, &mut room) == Ok(c"of user")
                && call.read_user_str(user, &mut [b'x'; 8]) == Ok(c"of user")
                && call.read_user_str(user, &mut [b'x'; 4]) == Ok(c"of ")
                && call.read_user_str(user, &mut []) == Err(Unreadable::NoRoom)
                && call.read_user_str(not_there, &mut room) == Err(Unreadable::NotThere)
                && call.read_user_str(kernel, &mut room) == Err(Unreadable::NotThere);
            strings
                && call.read_user(user) == Ok(*b"of u")
                && call.read_user::<u32>(not_there) == Err(Unreadable::NotThere)
                && call.read_user::<u32>(kernel) == Err(Unreadable::NotThere)
        })?);
        Ok(())
    }
}

// SPDX-License-Identifier: GPL-2.0

//! Functions of C's, each with what it does to this small kernel.

use super::*;

/// What C returns for success, and for refusal.
const OK: c_int = 0;
const EBUSY: c_int = -16;

// Locks.

pub unsafe fn mutex_lock(lock: *mut mutex) {
    // SAFETY: One of ours.
    events::note(Event::Locked(unsafe { (*lock).0 }));
}

pub unsafe fn mutex_unlock(lock: *mut mutex) {
    // SAFETY: One of ours.
    events::note(Event::Unlocked(unsafe { (*lock).0 }));
}

pub unsafe fn rust_kprobes_cpus_read_lock() {
    events::note(Event::Locked(Lock::Cpus));
}

pub unsafe fn rust_kprobes_cpus_read_unlock() {
    events::note(Event::Unlocked(Lock::Cpus));
}

pub unsafe fn rust_kprobes_preempt_disable() {
    context::stay(1);
}

pub unsafe fn rust_kprobes_preempt_enable() {
    context::stay(-1);
}

pub unsafe fn rust_kprobes_context() -> c_uint {
    context::depth()
}

// Text.

pub unsafe fn text_poke(addr: *mut c_void, opcode: *const c_void, len: usize) -> *mut c_void {
    // SAFETY: By the precondition.
    let code = unsafe { core::slice::from_raw_parts(opcode.cast::<u8>(), len) };
    let at = addr.addr() as u64;
    let event = match text::write_of(at, code) {
        Write::Broken => Event::Broken(at),
        Write::Mended => Event::Mended(at),
        Write::Copied => Event::Copied(at, len),
        Write::Wrong => {
            events::wrong(format!("{code:x?} is written to {at:#x}"));
            return addr;
        }
    };
    events::during(event, || text::write(at, code));
    addr
}

pub unsafe fn smp_text_poke_sync_each_cpu() {
    events::note(Event::Synchronized);
}

pub unsafe fn perf_event_text_poke(
    addr: *const c_void,
    old_bytes: *const c_void,
    old_len: usize,
    new_bytes: *const c_void,
    new_len: usize,
) {
    let [old, new] = [(old_bytes, old_len), (new_bytes, new_len)].map(|(bytes, len)| match len {
        0 => &[],
        // SAFETY: By the precondition.
        _ => unsafe { core::slice::from_raw_parts(bytes.cast::<u8>(), len) },
    });
    perf::tell(addr.addr() as u64, old, new);
}

pub unsafe fn copy_from_kernel_nofault(
    dst: *mut c_void,
    src: *const c_void,
    size: usize,
) -> c_long {
    // SAFETY: By the precondition.
    let into = unsafe { core::slice::from_raw_parts_mut(dst.cast::<u8>(), size) };
    if text::read(src.addr() as u64, into) {
        0
    } else {
        -14
    }
}

pub unsafe fn rust_kprobes_copy_nofault(
    word: *mut c_ulong,
    at: *const c_ulong,
    _lifted: bool,
) -> bool {
    let mut bytes = [0; size_of::<c_ulong>()];
    let there = text::read(at.addr() as u64, &mut bytes);
    // SAFETY: By the precondition.
    unsafe { word.write(c_ulong::from_le_bytes(bytes)) };
    there
}

pub unsafe fn rust_kprobes_has_five_levels() -> bool {
    false
}

pub unsafe fn search_exception_tables(_addr: c_ulong) -> *const c_void {
    core::ptr::null()
}

pub unsafe fn core_kernel_text(addr: c_ulong) -> c_int {
    let addr = addr as u64;
    (text::is_text(addr) && !modules::contains(addr, false) && !modules::is_kept(addr)).into()
}

// Symbols.

pub unsafe fn kallsyms_lookup_name(_name: *const c_char) -> c_ulong {
    0
}

pub unsafe fn kallsyms_lookup_size_offset(
    addr: c_ulong,
    symbolsize: *mut c_ulong,
    offset: *mut c_ulong,
) -> c_int {
    // What has gone is found by its name's side only.
    if modules::is_kept(addr as u64) {
        return 0;
    }
    // SAFETY: By the precondition.
    unsafe { around(addr, symbolsize, offset) }
}

pub unsafe fn rust_kprobes_each_symbol(
    module: *mut module,
    found: Option<unsafe extern "C" fn(*mut c_void, *const c_char, c_ulong) -> c_int>,
    data: *mut c_void,
) -> c_int {
    if module.is_null() {
        return OK;
    }
    let Some(found) = found else { return OK };
    // One that does not count, and the others in the wrong order.
    let mark = (c".Lmark", modules::core_start() + 1);
    let starts = text::starts().into_iter().rev();
    let names = starts.map(|start| (c"function", start));
    for (name, start) in [mark].into_iter().chain(names) {
        if modules::contains(start, false) {
            // SAFETY: By the precondition.
            let status = unsafe { found(data, name.as_ptr().cast(), start as c_ulong) };
            if status != OK {
                return status;
            }
        }
    }
    OK
}

unsafe fn around(addr: c_ulong, symbolsize: *mut c_ulong, offset: *mut c_ulong) -> c_int {
    let Some((start, len)) = text::around(addr as u64) else {
        return 0;
    };
    for (place, value) in [(symbolsize, len), (offset, addr as u64 - start)] {
        if !place.is_null() {
            // SAFETY: By the precondition.
            unsafe { place.write(value as c_ulong) };
        }
    }
    1
}

pub unsafe fn kallsyms_lookup(
    addr: c_ulong,
    symbolsize: *mut c_ulong,
    offset: *mut c_ulong,
    modname: *mut *mut c_char,
    namebuf: *mut c_char,
) -> *const c_char {
    // SAFETY: By the precondition.
    if unsafe { around(addr, symbolsize, offset) } == 0 {
        return core::ptr::null();
    }
    let module = modules::contains(addr as u64, false) || modules::is_kept(addr as u64);
    if module && !modname.is_null() {
        // SAFETY: By the precondition.
        unsafe { modname.write(c"module".as_ptr().cast_mut().cast()) };
    }
    let name = c"function".to_bytes_with_nul();
    // SAFETY: By the precondition, there is room for the longest name.
    unsafe { name.as_ptr().copy_to(namebuf.cast(), name.len()) };
    namebuf
}

pub unsafe fn sprint_symbol(buffer: *mut c_char, address: c_ulong) -> c_int {
    let text = match text::around(address as u64) {
        Some((start, len)) => format!("function+{:#x}/{len:#x}", address as u64 - start),
        None => format!("{address:#x}"),
    };
    // SAFETY: By the precondition, there is room for the longest.
    unsafe {
        buffer.copy_from_nonoverlapping(text.as_ptr(), text.len());
        buffer.add(text.len()).write(0);
    }
    text.len() as c_int
}

pub unsafe fn rust_kprobes_is_gate(_addr: c_ulong) -> bool {
    false
}

// Others' text, of which there is none but a trap in the module.

pub unsafe fn rust_kprobes_cond_resched() {}

/// `end` is the last byte.
pub unsafe fn ftrace_text_reserved(start: *const c_void, end: *const c_void) -> c_int {
    text::is_traced_within(start.addr() as u64..end.addr() as u64 + 1).into()
}

pub unsafe fn rust_kprobes_text_metadata(
    module: *mut module,
    tell: rust_kprobes_metadata_fn,
    data: *mut c_void,
) {
    let trap = (!module.is_null()).then(modules::trap).flatten();
    if let (Some(tell), Some(trap)) = (tell, trap) {
        let trap = core::ptr::with_exposed_provenance(trap as usize);
        // SAFETY: By the precondition.
        unsafe { tell(data, RUST_KPROBES_BUG, trap, 1) };
    }
}

pub unsafe fn sort(
    base: *mut c_void,
    num: usize,
    size: usize,
    cmp_func: Option<unsafe extern "C" fn(*const c_void, *const c_void) -> c_int>,
    _swap_func: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, c_int)>,
) {
    let Some(cmp) = cmp_func else { return };
    let at = |number: usize| base.cast::<u8>().wrapping_add(number * size);
    for number in 1..num {
        for place in (1..=number).rev() {
            let (before, this) = (at(place - 1), at(place));
            // SAFETY: By the precondition, both are elements.
            if unsafe { cmp(before.cast(), this.cast()) } <= 0 {
                break;
            }
            // SAFETY: As above; two elements do not overlap.
            unsafe { core::ptr::swap_nonoverlapping(before, this, size) };
        }
    }
}

// Memory.

pub unsafe fn kvfree_call_rcu(_head: *mut kvfree_rcu_head, ptr: *mut c_void) {
    alloc::hand_over(ptr.cast());
}

pub unsafe fn rust_kprobes_slot_page() -> *mut c_void {
    let page = (!faults::refuses(Call::ExecutablePage)).then(text::allocate_page);
    let Some(page) = page.flatten() else {
        return null_mut();
    };
    events::note(Event::PageCame(page));
    core::ptr::with_exposed_provenance_mut(page as usize)
}

pub unsafe fn rust_kprobes_change_text(
    _change: Option<unsafe extern "C" fn(data: *mut c_void) -> c_int>,
    _data: *mut c_void,
) {
}

pub unsafe fn execmem_free(ptr: *mut c_void) {
    let page = ptr.addr() as u64;
    events::during(Event::PageFreed(page), || text::free_page(page));
}

pub unsafe fn rust_kprobes_ksymbol(_page: c_ulong, _gone: bool, _name: *const c_char) {}

pub unsafe fn rust_kprobes_call_rcu_tasks(
    head: *mut callback_head,
    done: Option<unsafe extern "C" fn(head: *mut callback_head)>,
) {
    if let Some(done) = done {
        events::during(Event::TasksAsked, || rcu_tasks::wait(head, done));
    }
}

// The worker.

pub unsafe fn rust_kprobes_wake_worker() {
    if worker::kick() {
        events::during(Event::Kicked, || ());
    }
}

pub unsafe fn rust_kprobes_wait_for_tasks() {
    rcu_tasks::synchronize();
}

pub unsafe fn flush_delayed_work(_dwork: *mut delayed_work) -> bool {
    worker::flush();
    true
}

// Ftrace.

pub unsafe fn ftrace_location(ip: c_ulong) -> c_ulong {
    if text::is_traced(ip as u64) {
        ip
    } else {
        0
    }
}

fn user(ops: *mut ftrace_ops) -> bool {
    ops != (&raw mut rust_kprobe_ftrace_ops).cast()
}

pub unsafe fn ftrace_set_filter_ip(
    ops: *mut ftrace_ops,
    ip: c_ulong,
    remove: c_int,
    reset: c_int,
) -> c_int {
    let (at, user, on) = (ip as u64, user(ops), remove == 0);
    if faults::refuses(Call::FtraceFilter) {
        return EBUSY;
    }
    let event = if on {
        Event::FtraceAdded(at, user)
    } else {
        Event::FtraceRemoved(at, user)
    };
    events::during(event, || ftrace::filter(at, user, on, reset != 0));
    OK
}

pub unsafe fn register_ftrace_function(ops: *mut ftrace_ops) -> c_int {
    let user = user(ops);
    if ftrace::is_registered(user) || faults::refuses(Call::FtraceRegister) {
        return EBUSY;
    }
    let event = Event::FtraceRegistered(user);
    events::during(event, || ftrace::register(user, true));
    OK
}

pub unsafe fn unregister_ftrace_function(ops: *mut ftrace_ops) -> c_int {
    let user = user(ops);
    if !ftrace::is_registered(user) || faults::refuses(Call::FtraceUnregister) {
        return EBUSY;
    }
    let event = Event::FtraceUnregistered(user);
    events::during(event, || ftrace::register(user, false));
    OK
}

// Modules.

pub unsafe fn rust_kprobes_module_at(addr: c_ulong, _in_text: bool) -> *mut module {
    if modules::contains(addr as u64, false) {
        modules::as_c()
    } else {
        null_mut()
    }
}

pub unsafe fn rust_kprobes_module_get(_module: *mut module) -> bool {
    modules::get()
}

pub unsafe fn rust_kprobes_module_put(_module: *mut module) {}

pub unsafe fn rust_kprobes_in_module(_module: *mut module, addr: c_ulong, init_only: bool) -> bool {
    modules::contains(addr as u64, init_only)
}

// What is said of clients.

pub unsafe fn rust_kprobes_registered_twice() {}

pub unsafe fn rust_kprobes_forgotten(
    _module: *const module,
    _init_only: bool,
    _probe: *const kprobe,
) {
}

/// Does not return in the kernel. Takes no lock here, as it may come between any two instructions.
pub unsafe fn rust_kprobes_unrecoverable(_probe: *const kprobe) {
    HOPELESS.fetch_add(1, Relaxed);
}

static HOPELESS: AtomicUsize = AtomicUsize::new(0);

/// How often a hit would never have ended.
pub fn hopeless_hits() -> usize {
    HOPELESS.load(Relaxed)
}

// Files, for which the host's will do.

pub unsafe fn rust_kprobes_shows_addresses(_file: *const seq_file) -> bool {
    false
}

extern "C" {
    /// The host's has the same shape.
    #[link_name = "fprintf"]
    pub fn seq_printf(file: *mut seq_file, format: *const c_char, ...);
}

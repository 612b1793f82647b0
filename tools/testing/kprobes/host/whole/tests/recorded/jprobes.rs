// SPDX-License-Identifier: GPL-2.0

//! Jprobes: a CPU goes to a client's handler in the place of a function, and ends there as C says.
//! Whatever happens meanwhile, it goes on at the function as if nothing had been.

use crate::prelude::*;

const CALL_LEN: u64 = 5;
/// Where the stack is at the entry of a function.
const STACK: usize = 0x7000;

/// A client's jprobe, which C has the address of as well.
struct Jprobe {
    probe: Box<UnsafeCell<jprobe>>,
    function: u64,
    handler: u64,
    alive: Cell<bool>,
}

impl Jprobe {
    /// On the function at an address, with a handler of its own.
    fn at(function: u64) -> Self {
        let handler = cpu::function(&MOVE);
        let probe = jprobe {
            kp: kprobe {
                addr: core::ptr::with_exposed_provenance_mut(function as usize),
                ..kprobe::ZERO
            },
            entry: core::ptr::with_exposed_provenance_mut(handler as usize),
        };
        Self {
            probe: Box::new(UnsafeCell::new(probe)),
            function,
            handler,
            alive: Cell::new(false),
        }
    }

    #[track_caller]
    fn registered(function: u64) -> Self {
        let jprobe = Self::at(function);
        assert_eq!(jprobe.register(), 0);
        jprobe
    }

    fn as_c(&self) -> *mut jprobe {
        self.probe.get()
    }

    /// What C calls the probe on the entry.
    fn entry(&self) -> *mut kprobe {
        self.as_c().cast()
    }

    fn register(&self) -> c_int {
        // SAFETY: A jprobe that stays until it is unregistered.
        let status = unsafe { c::register_jprobes(&mut self.as_c(), 1) };
        self.alive.set(status == 0);
        status
    }

    fn unregister(&self) {
        // SAFETY: A jprobe that stays.
        unsafe { c::unregister_jprobes(&mut self.as_c(), 1) };
        self.alive.set(false);
    }

    /// Changes its probe, which is not registered.
    fn set(&self, change: impl FnOnce(&mut kprobe)) {
        // SAFETY: It is for us alone then.
        change(unsafe { &mut *self.entry() });
    }

    fn enable(&self) -> c_int {
        // SAFETY: A probe of ours.
        unsafe { c::enable_kprobe(self.entry()) }
    }

    fn disable(&self) -> c_int {
        // SAFETY: A probe of ours.
        unsafe { c::disable_kprobe(self.entry()) }
    }

    fn missed(&self) -> usize {
        // SAFETY: Nothing else runs now.
        unsafe { (*self.as_c()).kp.nmissed }
    }

    /// A CPU comes to its function, and is led to the handler.
    #[track_caller]
    fn leads(&self) -> pt_regs {
        let registers = trapped(self.function);
        check_led_to(self, &registers);
        registers
    }

    /// The handler ends, and the CPU goes on at the function; see [`cpu::stand_in`].
    #[track_caller]
    fn ends(&self, registers: &mut pt_regs, old: bool) {
        assert_eq!(cpu::stand_in(registers, old), Ok(()));
        assert_eq!(cpu::finish(self.function, registers), Ok(()));
    }
}

impl Drop for Jprobe {
    fn drop(&mut self) {
        if self.alive.get() {
            self.unregister();
        }
    }
}

/// The registers of a CPU that has come to the breakpoint at an address, each with its own value.
fn at_entry(at: u64) -> pt_regs {
    pt_regs {
        di: 1,
        si: 2,
        dx: 3,
        cx: 4,
        r8: 5,
        r9: 6,
        ax: 7,
        r10: 8,
        r11: 9,
        bx: 10,
        bp: 11,
        sp: STACK,
        ..cpu::registers(at + 1)
    }
}

#[track_caller]
fn trapped(at: u64) -> pt_regs {
    let mut registers = at_entry(at);
    assert_eq!(cpu::trap(&mut registers, Lost::Breakpoint), Ok(()));
    registers
}

fn seen(r: &pt_regs) -> [usize; 14] {
    [
        r.di, r.si, r.dx, r.cx, r.r8, r.r9, r.ax, r.r10, r.r11, r.bx, r.bp, r.r15, r.sp, r.flags,
    ]
}

/// The CPU has come to the handler of this jprobe, and knows whose it is.
fn check_led_to(jprobe: &Jprobe, registers: &pt_regs) {
    assert!(cpu::is_led_away(registers));
    assert_eq!(cpu::way()[1] as u64, jprobe.handler);
    assert_eq!(cpu::running(), jprobe.entry());
    assert_eq!(context::stays(), 1);
}

#[test]
fn jprobe_handler_gets_and_keeps_the_registers() {
    let mut world = World::new();
    for (insn, old) in [&MOVE[..], &STEPPED, &JUMP]
        .into_iter()
        .flat_map(|insn| [(insn, false), (insn, true)])
    {
        let jprobe = Jprobe::registered(world.place(insn));
        let before = at_entry(jprobe.function);
        ways();
        let mut registers = jprobe.leads();
        assert_eq!(seen(&registers), seen(&before));
        assert_eq!(cpu::way()[0], 8);
        assert_eq!(ways(), [0, 0]);
        assert_eq!(cpu::stand_in(&mut registers, old), Ok(()));
        assert_eq!((context::stays(), paused()), (0, 0));
        // A task that waited for the CPU gets it now.
        assert_eq!(ways(), [1, 0]);
        assert_eq!(cpu::finish(jprobe.function, &mut registers), Ok(()));
        assert_eq!(seen(&registers), seen(&before));
        assert!(cpu::is_idle());
    }
}

/// How often others were let have the CPU since this was last asked, and how often too early.
fn ways() -> [usize; 2] {
    [0, 1].map(|early: usize| bindings::WAYS[early].swap(0, Relaxed))
}

fn paused() -> c_int {
    // SAFETY: Nothing else runs now.
    unsafe { (&raw const bindings::graph_pause).read() }
}

#[test]
fn jprobe_handler_starts_with_df_and_ac_clear() {
    let mut world = World::new();
    let jprobe = Jprobe::registered(world.place(&MOVE));
    let mut registers = at_entry(jprobe.function);
    // Functions are called with both flags clear.
    registers.flags |= 1 << 10 | 1 << 18;
    let flags = registers.flags;
    assert_eq!(cpu::trap(&mut registers, Lost::Breakpoint), Ok(()));
    assert_eq!(registers.flags, cpu::FLAGS);
    assert_eq!(cpu::stand_in(&mut registers, true), Ok(()));
    let ended = cpu::finish(jprobe.function, &mut registers);
    assert_eq!((ended, registers.flags), (Err(Lost::Flags), flags));
}

#[test]
fn stack_copy_ends_at_the_end_of_the_stack() {
    let mut world = World::new();
    let jprobe = Jprobe::registered(world.place(&MOVE));
    for (left, words) in [(0, 0), (8, 0), (16, 1), (64, 7), (72, 8), (800, 8)] {
        bindings::set_stack_left(left);
        let mut registers = jprobe.leads();
        assert_eq!(cpu::way()[0], words);
        jprobe.ends(&mut registers, false);
    }
    bindings::set_stack_left(usize::MAX);
}

#[test]
fn ftrace_enters_a_jprobe_through_the_ipmodify_user() {
    let mut world = World::new();
    for after in [false, true] {
        let place = world.traced();
        let around = [Client::around(place)];
        let jprobe = Jprobe::registered(place);
        assert_eq!(ftrace::calls(), [(place, true)]);
        if after {
            assert_eq!(client::register(&around), 0);
        }
        let next = place + CALL_LEN;
        let before = at_entry(next - 1);
        let mut registers = before;
        cpu::call_of_ftrace(&mut registers, place, true);
        check_led_to(&jprobe, &registers);
        assert_eq!(registers.sp, STACK);
        assert_eq!(around[0].calls(), (after.into(), 0));
        assert_eq!(cpu::stand_in(&mut registers, after), Ok(()));
        assert_eq!((registers.ip as u64, context::stays()), (next, 0));
        assert_eq!(seen(&registers), seen(&before));
        assert_eq!(around[0].calls(), (after.into(), after.into()));
        assert!(cpu::is_idle());
    }
}

#[test]
fn jprobe_is_missed_where_a_trampoline_is_attached() {
    let mut world = World::new();
    let place = world.traced();
    let jprobe = Jprobe::registered(place);
    let around = client::registered([Client::around(place)]);
    events::at_every_moment(|| ());
    let calls = around[0].calls();
    bindings::TRAMPOLINES.store(true, Relaxed);
    assert_eq!(cpu::call_from(place, true), Ok(()));
    bindings::TRAMPOLINES.store(false, Relaxed);
    assert_eq!(jprobe.missed(), 1);
    assert_eq!(around[0].calls(), (calls.0 + 1, calls.1 + 1));
    assert!(cpu::is_idle());
}

/// How often a CPU was led away by the plain user while that one alone was called.
static ALONE: AtomicUsize = AtomicUsize::new(0);
static WATCHED: AtomicU64 = AtomicU64::new(0);

fn come_watched() {
    let at = WATCHED.load(Relaxed);
    let calls = ftrace::calls();
    for &(at, user) in calls.iter().filter(|&&(place, _)| place == at) {
        let mut registers = at_entry(at + CALL_LEN - 1);
        cpu::call_of_ftrace(&mut registers, at, user);
        if cpu::is_led_away(&registers) {
            if !calls.contains(&(at, true)) {
                ALONE.fetch_add(1, Relaxed);
            }
            if cpu::stand_in(&mut registers, true).is_err() {
                events::wrong("a handler does not end".into());
            }
        }
    }
}

#[test]
fn only_the_ipmodify_user_enters_a_jprobe() {
    let mut world = World::new();
    let place = world.traced();
    let first = client::registered([Client::at(place)]);
    let jprobe = Jprobe::at(place);
    WATCHED.store(place, Relaxed);
    ALONE.store(0, Relaxed);
    events::at_every_moment(come_watched);
    world.story();
    assert_eq!(jprobe.register(), 0);
    world.has_told("lock add-a-change change-on unlock");
    assert_eq!(ALONE.load(Relaxed), 0);
    // Enabling a jprobe that was registered disabled adds the IPMODIFY user first, too.
    jprobe.unregister();
    client::unregister(&first);
    assert_eq!(client::register(&first), 0);
    jprobe.set(|probe| {
        probe.flags = KPROBE_FLAG_DISABLED;
        probe.addr = core::ptr::with_exposed_provenance_mut(place as usize);
    });
    assert_eq!(jprobe.register(), 0);
    world.story();
    assert_eq!(jprobe.enable(), 0);
    world.has_told("lock add-a-change change-on unlock");
    assert_eq!(ALONE.load(Relaxed), 0);
}

#[test]
fn jprobe_is_called_after_all_other_probes() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    let older = client::registered([Client::at(place)]);
    let jprobe = Jprobe::registered(place);
    let newer = client::registered([Client::around(place)]);
    events::at_every_moment(|| ());
    let calls = || (older[0].calls(), newer[0].calls());
    let ((old, _), (new, new_after)) = calls();
    let mut registers = jprobe.leads();
    assert_eq!(calls(), ((old + 1, 0), (new + 1, new_after)));
    jprobe.ends(&mut registers, false);
    assert_eq!(calls(), ((old + 1, 0), (new + 1, new_after + 1)));
    // Where another probe has changed the path, the jprobe is not called.
    let chooser = [Client::at(place)];
    chooser[0].set(|probe| probe.pre_handler = Some(choose));
    assert_eq!(client::register(&chooser), 0);
    assert_eq!(trapped(place).ip, ELSEWHERE);
    assert!(cpu::is_idle());
    client::unregister(&chooser);
    // A disabled jprobe is not called.
    assert_eq!(jprobe.disable(), 0);
    let mut registers = trapped(place);
    assert!(!cpu::is_led_away(&registers));
    assert_eq!(cpu::finish(place, &mut registers), Ok(()));
}

const ELSEWHERE: usize = 0x1234;

unsafe extern "C" fn choose(_probe: *mut kprobe, registers: *mut pt_regs) -> c_int {
    // SAFETY: They are there.
    unsafe { (*registers).ip = ELSEWHERE };
    1
}

/// A CPU in the handler of the function at an address, and after how many more moments that ends.
static INSIDE: Mutex<Option<(u64, pt_regs, usize)>> = Mutex::new(None);

fn end_in_time() {
    let mut inside = INSIDE.lock().unwrap();
    let Some((at, mut registers, left)) = inside.take() else {
        return;
    };
    if left > 0 {
        *inside = Some((at, registers, left - 1));
        return;
    }
    let ended = cpu::stand_in(&mut registers, false);
    let ended = ended.and_then(|()| match text::is_traced(at) {
        true if registers.ip as u64 == at + CALL_LEN => Ok(()),
        true => Err(Lost::GoesOnAt(registers.ip as u64)),
        false => cpu::finish(at, &mut registers),
    });
    if let Err(lost) = ended {
        let latest = events::latest();
        events::wrong(format!("{lost:?}: a handler's end after {latest:?}"));
    }
}

/// A CPU comes to the handler of this jprobe, if `comes`; then that is unregistered, and the other
/// probe, if there is one. The handler ends after so many moments. Tells how many there are before
/// the first grace period is over.
fn unregister_around(at: u64, other: Option<&[Client; 1]>, comes: bool, moments: usize) -> usize {
    events::at_every_moment(|| ());
    let jprobe = Jprobe::registered(at);
    if let Some(other) = other {
        assert_eq!(client::register(other), 0);
    }
    if comes {
        let registers = if text::is_traced(at) {
            let mut registers = at_entry(at + CALL_LEN - 1);
            cpu::call_of_ftrace(&mut registers, at, true);
            registers
        } else {
            trapped(at)
        };
        check_led_to(&jprobe, &registers);
        *INSIDE.lock().unwrap() = Some((at, registers, moments));
    }
    events::history();
    events::at_every_moment(end_in_time);
    jprobe.unregister();
    if let Some(other) = other {
        client::unregister(other);
    }
    events::at_every_moment(|| ());
    let events = events::history().into_iter();
    2 * events
        .take_while(|&event| event != Event::GracePeriod)
        .count()
        + 1
}

#[test]
fn jprobe_handler_may_end_during_the_first_grace_period() {
    let mut world = World::new();
    for insn in [&MOVE[..], &STEPPED, &JUMP, &[]] {
        let at = if insn.is_empty() {
            world.traced()
        } else {
            world.place(insn)
        };
        let clients = [Client::around(at)];
        for other in [None, Some(&clients)] {
            let moments = unregister_around(at, other, false, 0);
            assert!(moments > 2);
            for after in 0..moments {
                unregister_around(at, other, true, after);
                assert!(INSIDE.lock().unwrap().is_none());
                assert!(cpu::is_idle(), "after {after} moments");
                assert_eq!(events::complaints(), Vec::<String>::new());
            }
        }
    }
}

#[test]
fn forgotten_jprobe_is_removed_before_its_module() {
    let mut world = World::new();
    let place = world.place(&JUMP);
    let jprobe = Jprobe::registered(place);
    world.story();
    modules::load(Layout::of(jprobe.handler..jprobe.handler + 1));
    world::go(false);
    world.has_told("lock [ mend-a sync ] wait unlock wait free");
    assert!(!cpu::is_known(place));
    jprobe.alive.set(false);
}

static INNER: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicUsize = AtomicUsize::new(0);

fn inner_hit() {
    if cpu::come(INNER.load(Relaxed)).is_err() {
        WRONG.fetch_add(1, Relaxed);
    }
}

#[test]
fn hit_between_any_two_insns_of_a_jprobe_is_handled() {
    let mut world = World::new();
    let outer = [&MOVE[..], &STEPPED, &JUMP].map(|insn| world.place(insn));
    let inner = client::registered([
        Client::around(world.place(&STEPPED)),
        Client::at(world.place(&MOVE)),
    ]);
    for at in outer {
        let _jprobe = Jprobe::registered(at);
        for other in &inner {
            INNER.store(other.place(), Relaxed);
            for after in 0.. {
                WRONG.store(0, Relaxed);
                let mut ended = Err(Lost::Breakpoint);
                let came = stepping::once(|| ended = cpu::come(at), inner_hit, after);
                assert_eq!(ended, Ok(()), "after {after} instructions");
                assert_eq!(WRONG.load(Relaxed), 0, "after {after} instructions");
                assert!(cpu::is_idle(), "after {after} instructions");
                assert_eq!(context::stays(), 0);
                if !came {
                    assert!(after > 40);
                    break;
                }
            }
        }
    }
}

// SPDX-License-Identifier: GPL-2.0

//! Return probes: tasks enter functions and leave them, on one CPU or another, while probes come
//! and go. Whatever happens, each task goes on where it was called from, and nothing is left.
//!
//! Miri has no traps and no data of a CPU: there a hit goes to the handler of a function's entry
//! at once, and nobody wants to be told of ends.

mod coming;
mod ending;
#[cfg(not(miri))]
mod locked;
#[cfg(not(miri))]
mod memory;
#[cfg(not(miri))]
mod speed;
mod waves;

use crate::prelude::*;

const EINVAL: c_int = -22;
const ENOMEM: c_int = -12;

/// The first of what tasks go on at.
const CALLER: usize = 0x1000;

/// A client with a return probe.
struct Client(NonNull<Shared>);

/// Its probe, and what its handlers have seen.
#[repr(C)]
struct Shared {
    probe: UnsafeCell<kretprobe>,
    alive: AtomicBool,
    /// Does it want the next call?
    wants: AtomicBool,
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// The sum of what it has noted of each call that began, less those that ended.
    marks: AtomicUsize,
}

/// Whose call it is.
unsafe fn of_call<'a>(call: *mut kretprobe_instance) -> &'a Shared {
    // SAFETY: Its store's owner is where C finds it, and comes first in a client.
    let client = unsafe { &*(*(*call).node.rethook).data.cast::<Shared>() };
    if !client.alive.load(Relaxed) {
        events::wrong(format!(
            "a client is called for {call:p}, which is not registered"
        ));
    }
    client
}

/// Where a client keeps something for a call.
fn data(call: *mut kretprobe_instance) -> *mut usize {
    call.wrapping_add(1).cast()
}

unsafe extern "C" fn begins(call: *mut kretprobe_instance, registers: *mut pt_regs) -> c_int {
    // SAFETY: All calls here are those of clients.
    let client = unsafe { of_call(call) };
    if !client.wants.swap(true, Relaxed) {
        return 1;
    }
    // SAFETY: They are there.
    let mark = unsafe { (*registers).sp };
    // SAFETY: There is room for one word, which this client has asked for.
    unsafe { data(call).write(mark) };
    client.begun.fetch_add(1, Relaxed);
    client.marks.fetch_add(mark, Relaxed);
    0
}

unsafe extern "C" fn ends(call: *mut kretprobe_instance, registers: *mut pt_regs) -> c_int {
    // SAFETY: All calls here are those of clients.
    let client = unsafe { of_call(call) };
    // SAFETY: It was noted when the call began.
    client
        .marks
        .fetch_sub(unsafe { data(call).read() }, Relaxed);
    client.ended.fetch_add(1, Relaxed);
    if cpu::running() != client.probe.get().cast() {
        events::wrong("somebody else is told of an end".into());
    }
    // SAFETY: Both are there.
    if unsafe { (*call).node.ret_addr != (*registers).ip } {
        events::wrong("a client is told of another place to go on at".into());
    }
    0
}

impl Client {
    /// Watches so many calls at once of the function at an address.
    fn of(function: u64, calls: c_int) -> Self {
        let kp = kprobe {
            addr: core::ptr::with_exposed_provenance_mut(function as usize),
            ..kprobe::ZERO
        };
        let probe = kretprobe {
            kp,
            handler: (!cfg!(miri)).then_some(ends as _),
            entry_handler: Some(begins),
            maxactive: calls,
            nmissed: 0,
            data_size: size_of::<usize>(),
            rh: core::ptr::null_mut::<rethook>(),
        };
        let shared = Box::new(Shared {
            probe: UnsafeCell::new(probe),
            alive: AtomicBool::new(false),
            wants: AtomicBool::new(true),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            marks: AtomicUsize::new(0),
        });
        Self(NonNull::from(Box::leak(shared)))
    }

    /// A registered client without handlers, which keeps `data_size` bytes for each call.
    fn silent(function: u64, calls: usize, data_size: usize) -> Self {
        let client = Self::of(function, calls as c_int);
        client.set(|probe| {
            (probe.handler, probe.entry_handler) = (None, None);
            probe.data_size = data_size;
        });
        assert_eq!(client.register(), 0);
        client
    }

    fn shared(&self) -> &Shared {
        // SAFETY: Ours until we are dropped; what changes is in cells.
        unsafe { self.0.as_ref() }
    }

    fn as_c(&self) -> *mut kretprobe {
        self.0.as_ptr().cast()
    }

    /// Changes its probe, which is not registered.
    fn set(&self, change: impl FnOnce(&mut kretprobe)) {
        // SAFETY: It is for us alone then.
        change(unsafe { &mut *self.as_c() });
    }

    /// What its probe says now.
    fn probe(&self) -> kretprobe {
        // SAFETY: Nothing else runs now.
        unsafe { self.as_c().read_volatile() }
    }

    fn register(&self) -> c_int {
        let status = register(&[self]);
        if status == 0 {
            assert!(!self.probe().rh.is_null());
        }
        status
    }

    fn unregister(&self) {
        // SAFETY: A probe that stays.
        unsafe { c::unregister_kretprobes(&mut self.as_c(), 1) };
        self.shared().alive.store(false, Relaxed);
        assert!(self.probe().rh.is_null());
    }

    /// Unregisters it, after which nothing may be left.
    #[track_caller]
    fn ends(&self) {
        self.unregister();
        nothing_is_left();
    }

    fn reserve(&self, calls: c_uint) -> c_int {
        // SAFETY: A probe that stays.
        unsafe { c::kretprobe_reserve(self.as_c(), calls) }
    }

    fn missed(&self) -> c_int {
        self.probe().nmissed
    }

    /// How many calls it was told of when they began, and when they were over.
    fn calls(&self) -> (usize, usize) {
        let shared = self.shared();
        (shared.begun.load(Relaxed), shared.ended.load(Relaxed))
    }

    /// Was it told of so many calls, of each twice?
    #[track_caller]
    fn expect(&self, calls: usize) {
        let ended = if cfg!(miri) { 0 } else { calls };
        assert_eq!(self.calls(), (calls, ended));
        if !cfg!(miri) {
            let marks = self.shared().marks.load(Relaxed);
            assert_eq!(marks, 0, "a call has lost its data");
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.shared().alive.load(Relaxed) {
            self.unregister();
        }
        // SAFETY: It came from a box, and C does not have it any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Registers the probes of all of them.
fn register(clients: &[&Client]) -> c_int {
    let mut probes: Vec<_> = clients.iter().map(|client| client.as_c()).collect();
    for client in clients {
        // What was unregistered is left disabled, as C does.
        client.set(|probe| probe.kp.flags = 0);
        client.shared().alive.store(true, Relaxed);
    }
    // SAFETY: Probes that stay until they are unregistered.
    let status = unsafe { c::register_kretprobes(probes.as_mut_ptr(), probes.len() as c_int) };
    if status != 0 {
        let alive = clients.iter().map(|client| &client.shared().alive);
        alive.for_each(|alive| alive.store(false, Relaxed));
    }
    status
}

/// A function that a task is in: what the stack has of it, and of the trampoline.
#[repr(C)]
struct Frame {
    registers: pt_regs,
    /// Where it returns to.
    to: usize,
}

/// Of how many of a task's calls it is looked where they return to, each time that one is over.
/// Of all of them would be the square of their number, and Miri takes its time.
const LOOKED_AT: usize = if cfg!(miri) { 8 } else { usize::MAX };

/// A task, and the functions that it is in.
struct Caller {
    task: Task,
    stack: Vec<(NonNull<Frame>, usize)>,
}

impl Caller {
    fn new() -> Self {
        Self {
            task: Task::new(),
            stack: Vec::new(),
        }
    }

    /// Calls a function, on a CPU. `clients` are those on its entry.
    fn enter(&mut self, cpu: i32, function: u64, clients: &[&Client]) {
        if cfg!(miri) && text::breakpoints().any(|at| at == function) {
            return self.come(cpu, function, clients);
        }
        let mut registers = self.call(cpu, function);
        if !text::breakpoints().any(|at| at == function) {
            return;
        }
        let came = cpu::trap(&mut registers, cpu::Lost::Breakpoint);
        let came = came.and_then(|()| cpu::finish(function, &mut registers));
        if let Err(lost) = came {
            events::wrong(format!("{lost:?}: a task came to {function:#x}"));
        }
    }

    /// The same, where a hit has found the clients' probes already.
    fn come(&mut self, cpu: i32, function: u64, clients: &[&Client]) {
        let mut registers = self.call(cpu, function);
        for client in clients {
            let entry = client.as_c().cast();
            // SAFETY: A probe that is hit, and registers of our own.
            unsafe { kernel::bindings::rust_kprobes_function_entered(entry, &mut registers) };
        }
    }

    /// Comes to a function, on a CPU; with what registers.
    fn call(&mut self, cpu: i32, function: u64) -> pt_regs {
        self.task.run(cpu);
        let to = CALLER + self.stack.len();
        let mut registers = cpu::registers(function + 1);
        let frame = NonNull::from(Box::leak(Box::new(Frame { registers, to })));
        self.stack.push((frame, to));
        // SAFETY: Ours, until the function returns.
        registers.sp = unsafe { &raw mut (*frame.as_ptr()).to }.expose_provenance();
        registers
    }

    /// The function that it is in returns, on a CPU.
    fn leave(&mut self, cpu: i32) {
        self.task.run(cpu);
        self.unwind();
        let (frame, to) = self.stack.pop().expect("a function");
        // SAFETY: It came from a box, and nobody else has it.
        unsafe {
            let place = frame.as_ptr();
            if (*place).to == tasks::trampoline() {
                (*place).registers = cpu::registers(0);
                c::rust_kprobes_returned(place.cast());
                if (*place).registers.ip != to {
                    events::wrong("a task was told to go on elsewhere".into());
                }
            }
            if Box::from_raw(place).to != to {
                events::wrong("a function has returned to elsewhere".into());
            }
        }
    }

    /// All that it is in returns.
    fn leave_all(&mut self, cpu: i32) {
        while !self.stack.is_empty() {
            self.leave(cpu);
        }
    }

    /// Somebody looks where its functions return to.
    fn unwind(&self) {
        let mut last = core::ptr::null_mut();
        for (frame, to) in self.stack.iter().rev().take(LOOKED_AT) {
            // SAFETY: It is there.
            let place = unsafe { &raw const (*frame.as_ptr()).to };
            // SAFETY: As before.
            if unsafe { place.read() } != tasks::trampoline() {
                continue;
            }
            let task = self.task.as_c();
            // SAFETY: A task that stays, and what the call before has left.
            let found = unsafe { c::rethook_find_ret_addr(task, place.addr(), &mut last) };
            if found != *to {
                events::wrong(format!("{found:#x} is found where {to:#x} was"));
            }
        }
    }

    /// It dies in what it is in.
    fn die(&mut self) {
        // SAFETY: A task that never runs again.
        unsafe { c::rethook_flush_task(self.task.as_c()) };
        for (frame, _) in self.stack.drain(..) {
            // SAFETY: It came from a box, and nobody else has it.
            drop(unsafe { Box::from_raw(frame.as_ptr()) });
        }
    }
}

/// The worker comes if it was asked; tells whether it was.
fn tend() -> bool {
    let asked = tasks::are_asked();
    if asked {
        // SAFETY: We are the worker.
        unsafe { c::rust_kprobes_service_pools() };
    }
    asked
}

/// What a store consists of: itself, its blocks, and what CPUs have of it.
const STORE: [&str; 3] = ["pool::Pool", "pool::Line]", "pool::Place]"];

/// How many there are of these.
fn stores() -> [usize; STORE.len()] {
    let before = BEFORE.get();
    core::array::from_fn(|number| alloc::there(STORE[number]) - before[number])
}

std::thread_local! {
    /// How many there were before this test: one that failed may have left some.
    static BEFORE: Cell<[usize; STORE.len()]> = const { Cell::new([0; STORE.len()]) };
}

/// A kernel in which nothing comes in between.
fn quiet() -> World {
    let world = World::new();
    tasks::set_cpus([4, 3, 2]);
    c::limit_growth(4096);
    events::at_every_moment(|| ());
    while tend() {}
    BEFORE.set(Default::default());
    BEFORE.set(stores());
    world
}

/// The same, and a function.
fn quiet_at(insn: &[u8]) -> (World, u64) {
    let mut world = quiet();
    let function = world.place(insn);
    (world, function)
}

/// The same, and a function that a client's return probe is at, for so many calls at a time.
fn registered(calls: c_int) -> (World, u64, Client) {
    let (world, function) = quiet_at(&MOVE);
    let client = Client::of(function, calls);
    assert_eq!(client.register(), 0);
    (world, function, client)
}

/// All that was asked for was done, and nothing is left.
#[track_caller]
fn nothing_is_left() {
    while tend() {}
    assert_eq!(stores(), [0; STORE.len()]);
    assert_eq!(events::complaints(), Vec::<String>::new());
}

#[test]
fn calls_of_tasks_nest_and_mix() {
    let mut world = quiet();
    let (outer, inner) = (world.place(&cpu::MOVE), world.place(&cpu::MOVE));
    let clients = [Client::of(outer, 10), Client::of(inner, 10)];
    assert_eq!(register(&[&clients[0], &clients[1]]), 0);
    let mut tasks = [Caller::new(), Caller::new(), Caller::new()];
    for (cpu, task) in tasks.iter_mut().enumerate() {
        for _ in 0..2 {
            task.enter(cpu as i32, outer, &[&clients[0]]);
            task.enter(cpu as i32, inner, &[&clients[1]]);
        }
        assert!(task.task.has_calls());
    }
    for round in 0..4 {
        for (number, task) in tasks.iter_mut().enumerate() {
            task.leave((number as i32 + round) % 4);
        }
    }
    for client in &clients {
        client.expect(6);
        assert_eq!(client.missed(), 0);
        client.unregister();
    }
    assert!(tasks.iter().all(|task| !task.task.has_calls()));
    nothing_is_left();
}

#[test]
fn several_probes_watch_one_call() {
    let (_world, function) = quiet_at(&MOVE);
    let clients = [1, 2, 3].map(|calls| Client::of(function, calls));
    let all = [&clients[0], &clients[1], &clients[2]];
    assert_eq!(register(&all), 0);
    let mut task = Caller::new();
    for _ in 0..4 {
        task.enter(0, function, &all);
    }
    task.leave_all(1);
    for (number, client) in clients.iter().enumerate() {
        client.expect(number + 1);
        assert_eq!(client.missed(), 3 - number as c_int);
    }
    // Each on its way, in an order of its own.
    task.enter(0, function, &all);
    for number in [1, 0, 2] {
        clients[number].unregister();
        tend();
    }
    assert_eq!(stores()[0], 3);
    task.leave_all(0);
    nothing_is_left();
}

#[test]
fn call_that_no_probe_wants_takes_no_instance() {
    let (_world, function, client) = registered(1);
    let mut task = Caller::new();
    for _ in 0..3 {
        client.shared().wants.store(false, Relaxed);
        task.enter(0, function, &[&client]);
        assert!(!task.task.has_calls());
    }
    task.enter(0, function, &[&client]);
    assert!(task.task.has_calls());
    task.leave_all(0);
    client.expect(1);
    assert_eq!(client.missed(), 0);
    client.ends();
}

#[test]
fn lost_calls_make_a_store_grow() {
    let (_world, function, client) = registered(2);
    let mut task = Caller::new();
    for _ in 0..200 {
        task.enter(0, function, &[&client]);
    }
    assert_eq!(client.missed(), 198);
    // Without memory, the next lost call asks the worker again.
    faults::refuse(Call::Allocate, 0);
    assert!(tend());
    assert!(!faults::none());
    task.enter(0, function, &[&client]);
    assert_eq!(client.missed(), 199);
    assert!(tend());
    task.leave_all(0);
    let before = client.calls().0;
    for number in 0..3 {
        task.enter(number % 4, function, &[&client]);
    }
    task.leave_all(3);
    assert_eq!((client.calls().0 - before, client.missed()), (3, 199));
    assert_eq!(client.reserve(300), 0);
    for number in 0..300 {
        task.enter(number % 4, function, &[&client]);
    }
    assert_eq!(client.missed(), 199);
    task.leave_all(0);
    client.ends();
}

#[test]
fn a_store_stays_until_its_last_call_is_over() {
    let (_world, function, client) = registered(100);
    let mut tasks = [Caller::new(), Caller::new(), Caller::new()];
    for (cpu, task) in tasks.iter_mut().enumerate() {
        (0..20).for_each(|_| task.enter(cpu as i32, function, &[&client]));
    }
    tasks[0].leave(0);
    client.unregister();
    // One is late before they are counted.
    tasks[0].leave(0);
    assert!(tend());
    assert_eq!(stores()[0], 1);
    tasks[0].leave_all(1);
    tasks[1].die();
    for _ in 0..19 {
        tasks[2].leave(2);
    }
    tend();
    assert_eq!(stores()[0], 1);
    tasks[2].leave(0);
    assert!(tend());
    assert_eq!(client.calls().0, 60);
    assert_eq!(client.calls().1, if cfg!(miri) { 0 } else { 1 });
    nothing_is_left();
    // The same probe, with a new store.
    assert_eq!(client.register(), 0);
    client.ends();
}

#[test]
fn refused_return_probe_undoes_its_batch() {
    let (_world, function) = quiet_at(&MOVE);
    let good = Client::of(function, 10);
    let bad = Client::of(function + 1, 10);
    for batch in [[&good, &bad], [&bad, &good], [&good, &good]] {
        assert_eq!(register(&batch), EINVAL);
        assert!(good.probe().rh.is_null() && bad.probe().rh.is_null());
        nothing_is_left();
    }
}

#[test]
fn memory_that_is_refused_leaves_nothing() {
    let (_world, function) = quiet_at(&MOVE);
    let client = Client::of(function, 100);
    let mut refused = 0;
    loop {
        faults::refuse(Call::Allocate, refused);
        let status = client.register();
        if faults::none() {
            assert_eq!(status, 0);
            break;
        }
        assert_eq!(status, ENOMEM);
        assert!(client.probe().rh.is_null());
        nothing_is_left();
        refused += 1;
    }
    // The store's own: homes, the store, and three blocks or more.
    assert!(refused >= 5);
    let more = (1..).take_while(|&number| {
        faults::refuse(Call::Allocate, number - 1);
        let status = client.reserve(400 * number as c_uint);
        let left = faults::none();
        assert_eq!(status, if left { 0 } else { ENOMEM });
        !left
    });
    assert!(more.count() >= 2);
    let mut task = Caller::new();
    (0..400).for_each(|_| task.enter(0, function, &[&client]));
    assert_eq!(client.missed(), 0);
    task.leave_all(0);
    client.ends();
}

/// Who unwinds a task that sleeps, one function after the other. In between he may be preempted,
/// and the task runs.
struct Unwinder {
    task: *mut task_struct,
    /// Where the addresses are that its functions return to.
    places: Vec<usize>,
    last: *mut llist_node,
}

impl Unwinder {
    fn of(caller: &Caller) -> Self {
        let frames = caller.stack.iter().map(|(frame, _)| frame.as_ptr());
        // SAFETY: It is there.
        let places = frames.map(|frame| unsafe { &raw const (*frame).to }.addr());
        Self {
            task: caller.task.as_c(),
            places: places.collect(),
            last: core::ptr::null_mut(),
        }
    }

    /// He comes to a function; where does it return to?
    fn find(&mut self, depth: usize) -> usize {
        let place = self.places[depth];
        // SAFETY: A task that stays, and what the call before has left.
        unsafe { c::rethook_find_ret_addr(self.task, place, &mut self.last) }
    }
}

#[test]
fn late_unwinder_finds_only_calls_that_are_not_over() {
    let (_world, function, client) = registered(3);
    let mut task = Caller::new();
    (0..3).for_each(|_| task.enter(0, function, &[&client]));
    let (mut late, mut later) = (Unwinder::of(&task), Unwinder::of(&task));
    assert_eq!(late.find(2), CALLER + 2);
    assert_eq!((later.find(2), later.find(1)), (CALLER + 2, CALLER + 1));
    task.leave(0);
    // The next call of the one is over; that of the other one is not.
    assert_eq!(late.find(1), 0);
    assert_eq!(later.find(0), CALLER);
    task.leave_all(0);
    client.ends();
}

#[test]
fn late_unwinder_reads_no_freed_instance() {
    let (_world, function, client) = registered(2);
    let mut task = Caller::new();
    (0..2).for_each(|_| task.enter(0, function, &[&client]));
    let mut late = Unwinder::of(&task);
    assert_eq!(late.find(1), CALLER + 1);
    task.leave_all(0);
    client.ends();
    assert_eq!(late.find(0), 0);
}

std::thread_local! {
    /// What goes on at every moment.
    static MEANWHILE: Cell<Option<NonNull<Meanwhile>>> = const { Cell::new(None) };
}

/// A function that two tasks call again and again.
struct Meanwhile {
    function: u64,
    client: Client,
    tasks: [Caller; 2],
    moments: usize,
}

/// One task calls the function, which returns. The other one comes to have more and more calls of
/// it, and less and less.
fn call() {
    let Some(meanwhile) = MEANWHILE.get() else {
        return;
    };
    // SAFETY: Nobody else uses it at such a moment.
    let this = unsafe { &mut *meanwhile.as_ptr() };
    let cpu = (this.moments % 4) as i32;
    this.moments += 1;
    let [short, long] = &mut this.tasks;
    let clients = [&this.client];
    short.enter(cpu, this.function, &clients);
    if this.moments % 16 < 8 {
        long.enter((cpu + 1) % 4, this.function, &clients);
    } else if !long.stack.is_empty() {
        long.leave((cpu + 2) % 4);
    }
    short.leave((cpu + 3) % 4);
}

#[test]
fn stores_survive_calls_at_every_moment() {
    let (_world, function) = quiet_at(&MOVE);
    let meanwhile = Box::leak(Box::new(Meanwhile {
        function,
        client: Client::of(function, 2),
        tasks: [Caller::new(), Caller::new()],
        moments: 0,
    }));
    let meanwhile = NonNull::from(meanwhile);
    MEANWHILE.set(Some(meanwhile));
    events::at_every_moment(call);
    // SAFETY: What is behind it stays where it is.
    let client = Client(unsafe { (*meanwhile.as_ptr()).client.0 });
    for round in 0..12 {
        assert_eq!(client.register(), 0);
        (0..round).for_each(|_| _ = tend());
        assert_eq!(client.reserve(10 * round), 0);
        client.unregister();
        (0..round).for_each(|_| _ = tend());
    }
    assert!(client.calls().0 > 100);
    core::mem::forget(client);
    MEANWHILE.set(None);
    // SAFETY: It came from a box, and nobody else uses it any more.
    let mut meanwhile = unsafe { Box::from_raw(meanwhile.as_ptr()) };
    meanwhile
        .tasks
        .iter_mut()
        .for_each(|task| task.leave_all(0));
    nothing_is_left();
}

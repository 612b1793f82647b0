// SPDX-License-Identifier: GPL-2.0

//! The kernel that a test has for itself, and what happened in it, in words.

use crate::prelude::*;

/// There are no jumps until somebody says so.
static BEGIN: Once = Once::new();

/// The kernel, with places that have names: `a`, `b` and so on.
pub struct World {
    places: Vec<u64>,
    _alone: MutexGuard<'static, ()>,
}

impl World {
    /// A kernel in which a CPU comes to all breakpoints at every moment.
    pub fn new() -> Self {
        let alone = events::alone();
        // SAFETY: It is the worker that calls it.
        worker::does(|| unsafe { c::rust_kprobes_worker_pass() });
        BEGIN.call_once(|| assert!(!c::rust_kprobes_jumps_allowed()));
        c::rust_kprobes_allow_jumps(false);
        while worker::run() {}
        text::clear();
        ftrace::clear();
        faults::obstruct(None);
        tidy();
        one_page();
        while worker::run() {}
        text::clear();
        events::history();
        events::at_every_moment(cpu::come_to_all);
        Self {
            places: Vec::new(),
            _alone: alone,
        }
    }

    /// A function that consists of the instruction; the next name is its.
    pub fn place(&mut self, insn: &[u8]) -> u64 {
        self.name(cpu::function(insn))
    }

    /// Clients at so many places of the same kind.
    pub fn clients(&mut self, insn: &[u8], count: usize) -> Vec<Client> {
        (0..count).map(|_| Client::at(self.place(insn))).collect()
    }

    pub fn traced(&mut self) -> u64 {
        self.name(cpu::traced())
    }

    pub fn name(&mut self, place: u64) -> u64 {
        self.places.push(place);
        place
    }

    /// What has happened since this was last asked, in words. Without locks of text that nothing
    /// was done under, and without what depends on the tests before.
    pub fn story(&self) -> String {
        let words = events::history().into_iter();
        let words: Vec<String> = words.filter_map(|event| self.tell(event)).collect();
        words.join(" ").replace("[ ] ", "").replace(" [ ]", "")
    }

    /// Is that what has happened since?
    #[track_caller]
    pub fn has_told(&self, story: &str) {
        assert_eq!(self.story(), story);
    }

    fn tell(&self, event: Event) -> Option<String> {
        Some(match event {
            Event::Locked(Lock::Registry) => "lock".into(),
            Event::Unlocked(Lock::Registry) => "unlock".into(),
            Event::Locked(Lock::Text) => "[".into(),
            Event::Unlocked(Lock::Text) => "]".into(),
            Event::Copied(..) => "copy".into(),
            Event::Broken(at) => format!("break-{}", self.name_of(at)),
            Event::Mended(at) => format!("mend-{}", self.name_of(at)),
            Event::Synchronized => "sync".into(),
            Event::GracePeriod => "wait".into(),
            Event::TasksAsked => "tasks".into(),
            Event::TasksBegin => "begin".into(),
            Event::TasksOver => "over".into(),
            Event::Kicked => "kick".into(),
            Event::Detoured(_) => "detour".into(),
            Event::Jumped(at) => format!("jump-{}", self.name_of(at)),
            Event::Untailed(at) => format!("tail-{}", self.name_of(at)),
            Event::FtraceAdded(at, user) => format!("add-{}-{}", self.name_of(at), name(user)),
            Event::FtraceRemoved(at, user) => format!("remove-{}-{}", self.name_of(at), name(user)),
            Event::FtraceRegistered(user) => format!("{}-on", name(user)),
            Event::FtraceUnregistered(user) => format!("{}-off", name(user)),
            Event::Freed(what) if what.contains("Point") => "free".into(),
            Event::Locked(_) | Event::Unlocked(_) => return None,
            Event::Searched(..) | Event::Decoded(_) => return None,
            Event::PageCame(_) | Event::PageFreed(_) | Event::Freed(_) => return None,
        })
    }

    fn name_of(&self, at: u64) -> String {
        let number = self.places.iter().position(|&place| place == at);
        number.map_or("?".into(), |number| {
            char::from(b'a'.saturating_add(number as u8)).to_string()
        })
    }
}

fn name(user: bool) -> &'static str {
    ["watch", "change"][usize::from(user)]
}

pub fn module_at(byte: u64) {
    modules::load(Layout::of(byte..byte + 1));
}

/// The module that a client's probe is in goes, and the client forgets it.
pub fn forget_with_module(clients: &[Client; 1]) {
    module_at(clients[0].as_c() as u64);
    go(false);
    client::forget(clients);
}

/// We are told, first or last, what the state of the module is.
fn told(state: c_uint, last: bool) {
    // SAFETY: The module of this kernel.
    unsafe { c::rust_kprobes_module_event(modules::as_c(), state as c_ulong, last) };
}

/// The module is coming, and we are told first.
pub fn comes() {
    modules::set_coming(true);
    told(bindings::module_state_MODULE_STATE_COMING, false);
}

/// The module is coming, and we are told last.
pub fn sorted() {
    told(bindings::module_state_MODULE_STATE_COMING, true);
}

/// The load has failed, and we are told first.
pub fn load_failed() {
    told(bindings::module_state_MODULE_STATE_GOING, false);
}

/// The module goes, or what was for its beginning.
pub fn go(init_only: bool) {
    let state = if init_only {
        bindings::module_state_MODULE_STATE_LIVE
    } else {
        bindings::module_state_MODULE_STATE_GOING
    };
    told(state, true);
}

pub fn wait_for_tasks() {
    while rcu_tasks::waiting() != 0 {
        rcu_tasks::grace_period();
    }
}

/// The same, and forgets what a test wanted to fail.
fn tidy() {
    wait_for_tasks();
    faults::none();
    modules::unload();
}

/// Leaves one page for copies, whatever there was.
fn one_page() {
    let clients = [Client::at(cpu::function(&cpu::MOVE))];
    for _ in 0..2 {
        assert_eq!(client::register(&clients), 0);
        client::unregister(&clients);
        tidy();
    }
    assert_eq!(text::pages(), 1);
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        c::rust_kprobes_allow_jumps(false);
        // The module of the next test is another one, at the same address.
        go(false);
        tidy();
        assert!(cpu::is_idle());
        assert_eq!(events::complaints(), Vec::<String>::new());
        assert_eq!(text::breakpoints().count(), 0, "breakpoints are left");
        assert_eq!(text::jumps().count(), 0, "jumps are left");
        assert_eq!(ftrace::calls(), [], "ftrace still calls");
        assert!(self.places.iter().all(|&at| !cpu::is_known(at)));
        // What happens here is nothing that the next test has done.
        events::history();
    }
}

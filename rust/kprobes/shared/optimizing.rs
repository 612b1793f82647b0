// SPDX-License-Identifier: GPL-2.0

//! The places that are on their way to a jump, in the order in which they were queued.
//!
//! A place has what it takes to be in a list: the addresses of its neighbours there. So queueing
//! gets no memory, a place leaves from anywhere without a walk, and a pass of the worker looks at
//! what is queued and at nothing else. Those who leave at the same time are in such a list, too.
//!
//! Who holds the registry's lock changes all this; hits see nothing of it. That places are shared
//! with hits is why they keep words and not plain values.

use crate::{
    atomics::{
        AtomicUsize,
        Ordering, //
    },
    model::opt_state::{
        Clock,
        Leave,
        Period,
        State, //
    },
    prelude::*, //
};

/// What a place keeps of its way to a jump.
pub(crate) struct Node {
    state: AtomicUsize,
    /// Its neighbours in the list that it is in; zero: none.
    before: AtomicUsize,
    behind: AtomicUsize,
}

impl Node {
    /// It has its breakpoint, or nothing.
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicUsize::new(State::Plain.to_word()),
            before: AtomicUsize::new(0),
            behind: AtomicUsize::new(0),
        }
    }

    /// How far the place is.
    pub(crate) fn state(&self) -> State {
        State::from_word(self.state.load(Ordering::Relaxed))
    }

    fn set(&self, state: State) {
        self.state.store(state.to_word(), Ordering::Relaxed);
    }
}

/// Finds what the place at an address keeps.
pub(crate) type Find<'a> = dyn Fn(TextAddr) -> Option<&'a Node> + 'a;

/// Places in an order. Each is in one list at most.
struct List {
    first: Option<TextAddr>,
    last: Option<TextAddr>,
}

impl List {
    const EMPTY: Self = Self {
        first: None,
        last: None,
    };

    fn push(&mut self, at: TextAddr, find: &Find<'_>) {
        lead(find, at, |node| &node.before, self.last);
        lead(find, at, |node| &node.behind, None);
        match self.last {
            Some(last) => lead(find, last, |node| &node.behind, Some(at)),
            None => self.first = Some(at),
        }
        self.last = Some(at);
    }

    fn remove(&mut self, at: TextAddr, find: &Find<'_>) {
        let Some(node) = find(at) else { return };
        let (before, behind) = (leads(&node.before), leads(&node.behind));
        match before {
            Some(before) => lead(find, before, |node| &node.behind, behind),
            None => self.first = behind,
        }
        match behind {
            Some(behind) => lead(find, behind, |node| &node.before, before),
            None => self.last = before,
        }
    }
}

fn leads(word: &AtomicUsize) -> Option<TextAddr> {
    let at = word.load(Ordering::Relaxed);
    (at != 0).then(|| TextAddr::new(at as u64))
}

/// Makes a word of the place at `at` lead elsewhere.
fn lead(find: &Find<'_>, at: TextAddr, word: fn(&Node) -> &AtomicUsize, to: Option<TextAddr>) {
    if let Some(node) = find(at) {
        let to = to.map_or(0, |to| to.get() as usize);
        word(node).store(to, Ordering::Relaxed);
    }
}

/// A place that was waited for, and is in no list any more. It is plain, but its hits still go to
/// its detour.
#[must_use]
pub(crate) struct Counted(TextAddr);

impl Counted {
    /// Where it is.
    pub(crate) fn at(&self) -> TextAddr {
        self.0
    }

    /// It gets its jump.
    pub(crate) fn jump(self, find: &Find<'_>) {
        if let Some(node) = find(self.0) {
            node.set(State::Jump);
        }
    }
}

/// The places that are to get jumps, and those that lose theirs.
pub(crate) struct Queue {
    waiting: List,
    leaving: List,
    clock: Clock,
}

impl Queue {
    /// There are none.
    pub(crate) const EMPTY: Self = Self {
        waiting: List::EMPTY,
        leaving: List::EMPTY,
        clock: Clock::NEW,
    };

    /// Is no place to get a jump?
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.first.is_none()
    }

    /// A plain place is to get one; tells whether it was plain. Its hits must go to its detour
    /// before anything else is done.
    #[must_use]
    pub(crate) fn add(&mut self, at: TextAddr, find: &Find<'_>) -> bool {
        let Some(node) = find(at) else {
            return false;
        };
        let is_plain = node.state() == State::Plain;
        if is_plain {
            node.set(State::Queued(self.clock.now()));
            self.waiting.push(at, find);
        }
        is_plain
    }

    /// The worker begins to wait; nothing if there is nothing to wait for.
    pub(crate) fn begin(&mut self) -> Option<Period> {
        (!self.is_empty()).then(|| self.clock.begin())
    }

    /// The next place that was waited for. To be asked when the wait is over.
    pub(crate) fn next(&mut self, period: &Period, find: &Find<'_>) -> Option<Counted> {
        // In the order in which they were queued, so that the first one tells.
        let at = self.waiting.first?;
        let node = find(at)?;
        period.counts(node.state()).then(|| {
            self.waiting.remove(at, find);
            node.set(State::Plain);
            Counted(at)
        })
    }

    /// A place is to have no jump. If one has to be taken out, the place is among those of
    /// [`leaving`](Queue::leaving) until [`left`](Queue::left) has told of it.
    pub(crate) fn leave(&mut self, at: TextAddr, find: &Find<'_>) -> Leave {
        let Some(node) = find(at) else {
            return Leave::Nothing;
        };
        match node.state() {
            State::Plain | State::Leaving => Leave::Nothing,
            State::Queued(_) => {
                self.waiting.remove(at, find);
                node.set(State::Plain);
                Leave::Undivert
            }
            State::Jump => {
                node.set(State::Leaving);
                self.leaving.push(at, find);
                Leave::TakeOut
            }
        }
    }

    /// The places whose jumps are to be taken out.
    pub(crate) fn leaving<'q, 'n>(
        &'q self,
        find: &'q Find<'n>,
    ) -> impl Iterator<Item = TextAddr> + use<'q, 'n> {
        let next = |&at: &TextAddr| leads(&find(at)?.behind);
        core::iter::successors(self.leaving.first, next)
    }

    /// A place whose jump was taken out, each once.
    pub(crate) fn left(&mut self, find: &Find<'_>) -> Option<TextAddr> {
        let at = self.leaving.first?;
        self.leaving.remove(at, find);
        if let Some(node) = find(at) {
            node.set(State::Plain);
        }
        Some(at)
    }

    /// The text of a place is no more, or the place: nobody writes there.
    pub(crate) fn forget(&mut self, at: TextAddr, find: &Find<'_>) {
        let Some(node) = find(at) else { return };
        match node.state() {
            State::Plain | State::Jump => (),
            State::Queued(_) => self.waiting.remove(at, find),
            State::Leaving => self.leaving.remove(at, find),
        }
        node.set(State::Plain);
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_optimizing))]
mod tests {
    use super::*;

    const COUNT: usize = 4;

    /// Places at 1 and up.
    fn few() -> [Node; COUNT] {
        [Node::new(), Node::new(), Node::new(), Node::new()]
    }

    /// Finds those of `nodes`.
    fn find<'a>(nodes: &'a [Node; COUNT]) -> impl Fn(TextAddr) -> Option<&'a Node> {
        |at| nodes.get((at.get() as usize).checked_sub(1)?)
    }

    const fn at(number: u64) -> TextAddr {
        TextAddr::new(number)
    }

    /// Gives jumps to what was waited for; the addresses as digits.
    fn jump(queue: &mut Queue, period: &Period, places: &Find<'_>) -> u64 {
        let mut digits = 0;
        while let Some(counted) = queue.next(period, places) {
            digits = 10 * digits + counted.at().get();
            counted.jump(places);
        }
        digits
    }

    fn begin(queue: &mut Queue) -> Result<Period, Refusal> {
        queue.begin().ok_or(Refusal::NotRegistered)
    }

    fn state(places: &Find<'_>, number: u64) -> Option<State> {
        places(at(number)).map(Node::state)
    }

    #[test]
    fn places_get_their_jumps_in_order() -> Result<(), Refusal> {
        let (mut queue, nodes) = (Queue::EMPTY, few());
        let places = find(&nodes);
        assert!(queue.is_empty() && queue.begin().is_none());
        for number in [2, 1, 4, 3] {
            assert!(queue.add(at(number), &places));
            assert!(!queue.add(at(number), &places));
        }
        let period = begin(&mut queue)?;
        assert_eq!(jump(&mut queue, &period, &places), 2143);
        assert!(queue.is_empty());
        assert!(!queue.add(at(1), &places));
        assert!(!queue.add(at(9), &places));
        Ok(())
    }

    #[test]
    fn who_comes_back_is_waited_for_again() -> Result<(), Refusal> {
        let (mut queue, nodes) = (Queue::EMPTY, few());
        let places = find(&nodes);
        for number in [1, 2, 3] {
            assert!(queue.add(at(number), &places));
        }
        let period = begin(&mut queue)?;
        assert_eq!(queue.leave(at(2), &places), Leave::Undivert);
        assert_eq!(queue.leave(at(2), &places), Leave::Nothing);
        assert_eq!(queue.leave(at(1), &places), Leave::Undivert);
        assert!(queue.add(at(2), &places));
        assert_eq!(jump(&mut queue, &period, &places), 3);
        assert!(!queue.is_empty());
        let period = begin(&mut queue)?;
        assert_eq!(jump(&mut queue, &period, &places), 2);
        assert_eq!(state(&places, 1), Some(State::Plain));
        Ok(())
    }

    #[test]
    fn jumps_are_taken_out_together_and_once() -> Result<(), Refusal> {
        let (mut queue, nodes) = (Queue::EMPTY, few());
        let places = find(&nodes);
        for number in [1, 2, 3, 4] {
            assert!(queue.add(at(number), &places));
        }
        let period = begin(&mut queue)?;
        assert_eq!(jump(&mut queue, &period, &places), 1234);
        for number in [3, 1, 4] {
            assert_eq!(queue.leave(at(number), &places), Leave::TakeOut);
            assert_eq!(queue.leave(at(number), &places), Leave::Nothing);
        }
        assert!(queue.leaving(&places).eq([at(3), at(1), at(4)]));
        // It cannot come back before.
        assert!(!queue.add(at(3), &places));
        queue.forget(at(1), &places);
        assert_eq!(queue.left(&places), Some(at(3)));
        assert_eq!(queue.left(&places), Some(at(4)));
        assert_eq!(queue.left(&places), None);
        assert!(queue.add(at(3), &places));
        assert_eq!(state(&places, 2), Some(State::Jump));
        Ok(())
    }

    #[test]
    fn what_is_no_more_is_in_no_list() {
        let (mut queue, nodes) = (Queue::EMPTY, few());
        let places = find(&nodes);
        for number in [1, 2, 3] {
            assert!(queue.add(at(number), &places));
        }
        for number in [1, 3, 2, 4] {
            queue.forget(at(number), &places);
            assert_eq!(state(&places, number), Some(State::Plain));
        }
        assert!(queue.is_empty() && queue.add(at(2), &places));
    }

    #[test]
    fn who_was_waited_for_may_be_refused() -> Result<(), Refusal> {
        let (mut queue, nodes) = (Queue::EMPTY, few());
        let places = find(&nodes);
        assert!(queue.add(at(1), &places));
        let period = begin(&mut queue)?;
        let counted = queue.next(&period, &places);
        assert!(counted.is_some_and(|counted| counted.at() == at(1)));
        assert_eq!(state(&places, 1), Some(State::Plain));
        assert!(queue.is_empty());
        Ok(())
    }
}

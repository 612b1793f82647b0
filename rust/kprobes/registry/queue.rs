// SPDX-License-Identifier: GPL-2.0

//! The probe points that wait for a jump, in the order in which they were queued, and the points
//! whose jumps will be removed together.
//!
//! Each point has room for the addresses of its neighbours in such a list. So queueing needs no
//! memory, a point leaves the queue without a walk, and a pass of the worker looks only at points
//! that are queued.
//!
//! Only the holder of the registry's lock uses the queue; hits do not. The words are atomics
//! because hits share the points.

use crate::{
    atomics::{
        AtomicUsize,
        Ordering, //
    },
    model::opt_state::{
        Generation,
        State,
        Wait, //
    },
    prelude::*, //
};

/// The state of a point's jump, and its neighbours in the queue.
pub(crate) struct Node {
    state: AtomicUsize,
    /// The addresses of the neighbours in a list; zero for none.
    prev: AtomicUsize,
    next: AtomicUsize,
}

impl Node {
    /// Makes the node of a point without a jump.
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicUsize::new(State::Unoptimized.to_word()),
            prev: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
        }
    }

    /// Returns the state.
    pub(crate) fn state(&self) -> State {
        State::from_word(self.state.load(Ordering::Relaxed))
    }

    fn set(&self, state: State) {
        self.state.store(state.to_word(), Ordering::Relaxed);
    }
}

/// Finds nodes by the addresses of their points.
pub(crate) trait Nodes {
    /// Returns the node of the point at an address, if the point can have a jump.
    fn node(&self, at: TextAddr) -> Option<&Node>;
}

/// A list of points. A point is in one list at most.
struct List {
    first: Option<TextAddr>,
    last: Option<TextAddr>,
}

impl List {
    const EMPTY: Self = Self {
        first: None,
        last: None,
    };

    fn push(&mut self, at: TextAddr, nodes: &impl Nodes) {
        link(nodes, at, |node| &node.prev, self.last);
        link(nodes, at, |node| &node.next, None);
        match self.last {
            Some(last) => link(nodes, last, |node| &node.next, Some(at)),
            None => self.first = Some(at),
        }
        self.last = Some(at);
    }

    fn remove(&mut self, at: TextAddr, nodes: &impl Nodes) {
        let Some(node) = nodes.node(at) else { return };
        let (prev, next) = (linked(&node.prev), linked(&node.next));
        match prev {
            Some(prev) => link(nodes, prev, |node| &node.next, next),
            None => self.first = next,
        }
        match next {
            Some(next) => link(nodes, next, |node| &node.prev, prev),
            None => self.last = prev,
        }
    }
}

/// Returns the address in a link.
fn linked(link: &AtomicUsize) -> Option<TextAddr> {
    let at = link.load(Ordering::Relaxed);
    (at != 0).then(|| TextAddr::new(at as u64))
}

/// Changes one of the two links of the point at `at`.
fn link(nodes: &impl Nodes, at: TextAddr, link: fn(&Node) -> &AtomicUsize, to: Option<TextAddr>) {
    if let Some(node) = nodes.node(at) {
        let to = to.map_or(0, |to| to.get() as usize);
        link(node).store(to, Ordering::Relaxed);
    }
}

/// The points that wait for a jump, and the points whose jump will be removed.
pub(crate) struct Queue {
    optimizing: List,
    unoptimizing: List,
    generation: Generation,
}

impl Queue {
    /// No points.
    pub(crate) const EMPTY: Self = Self {
        optimizing: List::EMPTY,
        unoptimizing: List::EMPTY,
        generation: Generation::NONE,
    };

    /// Returns whether no point waits for a jump.
    pub(crate) fn is_empty(&self) -> bool {
        self.optimizing.first.is_none()
    }

    /// Queues a point if it is unoptimized. Returns whether it was. The caller then
    /// redirects the point's hits to its detour before anything else.
    #[must_use]
    pub(crate) fn add(&mut self, at: TextAddr, nodes: &impl Nodes) -> bool {
        let Some(node) = nodes.node(at) else {
            return false;
        };
        let is_unoptimized = node.state() == State::Unoptimized;
        if is_unoptimized {
            node.set(State::Queued(self.generation));
            self.optimizing.push(at, nodes);
        }
        is_unoptimized
    }

    /// Begins the worker's wait, if a point is queued.
    pub(crate) fn begin_wait(&mut self) -> Option<Wait> {
        (!self.is_empty()).then(|| Wait::begin(&mut self.generation))
    }

    /// After `wait` is over: removes a point that was queued before the wait from the queue,
    /// and returns it. It is unoptimized now, but its hits still continue in its detour.
    pub(crate) fn pop_waited(&mut self, wait: &Wait, nodes: &impl Nodes) -> Option<TextAddr> {
        // Points are in the order in which they were queued, so the first one decides.
        let at = self.optimizing.first?;
        let node = nodes.node(at)?;
        wait.covers(node.state()).then(|| {
            self.optimizing.remove(at, nodes);
            node.set(State::Unoptimized);
            at
        })
    }

    /// Notes that the jump of a point, which [`pop_waited`](Queue::pop_waited) has returned, is in
    /// the text.
    pub(crate) fn set_optimized(&self, at: TextAddr, nodes: &impl Nodes) {
        if let Some(node) = nodes.node(at) {
            node.set(State::Jump);
        }
    }

    /// Forbids a point its jump. Returns whether the point was queued: the caller then makes its
    /// hits continue in the text again. If the jump is in the text, the point is one of
    /// [`unoptimizing`](Queue::unoptimizing) until [`pop_unoptimized`](Queue::pop_unoptimized)
    /// has returned it.
    #[must_use]
    pub(crate) fn unoptimize(&mut self, at: TextAddr, nodes: &impl Nodes) -> bool {
        let Some(node) = nodes.node(at) else {
            return false;
        };
        let state = node.state();
        match state {
            State::Unoptimized | State::Unoptimizing => (),
            State::Queued(_) => {
                self.optimizing.remove(at, nodes);
                node.set(State::Unoptimized);
            }
            State::Jump => {
                node.set(State::Unoptimizing);
                self.unoptimizing.push(at, nodes);
            }
        }
        matches!(state, State::Queued(_))
    }

    /// Returns the points whose jumps will be removed.
    pub(crate) fn unoptimizing<'q>(
        &'q self,
        nodes: &'q impl Nodes,
    ) -> impl Iterator<Item = TextAddr> + 'q {
        let next = |&at: &TextAddr| linked(&nodes.node(at)?.next);
        core::iter::successors(self.unoptimizing.first, next)
    }

    /// Returns a point whose jump was removed. Each point is returned once.
    pub(crate) fn pop_unoptimized(&mut self, nodes: &impl Nodes) -> Option<TextAddr> {
        let at = self.unoptimizing.first?;
        self.unoptimizing.remove(at, nodes);
        if let Some(node) = nodes.node(at) {
            node.set(State::Unoptimized);
        }
        Some(at)
    }

    /// Forgets a point that is about to be removed, or whose text was freed: its jump is neither
    /// written nor removed any more.
    pub(crate) fn forget(&mut self, at: TextAddr, nodes: &impl Nodes) {
        let Some(node) = nodes.node(at) else { return };
        match node.state() {
            State::Unoptimized | State::Jump => (),
            State::Queued(_) => self.optimizing.remove(at, nodes),
            State::Unoptimizing => self.unoptimizing.remove(at, nodes),
        }
        node.set(State::Unoptimized);
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_optimizing))]
mod tests {
    use super::*;

    const COUNT: usize = 4;

    /// The nodes of points at 1 and up.
    struct Few([Node; COUNT]);

    impl Nodes for Few {
        fn node(&self, at: TextAddr) -> Option<&Node> {
            self.0.get((at.get() as usize).checked_sub(1)?)
        }
    }

    fn few() -> Few {
        Few([Node::new(), Node::new(), Node::new(), Node::new()])
    }

    const fn at(number: u64) -> TextAddr {
        TextAddr::new(number)
    }

    /// Gives jumps to what was waited for; the addresses as digits.
    fn jump(queue: &mut Queue, wait: &Wait, points: &Few) -> u64 {
        let mut digits = 0;
        while let Some(at) = queue.pop_waited(wait, points) {
            digits = 10 * digits + at.get();
            queue.set_optimized(at, points);
        }
        digits
    }

    fn begin_wait(queue: &mut Queue) -> Result<Wait, Refusal> {
        queue.begin_wait().ok_or(Refusal::NotRegistered)
    }

    fn state(points: &Few, number: u64) -> Option<State> {
        points.node(at(number)).map(Node::state)
    }

    #[test]
    fn points_get_their_jumps_in_order() -> Result<(), Refusal> {
        let (mut queue, points) = (Queue::EMPTY, few());
        assert!(queue.is_empty() && queue.begin_wait().is_none());
        for number in [2, 1, 4, 3] {
            assert!(queue.add(at(number), &points));
            assert!(!queue.add(at(number), &points));
        }
        let wait = begin_wait(&mut queue)?;
        assert_eq!(jump(&mut queue, &wait, &points), 2143);
        assert!(queue.is_empty());
        assert!(!queue.add(at(1), &points));
        assert!(!queue.add(at(9), &points));
        Ok(())
    }

    #[test]
    fn requeued_point_waits_again() -> Result<(), Refusal> {
        let (mut queue, points) = (Queue::EMPTY, few());
        for number in [1, 2, 3] {
            assert!(queue.add(at(number), &points));
        }
        let wait = begin_wait(&mut queue)?;
        assert!(queue.unoptimize(at(2), &points));
        assert!(!queue.unoptimize(at(2), &points));
        assert!(queue.unoptimize(at(1), &points));
        assert!(queue.add(at(2), &points));
        assert_eq!(jump(&mut queue, &wait, &points), 3);
        assert!(!queue.is_empty());
        let wait = begin_wait(&mut queue)?;
        assert_eq!(jump(&mut queue, &wait, &points), 2);
        assert_eq!(state(&points, 1), Some(State::Unoptimized));
        Ok(())
    }

    #[test]
    fn jumps_are_taken_out_together_and_once() -> Result<(), Refusal> {
        let (mut queue, points) = (Queue::EMPTY, few());
        for number in [1, 2, 3, 4] {
            assert!(queue.add(at(number), &points));
        }
        let wait = begin_wait(&mut queue)?;
        assert_eq!(jump(&mut queue, &wait, &points), 1234);
        for number in [3, 1, 4] {
            assert!(!queue.unoptimize(at(number), &points));
            assert_eq!(state(&points, number), Some(State::Unoptimizing));
            assert!(!queue.unoptimize(at(number), &points));
        }
        assert!(queue.unoptimizing(&points).eq([at(3), at(1), at(4)]));
        // It cannot come back before.
        assert!(!queue.add(at(3), &points));
        queue.forget(at(1), &points);
        assert_eq!(queue.pop_unoptimized(&points), Some(at(3)));
        assert_eq!(queue.pop_unoptimized(&points), Some(at(4)));
        assert_eq!(queue.pop_unoptimized(&points), None);
        assert!(queue.add(at(3), &points));
        assert_eq!(state(&points, 2), Some(State::Jump));
        Ok(())
    }

    #[test]
    fn forget_unlinks_from_both_lists() {
        let (mut queue, points) = (Queue::EMPTY, few());
        for number in [1, 2, 3] {
            assert!(queue.add(at(number), &points));
        }
        for number in [1, 3, 2, 4] {
            queue.forget(at(number), &points);
            assert_eq!(state(&points, number), Some(State::Unoptimized));
        }
        assert!(queue.is_empty() && queue.add(at(2), &points));
    }

    #[test]
    fn pop_waited_removes_the_point_and_leaves_it_unoptimized() -> Result<(), Refusal> {
        let (mut queue, points) = (Queue::EMPTY, few());
        assert!(queue.add(at(1), &points));
        let wait = begin_wait(&mut queue)?;
        assert_eq!(queue.pop_waited(&wait, &points), Some(at(1)));
        assert_eq!(state(&points, 1), Some(State::Unoptimized));
        assert!(queue.is_empty());
        Ok(())
    }
}

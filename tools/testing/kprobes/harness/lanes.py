# SPDX-License-Identifier: GPL-2.0
"""What can run beside what: one compilation at a time, and guests beside it.

A compilation uses all CPUs, now and then; a guest uses one thread. So while a
kernel is built, the guests of the one before it run; once there is nothing
left to build, there are as many guests at once as CPUs.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import progress
import results
from ktap import Result

Work = Callable[[], list[Result]]


@dataclass
class Group:
    """Tasks with a budget of their own, and what is judged when all have run."""

    name: str
    minutes: float
    judge: Callable[[list[Result]], list[Result]] = lambda found: []
    results: list[Result] = field(default_factory=list)
    open: int = 0


class Lanes:
    """Tasks, added before run() or by tasks while they run."""

    def __init__(self, tally: results.Tally):
        self._tally = tally
        self._changed = threading.Condition()
        self._compilations: deque = deque()
        self._guests: deque = deque()
        self._compiling = False
        self._running = 0

    def compile(self, group: Group, name: str, work: Work) -> None:
        """Add WORK that uses all CPUs; NAME is its result's if it breaks off."""
        self._add(self._compilations, group, name, work)

    def guest(self, group: Group, name: str, work: Work) -> None:
        """Add WORK that uses one CPU."""
        self._add(self._guests, group, name, work)

    def _add(self, queue, group, name, work):
        with self._changed:
            group.open += 1
            queue.append((group, name, work))
            self._changed.notify_all()

    def run(self) -> None:
        """Run all tasks; their results are in the tally."""
        workers = [threading.Thread(target=self._worker, daemon=True)
                   for _ in range(max(2, len(os.sched_getaffinity(0))))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _take(self):
        """The next task that may run now, or None."""
        if self._compilations and not self._compiling:
            self._compiling = True
            return True, self._compilations.popleft()
        return (False, self._guests.popleft()) if self._guests else None

    def _worker(self):
        while True:
            with self._changed:
                while not (task := self._take()):
                    if not self._running and not self._compilations:
                        return
                    self._changed.wait()
                self._running += 1
            compiles, (group, name, work) = task
            with progress.group(group.name, group.minutes):
                found = results.attempt(name, work)
            with self._changed:
                self._running -= 1
                self._compiling &= not compiles
                self._finish(group, found)
                self._changed.notify_all()

    def _finish(self, group, found):
        group.open -= 1
        group.results += found
        self._tally.add(found)
        if not group.open:
            self._tally.add(results.attempt(
                f'{group.name}.judge', lambda: group.judge(group.results)))

# SPDX-License-Identifier: GPL-2.0
"""Lanes: one compilation at a time, and guests beside it.

A compilation uses all CPUs, now and then; a guest uses one thread. So while a
kernel is built, the guests of the one before it run; once there is nothing
left to build, there are as many guests at once as CPUs.
"""

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import progress
import results
from ktap import Result

Work = Callable[[], list[Result]]


@dataclass
class Group:
    """Tasks with a budget of their own, and the judge of all their results."""

    name: str
    minutes: float
    judge: Callable[[list[Result]], list[Result]] = lambda outcomes: []
    results: list[Result] = field(default_factory=list)
    open: int = 0


class Lanes:
    """Tasks, added before run() or by a compilation."""

    def __init__(self, tally: results.Tally) -> None:
        cpus = max(2, len(os.sched_getaffinity(0)))
        self._tally, self._lock = tally, threading.Lock()
        self._compiler = ThreadPoolExecutor(1)
        self._guests = ThreadPoolExecutor(cpus)
        # One thread is the compiler's as long as there is work for it.
        self._free = threading.Semaphore(cpus - 1)

    def compile(self, group: Group, name: str, work: Work) -> None:
        """Add WORK that uses all CPUs; NAME is its result's if it breaks off."""
        self._add(self._compiler, contextlib.nullcontext(), group, name, work)

    def guest(self, group: Group, name: str, work: Work) -> None:
        """Add WORK that uses one CPU."""
        self._add(self._guests, self._free, group, name, work)

    def _add(self, pool: ThreadPoolExecutor, cpu: contextlib.AbstractContextManager, group: Group,
             name: str, work: Work) -> None:
        with self._lock:
            group.open += 1
        pool.submit(self._run, cpu, group, name, work)

    def _run(self, cpu: contextlib.AbstractContextManager, group: Group, name: str,
             work: Work) -> None:
        with cpu, progress.group(group.name, group.minutes):
            outcomes = results.attempt(name, work)
        with self._lock:
            group.open -= 1
            group.results += outcomes
            self._tally.add(outcomes)
            if not group.open:
                self._tally.add(results.attempt(
                    f'{group.name}.judge', lambda: group.judge(group.results)))

    def run(self) -> None:
        """Wait for all tasks; their results are in the tally."""
        self._compiler.shutdown()
        self._free.release()
        self._guests.shutdown()

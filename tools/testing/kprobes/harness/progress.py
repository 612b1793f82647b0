# SPDX-License-Identifier: GPL-2.0
"""Stages: what is being done, how far it is, how long it took.

On a terminal a stage is one line that redraws itself, with a bar where the
amount of work is known; elsewhere it is a plain line now and then. At the end
summary() prints planned and actual minutes, and which stage and which group
went over its budget.
"""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import env

# Seconds between two lines, where they do not redraw themselves.
BEAT = 20
# (stage, planned minutes, seconds)
_done: list[tuple[str, float, float]] = []
# The stages of a first run before it can build, and the minutes for all of them.
_SET_UP = ('making root', 'bindgen', 'crates', 'source')
_SET_UP_BUDGET = 5
# {group of stages: [its budget in minutes, the seconds it has taken]}.
_groups: dict[str, list[float]] = {}
# The group of stages that each thread is in.
_at_hand = threading.local()
# When this command began, and the minutes that all of it may take: where a
# kernel is built from nothing, and where none is.
_begun = time.monotonic()
_limits: list[float] = []
_STATE = env.CACHE / 'times.json'


def remember(key: str, value: Any) -> None:
    """Keep VALUE for later runs."""
    # Without it one estimate is missing; a full disk is reported elsewhere.
    with contextlib.suppress(OSError):
        env.write_json(_STATE, (env.read_json(_STATE) or {}) | {key: value})


def recall(key: str, default: Any = None) -> Any:
    """The value that remember() has kept."""
    return (env.read_json(_STATE) or {}).get(key, default)


def clock(seconds: float) -> str:
    """Seconds as people read them."""
    minutes, seconds = divmod(int(seconds), 60)
    return f'{minutes}:{seconds:02d} min' if minutes else f'{seconds} s'


def say(text: str) -> None:
    """One line for the reader."""
    print(text, flush=True)


class Stage:
    """with Stage('kernel x86_64 rust', planned=10) as stage: ..."""

    def __init__(self, name: str, planned: float = 1.0) -> None:
        self.name, self.planned = name, planned
        self.count, self.text = 0, ''
        self.expected: int | None = None
        self.tty = sys.stdout.isatty()
        self.start = self.shown = time.monotonic()
        self._telling, self._over = threading.Lock(), threading.Event()

    def _beat(self) -> None:
        """Redraw although nothing is reported, which may last minutes."""
        while not self._over.wait(1 if self.tty else BEAT):
            self.tick(count=0)

    def __enter__(self) -> 'Stage':
        self.start = time.monotonic()
        self.shown = 0 if self.tty else self.start
        if not self.tty:
            say(f'[{self.name}] at most {self.planned:.2g} min')
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def tick(self, text: str = '', count: int = 1) -> None:
        """COUNT more units are done; TEXT is the one at hand."""
        with self._telling:
            if not self._over.is_set():
                self._tick(text, count)

    def _tick(self, text: str, count: int) -> None:
        self.count += count
        self.text = text or self.text
        now = time.monotonic()
        if now - self.shown < (0.2 if self.tty else BEAT):
            return
        self.shown = now
        amount = f'{self.count} ' if self.count else ''
        if self.expected:
            whole = max(self.expected, self.count)
            amount = f'{self.count}/{whole} '
            if self.tty:
                amount = f'{"#" * (24 * self.count // whole):.<24} {amount}'
        line = f'[{self.name}] {amount}{clock(now - self.start)}'
        if self.tty:
            print(f'\r\033[K{line} {self.text[:max(99 - len(line), 0)]}', end='', flush=True)
        else:
            say(line)

    def __exit__(self, kind: type | None, *_: object) -> None:
        with self._telling:
            self._over.set()
        seconds = time.monotonic() - self.start
        if self.tty:
            print('\r\033[K', end='')
        say(f'[{self.name}] {"failed after" if kind else "done in"} {clock(seconds)}')
        _count(self.name, self.planned, seconds)


def _count(name: str, planned: float, seconds: float) -> None:
    _done.append((name, planned, seconds))
    if name in _SET_UP:
        budget('set-up', _SET_UP_BUDGET, seconds)
    elif name_of_group := getattr(_at_hand, 'group', None):
        _groups[name_of_group][1] += seconds


def budget(name: str, minutes: float, seconds: float) -> None:
    """SECONDS more were taken by a group that has so many MINUTES."""
    _groups.setdefault(name, [minutes, 0])[1] += seconds


@contextlib.contextmanager
def group(name: str, minutes: float) -> Iterator[None]:
    """The stages in this block, set-up apart, have MINUTES at most."""
    budget(name, minutes, 0)
    before = getattr(_at_hand, 'group', None)
    _at_hand.group = name
    try:
        yield
    finally:
        _at_hand.group = before


def limit_all(cold: float, warm: float) -> None:
    """The minutes of the whole command, with a fresh kernel and without."""
    _limits[:] = cold, warm


def fresh_kernel() -> None:
    """A kernel has been built from nothing."""
    _limits[1:] = []


def handed_over() -> None:
    """Count what the shell part has done before this program could run."""
    made = os.environ['KP_MADE'].split()
    for name, planned, seconds in zip(made[::3], made[1::3], made[2::3]):
        _count(f'making {name}', float(planned), float(seconds))


def _row(name: str, planned: float, seconds: float) -> None:
    over = '  OVER BUDGET' if seconds > planned * 60 else ''
    say(f'{name:36} {planned:7.1f} {seconds / 60:8.1f}{over}')


def summary() -> None:
    """The table at the end of a run: planned and actual minutes."""
    if not _done and not _groups:
        return
    say('\nstage                                at most     took  (minutes)')
    for row in _done:
        _row(*row)
    for name, (minutes, seconds) in _groups.items():
        _row(f'{name}, of these', minutes, seconds)
    say(f'{"all, one after another":36} '
        f'{sum(planned for _, planned, _ in _done):7.1f} '
        f'{sum(seconds for *_, seconds in _done) / 60:8.1f}')
    if _limits:
        _row('elapsed', _limits[-1], time.monotonic() - _begun)
    say('')
    _done.clear()
    _groups.clear()

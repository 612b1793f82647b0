# SPDX-License-Identifier: GPL-2.0
"""Stages: what is being done, how far it is, how long it took.

On a terminal a stage is one line that redraws itself, with a bar where the
amount of work is known, and an estimate once there is ground for one;
elsewhere it is a plain line now and then. At the end summary() prints planned
and actual minutes, and which stage and which group went over its budget.
"""

import contextlib
import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import env

# Seconds between two lines, where they do not redraw themselves.
BEAT = 20
# (stage, planned minutes, seconds)
_done: list[tuple[str, float, float]] = []
# What a first run does before it can build, and the minutes for all of it.
_SET_UP = ('toolchain root', 'bindgen', 'crates', 'source')
_SET_UP_BUDGET = 5
# What the shell part has made, the minutes for it, and the variable that says
# how long that took.
_ROOTS = (('toolchain root', 2, 'KP_ROOT_SECONDS'),
          ('docs root', 1.5, 'KP_DOCS_SECONDS'),
          ('clients root', 1, 'KP_CLIENTS_SECONDS'))
# Of each group of stages: its budget in minutes, the seconds it has taken.
_groups: dict[str, list[float]] = {}
# Of each thread: the group of stages that it is in.
_at_hand = threading.local()
# When this command began, and the minutes that all of it may take: where a
# kernel is built from nothing, and where none is.
_begun = time.monotonic()
_limits: list[float] = []
_STATE = env.CACHE / 'times.json'


def durations() -> Path:
    """Where this checkout's durations are kept.

    Others may have had the machine to themselves, or a part of it.
    """
    return env.WORK / _STATE.name


def _load(place: Path) -> dict:
    try:
        return json.loads(place.read_text())
    except (OSError, ValueError):
        return {}


def remember(key: str, value, place: Path | None = None) -> None:
    """Keep VALUE for later runs, of all checkouts or in PLACE."""
    place = place or _STATE
    part = place.with_suffix('.part')
    # Without it one estimate is missing; a full disk is reported elsewhere.
    with contextlib.suppress(OSError), \
            open(place.with_suffix('.lock'), 'w', encoding='utf-8') as lock:
        # Another command may write between our reading and our writing.
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = _load(place) | {key: value}
        part.write_text(json.dumps(state, indent=1, sort_keys=True))
        part.replace(place)


def recall(key: str, default=None, place: Path | None = None):
    """What remember() kept."""
    return _load(place or _STATE).get(key, default)


def clock(seconds: float) -> str:
    """Seconds as people read them."""
    minutes, seconds = divmod(int(seconds), 60)
    return f'{minutes}:{seconds:02d} min' if minutes else f'{seconds} s'


def say(text: str) -> None:
    """One line for the reader."""
    print(text, flush=True)


class Stage:
    """with Stage('kernel x86_64 rust', planned=10) as stage: ..."""

    def __init__(self, name: str, planned: float = 1.0,
                 varies: bool = False) -> None:
        """VARIES: the amount of work differs from run to run."""
        self.name, self.planned, self.varies = name, planned, varies
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
        self.shown = self.start if not self.tty else 0
        if not self.tty:
            before = self._before()
            hint = f', last time {clock(before)}' if before else ''
            say(f'[{self.name}] planned {self.planned:.2g} min{hint}')
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
        elapsed = now - self.start
        amount = f'{self.count} ' if self.count else ''
        if self.expected:
            whole = max(self.expected, self.count)
            amount = f'{self.count}/{whole} '
            if self.tty:
                amount = f'{"#" * (24 * self.count // whole):.<24} {amount}'
        left = self._left(elapsed)
        left = f', about {clock(left)} left' if left else ''
        line = f'[{self.name}] {amount}{clock(elapsed)}{left}'
        if self.tty:
            print(f'\r\033[K{line} {self.text[:max(99 - len(line), 0)]}',
                  end='', flush=True)
        else:
            say(line)

    def _before(self) -> float | None:
        """How long it took the last time, where that tells anything."""
        return None if self.varies else recall(f'stage {self.name}',
                                               place=durations())

    def _left(self, elapsed: float) -> float | None:
        """The seconds to go, if enough is known to tell."""
        if self.expected:
            # The last time may have been for a few files. A tenth of them
            # shows how fast it goes.
            if 10 * self.count < self.expected:
                return None
            return elapsed * max(self.expected - self.count, 0) / self.count
        before = self._before()
        return before - elapsed if before and before >= elapsed else None

    def __exit__(self, kind, value, trace) -> None:
        with self._telling:
            self._over.set()
        seconds = time.monotonic() - self.start
        if self.tty:
            print('\r\033[K', end='')
        if kind is None:
            say(f'[{self.name}] done in {clock(seconds)}')
            remember(f'stage {self.name}', seconds, durations())
        else:
            say(f'[{self.name}] failed after {clock(seconds)}')
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
    for name, planned, variable in _ROOTS:
        if seconds := os.environ.get(variable):
            _count(name, planned, float(seconds))


def _row(name: str, planned: float, seconds: float) -> None:
    over = '  OVER BUDGET' if seconds > planned * 60 else ''
    say(f'{name:36} {planned:7.1f} {seconds / 60:8.1f}{over}')


def summary() -> None:
    """The table at the end of a run: planned and actual minutes."""
    if not _done and not _groups:
        return
    say('\nstage                                planned   actual  (minutes)')
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

# SPDX-License-Identifier: GPL-2.0
"""Stages: what is being done, how far it is, how long it took.

On a terminal a stage is one line that redraws itself, with a bar where the
amount of work is known, and an estimate once there is ground for one;
elsewhere it is a plain line now and then. At the end summary() prints planned and actual
minutes, and which stage, and which group of them, went over its budget.
"""

import contextlib
import fcntl
import json
import os
import sys
import threading
import time

import env

# Seconds between two lines, where they do not redraw themselves.
BEAT = 20
_done = []
# What a first run does before it can build, and the minutes for all of it.
_SET_UP = ('toolchain root', 'bindgen', 'crates', 'source')
# What the shell part has made, the minutes for it, and where it says how long
# that took.
_ROOTS = (('toolchain root', 2, 'KP_ROOT_SECONDS'),
          ('docs root', 1.5, 'KP_DOCS_SECONDS'),
          ('clients root', 1, 'KP_CLIENTS_SECONDS'))
_SET_UP_BUDGET = 5
# Of each group of stages: its budget in minutes, the seconds it has taken.
_groups = {}
_at_hand = threading.local()
# When this command began, and the minutes that all of it may take: where a kernel
# is built from nothing, and where none is.
_begun = time.monotonic()
_limits = []
_STATE = env.CACHE / 'times.json'


def durations():
    """Where this checkout's durations are kept.

    Others may have had the machine to themselves, or no part of it.
    """
    return env.WORK / _STATE.name


def _load(place):
    try:
        return json.loads(place.read_text())
    except (OSError, ValueError):
        return {}


def remember(key, value, place=None):
    """Keep VALUE for the estimates of later runs, of all checkouts or in PLACE."""
    place = place or _STATE
    part = place.with_suffix('.part')
    try:
        # Several commands write here: without a lock, what one of them learned
        # between our reading and our writing would be lost.
        with open(place.with_suffix('.lock'), 'w', encoding='utf-8') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = _load(place)
            state[key] = value
            part.write_text(json.dumps(state, indent=1, sort_keys=True))
            part.replace(place)
    except OSError:
        pass    # an estimate less; what fills the disk is reported elsewhere


def recall(key, default=None, place=None):
    """What remember() kept."""
    return _load(place or _STATE).get(key, default)


def clock(seconds):
    """Seconds as people read them."""
    seconds = int(seconds)
    if seconds < 60:
        return f'{seconds} s'
    return f'{seconds // 60}:{seconds % 60:02d} min'


def say(text):
    """One line for the reader."""
    print(text, flush=True)


class Stage:
    """with Stage('kernel x86_64 rust', planned=10) as stage: ..."""

    def __init__(self, name, planned=1.0, varies=False):
        """VARIES: what there is to do is another thing in each run."""
        self.name, self.planned, self.varies = name, planned, varies
        self.count, self.expected, self.text = 0, None, ''
        self.tty = sys.stdout.isatty()
        self.start = self.shown = time.monotonic()
        self._telling, self._over = threading.Lock(), threading.Event()

    def _beat(self):
        """What is at hand may take minutes without a word."""
        while not self._over.wait(1 if self.tty else BEAT):
            self.tick(count=0)

    def __enter__(self):
        self.start = time.monotonic()
        self.shown = self.start if not self.tty else 0
        before = self._before()
        hint = f', last time {clock(before)}' if before else ''
        if not self.tty:
            say(f'[{self.name}] planned {self.planned:.2g} min{hint}')
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def tick(self, text='', count=1):
        """COUNT more units are done; TEXT is the one at hand."""
        with self._telling:
            if not self._over.is_set():
                self._tick(text, count)

    def _tick(self, text, count):
        self.count += count
        if text:
            self.text = text
        now = time.monotonic()
        if now - self.shown < (0.2 if self.tty else BEAT):
            return
        self.shown = now
        elapsed = now - self.start
        amount = ''
        if self.expected:
            whole = max(self.expected, self.count)
            filled = 24 * self.count // whole
            amount = f'{self.count}/{whole} '
            if self.tty:
                amount = f'{"#" * filled}{"." * (24 - filled)} {amount}'
        elif self.count:
            amount = f'{self.count} '
        left = self._left(elapsed)
        left = f', about {clock(left)} left' if left else ''
        line = f'[{self.name}] {amount}{clock(elapsed)}{left}'
        if self.tty:
            room = 99 - len(line)
            print(f'\r\033[K{line} {self.text[:max(room, 0)]}', end='',
                  flush=True)
        else:
            say(line)

    def _before(self):
        """How long it took the last time, where that tells anything."""
        return None if self.varies else recall(f'stage {self.name}',
                                               place=durations())

    def _left(self, elapsed):
        """The seconds to go, if enough is known to tell."""
        if self.expected:
            # How long it took the last time says nothing: it may have been
            # for a few files. A tenth of them shows how fast it goes.
            if 10 * self.count < self.expected:
                return None
            return elapsed * max(self.expected - self.count, 0) / self.count
        before = self._before()
        if not before or before < elapsed:
            return None
        return before - elapsed

    def __exit__(self, kind, value, trace):
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
        return False


def _count(name, planned, seconds):
    _done.append((name, planned, seconds))
    if name in _SET_UP:
        budget('set-up', _SET_UP_BUDGET, seconds)
    elif getattr(_at_hand, 'group', None):
        _groups[_at_hand.group][1] += seconds


def budget(name, minutes, seconds):
    """SECONDS more were taken by what may take so many MINUTES in all."""
    taken = _groups.setdefault(name, [minutes, 0])
    taken[1] += seconds


@contextlib.contextmanager
def group(name, minutes):
    """What stages in here take, but for set-up, is to be MINUTES at most."""
    budget(name, minutes, 0)
    before = getattr(_at_hand, 'group', None)
    _at_hand.group = name
    try:
        yield
    finally:
        _at_hand.group = before


def limit_all(cold, warm):
    """The whole command may take so many minutes: with a fresh kernel, without."""
    _limits[:] = cold, warm


def fresh_kernel():
    """A kernel has been built from nothing."""
    _limits[1:] = []


def handed_over():
    """Count what the shell part has done before this program could run."""
    for name, planned, variable in _ROOTS:
        if seconds := os.environ.get(variable):
            _count(name, planned, float(seconds))


def _line(name, planned, seconds):
    over = '  OVER BUDGET' if seconds > planned * 60 else ''
    say(f'{name:36} {planned:7.1f} {seconds / 60:8.1f}{over}')


def summary():
    """The table at the end of a run: planned and actual minutes."""
    if not _done and not _groups:
        return
    say('\nstage                                planned   actual  (minutes)')
    for name, planned, seconds in _done:
        _line(name, planned, seconds)
    for name, (planned, seconds) in _groups.items():
        _line(f'{name}, of these', planned, seconds)
    total = sum(seconds for _, _, seconds in _done)
    say(f'{"all, one after another":36} {sum(p for _, p, _ in _done):7.1f} '
        f'{total / 60:8.1f}')
    if _limits:
        _line('elapsed', _limits[-1], time.monotonic() - _begun)
    say('')
    _done.clear()
    _groups.clear()

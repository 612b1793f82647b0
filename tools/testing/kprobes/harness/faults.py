# SPDX-License-Identifier: GPL-2.0
"""make selfcheck: does the harness catch what goes wrong?

Each case runs one of our commands in a process of its own with something
broken: it must end with the right status and words that help. A case that
passes where it should not is a failure here. What needs the user's side of
the toolchain root is in selfcheck-outside.sh, whose results are counted with
these.
"""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import check
import cli
import env
import guest
import host
import kernel
import ktap
import progress
import qemu
import results
import source
import toolchain

_PLACE = env.WORK / 'selfcheck'
_OUTSIDE = env.WORK / 'selfcheck-outside'
# A boot under emulation is silent for some seconds, on a loaded machine for
# more; a guest that hangs is given this long here.
_SILENCE = 45
_CASES = []

_KUNIT = '''\
// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
static void right(struct kunit *test)
{
        KUNIT_EXPECT_EQ(test, 2, 1 + 1);
}
static void wrong(struct kunit *test)
{
        KUNIT_EXPECT_EQ(test, 3, 1 + 1);
}
static struct kunit_case cases[] = {
        KUNIT_CASE(right), KUNIT_CASE(wrong), {}
};
static struct kunit_suite suite = {
        .name = "selfcheck", .test_cases = cases,
};
kunit_test_suite(suite);
MODULE_DESCRIPTION("fails on purpose");
MODULE_LICENSE("GPL");
'''


@dataclasses.dataclass
class Case:
    """One thing that goes wrong: what is run, how it must end."""

    function: object
    command: str        # what `make` would be given
    status: int
    words: tuple
    prepare: object = None
    seconds: int = 300

    @property
    def name(self):
        """Also its name on the command line of the child."""
        return self.function.__name__


def case(command, status, *words, **options):
    """The function below breaks something, in the child."""
    def register(function):
        _CASES.append(Case(function, command, status, words, **options))
        return function
    return register


@dataclasses.dataclass
class Setting:
    """How the child is called; prepare() changes it, in the parent."""

    place: Path
    built: object
    script: Path = Path(__file__).resolve()
    wrap: tuple = ()
    variables: dict = dataclasses.field(default_factory=dict)

    def with_tree(self):
        """The checkout's tree, and objects of its own."""
        (self.place / 'tree').symlink_to(env.TREE)
        (self.place / 'orig').symlink_to(env.WORK / 'orig')

    def with_copy(self):
        """A repository of its own, which may be broken; its folder."""
        copy = self.place / 'repo'
        shutil.copytree(env.REPO, copy, symlinks=True,
                        ignore=shutil.ignore_patterns(
                            '.git', '__pycache__', 'target'))
        self.script = copy / self.script.relative_to(env.REPO)
        self.variables['KP_REPO'] = str(copy)
        self.variables['KP_HOST_REPO'] = env.host(copy)
        return copy

    def with_full_disk(self):
        """A small file system as the child's part of the cache."""
        self.wrap = ('unshare', '--mount', 'sh', '-ec',
                     'mount -t tmpfs -o size=8m full "$0"; '
                     'exec "$@"', str(self.place))


# Boots.

def _booted(job, modules=()):
    """The tests of `make kunit` are JOB, in the kernel that is there."""
    cli._job = lambda *_: job
    cli._modules = lambda built: list(modules)
    cli.crashes.tests = lambda built, image: []
    kernel.build = lambda *_: _built()


def _built():
    fields = json.loads(os.environ['KP_BUILT'])
    for name in ('tree', 'obj', 'image'):
        fields[name] = Path(fields[name])
    return kernel.Built(**fields)


@case('kunit', 1, 'the kernel died: Kernel panic', 'sysrq triggered crash',
      'the whole console: ', 'FAILED x86_64.c.boot', '1 failed')
def a_kernel_that_panics():
    """A panic in the middle of the tests."""
    _booted('echo c >/proc/sysrq-trigger\nsleep 60\n')


@case('kunit', 1, f'the guest hangs: it printed nothing for {_SILENCE} s',
      'the last thing it said', 'the whole console: ', '1 failed')
def a_kernel_that_hangs():
    """Silence, and no end."""
    qemu.SILENCE = _SILENCE
    _booted('say the last thing it said\nsleep 100000\n')


@case('kunit', 1, 'the guest hangs: it was still running at the time limit',
      'the whole console: ', '1 failed')
def a_guest_that_never_ends():
    """It goes on talking, from when its suites are over; then time counts."""
    real = qemu._lines

    def lines(process, deadline, silence):
        for line in real(process, deadline, silence):
            yield line
            if b'talks on' in line:
                break
        yield from real(process, time.monotonic() + 20, silence)
    qemu._lines = lines
    _booted('while :; do say talks on; sleep 2; done\n')


@case('kunit', 1, 'the guest printed nothing at all', 'the whole console: ',
      '0 passed, 1 failed')
def a_kernel_that_prints_nothing():
    """A console that leads nowhere."""
    words, *rest = qemu._MACHINES['x86_64']
    qemu._MACHINES['x86_64'] = (
        ['null' if word == 'stdio' else word for word in words], *rest)
    _booted('')


@case('kunit', 1, 'the guest ended without its last word',
      'the whole console: ', '1 failed')
def a_guest_that_ends_too_early():
    """As if everything had been said."""
    _booted('sync\nreboot -f\nsleep 60\n')


def _kunit_module(setting):
    folder = setting.place / 'module'
    folder.mkdir()
    (folder / 'selfcheck.c').write_text(_KUNIT)
    (folder / 'Kbuild').write_text('obj-m := selfcheck.o\n')
    setting.variables['KP_MODULE'] = str(folder)


@case('kunit', 1, 'FAILED x86_64.c.selfcheck.wrong: ', 'EXPECTATION FAILED',
      'FAILED x86_64.c.no-splat: WARNING: made up', '2 failed',
      prepare=_kunit_module)
def a_kunit_case_that_fails():
    """And a kernel that complains, though it comes to its end."""
    _booted('load selfcheck\nsay "WARNING: made up"\n', kernel.external(
        _built(), env.MODULE, env.WORK / 'modules/selfcheck', 'selfcheck'))


# What is asked for.

def _wrong_variable(setting):
    setting.variables['IMPL'] = 'go'


@case('test', 2, 'IMPL= one of rust, c', 'found: go', 'IMPL=rust',
      prepare=_wrong_variable, seconds=20)
def a_variable_that_is_wrong():
    """Refused before the checks, which come first, have begun."""
    check.run = lambda: time.sleep(60)


# Builds.

def _no_such_symbol(setting):
    setting.with_tree()
    config = setting.with_copy() / 'tools/testing/kprobes/config'
    with open(config / 'x86_64.config', 'a', encoding='utf-8') as out:
        # That one is there, but what it depends on is not.
        out.write('CONFIG_XFS_RT=y\n')


@case('kernel', 2, 'x86_64.config:', 'CONFIG_XFS_RT=y', 'depends on',
      prepare=_no_such_symbol)
def a_fragment_line_that_does_not_stick():
    """Kconfig drops it without a word."""


def _other_patch(setting):
    setting.with_tree()
    folder = setting.with_copy() / 'patches'
    folder.mkdir(exist_ok=True)
    (folder / '9999-does-not-fit.patch').write_text(
        '--- a/kernel/fork.c\n+++ b/kernel/fork.c\n@@ -1,3 +1,3 @@\n'
        ' nothing\n-like\n+that\n stands there\n')


@case('kernel', 2, 'patches/9999-does-not-fit.patch to fit', 'FAILED',
      'kernel/fork.c', 'refresh that patch', prepare=_other_patch)
def a_patch_that_does_not_fit():
    """The kernel has changed under it."""


def _same_file(setting):
    setting.with_tree()
    copy = setting.with_copy()
    # One that no build needs, should it really be replaced.
    (copy / 'Documentation').mkdir(exist_ok=True)
    (copy / 'Documentation/index.rst').write_text('ours\n')


@case('kernel', 2, 'Documentation/index.rst is in both', 'patches/',
      prepare=_same_file)
def an_overlay_file_that_the_kernel_has():
    """It would take the kernel's own file away."""


def _old_kernel(setting):
    tree = setting.place / 'linux'
    tree.mkdir()
    (tree / 'Makefile').write_text(
        'VERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 8\n')
    setting.variables['KP_KSRC'] = str(tree)


@case('kernel', 2, 'KSRC to be Linux 7.3', '7.2.8', 'use a 7.3 tree',
      prepare=_old_kernel)
def a_kernel_of_the_wrong_version():
    """Building it."""


@case('apply', 2, 'KSRC to be Linux 7.3', '7.2.8', 'use a 7.3 tree',
      prepare=_old_kernel)
def applying_to_the_wrong_version():
    """Changing it."""


def _broken_module(setting):
    _kunit_module(setting)
    with open(setting.place / 'module/selfcheck.c', 'a',
              encoding='utf-8') as out:
        out.write('int broken = no_such_thing;\n')


@case('module', 2, 'selfcheck.c:', 'error: ', 'no_such_thing',
      'run the same command again', 'whole log: ', prepare=_broken_module)
def source_that_does_not_compile():
    """The first error has to be in sight."""
    kernel.build = lambda *_: _built()


@case('kernel', 2, 'the disk is full', 'CACHE=',
      prepare=Setting.with_full_disk)
def a_disk_that_fills_up_while_unpacking():
    """The kernel's source does not fit."""


def _little_room(setting):
    setting.with_full_disk()
    folder = _fresh('a_large_module')
    (folder / 'large.c').write_text(
        _KUNIT + 'char large[16 << 20] = { 1 };\n')
    (folder / 'Kbuild').write_text('obj-m := large.o\n')
    setting.variables['KP_MODULE'] = str(folder)


@case('module', 2, 'the disk is full', 'CACHE=', prepare=_little_room)
def a_disk_that_fills_up_while_building():
    """The objects do not fit."""
    kernel.build = lambda *_: _built()


def _no_network(setting):
    cache = setting.place / 'cache'
    cache.mkdir()
    setting.wrap = ('unshare', '--net')
    setting.variables['KP_CACHE'] = str(cache)
    setting.variables['KP_HOST_CACHE'] = env.host(cache)


@case('kernel', 2, 'bindgen', 'is the crate registry reachable',
      'Whole log: ', prepare=_no_network)
def no_network_for_the_crates():
    """In an empty cache."""


@case('kernel', 2, 'http://archive.invalid/linux-7.3.4.tar.xz: ',
      'is the network up', 'KSRC=', prepare=_no_network)
def no_network_for_the_source():
    """In an empty cache, when Debian no longer has the package."""
    toolchain.ready = lambda: None
    listing = env.WORK / 'sources'
    listing.write_text(f'{"0" * 64} '
                       'http://archive.invalid/linux-7.3.4.tar.xz\n')
    real = source.archive
    source.archive = lambda: real(packaged=env.WORK / 'none',
                                  listing=listing)


# Counting.

def _planned(*names):
    results.PLANS = env.WORK / 'plan'
    results.PLANS.mkdir(exist_ok=True)
    (results.PLANS / 'host.txt').write_text(''.join(f'{n}\n' for n in names))


@case('host-test', 1, 'FAILED plan.host.second: ', 'it never reported',
      '1 passed, 1 failed, 0 skipped')
def a_test_that_vanished():
    """It is planned, but nothing of its name ran."""
    _planned('host.first', 'host.second')
    host.run = lambda: [ktap.Result('host.first', 'pass')]


@case('host-test', 1, 'nothing passed', '0 passed, 0 failed, 0 skipped')
def a_run_of_nothing():
    """No test, no proof."""
    _planned()
    host.run = lambda: []


# Running.

def _run(one, setting):
    """The child of case ONE: (status, what it printed)."""
    inside = {'KP_WORK': str(setting.place),
              'KP_HOST_WORK': env.host(setting.place),
              'KP_BUILT': json.dumps(dataclasses.asdict(setting.built),
                                     default=str),
              'ARCH': 'x86_64', 'IMPL': 'c', 'V': '', 'UNDO': '', **setting.variables}
    process = subprocess.Popen(
        [*setting.wrap, sys.executable, str(setting.script), one.name],
        env={**os.environ, **inside}, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        return process.communicate(timeout=one.seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        # The child's own handler ends what it started.
        process.terminate()
        return process.communicate()[0] + '\nit had to be stopped', None
    except BaseException:
        process.terminate()
        process.wait()
        raise


def _flat(text):
    """TEXT without line breaks and indents: a message may be folded."""
    return re.sub(r'\s+', ' ', text)


def _judge(one, text, status):
    """What is wrong with how ONE ended; '' if it ended as it must."""
    wrong = []
    if status != one.status:
        wrong.append(f'exit status {status}, not {one.status}')
    wrong += [f'no "{word}"' for word in one.words
              if _flat(word) not in _flat(text)]
    if 'Traceback' in text:
        wrong.append('a traceback')
    return '; '.join(wrong)


def _fresh(name):
    """An empty folder for a case."""
    place = _PLACE / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place


def _try(one, built):
    setting = Setting(_fresh(one.name), built)
    if one.prepare:
        one.prepare(setting)
    text, status = _run(one, setting)
    log = env.LOGS / f'selfcheck-{one.name}.log'
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(text)
    wrong = _judge(one, text, status)
    if wrong:
        wrong += f'; what it printed: {env.host(log)}'
    return ktap.Result(f'selfcheck.{one.name}',
                       'fail' if wrong else 'pass', wrong)


def taking_turns():
    """In the child of _two_at_once: a command that takes a moment."""
    record = env.WORK / 'record'

    def slow(_):
        for word in ('begin', 'end'):
            with open(record, 'a', encoding='utf-8') as out:
                out.write(f'{word}\n')
            time.sleep(2)
        return [ktap.Result('slow', 'pass')]
    cli.guest_tests = slow
    results.vanished = lambda *_: []
    kernel.build = lambda *_: _built()


_TURNS = Case(taking_turns, 'kunit', 0, ())


def _two_at_once(built):
    """Two commands in one checkout: one after the other, both right."""
    one = _TURNS
    place = _fresh(one.name)
    script = [sys.executable, __file__, one.name]
    inside = {**os.environ, 'KP_WORK': str(place),
              'KP_BUILT': json.dumps(dataclasses.asdict(built), default=str),
              'ARCH': 'x86_64', 'IMPL': 'c'}
    both = [subprocess.Popen(script, env=inside, text=True,
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT) for _ in range(2)]
    texts = [process.communicate(timeout=120)[0] for process in both]
    wrong = []
    if [process.returncode for process in both] != [0, 0]:
        wrong.append('one failed')
    if sum('waiting: this checkout is busy with "make kunit"' in text
           for text in texts) != 1:
        wrong.append('not one of them said that it waits')
    if (place / 'record').read_text().split() != ['begin', 'end'] * 2:
        wrong.append('they ran into each other')
    return ktap.Result('selfcheck.two_commands_at_once',
                       'fail' if wrong else 'pass', '; '.join(wrong))


def _outside():
    """The results of selfcheck-outside.sh, which ran just before."""
    try:
        lines = _OUTSIDE.read_text().splitlines()
        _OUTSIDE.unlink()
    except OSError:
        lines = []
    found = []
    for line in lines:
        status, name, reason = line.split('\t')
        found.append(ktap.Result(f'selfcheck.{name}', status, reason))
    if not found or found.pop().name != 'selfcheck.end':
        found.append(ktap.Result(
            'selfcheck.outside', 'fail', 'selfcheck-outside.sh did not come '
            'to its end: run `make selfcheck`, and see what it says first'))
    return found


def run():
    """make selfcheck: all cases; the exit status."""
    tally = results.Tally()
    tally.add(_outside())
    built = kernel.build('x86_64', 'c', 'test')
    # The question whether KVM works is not one of the cases.
    qemu.accelerator(built)
    guest.busybox('x86_64')
    try:
        with progress.Stage('selfcheck', 8) as stage:
            stage.expected = len(_CASES) + 1
            for one in _CASES:
                tally.add([_try(one, built)])
                stage.tick(one.name)
            tally.add([_two_at_once(built)])
    finally:
        shutil.rmtree(_PLACE, ignore_errors=True)
    progress.summary()
    return tally.close()


def _child(name):
    """Break what case NAME breaks, then run its command as a user would."""
    functions = {one.name: one for one in _CASES}
    one = functions.get(name) or _TURNS
    one.function()
    sys.argv = ['kp', one.command]
    return cli.main()


if __name__ == '__main__':
    sys.exit(_child(sys.argv[1]))

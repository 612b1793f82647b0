# SPDX-License-Identifier: GPL-2.0
"""What must kill the guest: each in a boot of its own, right if it does.

And what it must complain of, and go on.
"""

import ktap
import progress
import qemu

# What kills a guest with kprobes in C: the test, the job, what the job says
# once the probe is there, the oops.
_DEFECTS = (
    ('D2_last_post_handler', 'posts', 'WARNING: kernel/kprobes.c',
     r'RIP: 0010:(aggr|opt)_\w*handler|RIP: 0010:kprobe_ftrace_handler'),
    ('H6_long_insn', 'long-insn', 'long_insn: registered',
     r'Oops: int3|int3: 0000'),
    ('H9_protection_fault', 'protection-fault', 'mark: killers',
     r'Oops: general protection fault|general protection fault'),
    ('H9_division_error', 'division-error', 'mark: killers',
     r'Oops: divide error|divide error: 0000'),
    ('H9_zero_padded_load', 'zeropad', 'zeropad: registered',
     r'RIP: 0010:kprobes_zeropad_site\+0x0/'),
    ('D4_refused_and_unregistered', 'not-watched',
     'not_watched: refused by -2',
     r'RIP: 0010:(rethook_\w+|unregister_kretprobes?)\+0x'),
    ('O5_static_key', 'static-key', 'way_in: registered, a jump',
     r'RIP: 0010:kprobes_way_in_label\+0x'),
    ('O5_other_symbol', 'other-symbol', 'way_in: registered, a jump',
     r'RIP: 0010:kprobes_way_in_entered\+0x'),
)
# What either implementation says of a hit without end, in this order.
_SITE = 'kprobes_unrecoverable_site'
UNRECOVERABLE = (
    'Unrecoverable kprobe detected.', 'Dump kprobe:',
    f'.symbol_name = {_SITE}, .offset = 0, .addr = {_SITE}', 'kernel BUG at')

# Of a call whose frame is not what it was, twice, and of a task that comes to
# the trampoline though it is in no call. C's words; the warning is given once.
WARNING = 'WARNING: '
LOST_WAY = (
    WARNING, 'lost_way: 1 back of 1, 0 told', 'lost_way: 2 back of 2, 0 told',
    'lost_way: goes', 'rethook: rethook: Return address not found! '
    'Maybe there is a bug in the kernel', 'kernel BUG at')

# Of a task that a fault in a probed instruction kills: the place, and that the
# CPU handles hits after it.
NO_FIXUP = tuple(
    line for how in ('goes on', 'stepped')
    for line in (f'no_fixup: {how}: registered',
                 'RIP: 0010:kprobes_no_fixup_site+0x0/',
                 f'no_fixup: {how}: 1 hits of 1',
                 f'no_fixup: {how}: 1 hits of 1 after'))

# Of a handler that may sleep: once in a while, wherever it is.
SLEEPS = ('sleeps: registered',
          'BUG: sleeping function called from invalid context',
          'sleeps: goes after ')

# Of a state that panics while it is made: no probe is left, and others go on.
PANICS = ('panics: one is registered', 'a state that cannot be made',
          'kernel BUG at', 'panics: nothing of it is registered',
          'panics: what was there stays', 'panics: another is registered',
          'panics: and goes')


def tests(built, image):
    """The results of all boots of BUILT; IMAGE makes a job's initramfs."""
    if built.arch != 'x86_64':
        return []
    defects = _DEFECTS if built.impl == 'c' else ()
    return [*(_defect(built, image, *defect) for defect in defects),
            _bug(built, image, 'H4_U7_unrecoverable', 'unrecoverable',
                 UNRECOVERABLE, 'a hit without end'),
            _no_fixup(built, image),
            _lost_way(built, image), _sleeps(built, image),
            _bug(built, image, 'state_that_panics', 'panics',
                 PANICS, 'a state that panics')]


def _dies(built, image, job, oops):
    """The console of a boot that ended as it had to, else None."""
    with progress.Stage(f'boot {built.name} {job}', 1):
        try:
            # Of KUnit only what a job may load: the rest is judged in
            # another boot.
            return qemu.boot(built, image(job), name=job, timeout=120,
                             cmdline='kunit.filter_glob=forms*', crash=oops)
        except qemu.Died as died:
            died.show()
            return None


def _defect(built, image, test, job, said, oops):
    name = f'{built.arch}.{built.impl}.crash.{test}'
    defect = test.split('_')[0]
    console = _dies(built, image, job, oops)
    if not console:
        return ktap.Result(name, 'fail', f'known defect {defect} did not '
                           'show as the expected oops')
    if not any(said in line for line in console.lines):
        return ktap.Result(name, 'fail', 'the guest died before the probe '
                           'was there')
    return ktap.Result(name, 'skip', f'known defect {defect}, in a boot of '
                       'its own that died as expected')


def unsaid(lines, wanted):
    """The first of WANTED that LINES do not say, in that order, or None."""
    left = iter(lines)
    return next((want for want in wanted
                 if not any(want in line for line in left)), None)


def _said(name, console, missing):
    """The result of a boot that has said all but MISSING, which may be None."""
    wrong = missing or ', '.join(console.splats)
    if wrong:
        return ktap.Result(name, 'fail', 'not said where expected, or said '
                           f'though it is not: {wrong}')
    return ktap.Result(name, 'pass')


def _no_fixup(built, image):
    name = f'{built.arch}.{built.impl}.crash.H9_no_fixup'
    console = _dies(built, image, 'no-fixup', r'Oops: divide error')
    if not console:
        return ktap.Result(name, 'fail', 'no oops for a division by zero')
    missing = unsaid(console.lines, NO_FIXUP)
    if built.impl == 'c':
        # It leaves the CPU in the step for good.
        if missing == NO_FIXUP[1]:
            return ktap.Result(name, 'skip', 'known defect H9')
        return ktap.Result(name, 'fail', 'known defect H9 did not show as '
                           f'the place left out, but: {missing}')
    return _said(name, console, missing)


def _bug(built, image, test, job, wanted, cause):
    """JOB ends in a BUG(), for CAUSE, and WANTED is said."""
    name = f'{built.arch}.{built.impl}.crash.{test}'
    console = _dies(built, image, job, r'kernel BUG at')
    if not console:
        return ktap.Result(name, 'fail', f'no BUG for {cause}')
    return _said(name, console, unsaid(console.lines, wanted))


def _lost_way(built, image):
    name = f'{built.arch}.{built.impl}.crash.K5_lost_way'
    console = _dies(built, image, 'lost-way', r'kernel BUG at')
    if not console:
        return ktap.Result(name, 'fail', 'no BUG for a way that is lost')
    wrong = warned_wrongly(console.lines)
    # The one that is wanted; whatever else is there is told.
    console.splats[:] = [line for line in console.splats
                         if WARNING not in line]
    return _said(name, console, unsaid(console.lines, LOST_WAY) or wrong)


def _sleeps(built, image):
    name = f'{built.arch}.{built.impl}.crash.handler_that_may_sleep'
    if not built.has('DEBUG_ATOMIC_SLEEP'):
        return ktap.Result(name, 'skip', 'no CONFIG_DEBUG_ATOMIC_SLEEP')
    with progress.Stage(f'boot {built.name} sleeps', 1):
        try:
            console = qemu.boot(built, image('sleeps'), name='sleeps',
                                timeout=120, cmdline='kunit.filter_glob=forms*')
        except qemu.Died as died:
            died.show()
            return ktap.Result(name, 'fail', 'the guest died')
    # Those that are wanted; whatever else there is is told.
    console.splats[:] = [line for line in console.splats
                         if SLEEPS[1] not in line]
    return _said(name, console, unsaid(console.lines, SLEEPS))


def warned_wrongly(lines):
    """What is wrong with the warnings in LINES, of which there is to be one."""
    count = sum(WARNING in line for line in lines)
    return None if count == 1 else f'{count} warnings'

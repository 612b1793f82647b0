# SPDX-License-Identifier: GPL-2.0
"""make run: what the demonstration shows, and what of it must appear."""

import re

import documents
import env
import guest
import progress
import qemu
from kernel import Built

_SAMPLES = ('kprobe_example', 'kretprobe_example', 'kprobe_batch_example')
# The first words of the kernel's own lines that are shown.
_KERNEL = ('handler_', 'kprobe_', 'kretprobe_', 'kernel_clone returned', 'jprobe_')
# How the sample of many probes begins its lines.
_BATCH = 'kprobe_batch_example: '

# Patterns that both implementations show; for ours the pages add more: see documents.py.
NEEDED = {
    'the pre handler fired': r'handler_pre: <kernel_clone>',
    'the post handler fired': r'handler_post: <kernel_clone>',
    'the probe was listed': r'\| .*  k  kernel_clone\+0x',
    'many probes were registered at once':
        _BATCH + r'4 probes registered at once, .* none armed yet',
    'those were listed as disabled': r'\|.*  k  vfs_write\+0x.*\[DISABLED\]',
    'those were armed': _BATCH + 'armed$',
    'each of those fired': _BATCH + r'vfs_write: [1-9]\d* hits, \d+ missed',
    'a command-line probe fired': r'\| .*first: \(vfs_read',
    'the switch was turned off': r'\| 0$',
    'the switch was turned on again': r'\| 1$',
    'the return probe fired': r'kernel_clone returned \d+ and took',
    'the return probe was listed': r'\| .*  r  kernel_clone\+0x',
    'a command-line return probe fired': r'\| .*last: \(',
}


def samples(impl: str) -> tuple[str, ...]:
    """The samples of probes that there are with an implementation."""
    return _SAMPLES + (('jprobe_example',) if impl == 'rust' else ())


def missing(lines: list[str]) -> list[str]:
    """The things that LINES do not show."""
    text = '\n'.join(lines)
    return [event for event, pattern in NEEDED.items() if not re.search(pattern, text, re.M)]


def _show(line: str) -> None:
    if line.startswith(('== ', '$ ', '| ')):
        print(line.replace('== ', '\n== ', 1), flush=True)
    elif line.startswith(_KERNEL):
        print('  kernel: ' + line, flush=True)


def run(built: Built, job: str) -> int:
    """Boot BUILT with JOB, show it, refuse where something is missing."""
    image = guest.initramfs(built, 'run', job, guest.shipped(built, *samples(built.impl)))
    progress.say(f'booting Linux {built.release} ({built.arch}, IMPL={built.impl})')
    # KUnit's tests would fill the list of what was refused.
    console = qemu.boot(built, image, name='run', on_line=_show, cmdline='kunit.enable=0')
    if absent := missing(console.lines):
        raise env.Refusal('the demonstration to show all of its events',
                          'not shown: ' + ', '.join(absent),
                          f'the whole console: {env.host(console.log)}')
    if built.impl == 'rust' and built.arch == env.ARCHES[0] \
            and (absent := documents.unseen(console.lines)):
        raise env.Refusal('what README and the pages show of this',
                          'not seen: ' + '; '.join(absent),
                          'mend the page, or what it is about; the whole '
                          f'console: {env.host(console.log)}')
    print(f'\nThe demonstration is complete: all {len(NEEDED)} expected events were '
          f'shown.\nThe whole console of the guest: {env.host(console.log)}')
    progress.summary()
    return 0

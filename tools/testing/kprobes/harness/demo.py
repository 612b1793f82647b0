# SPDX-License-Identifier: GPL-2.0
"""make run: what the demonstration shows, and what of it must appear."""

import re

import env
import guest
import progress
import qemu
import sessions
from kernel import Built

_SAMPLES = ('kprobe_example', 'kretprobe_example', 'kprobe_batch_example')
# The first words of the kernel's own lines that are shown.
_KERNEL = ('handler_', 'kprobe_', 'kretprobe_', 'kernel_clone returned',
           'jprobe_')
# How the sample of many probes begins its lines.
_BATCH = 'kprobe_batch_example: '

# The line of the list for a probe inside a function, as it begins.
_PLACE = r'\n\| [0-9a-f]+  k  vfs_read\+0x[1-9a-f][0-9a-f]* *'
_SWITCH = r'\n\$ echo %d >/proc/sys/debug/kprobes-optimization'

_ALWAYS = {
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
# Only our implementation shows these.
_OURS = {
    'every hit in a handler was counted as missed':
        _BATCH + r'handlers made ([1-9]\d*) calls .*, \1 missed',
    'a fault handler saw each fault':
        _BATCH + r'vfs_write: (\d+) hits, 0 missed, \1 faults',
    'the jprobe fired':
        r'jprobe_example: kernel_clone\(returns\): flags = 0x[0-9a-f]+, exit_',
    'a jprobe of the old form fired':
        r'jprobe_example: kernel_clone\(jprobe_return\): flags = 0x[0-9a-f]+, ',
    'the jprobe was listed': r'\| .*  j  kernel_clone\+0x',
    'a jump took the place of a breakpoint, went with the switch, and came '
    'back':
        rf'(?s){_PLACE}\[OPTIMIZED\].*{_SWITCH % 0}.*{_PLACE}$.*'
        rf'{_SWITCH % 1}.*{_PLACE}\[OPTIMIZED\]',
    'a probe inside a function fired':
        r'\|  +inside +[1-9]\d* +\d+$',
    'why a function was refused was told':
        r'\| exc_int3\+0x0/\S+  -22  \w',
}


def samples(impl: str) -> tuple[str, ...]:
    """The samples of probes that there are with an implementation."""
    return _SAMPLES + (('jprobe_example',) if impl == 'rust' else ())


def needed(impl: str) -> dict[str, str]:
    """The pattern of each thing that must appear."""
    return {**_ALWAYS, **(_OURS if impl == 'rust' else {})}


def missing(lines: list[str], impl: str) -> list[str]:
    """What of it is in none of LINES."""
    text = '\n'.join(lines)
    return [what for what, pattern in needed(impl).items()
            if not re.search(pattern, text, re.M)]


def _show(line: str) -> None:
    if line.startswith(('== ', '$ ', '| ')):
        print(line.replace('== ', '\n== ', 1), flush=True)
    elif line.startswith(_KERNEL):
        print('  kernel: ' + line, flush=True)


def run(built: Built, job: str) -> int:
    """Boot BUILT with JOB, show it, refuse where something is missing."""
    image = guest.initramfs(built, 'run', job,
                            guest.shipped(built, *samples(built.impl)))
    progress.say(f'booting Linux {built.release} ({built.arch}, '
                 f'IMPL={built.impl})')
    # KUnit's tests would fill the list of what was refused.
    console = qemu.boot(built, image, name='run', on_line=_show,
                        cmdline='kunit.enable=0')
    wanted = ', '.join(needed(built.impl))
    if absent := missing(console.lines, built.impl):
        raise env.Refusal(f'the demonstration to show: {wanted}',
                          'not seen: ' + ', '.join(absent),
                          f'the whole console: {env.host(console.log)}')
    if built.impl == 'rust' and built.arch == 'x86_64' \
            and (absent := sessions.unseen(console.lines)):
        raise env.Refusal('what README and the pages show of this',
                          'not seen: ' + '; '.join(absent),
                          'mend the page, or what it is about; the whole '
                          f'console: {env.host(console.log)}')
    print(f'\nAll of it appeared: {wanted}.\n'
          f'Whole console: {env.host(console.log)}')
    progress.summary()
    return 0

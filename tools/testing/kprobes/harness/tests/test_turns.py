# SPDX-License-Identifier: GPL-2.0
"""Two of us at once: one after the other, and the second says so."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import arches
import check
import cli
import env
import guest
import host
import overlay
import procs
import source
from tests import support


class Case(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.record: list = []

    def slowly(self, *_) -> list:
        """What two must not do at once."""
        self.record.append('begin')
        time.sleep(0.1)
        self.record.append('end')
        return []

    def both(self, function: Callable) -> list:
        """What FUNCTION gives twice at once, the first already at work."""
        answers: list = []
        threads = [threading.Thread(target=lambda: answers.append(function()))
                   for _ in range(2)]
        for thread in threads:
            thread.start()
            while not self.record and thread.is_alive():
                time.sleep(0.001)
        for thread in threads:
            thread.join()
        return answers

    def kernel_tree(self) -> None:
        self.write('linux/Makefile',
                   'VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 1\n')
        self.enterContext(mock.patch.object(env, 'KSRC', self.tmp / 'linux'))

    def patched(self, *functions: tuple) -> None:
        """FUNCTIONS, each (module, name), do nothing."""
        for module, name in functions:
            self.enterContext(mock.patch.object(module, name,
                                                return_value=None))


class Turns(Case):
    def takes_turns(self, function: Callable, busy: str) -> None:
        self.record.clear()
        self.printed.truncate(0)
        self.printed.seek(0)
        self.both(function)
        self.assertEqual(self.record, ['begin', 'end'] * 2)
        self.assertEqual(self.printed.getvalue(),
                         f'waiting: {busy}\n')

    def test_the_second_waits_and_says_for_what(self) -> None:
        def in_turn(path):
            def work():
                with procs.turn(path, 'this checkout', 'make it'):
                    self.slowly()
            return work
        # A longer text of an earlier holder does not shine through.
        self.takes_turns(in_turn(self.write('x.lock', 'a much longer text')),
                         'this checkout is busy with "make it"')
        self.takes_turns(in_turn(self.tmp),
                         'this checkout is busy with "another command"')

    def test_each_part_that_writes(self) -> None:
        def kunit():
            with cli._turn('kunit'):
                self.slowly()
        self.kernel_tree()
        self.patched((host, 'fetch'))
        for module, name, answer in (
                (check, '_all', self.slowly), (host, '_rust', self.slowly),
                (overlay, '_apply', self.slowly)):
            self.enterContext(mock.patch.object(
                module, name, lambda *_, answer=answer: answer()))
        self.takes_turns(check.run, 'this checkout is busy with "checks"')
        self.takes_turns(host.rust, 'this checkout is busy with "host tests"')
        self.takes_turns(kunit, 'this checkout is busy with "make kunit"')
        self.takes_turns(overlay.apply, f'{env.KSRC} is busy with '
                         '"another command"')

    def test_busybox_is_unpacked_once(self) -> None:
        def unpack(_, unpacked):
            self.slowly()
            unpacked.parent.mkdir(exist_ok=True)
            unpacked.write_bytes(b'busybox')
        self.enterContext(mock.patch.object(guest, '_unpack_busybox', unpack))
        self.assertEqual(self.both(lambda: guest.busybox(arches.of('arm'))),
                         [b'busybox'] * 2)
        self.assertEqual(self.record, ['begin', 'end'])

    def test_the_source_is_fetched_once(self) -> None:
        def fetch(*_):
            self.slowly()
            return self.write('cache/source/linux-source-7.3_7.3.4_all.deb',
                              '')
        self.enterContext(mock.patch.object(source.packages, 'fetch', fetch))
        first, second = self.both(source.archive)
        self.assertEqual((self.record, first), (['begin', 'end'], second))


class Clean(Case):
    """make clean, and who works in what it deletes."""

    def cleaned_while(self, path: Path) -> bool:
        """`make clean` while somebody holds PATH: did it wait till then?"""
        kept = self.write('work/ksrc/build/vmlinux', '')
        other = self.write('work/host/target', '')
        with procs.turn(path, 'x', 'something'):
            thread = threading.Thread(target=cli.clean)
            thread.start()
            until = time.monotonic() + 10
            while 'waiting: ' not in self.printed.getvalue() \
                    and thread.is_alive() and time.monotonic() < until:
                time.sleep(0.001)
            waited = kept.exists() and other.exists()
        thread.join()
        self.assertFalse(kept.exists() or other.exists())
        return waited

    def test_it_waits_for_all_that_work_there(self) -> None:
        (env.WORK / 'ksrc').mkdir()
        for folder in (env.WORK, env.WORK / 'ksrc'):
            for name in ('lock', 'check.lock', 'host.lock', 'apply.lock'):
                # The command itself has the first one: see _turn().
                if (folder, name) == (env.WORK, 'lock'):
                    continue
                self.printed.truncate(0)
                self.assertTrue(self.cleaned_while(folder / name), name)
                self.assertIn('busy with "something"',
                              self.printed.getvalue())
                self.assertTrue((folder / name).exists(), name)

    def test_what_it_deletes(self) -> None:
        self.write('work/tree/Makefile', '')
        self.write('work/ksrc/ksrc-leave-out', '')
        for name in 'stap', 'bpf':
            self.write(f'work/{name}/x86_64-c-clients.of', '')
        cli.clean()
        self.assertTrue((env.WORK / 'tree/Makefile').exists())
        self.assertEqual(sorted(p.name for p in (env.WORK / 'ksrc').iterdir()),
                         ['apply.lock', 'check.lock', 'host.lock', 'lock'])
        for name in 'stap', 'bpf':
            self.assertFalse((env.WORK / name).exists(), name)

    def test_who_begins_meanwhile_waits(self) -> None:
        def begin(*_, **__):
            if not (env.WORK / 'ksrc/build').exists():
                self.write('work/ksrc/build/begun', '')
                self.record.append(procs.held(env.WORK / 'ksrc/lock'))
        self.enterContext(mock.patch.object(cli.shutil, 'rmtree', begin))
        cli.clean()
        self.assertEqual(self.record, [True])


class Leftovers(Case):
    """What an interrupted command has left, and what somebody deletes."""

    def run_command(self, function: Callable) -> int:
        """The status of a command that does what FUNCTION does."""
        self.enterContext(mock.patch('sys.argv', ['kp', 'kernel']))
        self.patched((cli.variables, 'check'), (procs, 'end_all'),
                     (cli.toolchain, 'require'), (cli, '_listen'))
        with mock.patch.dict(cli._COMMANDS, {'kernel-only': function}):
            return cli.main()

    def test_scratch_of_an_interrupted_command_goes(self) -> None:
        self.write('work/tmpabcd_123/patched', '')
        self.write('work/tmp/theirs', '')
        with procs.scratch() as mine:
            self.assertEqual(self.run_command(lambda: len(
                list(env.WORK.glob('tmp?*')))), 1)
            self.assertTrue(Path(mine).exists())
            self.assertTrue((env.WORK / 'tmp').exists())
        self.assertFalse(Path(mine).exists())

    def deleted(self, *paths: Path) -> tuple[int, env.Refusal]:
        """A command that works in what somebody deletes."""
        def work():
            for path in paths:
                path.unlink()
            (env.WORK / 'none').read_text()
        self.write('cache/.rust-kprobes', '')
        with mock.patch.object(env.Refusal, 'show', autospec=True) as shown:
            status = self.run_command(work)
        refusal, = shown.call_args.args
        return status, refusal

    def test_a_cache_that_somebody_deletes(self) -> None:
        for path in (env.CACHE / '.rust-kprobes', env.WORK / 'scratch.lock'):
            status, refusal = self.deleted(path)
            self.assertEqual(status, 2)
            self.assertIn(f'deleted {path}, and {env.WORK}/none',
                          refusal.found)
        with self.assertRaises(FileNotFoundError):
            self.deleted()

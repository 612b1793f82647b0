# SPDX-License-Identifier: GPL-2.0
"""Two of us at once: one after the other, and the second says so."""

import json
import threading
import time
from pathlib import Path
from unittest import mock

import check
import arches
import cli
import env
import guest
import host
import overlay
import procs
import progress
import results
import source
from tests import support


class Turns(support.Case):
    def setUp(self):
        super().setUp()
        self.record = []

    def slowly(self, *_):
        """What two must not do at once."""
        self.record.append('begin')
        time.sleep(0.1)
        self.record.append('end')
        return []

    def both(self, function):
        """FUNCTION twice at once, the second once the first is at work."""
        threads = [threading.Thread(target=function) for _ in range(2)]
        for thread in threads:
            thread.start()
            while not self.record and thread.is_alive():
                time.sleep(0.001)
        for thread in threads:
            thread.join()

    def took_turns(self, function):
        self.both(function)
        self.assertEqual(self.record, ['begin', 'end'] * 2)
        self.assertIn('waiting: ', self.printed.getvalue())

    def test_the_second_waits_and_says_for_what(self):
        def work():
            with procs.turn(self.tmp / 'x.lock', 'this checkout', 'make it'):
                self.slowly()
        # A longer text of an earlier holder does not shine through.
        self.write('x.lock', 'a much longer text than that')
        self.took_turns(work)
        self.assertEqual(self.printed.getvalue(), 'waiting: this checkout is '
                         'busy with "make it"\n')

    def test_a_folder(self):
        def work():
            with procs.turn(self.tmp, 'the tree', 'apply'):
                self.slowly()
        self.took_turns(work)
        self.assertIn('the tree is busy with "another command"',
                      self.printed.getvalue())

    def test_free_again_after_a_failure(self):
        for _ in range(2):
            with self.assertRaises(KeyError):
                with procs.turn(self.tmp / 'x.lock', 'x', 'y'):
                    raise KeyError
        self.assertEqual(self.printed.getvalue(), '')

    def test_checks(self):
        self.enterContext(mock.patch.object(check, '_all', self.slowly))
        self.took_turns(check.run)

    def test_host_tests(self):
        self.enterContext(mock.patch.object(host, 'fetch'))
        self.enterContext(mock.patch.object(host, '_rust', self.slowly))
        self.took_turns(host.rust)

    def test_apply(self):
        self.write('linux/Makefile',
                   'VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 1\n')
        self.enterContext(mock.patch.object(env, 'KSRC', self.tmp / 'linux'))
        self.enterContext(mock.patch.object(overlay, '_apply', self.slowly))
        self.took_turns(overlay.apply)

    def test_commands_that_need_the_kernel_tree(self):
        def work():
            with cli._turn('kunit'):
                self.slowly()
        self.took_turns(work)
        self.assertIn('this checkout is busy with "make kunit"',
                      self.printed.getvalue())

    def test_commands_that_go_on_beside_a_build(self):
        with cli._turn('kernel'), cli._turn('check'), cli._turn('apply'):
            self.assertEqual(self.printed.getvalue(), '')

    def cleaned_while(self, path):
        """`make clean` while somebody holds PATH: what was left till then."""
        kept = self.write('work/ksrc/build/vmlinux', '')
        other = self.write('work/host/target', '')
        with procs.turn(path, 'x', 'something'):
            thread = threading.Thread(target=cli.clean)
            thread.start()
            until = time.monotonic() + 10
            while 'waiting: ' not in self.printed.getvalue() \
                    and thread.is_alive() and time.monotonic() < until:
                time.sleep(0.001)
            found = kept.exists() and other.exists()
        thread.join()
        self.assertFalse(kept.exists() or other.exists())
        return found

    def test_clean_waits_for_all_that_work_there(self):
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

    def test_clean_keeps_the_kernel_source(self):
        self.write('work/tree/Makefile', '')
        self.write('work/ksrc/ksrc-leave-out', '')
        cli.clean()
        self.assertTrue((env.WORK / 'tree/Makefile').exists())
        self.assertEqual(sorted(p.name for p in (env.WORK / 'ksrc').iterdir()),
                         ['apply.lock', 'check.lock', 'host.lock', 'lock'])

    def test_clean_takes_what_guests_run_that_was_compiled_here(self):
        for name in ('stap', 'bpf'):
            self.write(f'work/{name}/x86_64-c-clients.of', '')
        cli.clean()
        for name in ('stap', 'bpf'):
            self.assertFalse((env.WORK / name).exists(), name)

    def test_apply_is_seen_by_clean(self):
        self.write('linux/Makefile',
                   'VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 1\n')
        self.enterContext(mock.patch.object(env, 'KSRC', self.tmp / 'linux'))
        self.enterContext(mock.patch.object(
            overlay, '_apply', lambda _: (env.WORK / 'apply.lock').read_text()))
        self.assertEqual(overlay.apply(), 'make apply')

    def test_what_an_interrupted_command_left_goes(self):
        self.write('work/tmpabcd_123/patched', '')
        self.write('work/tmp/theirs', '')
        with procs.scratch() as mine:
            procs.clear_scratch()
            self.assertTrue(Path(mine).exists())
            self.assertFalse((env.WORK / 'tmpabcd_123').exists())
            self.assertTrue((env.WORK / 'tmp').exists())
        self.assertFalse(Path(mine).exists())
        self.assertEqual(self.printed.getvalue(), '')

    def test_what_goes_by_itself_meanwhile(self):
        folder = self.write('work/tmpabcd_123/patched', '').parent

        def held(path, real=procs.held):
            source.shutil.rmtree(path)
            return real(path)
        self.enterContext(mock.patch.object(procs, 'held', held))
        procs.clear_scratch()
        self.assertFalse(folder.exists())

    def test_clean_keeps_who_begins_meanwhile_waiting(self):
        def begin(*_, real=cli.shutil.rmtree, **__):
            if not (env.WORK / 'ksrc/build').exists():
                self.write('work/ksrc/build/begun', '')
                self.record.append(procs.held(env.WORK / 'ksrc/lock'))
        self.enterContext(mock.patch.object(cli.shutil, 'rmtree', begin))
        cli.clean()
        self.assertEqual(self.record, [True])

    def deleted(self, *paths):
        """A command that works in what somebody deletes."""
        def work():
            for path in paths:
                path.unlink()
            (env.WORK / 'none').read_text()
        self.write('cache/.rust-kprobes', '')
        self.enterContext(mock.patch('sys.argv', ['kp', 'kernel']))
        for where, name in ((cli.variables, 'check'), (procs, 'end_all'),
                            (cli.toolchain, 'require'), (cli, '_listen')):
            self.enterContext(mock.patch.object(where, name))
        self.enterContext(mock.patch.dict(cli._COMMANDS,
                                          {'kernel-only': work}))
        with mock.patch.object(env.Refusal, 'show', autospec=True) as shown:
            status = cli.main()
        refusal, = shown.call_args.args
        return status, refusal

    def test_a_cache_that_somebody_deletes(self):
        for path in (env.CACHE / '.rust-kprobes', env.WORK / 'scratch.lock'):
            status, refusal = self.deleted(path)
            self.assertEqual(status, 2)
            self.assertIn(f'deleted {path}, and {env.WORK}/none',
                          refusal.found)

    def test_a_part_of_a_command_says_so_too(self):
        mark = self.write('cache/.rust-kprobes', '')

        def part():
            mark.unlink()
            mark.read_text()
        with mock.patch.object(env.Refusal, 'show'):
            found, = results.attempt('x', part)
        self.assertEqual((found.status, found.name), ('fail', 'x'))
        self.assertIn(f'deleted {mark}', found.reason)

    def test_what_nobody_has_deleted_is_a_fault_of_ours(self):
        with self.assertRaises(FileNotFoundError):
            self.deleted()

    def test_the_next_command_sees_to_that(self):
        self.write('work/tmpabcd_123/patched', '')
        self.enterContext(mock.patch('sys.argv', ['kp', 'kernel']))
        for where, name in ((cli.variables, 'check'), (procs, 'end_all'),
                            (cli.toolchain, 'require'), (cli, '_listen')):
            self.enterContext(mock.patch.object(where, name))
        self.enterContext(mock.patch.dict(
            cli._COMMANDS, {'kernel-only': lambda: len(
                list(env.WORK.glob('tmp*')))}))
        self.assertEqual(cli.main(), 0)

    def test_busybox_is_unpacked_once(self):
        def unpack(_, unpacked):
            self.slowly()
            unpacked.parent.mkdir(exist_ok=True)
            unpacked.write_bytes(b'busybox')
        self.enterContext(mock.patch.object(guest, '_unpack_busybox', unpack))
        got = []
        self.both(lambda: got.append(guest.busybox(arches.of('arm'))))
        self.assertEqual((self.record, got),
                         (['begin', 'end'], [b'busybox'] * 2))

    def test_the_source_is_fetched_once(self):
        def fetch(*_):
            self.slowly()
            return self.write('cache/source/linux-7.3.4.tar.xz', '')
        self.enterContext(mock.patch.object(source.packages, 'fetch', fetch))
        got = []
        self.both(lambda: got.append(source.archive().name))
        self.assertEqual((self.record, got),
                         (['begin', 'end'], ['linux-7.3.4.tar.xz'] * 2))

    def test_no_time_is_lost(self):
        def slow_load(place, real=progress._load):
            state = real(place)
            time.sleep(0.002)
            return state

        def learn(number):
            for n in range(10):
                progress.remember(f'{number}.{n}', n)
        self.enterContext(mock.patch.object(progress, '_load', slow_load))
        threads = [threading.Thread(target=learn, args=(n,))
                   for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(json.loads(progress._STATE.read_text())), 80)

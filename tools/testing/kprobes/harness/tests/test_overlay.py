# SPDX-License-Identifier: GPL-2.0
"""Our files and patches in a kernel tree, and out again without a trace."""

import contextlib
import difflib
import functools
import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path
from unittest import mock

import env
import overlay
from tests import support

_MODULES = 'tools/testing/kprobes/'
_MAKEFILE = 'VERSION = 7\nPATCHLEVEL = {}\nSUBLEVEL = 4\n'
_KERNEL = {
    'Makefile': _MAKEFILE.format(3),
    'kernel/kprobes.c': ''.join(f'line {n}\n' for n in range(1, 21)),
    'kernel/Makefile': 'obj-y += fork.o\n',
    'rust/Makefile': 'obj-y += core.o\n',
}


def patch(path, before, after):
    """A patch that makes AFTER of BEFORE."""
    return ''.join(difflib.unified_diff(
        before.splitlines(True), after.splitlines(True),
        f'a/{path}', f'b/{path}'))


class Trees(support.Case):
    """A small repository and a small kernel."""

    def setUp(self):
        super().setUp()
        self.repo, self.tree = self.tmp / 'repo', self.tmp / 'linux'
        self.write('repo/overlay.list', '# what goes in\nrust\nsamples ?\n')
        self.write('repo/rust/kprobes/model.rs', '//! model\n')
        self.write('repo/rust/kprobes/life/arm.rs', '//! arm\n')
        self.write('repo/README.md', 'stays here\n')
        (self.repo / 'patches').mkdir()
        for path, text in _KERNEL.items():
            self.write(f'linux/{path}', text)
        (self.tree / 'kernel/Makefile').chmod(0o640)
        self.pristine = self.snapshot()

    def snapshot(self):
        return {str(path.relative_to(self.tree)):
                (path.read_bytes(), path.stat().st_mode)
                if path.is_file() else None
                for path in self.tree.rglob('*')}

    def target(self):
        return overlay.Target(self.tree, self.tmp / 'state', self.repo,
                              listing=self.repo / 'overlay.list')

    def sync(self, **options):
        return self.target().sync(**options)

    def edit(self, name, path, old, new):
        """A patch file NAME that turns OLD into NEW in PATH."""
        before = _KERNEL[path]
        self.assertIn(old, before)
        self.write(f'repo/patches/{name}',
                   patch(path, before, before.replace(old, new, 1)))

    def age(self):
        """Everything in the tree becomes an hour old."""
        for path in self.tree.rglob('*'):
            if path.is_file():
                before = path.stat().st_mtime - 3600
                os.utime(path, (before, before))

    def times(self):
        return {str(path.relative_to(self.tree)): path.stat().st_mtime_ns
                for path in self.tree.rglob('*') if path.is_file()}

    def read(self, path):
        return (self.tree / path).read_text()

    @contextlib.contextmanager
    def unchanged(self, *words):
        """The block must refuse with WORDS, and leave the tree as it is."""
        before = self.snapshot()
        with self.refused(*words):
            yield
        self.assertEqual(self.snapshot(), before)

    def in_ksrc(self):
        """From here on the tree is the user's, as KSRC= says."""
        self.enterContext(mock.patch.object(env, 'KSRC', self.tree))
        self.enterContext(mock.patch.object(
            overlay, 'Target', functools.partial(
                overlay.Target, repo=self.repo,
                listing=self.repo / 'overlay.list')))


class Files(Trees):
    def test_the_overlay_is_copied_and_nothing_else(self):
        self.write('repo/rust/kprobes/old.rs.orig', 'x')
        self.write('repo/rust/kprobes/.hidden', 'x')
        self.assertEqual(self.sync(), ['A rust/kprobes/life/arm.rs',
                                       'A rust/kprobes/model.rs'])
        self.assertEqual(self.read('rust/kprobes/life/arm.rs'), '//! arm\n')
        new = set(self.snapshot()) - set(self.pristine)
        self.assertEqual(new, {'rust/kprobes', 'rust/kprobes/life',
                               'rust/kprobes/life/arm.rs',
                               'rust/kprobes/model.rs'})

    def test_a_folder_of_the_list_that_is_not_there(self):
        self.write('repo/samples/probe.c', 'int x;\n')
        self.assertIn('A samples/probe.c', self.sync())
        self.write('repo/overlay.list', 'rust\nsample\n')
        with self.unchanged('the folder sample,', 'overlay.list', '" ?"'):
            self.sync()
        self.assertIn('rust', overlay.roots())

    def test_a_kernel_tree_gets_all_of_our_modules(self):
        named = re.search(r'^KPROBES_MODULES \?= (.*)$',
                          (env.REPO / 'Kbuild').read_text(), re.M)[1]
        self.assertEqual(
            {root for root in overlay.roots() if root.startswith(_MODULES)},
            # What the pages show is built by make module.
            {_MODULES + name for name in ['examples', *re.findall(
                '[a-z]{3,}', named)]})

    def test_what_a_module_is_made_of_comes_along(self):
        for path in overlay.files():
            if not str(path).startswith(_MODULES):
                continue
            (self.tmp / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(env.REPO / path, self.tmp / path)
        for path in (self.tmp / _MODULES).glob('*/*.[chS]'):
            for name in re.findall('^#include "(.*)"$', path.read_text(),
                                   re.M):
                # Kbuild makes the tables of cases.
                self.assertTrue(name.endswith('.cases')
                                or (path.parent / name).exists(), name)
        made = subprocess.run(
            ['python3', '-B', self.tmp / _MODULES / 'forms/generate.py'],
            check=True, capture_output=True, text=True).stdout
        self.assertIn('\nforms_0:\n', made)

    def test_only_what_changed_is_written(self):
        self.edit('0001.patch', 'kernel/Makefile', 'fork.o', 'fork.o exit.o')
        self.sync()
        self.age()
        before = self.times()
        self.write('repo/rust/kprobes/model.rs', '//! model, again\n')
        self.assertEqual(self.sync(), ['A rust/kprobes/model.rs'])
        after = self.times()
        self.assertEqual([p for p in before if before[p] != after[p]],
                         ['rust/kprobes/model.rs'])
        self.assertEqual(self.sync(), [])

    def test_a_file_that_leaves_the_repository_leaves_the_tree(self):
        self.sync()
        (self.repo / 'rust/kprobes/life/arm.rs').unlink()
        self.assertEqual(self.sync(), ['D rust/kprobes/life/arm.rs'])
        self.assertFalse((self.tree / 'rust/kprobes/life').exists())
        self.assertTrue((self.tree / 'rust/Makefile').exists())

    def test_a_kernel_file_is_never_replaced_but_ours_is(self):
        self.sync()
        self.write('repo/rust/kprobes/model.rs', 'other\n')
        self.sync()
        self.assertEqual(self.read('rust/kprobes/model.rs'), 'other\n')
        self.write('repo/rust/Makefile', 'ours\n')
        self.edit('0001.patch', 'kernel/Makefile', 'fork.o', 'x.o')
        with self.unchanged('rust/Makefile is in both', 'patches/'):
            self.sync()


class Patches(Trees):
    def test_applied_updated_dropped(self):
        path = 'kernel/kprobes.c'
        self.age()
        self.edit('0001.patch', path, 'line 3\n', 'line three\n')
        self.assertIn(f'M {path}', self.sync())
        self.assertIn('line three\n', self.read(path))
        self.edit('0001.patch', path, 'line 3\n', 'line drei\n')
        self.assertEqual(self.sync(), [f'M {path}'])
        self.assertIn('line drei\n', self.read(path))
        self.assertNotIn('line three\n', self.read(path))
        (self.repo / 'patches/0001.patch').unlink()
        old = self.times()[path]
        self.assertEqual(self.sync(), [f'R {path}'])
        self.assertEqual(self.read(path), _KERNEL[path])
        # make has to see that it changed once more.
        self.assertGreater(self.times()[path], old)

    def test_two_patches_of_one_file(self):
        path = 'kernel/kprobes.c'
        self.edit('0001.patch', path, 'line 3\n', 'three\n')
        self.edit('0002.patch', path, 'line 18\n', 'eighteen\n')
        self.sync()
        self.assertIn('three\n', self.read(path))
        self.assertIn('eighteen\n', self.read(path))
        self.assertEqual(self.sync(), [])

    def test_a_patch_that_does_not_fit_names_itself(self):
        self.edit('0001-good.patch', 'kernel/Makefile', 'fork.o', 'x.o')
        self.edit('0002-bad.patch', 'kernel/kprobes.c', 'line 5\n', 'x\n')
        # A line of the context is enough: no fuzz.
        for text in ('another kernel\n', _KERNEL['kernel/kprobes.c'].replace(
                'line 2\n', 'line II\n')):
            self.write('linux/kernel/kprobes.c', text)
            with self.unchanged('patches/0002-bad.patch', 'FAILED',
                                'kernel/kprobes.c', 'refresh that patch'):
                self.sync()

    def test_a_patch_of_no_file_is_refused(self):
        for text, *words in (
                ('--- /dev/null\n+++ b/kernel/new.c\n@@ -0,0 +1 @@\n+x\n',
                 '0001.patch', 'overlay'),
                (patch('kernel/gone.c', 'a\n', 'b\n'),
                 'kernel/gone.c', 'complete 7.3 tree')):
            self.write('repo/patches/0001.patch', text)
            with self.unchanged(*words):
                self.sync()

    def test_dashes_in_the_text_are_not_file_names(self):
        self.write('repo/patches/0001.patch', 'Subject: x\n---\n'
                   + patch('kernel/Makefile', 'obj-y += fork.o\n-- old\n',
                           'obj-y += fork.o\n'))
        self.assertEqual(
            overlay.touched(self.repo / 'patches/0001.patch'),
            [Path('kernel/Makefile')])

    def test_the_mode_of_a_patched_file_stays(self):
        self.edit('0001.patch', 'kernel/Makefile', 'fork.o', 'x.o')
        self.sync()
        self.assertEqual(
            (self.tree / 'kernel/Makefile').stat().st_mode & 0o777, 0o640)


class Undoing(Trees):
    def setUp(self):
        super().setUp()
        self.edit('0001.patch', 'kernel/kprobes.c', 'line 3\n', 'three\n')
        self.edit('0002.patch', 'kernel/Makefile', 'fork.o', 'x.o')

    def test_in_and_out_leaves_no_trace(self):
        self.sync()
        self.assertNotEqual(self.snapshot(), self.pristine)
        self.sync(remove=True)
        self.assertEqual(self.snapshot(), self.pristine)

    def interrupt(self, at, **options):
        """A sync that is killed at its write number AT of the tree."""
        writes = itertools.count(1)

        def replace(path, other, real=Path.replace):
            if self.tree in other.parents and next(writes) == at:
                raise KeyboardInterrupt
            return real(path, other)
        with mock.patch.object(Path, 'replace', replace), \
                self.assertRaises(KeyboardInterrupt):
            self.sync(**options)

    def test_an_interrupted_sync_is_taken_up_or_undone(self):
        self.sync()
        wanted = self.snapshot()
        self.sync(remove=True)
        for at in range(1, 5):
            for goes_on in True, False:
                self.interrupt(at)
                if goes_on:
                    self.sync()
                    self.assertEqual(self.snapshot(), wanted, f'write {at}')
                self.sync(remove=True)
                self.assertEqual(self.snapshot(), self.pristine,
                                 f'write {at}')

    def test_an_interrupted_update_is_not_somebody_elses_edit(self):
        self.sync()
        for at in (2, 3):
            self.edit('0001.patch', 'kernel/kprobes.c', 'line 3\n',
                      f'drei {at}\n')
            for name in ('life/arm', 'model'):
                self.write(f'repo/rust/kprobes/{name}.rs', f'//! {at}\n')
            self.interrupt(at)
            self.assertEqual(self.target().changed_by_others(), [])
            self.sync()

    def test_interrupted_while_putting_back(self):
        self.sync()
        copies = itertools.count(1)

        def copy(*words, real=overlay.shutil.copy):
            if next(copies) == 2:
                raise KeyboardInterrupt
            return real(*words)
        with mock.patch.object(overlay.shutil, 'copy', copy), \
                self.assertRaises(KeyboardInterrupt):
            self.sync(remove=True)
        self.assertEqual(self.target().changed_by_others(), [])
        self.sync(remove=True)
        self.assertEqual(self.snapshot(), self.pristine)


class Apply(Trees):
    """make apply KSRC= and back."""

    def setUp(self):
        super().setUp()
        self.edit('0001.patch', 'kernel/kprobes.c', 'line 3\n', 'three\n')
        self.in_ksrc()

    def test_apply_then_undo(self):
        overlay.apply(remove=True)
        self.assertEqual(self.snapshot(), self.pristine)
        self.assertEqual(overlay.apply(), 0)
        self.assertIn('three\n', self.read('kernel/kprobes.c'))
        self.assertIn('UNDO=1', self.printed.getvalue())
        self.assertEqual(overlay.apply(), 0)
        self.assertIn('is up to date', self.printed.getvalue())
        self.assertEqual(overlay.apply(remove=True), 0)
        self.assertEqual(self.snapshot(), self.pristine)

    def test_edited_since(self):
        overlay.apply()
        for path in ('kernel/kprobes.c', 'rust/kprobes/model.rs'):
            text = self.read(path)
            self.write(f'linux/{path}', text + 'theirs\n')
            for remove in (False, True):
                with self.unchanged(path, 'undo them'):
                    overlay.apply(remove)
            self.write(f'linux/{path}', text)

    def test_a_file_where_a_folder_belongs(self):
        self.write('linux/rust/kprobes', 'theirs\n')
        with self.unchanged('kprobes/', 'rust/kprobes is no folder'):
            overlay.apply()

    def test_a_tree_that_is_not_ours(self):
        with mock.patch.object(overlay.os, 'access', lambda *_: False), \
                self.unchanged('.rust-kprobes', 'not ours to write'):
            overlay.apply()

    def test_no_room_in_the_tree(self):
        full = OSError(28, 'No space left on device')
        with mock.patch.object(overlay.Target.func, '_write',
                               side_effect=full), \
                self.refused(str(self.tree), 'No space left', 'UNDO=1'):
            overlay.apply()

    def test_wrong_version_or_no_tree(self):
        self.write('linux/Makefile', _MAKEFILE.format(2))
        with self.unchanged('7.3', '7.2.4'):
            overlay.apply()
        with mock.patch.object(env, 'KSRC', None), \
                self.refused('make apply KSRC='):
            overlay.apply()

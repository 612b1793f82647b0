# SPDX-License-Identifier: GPL-2.0
"""Our files and patches in a kernel tree, and out again without a trace."""

import contextlib
import difflib
import functools
import itertools
from pathlib import Path
from unittest import mock

import env
import overlay
from tests import support

_KERNEL = {
    'Makefile': 'VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\n',
    'kernel/kprobes.c': ''.join(f'line {n}\n' for n in range(1, 21)),
    'kernel/Makefile': 'obj-y += fork.o\n',
    'rust/Makefile': 'obj-y += core.o\n',
}


class Trees(support.Case):
    """A small repository and a small kernel."""

    def setUp(self) -> None:
        super().setUp()
        self.repo, self.tree = self.tmp / 'repo', self.tmp / 'linux'
        self.write('repo/overlay.list', '# what goes in\nrust\n')
        self.write('repo/rust/kprobes/model.rs', '//! model\n')
        self.write('repo/rust/kprobes/life/arm.rs', '//! arm\n')
        self.write('repo/README.md', 'stays here\n')
        (self.repo / 'patches').mkdir()
        for path, text in _KERNEL.items():
            self.write(f'linux/{path}', text)
        (self.tree / 'kernel/Makefile').chmod(0o640)
        self.pristine = self.snapshot()

    def take_as_ksrc(self) -> None:
        """Make the kernel the user's, as KSRC= does."""
        self.replace((env, 'KSRC', self.tree), (overlay, 'Target', functools.partial(
            overlay.Target, repo=self.repo, listing=self.repo / 'overlay.list')))

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
        self.write(f'repo/patches/{name}', ''.join(difflib.unified_diff(
            before.splitlines(True), before.replace(old, new, 1).splitlines(True),
            f'a/{path}', f'b/{path}')))

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


class Files(Trees):
    def test_the_list_of_this_repository(self) -> None:
        self.assertIn(Path('lib/tests/kprobes/Makefile'), overlay.files())

    def test_the_overlay_is_copied_and_nothing_else(self) -> None:
        self.write('repo/rust/kprobes/old.rs.orig', 'x')
        self.write('repo/rust/kprobes/.hidden', 'x')
        self.assertEqual(self.sync(), ['A rust/kprobes/life/arm.rs', 'A rust/kprobes/model.rs'])
        self.assertEqual(self.read('rust/kprobes/life/arm.rs'), '//! arm\n')
        new = set(self.snapshot()) - set(self.pristine)
        self.assertEqual(new, {'rust/kprobes', 'rust/kprobes/life',
                               'rust/kprobes/life/arm.rs',
                               'rust/kprobes/model.rs'})

    def test_only_what_changed_is_written(self) -> None:
        self.edit('0001.patch', 'kernel/Makefile', 'fork.o', 'fork.o exit.o')
        self.sync()
        before = self.times()
        self.write('repo/rust/kprobes/model.rs', '//! model, again\n')
        (self.repo / 'rust/kprobes/life/arm.rs').unlink()
        self.assertEqual(self.sync(), ['A rust/kprobes/model.rs', 'D rust/kprobes/life/arm.rs'])
        after = self.times()
        self.assertEqual({path for path in before
                          if before[path] != after.get(path)},
                         {'rust/kprobes/life/arm.rs',
                          'rust/kprobes/model.rs'})
        self.assertFalse((self.tree / 'rust/kprobes/life').exists())
        self.assertEqual(self.sync(), [])

    def test_a_kernel_file_is_never_replaced(self) -> None:
        self.write('repo/rust/Makefile', 'ours\n')
        self.edit('0001.patch', 'kernel/Makefile', 'fork.o', 'x.o')
        with self.unchanged('rust/Makefile is in both', 'patches/'):
            self.sync()


class Patches(Trees):
    def test_applied_updated_dropped(self) -> None:
        path = 'kernel/kprobes.c'
        self.edit('0002.patch', path, 'line 18\n', 'eighteen\n')
        self.edit('0001.patch', path, 'line 3\n', 'line three\n')
        self.assertIn(f'M {path}', self.sync())
        self.assertIn('line three\n', self.read(path))
        self.assertIn('eighteen\n', self.read(path))
        self.edit('0001.patch', path, 'line 3\n', 'line drei\n')
        self.assertEqual(self.sync(), [f'M {path}'])
        self.assertIn('line drei\n', self.read(path))
        self.assertNotIn('line three\n', self.read(path))
        for patch_file in (self.repo / 'patches').iterdir():
            patch_file.unlink()
        old = self.times()[path]
        self.assertEqual(self.sync(), [f'R {path}'])
        self.assertEqual(self.read(path), _KERNEL[path])
        # make has to see that it changed once more.
        self.assertGreater(self.times()[path], old)

    def test_a_patch_that_does_not_fit_names_itself(self) -> None:
        self.edit('0001-good.patch', 'kernel/Makefile', 'fork.o', 'x.o')
        self.edit('0002-bad.patch', 'kernel/kprobes.c', 'line 5\n', 'x\n')
        # A line of the context is enough: no fuzz.
        for text in ('another kernel\n', _KERNEL['kernel/kprobes.c'].replace(
                'line 2\n', 'line II\n')):
            self.write('linux/kernel/kprobes.c', text)
            with self.unchanged('patches/0002-bad.patch', 'FAILED',
                                'kernel/kprobes.c', 'refresh that patch'):
                self.sync()


class Undoing(Trees):
    def setUp(self) -> None:
        super().setUp()
        self.edit('0001.patch', 'kernel/kprobes.c', 'line 3\n', 'three\n')
        self.edit('0002.patch', 'kernel/Makefile', 'fork.o', 'x.o')

    def interrupt(self, at, **options):
        """A sync that is killed at its write number AT of the tree."""
        writes = itertools.count(1)

        def replace(path, other, real=Path.replace):
            if self.tree in other.parents and next(writes) == at:
                raise KeyboardInterrupt
            return real(path, other)
        with mock.patch.object(Path, 'replace', replace), self.assertRaises(KeyboardInterrupt):
            self.sync(**options)

    def test_an_interrupted_sync_is_taken_up_or_undone(self) -> None:
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
                self.assertEqual(self.snapshot(), self.pristine, f'write {at}')

    def test_what_an_interrupt_leaves_is_not_somebody_elses_edit(self) -> None:
        for at, remove in (2, False), (3, False), (1, True), (2, True):
            self.sync()
            self.edit('0001.patch', 'kernel/kprobes.c', 'line 3\n', f'drei {at}\n')
            for name in ('life/arm', 'model'):
                self.write(f'repo/rust/kprobes/{name}.rs', f'//! {at}\n')
            self.interrupt(at, remove=remove)
            self.assertEqual(self.target().changed_by_others(), [])
            self.sync(remove=True)
            self.assertEqual(self.snapshot(), self.pristine)


class Apply(Trees):
    """make apply KSRC= and back."""

    def setUp(self) -> None:
        super().setUp()
        self.edit('0001.patch', 'kernel/kprobes.c', 'line 3\n', 'three\n')
        self.take_as_ksrc()

    def test_apply_then_undo(self) -> None:
        overlay.apply(remove=True)
        self.assertEqual(self.snapshot(), self.pristine)
        self.assertEqual(overlay.apply(), 0)
        self.assertIn('three\n', self.read('kernel/kprobes.c'))
        self.assertIn('UNDO=1', self.printed.getvalue())
        self.assertEqual(overlay.apply(), 0)
        self.assertIn('is up to date', self.printed.getvalue())
        self.assertEqual(overlay.apply(remove=True), 0)
        self.assertEqual(self.snapshot(), self.pristine)

    def test_edited_since(self) -> None:
        overlay.apply()
        for path in ('kernel/kprobes.c', 'rust/kprobes/model.rs'):
            text = self.read(path)
            self.write(f'linux/{path}', text + 'theirs\n')
            for remove in (False, True):
                with self.unchanged(path, 'undo them'):
                    overlay.apply(remove)
            self.write(f'linux/{path}', text)

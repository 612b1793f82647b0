# SPDX-License-Identifier: GPL-2.0
"""KSRC=: what changes in the user's tree reaches the builds, and no more."""

import os
import time
from unittest import mock

import env
import ksrc
import overlay
from tests.test_overlay import Trees

_AREA = 'kernel/kprobes.c'


class Copies(Trees):
    """The user's tree is linux; ours, with the overlay in it, env.TREE."""

    def setUp(self) -> None:
        super().setUp()
        self.edit('0001.patch', _AREA, 'line 3\n', 'three\n')
        self.take_as_ksrc()

    def files(self):
        """{name: path} of env.TREE's files, but for the mark of its source."""
        return {str(path.relative_to(env.TREE)): path for path in sorted(env.TREE.rglob('*'))
                if path.is_file() and path.name != '.kprobes-source'}

    def build(self):
        """What a build would see: {path: text}."""
        overlay.sync()
        return {name: path.read_text() for name, path in self.files().items()}

    def touched(self, before):
        """The files of env.TREE written since BEFORE."""
        return [name for name, path in self.files().items() if path.stat().st_mtime_ns > before]

    def built(self):
        """Build, then let an hour pass; what the clock says."""
        seen = self.build()
        for path in self.files().values():
            os.utime(path, (time.time() - 3600,) * 2)
        return seen, time.time_ns() - 1800 * 10**9

    def test_only_what_the_user_changes_is_written(self) -> None:
        seen, then = self.built()
        self.assertEqual(self.snapshot(), self.pristine)
        with mock.patch.object(ksrc, '_rsync', self.fail):
            self.assertEqual(self.build(), seen)
        self.assertEqual(self.touched(then), [])
        # The last one has the time of long ago, and is newer to make.
        for path, time_of in (('rust/Makefile', None), ('kernel/new.c', None),
                              ('kernel/Makefile', 1000)):
            _, then = self.built()
            file = self.write(f'linux/{path}', 'obj-y += other.o\n')
            if time_of:
                os.utime(file, (time_of, time_of))
            self.assertEqual(self.build()[path], 'obj-y += other.o\n')
            self.assertEqual(self.touched(then), [path])
        (self.tree / 'kernel/new.c').unlink()
        self.assertNotIn('kernel/new.c', self.build())
        # A file that we patch.
        _, then = self.built()
        text = self.read(_AREA).replace('line 18\n', 'theirs\n')
        self.write(f'linux/{_AREA}', text)
        self.assertEqual(self.build()[_AREA], text.replace('line 3\n', 'three\n'))
        self.assertEqual(self.touched(then), [_AREA])

    def test_a_new_file_of_theirs_that_is_ours_is_refused(self) -> None:
        self.built()
        self.write('linux/rust/kprobes/model.rs', 'theirs\n')
        with self.refused('rust/kprobes/model.rs is in both'):
            self.build()
        (self.tree / 'rust/kprobes/model.rs').unlink()
        self.assertIn('//! model', self.build()['rust/kprobes/model.rs'])

    def test_a_tree_with_apply_in_it(self) -> None:
        plain = self.build()
        overlay.apply()
        self.assertIn('three\n', self.read(_AREA))
        applied = self.snapshot()
        seen, then = self.built()
        self.assertEqual(seen, plain)
        self.assertEqual(self.snapshot(), applied)
        # Another patch here, and nothing but its file is written.
        self.edit('0002.patch', _AREA, 'line 18\n', 'eighteen\n')
        self.assertIn('eighteen\n', self.build()[_AREA])
        self.assertEqual(self.touched(then), [_AREA])
        (self.repo / 'patches/0002.patch').unlink()
        overlay.apply(remove=True)
        self.assertEqual(self.build(), plain)
        overlay.apply()
        self.write(f'linux/{_AREA}', self.read(_AREA) + 'theirs\n')
        with self.refused(_AREA, 'bring those edits'):
            self.build()

    def test_an_interrupted_copy_is_made_again(self) -> None:
        plain, _ = self.built()
        before = (self.tree / 'rust/Makefile').stat().st_mtime_ns
        self.write('linux/rust/Makefile', 'obj-y += other.o\n')

        def rsync(tree, *_):
            (tree / 'rust/Makefile').write_text('obj-y += half\n')
            raise KeyboardInterrupt
        with mock.patch.object(ksrc, '_rsync', rsync):
            with self.assertRaises(KeyboardInterrupt):
                self.build()
        # As if nothing had ever happened, to whom looks at the user's tree.
        path = self.write('linux/rust/Makefile', self.pristine['rust/Makefile'][0].decode())
        os.utime(path, ns=(before, before))
        self.assertEqual(self.build(), plain)

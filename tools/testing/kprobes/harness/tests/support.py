# SPDX-License-Identifier: GPL-2.0
"""A place of its own for each test, and small things to say in it.

Tests here have no docstrings: unittest would print those on a line of their
own, where host.py does not look for the verdict.
"""

import contextlib
import io
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import env
import kernel
import progress


class Case(unittest.TestCase):
    """A test whose /work and /cache are folders that go away with it."""

    def setUp(self) -> None:
        self.tmp = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ('WORK', 'CACHE'):
            folder = self.tmp / name.lower()
            folder.mkdir()
            self.replace((env, name, folder))
        for name in ('LOGS', 'TREE', 'RESULTS'):
            self.replace((env, name, env.WORK / name.lower()))
        self.replace((progress, '_STATE', env.CACHE / 'times.json'))
        # unittest's own lines must stay whole: see host.py.
        self.printed, self.stderr = io.StringIO(), io.StringIO()
        self.enterContext(contextlib.redirect_stdout(self.printed))
        self.enterContext(contextlib.redirect_stderr(self.stderr))

    def replace(self, *attributes: tuple[Any, str, Any]) -> None:
        """Each of (object, attribute, its value in this test)."""
        for where, name, value in attributes:
            self.enterContext(mock.patch.object(where, name, value))

    def given(self, **variables: str) -> None:
        """These variables are in the environment."""
        self.enterContext(mock.patch.dict('os.environ', variables))

    def built_kernel(self, arch: str = 'x86_64', impl: str = 'rust', flavour: str = 'test'
                     ) -> kernel.Built:
        """A kernel whose files are in this test's folder."""
        return kernel.Built(arch, impl, flavour, self.tmp, self.tmp, self.tmp / 'image', '7.3')

    def kernel_tree(self, name: str, patchlevel: int = 3) -> Path:
        """The folder of a kernel's source, 7.PATCHLEVEL.1."""
        return self.write(f'{name}/Makefile', f'VERSION = 7\nPATCHLEVEL = {patchlevel}\n'
                          'SUBLEVEL = 1\nEXTRAVERSION =-rc1\n').parent

    def write(self, name: str, text: str) -> Path:
        """TEXT into NAME below this test's folder."""
        path = self.tmp / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @contextlib.contextmanager
    def refused(self, *words: str) -> Iterator[None]:
        """The block below must refuse, and the refusal contain WORDS."""
        with self.assertRaises(env.Refusal) as caught:
            yield
        refusal = caught.exception
        parts = refusal.expected, refusal.found, refusal.do
        for part in parts:
            self.assertTrue(part.strip(), 'an empty part of a refusal')
        for word in words:
            self.assertIn(word, '\n'.join(parts))

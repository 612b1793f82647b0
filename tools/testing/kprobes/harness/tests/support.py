# SPDX-License-Identifier: GPL-2.0
"""A place of its own for each test, and small things to say in it.

Tests here have no docstrings: unittest would print those on a line of their
own, where host.py does not look for the verdict.
"""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import env
import progress


class Case(unittest.TestCase):
    """A test whose /work and /cache are folders that go away with it."""

    def setUp(self):
        self.tmp = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ('WORK', 'CACHE'):
            folder = self.tmp / name.lower()
            folder.mkdir()
            self.enterContext(mock.patch.object(env, name, folder))
        for name in ('LOGS', 'TREE', 'RESULTS'):
            self.enterContext(mock.patch.object(
                env, name, env.WORK / name.lower()))
        self.enterContext(mock.patch.object(
            progress, '_STATE', env.CACHE / 'times.json'))
        # unittest's own lines must stay whole: see host.py.
        self.printed = io.StringIO()
        self.enterContext(contextlib.redirect_stdout(self.printed))

    def replace(self, *attributes):
        """Each of (object, attribute, its value in this test)."""
        for where, name, value in attributes:
            self.enterContext(mock.patch.object(where, name, value))

    def write(self, path, text):
        """TEXT into PATH below this test's folder."""
        path = self.tmp / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def refused(self, *words):
        """The block below must refuse, and the refusal contain WORDS."""
        return _Refused(self, words)


class _Refused:
    def __init__(self, case, words):
        self.case, self.words = case, words

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.case.assertIsNotNone(kind, 'it did not refuse')
        if not issubclass(kind, env.Refusal):
            return False
        for part in (value.expected, value.found, value.do):
            self.case.assertTrue(part.strip(), 'an empty part of a refusal')
        text = '\n'.join((value.expected, value.found, value.do))
        for word in self.words:
            self.case.assertIn(word, text)
        return True

# SPDX-License-Identifier: GPL-2.0
"""compilefail.py takes nothing for a refusal but the one that is expected."""

import unittest

import compilefail
import env

_TEXT = '''\
//! Something.
//!
//! error[E0061]: too few
//! says: one is missing
//! emit: obj

use nothing;
'''
_SAID = '''\
error[E0061]: too few
  --> one.rs:1:1
   = note: one is missing

error: aborting due to 1 previous error
'''


class Heads(unittest.TestCase):
    """What stands at the head of a file."""

    def test_all_of_it_is_read(self):
        # Errors, texts, and what is to be made.
        self.assertEqual(compilefail.expected(_TEXT),
                         ({'error[E0061]: too few'}, ['one is missing'], 'obj'))

    def test_metadata_is_enough(self):
        # That is what is made where nothing is said.
        self.assertEqual(compilefail.expected('//! x\n')[2], 'metadata')

    def test_each_file_has_one(self):
        # Each names errors, says something, and has something refused.
        files = sorted(compilefail.FOLDER.glob('*.rs'))
        self.assertGreater(len(files), 10)
        for path in files:
            with self.subTest(path.stem):
                text = path.read_text()
                errors, says, _ = compilefail.expected(text)
                self.assertTrue(errors and says)
                self.assertIn('#[cfg(refused)]', text)

    def test_a_page_tells_where_they_are(self):
        # The folder that rust-api.rst names is this one.
        page = env.REPO / 'Documentation/trace/rust-kprobes/rust-api.rst'
        self.assertIn(f'{compilefail.FOLDER.relative_to(env.REPO)}/',
                      page.read_text())


class Judged(unittest.TestCase):
    """What the compiler says, against what it should say."""

    def judge(self, said, errors=('error[E0061]: too few',),
              says=('one is missing',)):
        """What is wrong with SAID."""
        return compilefail.judge(set(errors), says, said)

    def test_as_expected(self):
        # The sum at its end is no error of its own.
        self.assertEqual(self.judge(_SAID), [])

    def test_another_code(self):
        # The same words under another number are another error.
        found = self.judge(_SAID.replace('E0061', 'E0060'))
        self.assertEqual(len(found), 2)

    def test_other_words(self):
        # The same number in other words is, too.
        self.assertEqual(len(self.judge(_SAID.replace('few', 'many'))), 2)

    def test_one_more(self):
        # An error that nobody expects.
        found = self.judge(_SAID + 'error: unknown\n')
        self.assertEqual(found, ['not expected: error: unknown'])

    def test_a_text_is_missing(self):
        # What is to be said besides.
        found = self.judge(_SAID.replace('note', 'no').replace('one is', 'is'))
        self.assertEqual(found, ['not said: one is missing'])


if __name__ == '__main__':
    unittest.main()

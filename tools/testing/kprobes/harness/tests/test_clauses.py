# SPDX-License-Identifier: GPL-2.0
"""The page of clauses and the tests: neither names what the other lacks."""

import re

import env
from tests import support

_PAGE = env.REPO / 'Documentation/trace/rust-kprobes/clauses.rst'
_ID = r'[A-WYZ]\d+(?:_\d+)?'
# How a test, or a module of tests, begins in C, Rust, Python and shell.
_TEST = re.compile(
    r'''(?:\b(?:fn|mod|def|check|skip) "?|KUNIT_CASE(?:_SLOW|_PARAM)?\('''
    r'''|[=']"?(?=[A-Z]\d))(\w+)''')


def tests() -> set[str]:
    """The names of all tests, and of all modules of tests."""
    return {name for folder in ('tools/testing', 'rust', 'arch', 'lib')
            for path in (env.REPO / folder).rglob('*.[chprs]*')
            if path.is_file() and not path.match('harness/tests/*')
            for name in _TEST.findall(path.read_text(errors='replace'))}


class Page(support.Case):
    def test_tests_and_page_name_the_same_clauses(self) -> None:
        names = tests()
        parts = re.split(rf'^({_ID})$', _PAGE.read_text(), flags=re.M)[1:]
        ids = parts[::2]
        self.assertEqual(sorted(ids), sorted(set(ids)))
        named = {match[1] for name in names if (match := re.match(rf'({_ID})_[a-z]', name))}
        self.assertEqual(named - set(ids), set())
        for clause, text in zip(ids, parts[1::2]):
            with self.subTest(clause):
                shown = re.search(r'Shown by:((?:.+\n)+)', text)
                others = re.findall('[`:](\\w+)``', shown[1] if shown else '')
                self.assertEqual(set(others) - names, set())
                self.assertNotIn(f'``{clause}_', text)
                self.assertTrue(clause in named or others or '\n  No test: ' in text)

# SPDX-License-Identifier: GPL-2.0
"""The rules for README and the pages: what each of them refuses."""

from unittest import mock

import documents
import env
import maketest
import page_listings
import page_tables
from tests import support

_PAGE = 'Documentation/x/life.rst'


class Pages(support.Case):
    """A repository with one page and README."""

    def setUp(self) -> None:
        super().setUp()
        repo = self.tmp / 'repo'
        self.replace((documents, 'PAGES', repo / 'Documentation/x'), (env, 'REPO', repo))
        for path, text in (
                ('Makefile', 'COMMANDS := run test-all \\\n\tmodule\n'),
                ('README.md', ''),
                ('tools/storm/Kbuild', 'obj-m := a.o\n'),
                ('rust/a.rs', '// licence\n\nlet a;\n\tlet b;\n')):
            self.write(f'repo/{path}', text)

    def page(self, text, name=_PAGE):
        return self.write(f'repo/{name}', text)

    def refused_by(self, rule, text, why):
        """RULE finds WHY in a page with TEXT, or nothing where WHY is ''."""
        with self.subTest(text):
            self.page(text)
            errors = rule.check()
            self.assertEqual(len(errors), bool(why), errors)
            self.assertIn(why, ''.join(errors))

    def test_listings_and_rows_are_read(self) -> None:
        page = self.page('.. checked: picture\n\nText::\n\n  a\n\n    b\n\n'
                         'Text\n\n.. literalinclude:: ../e.c\n   :lines: 2-\n'
                         'End\n')
        self.assertEqual(list(documents.listings(page)), [
            documents.Listing(_PAGE, 5, 'picture', ['a', '', '  b']),
            documents.Listing(_PAGE, 11, '', [], '../e.c')])
        page = self.page('Text\n\n<!-- checked: make run -->\n\n    a\n\n'
                         '      b\n\nText\n', 'README.md')
        self.assertEqual(documents.sessions(), [
            documents.Listing('README.md', 5, 'make run', ['a', '', '  b'])])
        page = self.page('.. list-table::\n   :header-rows: 1\n\n   * - a\n'
                         '     - b\n       c\n   * - d\n     - e\n     - f\n')
        self.assertEqual(page_tables.rows(page, 2), {('a', 'b c')})

    def test_commands(self) -> None:
        for command, why in (
                ('make run', ''), ('make module  # words', ''),
                ('make test-all PIECE=c-arm V=1', ''), ('make help', ''),
                ('make module DIR=/p ARGS="a b=c"', ''),
                ('make test-all PIECE=c-ARCH', ''),
                ('make M=tools/storm modules', ''),
                ('make runs', 'no runs'),
                ('make run FOO=1', 'no FOO'),
                ('make test-all PIECE=c-mips', 'PIECE=c-mips'),
                ('make run IMPL=go', 'IMPL=go'),
                ('make M=tools/none modules', 'nothing is built in'),
                ('make M=tools/storm run', 'nothing is built in')):
            for text in (f'Say ``{command}``.\n', f'::\n\n  {command}\n'):
                self.refused_by(page_listings, text, why)
        self.refused_by(page_listings, '::\n\n  rm -rf /\n', 'no command of ours')

    def test_listings(self) -> None:
        file = 'let a;\n        let b;'
        for how, listing, why in (
                ('picture', 'box -> box', ''), ('make run', '| 1', ''),
                ('file rust/a.rs', file, ''),
                ('file rust/a.rs', file + '\nx', 'ends with another text'),
                ('guess', 'box', '"guess" is not in')):
            listing = listing.replace('\n', '\n  ')
            self.refused_by(page_listings, f'.. checked: {how}\n\n.. code-block:: c\n\n'
                            f'  {listing}\n\nText.\n', why)
        self.refused_by(page_listings, '.. literalinclude:: ../a.c\n', '')


class Tables(support.Case):
    """Our own tables, but for one row."""

    def changed(self, page, change):
        """The problems where CHANGE is made to the rows of PAGE."""
        def rows(path, columns, real=page_tables.rows):
            result = real(path, columns)
            return change(result) if path.name == page else result
        with mock.patch.object(page_tables, 'rows', rows):
            return page_tables.check()

    def test_a_row_that_is_missing_or_no_more(self) -> None:
        for page, table, more in (
                ('errors.rst', page_tables.refusals(), ('``-EIO``', 'x')),
                ('errors.rst', page_tables.reasons_for_no_jump(), ('x', 'y')),
                ('errors.rst', page_tables.rust_reasons(), ('``X``', 'y')),
                ('overhead.rst', page_tables.figures(), ('hit', '1', '2')),
                ('debugfs.rst', page_tables.files(), ('``x``', '0400'))):
            row = min(table)
            self.assertEqual(
                self.changed(page, lambda rows: {
                    other for other in rows if other[:len(row)] != row}),
                [f'{page}: not in it: {" | ".join(row)}'])
            self.assertEqual(self.changed(page, lambda rows: rows | {more}),
                             [f'{page}: no more: {" | ".join(more)}'])

    def test_readme_has_the_budgets_of_make_test(self) -> None:
        budgets = f'at most {maketest.WARM} minutes; the first time at most {maketest.COLD}.'
        self.assertTrue(budgets in (env.REPO / 'README.md').read_text(), budgets)

    def test_a_reason_in_rust_has_the_words_of_a_refusal(self) -> None:
        with mock.patch.object(page_tables, '_ONLY_IN_RUST', {'Other'}):
            self.assertIn('BadName: no words of', page_tables.check()[0])

    def test_no_rule_looks_at_nothing(self) -> None:
        ours = [listing for path in documents.pages() for listing in documents.listings(path)]
        self.assertLessEqual({'make', 'file', 'commands', 'picture'},
                             {listing.how.split(' ')[0] for listing in ours})
        self.assertGreater(sum(bool(listing.include) for listing in ours), 5)
        self.assertGreater(len(documents.sessions()), 3)

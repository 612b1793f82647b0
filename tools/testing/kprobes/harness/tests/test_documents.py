# SPDX-License-Identifier: GPL-2.0
"""The rules for README and the pages: what each of them refuses."""

from unittest import mock

import documents
import env
import guest
import modules
import page_commands
import page_listings
import page_tables
import sessions
from tests import support

_PAGE = 'Documentation/x/life.rst'


class Pages(support.Case):
    """A repository with one page and README."""

    def setUp(self):
        super().setUp()
        repo = self.tmp / 'repo'
        for owner, name, value in (
                (documents, 'PAGES', repo / 'Documentation/x'),
                (env, 'REPO', repo),
                (guest, 'scripts', lambda: [self.tmp / 'a.sh']),
                (modules, 'EXAMPLES', repo / 'examples')):
            self.enterContext(mock.patch.object(owner, name, value))
        for path, text in (
                ('Makefile', 'COMMANDS := run test-all \\\n\tmodule\n'),
                ('.ci/run', 'git:git make:make\n'), ('README.md', ''),
                ('tools/storm/Kbuild', 'obj-m := a.o\n'),
                ('clauses/Kbuild', 'x-y := hit.o\n'),
                ('bench/Kbuild', 'x-y := miss.o\n'),
                *((name, '// licence\n\nlet a;\n\tlet b;\n')
                  for name in ('rust/a.rs', 'rust/none.S'))):
            self.write(f'repo/{path}', text)
        self.write('a.sh', 'suite files\n\tcheck U2_a b\nsuite x\n'
                   'check U2_b b\n')

    def page(self, text, name=_PAGE):
        return self.write(f'repo/{name}', text)

    def refused_by(self, rule, text, why):
        """RULE finds WHY in a page with TEXT, or nothing where WHY is ''."""
        with self.subTest(text):
            self.page(text)
            errors = rule.check()
            self.assertEqual(len(errors), bool(why), errors)
            self.assertIn(why, ''.join(errors))

    def test_listings_and_rows_are_read(self):
        page = self.page('.. checked: picture\n\nText::\n\n  a\n\n    b\n\n'
                         'Text\n\n.. code-block:: c\n   :x: y\n\n   d\n'
                         '.. literalinclude:: ../e.c\n   :lines: 2-\nEnd\n')
        self.assertEqual(list(documents.listings(page)), [
            documents.Listing(_PAGE, 5, 'picture', ['a', '', '  b']),
            documents.Listing(_PAGE, 14, '', ['d']),
            documents.Listing(_PAGE, 15, '', [], '../e.c')])
        page = self.page('Text\n\n<!-- checked: make run -->\n\n    a\n\n'
                         '      b\n\nText\n', 'README.md')
        self.assertEqual(sessions.listings(), [
            documents.Listing('README.md', 5, 'make run', ['a', '', '  b'])])
        page = self.page('.. list-table::\n   :header-rows: 1\n\n   * - a\n'
                         '     - b\n       c\n   * - d\n     - e\n     - f\n')
        self.assertEqual(documents.rows(page, 2), {('a', 'b c')})

    def test_commands(self):
        for command, why in (
                ('make run', ''), ('make module  # words', ''),
                ('make test-all PIECE=c-arm V=1', ''), ('make help', ''),
                ('make module DIR=/p ARGS="a b=c"', ''),
                ('make test-all PIECE=c-ARCH', ''),
                ('make M=tools/storm modules', ''),
                ('make runs', 'no such command: runs'),
                ('make run FOO=1', 'no such variable: FOO'),
                ('make test-all PIECE=c-mips', 'PIECE=c-mips'),
                ('make run IMPL=go', 'IMPL=go'),
                ('make M=tools/none modules', 'nothing is built in'),
                ('make M=tools/storm run', 'nothing is built in')):
            for text in (f'Say ``{command}``.\n',
                         f'.. checked: commands\n\n::\n\n  {command}\n'):
                self.refused_by(page_commands, text, why)
        for command, why in (('sudo apt-get install git make', ''),
                             ('sudo apt-get install git maker', 'maker:'),
                             ('rm -rf /', 'no command of ours')):
            self.refused_by(page_commands, '.. checked: commands\n\n::\n\n'
                            f'  {command}\n', why)

    def test_listings(self):
        self.enterContext(mock.patch.object(
            modules, 'shown', lambda _: ('x', ['$ insmod a', 'loaded a'])))
        file = 'let a;\n        let b;'
        for how, listing, why in (
                ('picture', 'box -> box', ''),
                *((how, code, 'commands or code, but')
                  for how in ('picture', 'test hit.x')
                  for code in ('int a = 1;', 'fn f() {', '#include <a.h>',
                               'static int a', '$ cat list')),
                ('test files.U2_a', 'line', ''),
                ('test files.U2_b', 'line', 'U2_b: no such test'),
                ('file rust/a.rs', file, ''),
                ('file rust/a.rs', file + '\nx', 'has another text'),
                ('file rust/b.rs', file, 'no such file'),
                ('file rust/none.S', file, 'no test builds it'),
                ('make run', '$ cat list\n| 1', ''),
                ('make run', '| 1', 'has no line that begins'),
                ('make module', '$ insmod a\nloaded a', ''),
                ('make module', '$ insmod b\nloaded a', 'no example')):
            listing = listing.replace('\n', '\n  ')
            self.refused_by(page_listings, f'.. checked: {how}\n\nThis::\n\n'
                            f'  {listing}\n\nText.\n', why)
        for text, why in (
                ('This::\n\n  box\n', 'nothing says how it is known'),
                ('This::\n\n  return 0;\n', 'that nobody runs'),
                ('.. code-block:: c\n\n  int a;\n', 'that nobody runs'),
                *((f'.. literalinclude:: ../../{path}\n', '') for path in (
                    'rust/a.rs', 'clauses/hit.c', 'examples/hello/Kbuild',
                    'samples/rust/rust_kprobe.rs',
                    'samples/kprobes/kprobe_example.c')),
                *((f'.. literalinclude:: ../../{path}\n',
                   'no test builds it') for path in (
                    'samples/rust/other.rs', 'bench/hit.c', 'a.c',
                    '../outside.rs', 'examples/other/Kbuild'))):
            self.refused_by(page_listings, text, why)


class Tables(support.Case):
    """Our own tables, but for one row."""

    def changed(self, page, change):
        """What is wrong where CHANGE is made to the rows of PAGE."""
        def rows(path, columns, real=documents.rows):
            result = real(path, columns)
            return change(result) if path.name == page else result
        with mock.patch.object(documents, 'rows', rows):
            return page_tables.check()

    def test_a_row_that_is_missing_or_no_more(self):
        for page, table, more in (
                ('errors.rst', page_tables.refusals(), ('``-EIO``', 'x')),
                ('errors.rst', page_tables.reasons_for_no_jump(), ('x', 'y')),
                ('errors.rst', page_tables.rust_reasons(), ('``X``', 'y')),
                ('overhead.rst', page_tables.figures(), ('hit', '1', '2')),
                ('files.rst', page_tables.files(), ('``x``', '0400'))):
            row = min(table)
            self.assertEqual(
                self.changed(page, lambda rows: {
                    one for one in rows if one[:len(row)] != row}),
                [f'{page}: not in it: {" | ".join(row)}'])
            self.assertEqual(self.changed(page, lambda rows: rows | {more}),
                             [f'{page}: no more: {" | ".join(more)}'])

    def test_a_reason_in_rust_has_the_words_of_a_refusal(self):
        with mock.patch.object(page_tables, '_ONLY_IN_RUST', {'Other'}):
            self.assertIn('BadName: no words of', page_tables.check()[0])

    def test_no_rule_looks_at_nothing(self):
        ours = [listing for path in documents.pages()
                for listing in documents.listings(path)]
        self.assertLessEqual({'make', 'file', 'commands', 'picture'},
                             {one.how.split(' ')[0] for one in ours})
        self.assertGreater(sum(bool(one.include) for one in ours), 5)
        self.assertGreater(len(sessions.listings()), 3)

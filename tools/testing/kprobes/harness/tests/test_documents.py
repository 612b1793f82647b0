# SPDX-License-Identifier: GPL-2.0
"""The rules for README and the pages: what each of them refuses."""

from unittest import mock

import documents
import env
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
                (modules, 'EXAMPLES', repo / 'examples')):
            self.enterContext(mock.patch.object(owner, name, value))
        self.write('repo/Makefile', 'COMMANDS := run test-all \\\n\tmodule\n')
        self.write('repo/.ci/run', 'git:git make:make\n')
        self.write('repo/README.md', '')
        self.page('')

    def page(self, text, name=_PAGE):
        return self.write(f'repo/{name}', text)

    def refuses(self, rule, *why):
        """RULE finds as much wrong as there are words in WHY."""
        wrong = rule.check()
        self.assertEqual(len(wrong), len(why), wrong)
        for line, part in zip(wrong, why, strict=True):
            self.assertIn(part, line)


class Parsed(Pages):
    def test_listings(self):
        page = self.page('.. checked: picture\n\nText::\n\n  a\n\n    b\n\n'
                         'Text\n\n.. code-block:: c\n   :x: y\n\n   d\n'
                         '.. literalinclude:: ../e.c\n   :lines: 2-\nEnd\n')
        self.assertEqual(list(documents.listings(page)), [
            documents.Listing(_PAGE, 5, 'picture', ['a', '', '  b']),
            documents.Listing(_PAGE, 14, '', ['d']),
            documents.Listing(_PAGE, 15, '', [], '../e.c')])
        page = self.page('Text\n\n<!-- checked: make run -->\n\n    a\n\n'
                         '      b\n\nText\n', 'README.md')
        self.assertEqual(list(documents.listings(page)), [
            documents.Listing('README.md', 5, 'make run', ['a', '', '  b'])])
        self.assertEqual(sessions.listings(),
                         list(documents.listings(page)))

    def test_rows(self):
        page = self.page('.. list-table::\n   :header-rows: 1\n\n   * - a\n'
                         '     - b\n       c\n   * - d\n     - e\n     - f\n')
        self.assertEqual(documents.rows(page, 2), {('a', 'b c')})
        self.assertEqual(documents.rows(page, 3), {('d', 'e', 'f')})


class Commands(Pages):
    def command(self, command, *why):
        """COMMAND between backquotes and in a listing."""
        for text in (f'Say ``{command}``.\n',
                     f'.. checked: commands\n\n::\n\n  {command}\n'):
            self.page(text)
            self.refuses(page_commands, *why)

    def test_what_there_is(self):
        for command in ('make run', 'make module  # words', 'make run IMPL=c',
                        'make test-all PIECE=c-arm V=1', 'make help',
                        'make module DIR=/p ARGS="a b=c"',
                        'make test-all PIECE=c-ARCH'):
            self.command(command)

    def test_what_there_is_not(self):
        for command, why in (('make runs', 'no such command: runs'),
                             ('make run FOO=1', 'no such variable: FOO'),
                             ('make test-all PIECE=c-mips', 'PIECE=c-mips'),
                             ('make run IMPL=go', 'IMPL=go')):
            self.command(command, why)

    def test_a_folder_of_the_kernel_trees(self):
        self.command('make M=tools/storm modules', 'nothing is built in')
        self.write('repo/tools/storm/Kbuild', 'obj-m := a.o\n')
        self.command('make M=tools/storm modules')
        self.command('make M=tools/storm run', 'nothing is built in')

    def test_other_commands(self):
        for command, *why in (('sudo apt-get install git make',),
                              ('sudo apt-get install git maker', 'maker:'),
                              ('rm -rf /', 'no command of ours')):
            self.page(f'.. checked: commands\n\n::\n\n  {command}\n')
            self.refuses(page_commands, *why)


class Listings(Pages):
    def listing(self, how, text, *why):
        """A listing that is known so."""
        text = text.replace('\n', '\n  ')
        self.page(f'.. checked: {how}\n\nThis::\n\n  {text}\n\nText.\n')
        self.refuses(page_listings, *why)

    def test_nothing_says_how(self):
        self.page('This::\n\n  box\n')
        self.page('\n    box\n', 'README.md')
        self.refuses(page_listings, *['nothing says how it is known'] * 2)

    def test_code_is_no_picture(self):
        self.listing('picture', 'box -> box')
        for how in 'picture', 'commands', 'test hit.x':
            for code in ('int a = 1;', 'fn f() {', '#include <a.h>',
                         'static int a', '$ cat list'):
                self.listing(how, code, 'commands or code, but')
        for page in 'This::\n\n  return 0;\n', '.. code-block:: c\n\n  int a;\n':
            self.page(page)
            self.refuses(page_listings, 'commands or code that nobody runs')

    def test_a_test(self):
        self.write('a.sh', 'suite files\n\tcheck U2_a b\nsuite x\ncheck U2_b b\n')
        with mock.patch.object(page_listings, 'JOBS', self.tmp):
            self.listing('test files.U2_a', 'line')
            self.listing('test files.U2_b', 'line', 'U2_b: no such test')

    def test_a_file(self):
        for name in 'rust/a.rs', 'rust/none.S':
            self.write(f'repo/{name}', '// licence\n\nlet a;\n\tlet b;\n')
        text = 'let a;\n        let b;'
        self.listing('file rust/a.rs', text)
        self.listing('file rust/a.rs', text + '\nx', 'has another text')
        self.listing('file rust/b.rs', text, 'no such file')
        self.listing('file rust/none.S', text, 'no test builds it')

    def test_an_included_file_is_built(self):
        for folder, objects in (('clauses', 'hit.o'), ('bench', 'miss.o')):
            self.write(f'repo/{folder}/Kbuild', f'x-y := {objects}\n')
        for path, *why in (('rust/a.rs',), ('clauses/hit.c',),
                           ('samples/rust/rust_kprobe.rs',),
                           ('samples/kprobes/kprobe_example.c',),
                           ('examples/hello/Kbuild',),
                           *((path, 'no test builds it') for path in (
                               'samples/rust/other.rs', 'bench/hit.c',
                               'a.c', '../outside.rs',
                               'examples/other/Kbuild'))):
            self.page(f'.. literalinclude:: ../../{path}\n\nText.\n')
            self.refuses(page_listings, *why)

    def test_a_session(self):
        self.listing('make run', '$ cat list\n| 1')
        self.listing('make run', '| 1', 'has no line that begins')
        with mock.patch.object(modules, 'shown', lambda _: (
                'x', ['$ insmod a', 'loaded a'])):
            self.listing('make module', '$ insmod a\nloaded a')
            self.listing('make module', '$ insmod b\nloaded a', 'no example')


class Tables(support.Case):
    """Our own tables, but for one row."""

    def changed(self, page, change):
        """What is wrong where CHANGE is made to the rows of PAGE."""
        def rows(path, columns, real=documents.rows):
            found = real(path, columns)
            return change(found) if path.name == page else found
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


class Ours(support.Case):
    """README and the pages themselves."""

    def test_no_rule_looks_at_nothing(self):
        ours = [listing for path in documents.pages()
                for listing in documents.listings(path)]
        self.assertLessEqual({'make', 'file', 'commands', 'picture'},
                             {one.how.split(' ')[0] for one in ours})
        self.assertGreater(sum(bool(one.include) for one in ours), 5)
        self.assertGreater(len(sessions.listings()), 3)

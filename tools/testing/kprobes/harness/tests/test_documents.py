# SPDX-License-Identifier: GPL-2.0
"""The rules for README and the pages: what each of them refuses."""

import types
from unittest import mock

import check
import demo
import documents
import env
import matrix
from tests import support

_LIST = '''\
.. list-table::
   :header-rows: 1

   * - {}
     - {}
   * - ``-EINVAL``
     - a reason that goes on in
       another line
'''


class Pages(support.Case):
    """A repository with one page and README."""

    def setUp(self):
        super().setUp()
        self.repo = self.tmp / 'repo'
        for name, value in (('PAGES', self.repo / 'Documentation/x'),
                            ('THEIRS', self.write('repo/theirs.txt',
                                                  '# none\nlib/objpool.c\n'))):
            self.enterContext(mock.patch.object(documents, name, value))
        self.enterContext(mock.patch.object(
            documents.env, 'REPO', self.repo))
        self.write('repo/Makefile', 'COMMANDS := run test-all \\\n\tmodule\n')
        self.write('repo/.ci/run', 'git:git make:make\n')
        self.write('repo/rust/kprobes/abi.c',
                   'debugfs_create_file("list", 0400);\n')
        self.write('repo/README.md', '`lib/objpool.c`\n')
        self.page('')

    def page(self, text, name='Documentation/x/life.rst'):
        return self.write(f'repo/{name}', text)

    def of(self, rule, *more):
        """What a rule says, without the place."""
        return [line.split(': ', 1)[1] for line in
                rule(documents.pages(), *more)]

    def listings(self, *wrong):
        found = self.of(documents.shown)
        self.assertEqual(len(found), len(wrong), found)
        for said, part in zip(found, wrong, strict=True):
            self.assertIn(part, said)


class Commands(Pages):
    def both(self, command, *wrong):
        """COMMAND inline and in a listing, in a page and in README."""
        for name, text in (
                ('Documentation/x/life.rst', f'Say ``{command}``.\n'),
                ('README.md', f'Say `{command}`.\n'),
                ('Documentation/x/life.rst',
                 f'.. checked: commands\n\nThis::\n\n  {command}\n'),
                ('README.md', f'<!-- checked: commands -->\n\n    {command}\n')):
            before = (self.repo / name).read_text()
            self.page(text, name)
            found = self.of(documents.commands)
            self.assertEqual(len(found), 1 if wrong else 0, (name, found))
            for part in wrong:
                self.assertIn(part, found[0])
            self.page(before, name)

    def test_what_there_is(self):
        for command in ('make run', 'make module',
                        'make test-all PIECE=c-arm V=1', 'make module DIR=/p '
                        'ARGS="a b=c"', 'make test-all PIECE=c-ARCH',
                        'make run IMPL=c'):
            self.both(command)

    def test_what_there_is_not(self):
        self.both('make runs', 'no such command: runs')
        self.both('make run FOO=1', 'no such variable: FOO')
        self.both('make test-all PIECE=c-mips', 'PIECE=c-mips')
        self.both('make run IMPL=go', 'IMPL=go')

    def test_a_folder_of_the_kernel_trees(self):
        self.both('make M=tools/storm modules', 'nothing is built in')
        self.write('repo/tools/storm/Kbuild', 'obj-m := a.o\n')
        self.both('make M=tools/storm modules')
        self.both('make M=tools/storm run', 'nothing is built in')

    def listing(self, line):
        self.page(f'.. checked: commands\n\n::\n\n  {line}\n')
        return self.of(documents.commands)

    def test_packages(self):
        self.assertEqual(self.listing('sudo apt-get install git make'), [])
        found, = self.listing('sudo apt-get install git maker')
        self.assertIn('maker', found.rsplit(': ', 1)[1])

    def test_what_nothing_runs(self):
        with mock.patch.dict(matrix.RUN_BY):
            del matrix.RUN_BY['help']
            found, = self.listing('make help')
            self.assertIn('nothing runs make help', found)
            self.page('Say ``make help``.\n')
            found, = documents.commands(documents.pages())
            self.assertIn('nothing runs make help', found)

    def test_other_commands(self):
        found, = self.listing('rm -rf /')
        self.assertIn('no command of ours', found)


class Files(Pages):
    def named(self, text, *wrong):
        self.page(text)
        found = documents.files(documents.pages(), [
            path for path in self.repo.rglob('*') if path.is_file()])
        self.assertEqual([line.split(':')[1].strip() for line in found],
                         list(wrong))

    def test_what_there_is(self):
        self.write('repo/rust/kprobes/life/hit.rs', '')
        self.named('``life/hit.rs``, ``hit.rs``, ``rust/kprobes/life/``, '
                   '``rust/*/abi.c``, ``kprobes/list``, ``cases.S``, '
                   '``objpool.c``, life.rst, ``/proc/none``, ``a.b``')

    def test_what_there_is_not(self):
        self.named('a\n``life/hit.rs``\n', '2')
        self.named('``none.rs``', '1')
        self.named('see none.rst', '1')
        self.named('``kprobes/lists``', '1')
        self.named('``none/``', '1')
        # The end of a name is not a name.
        self.named('``bi.c``', '1')

    def test_one_of_theirs_that_nobody_names(self):
        self.page('none', 'README.md')
        self.named('', 'lib/objpool.c')


class Names(Pages):
    def named(self, text, *wrong):
        self.write('repo/rust/hit.rs', 'fn called() { Table::kept_word() }\n')
        self.write('repo/Documentation/x/none.rst', 'fn nowhere()\n')
        self.write('repo/theirs.txt', 'lib/objpool.c\nd_path\n')
        self.page(f'``d_path()``. {text}')
        self.assertEqual([line.split(': ')[1] for line in documents.names(
            documents.pages(), [path for path in self.repo.rglob('*')
                                if path.is_file()])], list(wrong))

    def test_what_there_is(self):
        self.named('``called()``, ``Table::called()``, ``Other::kept_word``, '
                   '``kept_word``, ``d_path``, ``unknown``, ``a b()``')

    def test_what_there_is_not(self):
        for word in ('nowhere()', 'nowhere_else', 'Table::nowhere',
                     'Table::nowhere()'):
            self.named(f'``{word}``', word)

    def test_one_of_theirs_that_nobody_names(self):
        self.write('repo/theirs.txt', 'lib/objpool.c\nd_path\n')
        self.page('')
        self.assertEqual(documents.names(documents.pages(), []), [
            'plan/theirs.txt: d_path: named by nobody'])


class Includes(Pages):
    def includes(self, options='', path='samples/rust/rust_kprobe.rs'):
        self.page(f'.. literalinclude:: ../../{path}\n'
                  f'   :language: c\n{options}\nText.\n')
        return self.of(documents.includes)

    def setUp(self):
        super().setUp()
        self.write('repo/samples/rust/rust_kprobe.rs',
                   'let a;\nlet b;\nlet a;\n')

    def test_what_there_is(self):
        self.assertEqual(self.includes(), [])
        self.assertEqual(self.includes('   :start-at: let b\n'
                                       '   :end-before: let a\n'), [])

    def test_what_there_is_not(self):
        found, = self.includes(path='samples/rust/none.rs')
        self.assertIn('no such file', found)
        found, = self.includes(path='../outside.rs')
        self.assertIn('leads out of', found)

    def test_marks(self):
        for options, wrong in (('   :start-at: let c\n', 'start-at'),
                               ('   :end-before: let c\n', 'end-before'),
                               ('   :start-after: let b\n'
                                '   :end-before: let b\n', 'end-before')):
            found, = self.includes(options)
            self.assertIn(f'{wrong}: nowhere', found)

    def test_what_nobody_builds(self):
        self.write('repo/samples/rust/other.rs', '')
        self.write('repo/tools/a/b.c', '')
        for path in 'samples/rust/other.rs', 'tools/a/b.c':
            found, = self.includes(path=path)
            self.assertIn('no test builds it', found)

    def test_a_test_module(self):
        self.write('repo/kp/clauses/hit.c', '')
        self.write('repo/kp/bench/hit.c', '')
        self.write('repo/kp/clauses/Kbuild', 'x-y := hit.o\n')
        self.write('repo/kp/bench/Kbuild', 'x-y := hit.o\n')
        with mock.patch.object(documents.env, 'KPROBES', self.repo / 'kp'):
            self.assertEqual(self.includes(path='kp/clauses/hit.c'), [])
            found, = self.includes(path='kp/bench/hit.c')
            self.assertIn('no test builds it', found)
            self.write('repo/kp/clauses/Kbuild', 'x-y := miss.o\n')
            found, = self.includes(path='kp/clauses/hit.c')
            self.assertIn('no test builds it', found)


_PICTURE = '.. checked: {}\n\nThis::\n\n  {}\n\nText.\n'


class Listings(Pages):
    def test_nothing_says_how(self):
        self.page('This::\n\n  box\n')
        self.listings('nothing says how it is known')
        self.page('    box\n', 'README.md')
        self.listings('nothing says', 'nothing says')

    def test_a_mark_is_for_what_is_next(self):
        self.page('.. checked: picture\n\nSomething else.\n\nThis::\n\n  box\n')
        self.listings('nothing says')
        self.page('<!-- checked: picture -->\nOther.\n\n    box\n', 'README.md')
        self.listings('nothing says', 'nothing says')

    def test_what_has_nothing_to_run(self):
        self.page(_PICTURE.format('picture', 'box -> box'))
        self.listings()

    def test_code_is_no_picture(self):
        for how in 'picture', 'commands', 'test hit.x':
            for code in ('int a = 1;', 'fn f() {', '#include <a.h>',
                         'static int a', '$ cat list'):
                self.page(_PICTURE.format(how, code))
                self.listings('commands or code, but')
        self.page('This::\n\n  return 0;\n')
        self.listings('commands or code that nobody runs')
        self.page('.. code-block:: c\n\n   int a;\n')
        self.listings('commands or code that nobody runs')

    def test_a_test(self):
        with mock.patch.object(documents, '_tests', lambda: {'x.files.U2_a'}):
            self.page(_PICTURE.format('test files.U2_a', 'line'))
            self.listings()
            self.page(_PICTURE.format('test files.U2_b', 'line'))
            self.listings('files.U2_b: no such test')

    def test_a_file(self):
        self.write('repo/samples/rust/rust_kprobe.rs',
                   '// licence\n\nlet a;\n\tlet b;\n')
        how = 'file samples/rust/rust_kprobe.rs'
        self.page(_PICTURE.format(how, 'let a;\n          let b;'))
        self.listings()
        self.page(_PICTURE.format(how, 'let a;\n          let c;'))
        self.listings('has another text')
        self.page(_PICTURE.format('file samples/none.rs', 'let a;'))
        self.listings('no such file')
        self.write('repo/samples/rust/none.rs', '//\nlet a;\n')
        self.page(_PICTURE.format('file samples/rust/none.rs', 'let a;'))
        self.listings('no test builds it')

    def test_a_session(self):
        with mock.patch.object(demo, 'commands', lambda: [
                '$ cat list', '$ echo 0 >on', '$ cat list 0x4f']):
            for text in ('$ echo 0 >on\n  | 1', '$ cat list\n  $ echo 0 >on',
                         '$ cat list 0xaa'):
                self.page(_PICTURE.format('make run', text))
                self.listings()
            for text in ('$ echo 1 >on', '$ echo 0 >on\n  $ cat list'):
                self.page(_PICTURE.format('make run', text))
                self.listings('run.sh does not give')
            self.page(_PICTURE.format('make run', '| 1'))
            self.listings('has no line that begins')

    def test_the_session_of_a_module(self):
        import modules
        with mock.patch.object(modules, 'shown', lambda _: (
                'x', ['$ insmod a', 'loaded a'])):
            self.page(_PICTURE.format('make module', '$ insmod a\n  loaded a'))
            self.listings()
            self.page(_PICTURE.format('make module', '$ insmod b\n  loaded a'))
            self.listings('not what modules.py looks for')


class Sessions(support.Case):
    LINES = ['== a', '$ cat list', '| ffffffff81056d40  k  f+0x0    [FTRACE]',
             'handler_pre: <f> p->addr = 0x00000000c1b2f94f, ip = '
             'ffffffff81056d41', '$ cat on', '| 0', 'f: 22 hits, 0 missed',
             '| cat-78 [001] .N...  18.39: g: (f+0x0/0x130) count=0x10000',
             '| f+0x0/0xb0  -22  why\t']

    def absent(self, *wanted):
        return documents.absent(wanted, self.LINES)

    def test_what_varies(self):
        self.assertEqual(self.absent(
            '== a', '$ cat list',
            '| ffffffff81000000 k f+0x0 [FTRACE]',
            '  kernel: handler_pre: <f> p->addr = 0x1, ip = ffffffff81056d42',
            '', '| 0', 'f: 7 hits, 0 missed',
            '| cat-9 [000] ..... 1.5: g: (f+0x0/0x1) count=0x1',
            '| f+0x0/0x1 -22 why'), '')

    def test_what_does_not(self):
        for wrong in ('| ffffffff81000000  r  f+0x0    [FTRACE]',
                      '| ffffffff81000000  k  f+0x0', '| 1',
                      'f: 22 hits, 1 missed', 'f: 0 hits, 0 missed',
                      '| f+0x0/0xb0  -95  why', '$ cat  others', '==  b'):
            self.assertEqual(self.absent(wrong), wrong)

    def test_the_order(self):
        self.assertEqual(self.absent('| 0', '$ cat list'), '$ cat list')

    def test_the_job_gives_its_commands(self):
        found = demo.commands()
        for line in ('$ insmod kprobe_example.ko symbol=kernel_clone',
                     '$ cat /sys/kernel/debug/kprobes/refused',
                     '$ echo 0 >/proc/sys/debug/kprobes-optimization'):
            self.assertIn(line, found)
        # Of what is given to a guest nothing is done here.
        self.assertEqual([line for line in found if 'root/' in line], [])

    def test_nothing_is_written_where_it_would_matter(self):
        job = self.write('guest/jobs/run.sh', 'try "echo 1 >/proc/a"\n'
                         f'echo 1 >{self.tmp}/written\n'
                         'echo 1 >/tmp/of_a_guest\n')
        with mock.patch.object(demo.env, 'KPROBES', job.parent.parent.parent):
            self.assertEqual(demo.commands(), ['$ echo 1 >/proc/a'])
        self.assertFalse((self.tmp / 'written').exists())


class Shown(support.Case):
    """A page that make run does not bear out."""

    def run_with(self, unseen, impl='rust'):
        built = types.SimpleNamespace(arch='x86_64', impl=impl, release='7.3')
        for where, name, answer in (
                (demo.guest, 'initramfs', None), (demo.guest, 'shipped', []),
                (demo, 'missing', []), (documents, 'unseen', unseen),
                (demo.qemu, 'boot', types.SimpleNamespace(
                    lines=[], log=self.tmp / 'console'))):
            self.enterContext(mock.patch.object(
                where, name, mock.Mock(return_value=answer)))
        return demo.run(built, '')

    def test_all_is_there(self):
        self.assertEqual(self.run_with([]), 0)

    def test_something_is_not(self):
        with self.refused('README and the pages', 'life.rst:3: | 1'):
            self.run_with(['life.rst:3: | 1'])

    def test_the_pages_are_about_ours(self):
        self.assertEqual(self.run_with(['life.rst:3: | 1'], 'c'), 0)

    def test_of_which_listings(self):
        one = documents.Listing('life.rst', 3, 'make run', ['$ a', '| b'])
        self.enterContext(mock.patch.object(documents, 'sessions',
                                            lambda: [one]))
        self.assertEqual(documents.unseen(['$ a', '| b']), [])
        self.assertEqual(documents.unseen(['$ a']), ['life.rst:3: | b'])


class Tables(Pages):
    def setUp(self):
        super().setUp()
        self.write('repo/rust/kprobes/model/refusal.rs', '''
refusals! {
    One => "a reason that goes on in \\
        another line",
    Two(i32) =>
        "two",
}
''')
        self.write('repo/rust/kprobes/abi.rs', '''
        match refusal {
            Refusal::One => EINVAL,
            Refusal::Two(errno) => Error::from_errno(errno),
        }
fn status(
''')
        self.write('repo/rust/kprobes/model/not_optimized.rs',
                   'reasons! {\n    Near(TextAddr) => "near",\n}\n')
        self.write('repo/rust/kprobes/abi/no_jump.rs', '''
    NotOptimized::Near(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_NEAR,
''')
        self.refused = ('reasons! {\n    /// Words of ours.\n'
                        '    First => "two",\n    BadName => "own",\n}\n')
        self.page('| hit | 5, 1 | 3, 0 | `make bench` |\n', 'README.md')
        self.errors = (_LIST.format('errno', 'why')
                       + '   * - ftrace\'s\n     - two\n'
                       + '   * - ``KPROBE_NO_JUMP_NEAR``\n     - near\n'
                       + '   * - ``First``\n     - two\n'
                       + '   * - ``BadName``\n     - own\n')
        self.figures = ('   * - what\n     - C\n     - Rust\n'
                        '   * - hit\n     - 5, 1\n     - 3, 0\n')
        self.tables()

    def tables(self, *wrong):
        self.page(self.errors, 'Documentation/x/errors.rst')
        self.page(self.figures, 'Documentation/x/overhead.rst')
        self.write('repo/rust/kernel/kprobes/refused.rs', self.refused)
        self.assertEqual(documents.tables(), list(wrong))

    def test_a_reason_that_is_missing(self):
        self.errors = self.errors.replace('   * - ftrace\'s\n     - two\n', '')
        self.tables('errors.rst: not in it: ftrace\'s | two')

    def test_a_reason_that_is_no_more(self):
        self.errors += '   * - ``-EIO``\n     - gone\n'
        self.tables('errors.rst: no more: ``-EIO`` | gone')

    def test_another_errno(self):
        self.errors = self.errors.replace('EINVAL', 'ENOENT')
        self.tables('errors.rst: not in it: ``-EINVAL`` | a reason that goes '
                    'on in another line',
                    'errors.rst: no more: ``-ENOENT`` | a reason that goes '
                    'on in another line')

    def test_a_reason_for_no_jump(self):
        self.errors = self.errors.replace('- near', '- far')
        self.tables('errors.rst: not in it: ``KPROBE_NO_JUMP_NEAR`` | near',
                    'errors.rst: no more: ``KPROBE_NO_JUMP_NEAR`` | far')

    def test_a_reason_in_rust(self):
        self.errors = self.errors.replace('- own', '- of others')
        self.tables('errors.rst: not in it: ``BadName`` | own',
                    'errors.rst: no more: ``BadName`` | of others')

    def test_a_reason_in_rust_has_the_words_of_a_refusal(self):
        self.refused = self.refused.replace('"two"', '"2"')
        self.errors = self.errors.replace('``First``\n     - two',
                                          '``First``\n     - 2')
        self.tables('refused.rs: ``First``: no words of refusal.rs: 2')

    def test_another_figure(self):
        self.figures = self.figures.replace('3, 0', '2, 0')
        self.tables('overhead.rst: not in it: hit | 5, 1 | 3, 0',
                    'overhead.rst: no more: hit | 5, 1 | 2, 0')


class Kernel(Pages):
    """What only the kernel's source can tell."""

    def setUp(self):
        super().setUp()
        self.write('kernel/lib/objpool.c', 'first\n')
        self.write('kernel/include/linux/kprobes.h',
                   'int register_kprobe(struct kprobe *p);\n')
        self.write('kernel/lib/Kconfig.x', 'menuconfig KPROBES\n')

    def wrong(self, text):
        self.page(text)
        return documents.of_kernel(self.tmp / 'kernel')

    def test_what_there_is(self):
        self.assertEqual(self.wrong(
            '``CONFIG_KPROBES=y``\n\n'
            '.. c:function:: int register_kprobe( struct kprobe * p )\n\n'
            '.. literalinclude:: ../../lib/objpool.c\n   :start-at: first\n'),
            [])

    def test_what_there_is_not(self):
        for text, said in (
                ('``CONFIG_PROBES``', 'CONFIG_PROBES: no such option'),
                ('.. c:function:: int register_kprobe(struct kprobe *kp)\n',
                 'not in <linux/kprobes.h>'),
                ('.. literalinclude:: ../../lib/objpool.c\n'
                 '   :end-before: last\n', 'last: nowhere in')):
            found, = self.wrong(text)
            self.assertIn(said, found)
        self.write('repo/theirs.txt', 'lib/objpool.c\nd_path\n')
        found, = self.wrong('')
        self.assertIn('d_path: not in the kernel', found)
        self.write('kernel/fs/d_path.c', 'char *d_path(void)\n')
        self.assertEqual(self.wrong(''), [])
        (self.tmp / 'kernel/lib/objpool.c').unlink()
        found, = self.wrong('')
        self.assertIn('lib/objpool.c: not in the kernel', found)


class Real(support.Case):
    """The pages themselves have what the rules are about."""

    def test_no_rule_looks_at_nothing(self):
        every = [one for path in documents.pages()
                 for one in documents.listings(path)]
        hows = {one.how.split(' ')[0] for one in every}
        self.assertLessEqual({'make', 'file', 'commands', 'picture'}, hows)
        self.assertGreater(sum(bool(one.include) for one in every), 5)
        self.assertGreater(len(documents.sessions()), 3)
        self.assertGreater(len(documents.refusals()), 40)
        self.assertGreater(len(documents.no_jumps()), 25)
        self.assertGreater(sum(len(documents.named_files(path)) for path in
                               documents.pages()), 100)

    def test_make_check_has_them(self):
        found = documents.run(check.tracked())
        self.assertEqual([one.name for one in found if one.status != 'pass'],
                         [])
        plan = (env.KPROBES / 'plan/check.txt').read_text().splitlines()
        self.assertLessEqual({one.name for one in found}, set(plan))

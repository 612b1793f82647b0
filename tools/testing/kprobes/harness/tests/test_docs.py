# SPDX-License-Identifier: GPL-2.0
"""make docs: which warnings are ours, where Sphinx is, and what it makes."""

import hashlib
import types
from unittest import mock

import complaints
import docs
import env
from ktap import Result
from tests import support
from tests.test_shell import Debian

_PAGE = 'Documentation/trace/rust-kprobes/life.rst'
_KNOWN = {_PAGE, 'samples/rust/rust_kprobe.rs', 'rust/kernel/kprobes.rs',
          'rust/kprobes/life/hit.rs'}
_SPHINX = '''\
make: Entering directory '/work/tree'
Using alabaster theme
WARNING: dot(1) not found, for better output quality install graphviz
/work/tree/Documentation/trace/ftrace.rst:3: WARNING: Title underline too short.
'''
_RUSTDOC = '''\
  RUSTDOC /work/tree/rust/kernel/lib.rs
warning: unresolved link to `x`
  --> /work/tree/rust/kernel/sync.rs:12:9
   |
12 | //! [`x`]
   |      ^ no item named `x` in scope
'''


class Warnings(support.Case):
    """What is said of ours, and what is not."""

    def test_of_others_only(self):
        self.assertEqual(docs.of_sphinx(_SPHINX, _KNOWN), [])
        self.assertEqual(complaints.of_rust(_RUSTDOC, _KNOWN), [])

    def test_each_way_to_say_it_of_a_page(self):
        for line in ('/work/tree/{}:12: WARNING: Title underline too short.',
                     '/work/tree/{}: WARNING: document isn\'t included in any '
                     'toctree',
                     '/work/tree/Documentation/../{}:7: ERROR: Unknown '
                     'directive type "cod".',
                     '/work/tree/{}:40: (SEVERE/4) Unexpected section title.'):
            said = line.format(_PAGE)
            found, = docs.of_sphinx(_SPHINX + said + '\n', _KNOWN)
            self.assertIn(_PAGE, found)

    def test_of_a_file_that_a_page_shows(self):
        line = 'WARNING: ./samples/rust/rust_kprobe.rs:3 has no such line'
        self.assertEqual(docs.of_sphinx(line, _KNOWN), [line])

    def test_the_name_of_another_ends_alike(self):
        self.assertEqual(docs.of_sphinx(
            f'/work/tree/{_PAGE}x:1: WARNING: a\n'
            '/work/tree/Documentation/life.rst:1: WARNING: a\n', _KNOWN), [])

    def test_of_rustdoc(self):
        text = _RUSTDOC + '''\
warning: this URL is not a hyperlink
 --> /work/tree/rust/kernel/kprobes.rs:5:2
error[E0425]: cannot find value
  --> rust/kprobes/life/hit.rs:9:1
'''
        self.assertEqual(complaints.of_rust(text, _KNOWN), [
            'rust/kernel/kprobes.rs:5: warning: this URL is not a hyperlink',
            'rust/kprobes/life/hit.rs:9: error[E0425]: cannot find value'])


# make, as far as it matters here: what it says, and the page that comes of it.
_MAKE = '''
for one; do case $one in
O=*) out=${one#O=}/Documentation/output ;;
SPHINXDIRS=*) out=$out/${one#SPHINXDIRS=} ;;
esac; done
cat said
[ -e broken ] && exit 2
mkdir -p $out && cp said $out/index.html
'''


class Pages(support.Case):
    def setUp(self):
        super().setUp()
        for name in ('make', 'sphinx-build'):
            self.program(name, 'exit 1')
        self.program('make', f'cd {self.tmp}\n{_MAKE}')
        self.program('sphinx-build', 'echo "sphinx-build 8.1.3"')
        self.write('said', _SPHINX)
        self.enterContext(mock.patch.dict('os.environ', {
            'PATH': f'{self.tmp}/bin:/usr/bin:/bin', 'KP_DOCS': ''}))
        self.enterContext(mock.patch.object(docs.overlay, 'sync'))
        self.untrue = self.enterContext(mock.patch.object(
            docs.documents, 'of_kernel', return_value=[]))
        self.enterContext(mock.patch.object(complaints, 'names',
                                            lambda: _KNOWN))
        self.enterContext(mock.patch.object(
            docs, 'crates', lambda built: (self.tmp / 'rustdoc', built)))

    def program(self, name, text):
        self.write(f'bin/{name}', f'#!/bin/sh\n{text}\n').chmod(0o755)

    def verdicts(self, of_rustdoc=()):
        return {one.name: one.reason
                for one in docs.run(lambda: list(of_rustdoc))
                if one.status == 'fail'}

    def test_pages_without_a_warning(self):
        self.assertEqual(self.verdicts(), {})
        self.assertIn('trace/rust-kprobes/index.html',
                      self.printed.getvalue())
        self.assertIn(f'{self.tmp}/rustdoc/kernel/kprobes/index.html',
                      self.printed.getvalue())

    def test_a_page_with_a_warning(self):
        self.write('said', f'{_SPHINX}/work/tree/{_PAGE}:2: WARNING: what\n')
        self.assertEqual(self.verdicts(), {
            'docs.pages': f'{_PAGE}:2: WARNING: what'})

    def test_rustdoc_with_a_warning(self):
        self.assertEqual(self.verdicts(['a.rs:1: warning: b']), {
            'docs.rustdoc': 'a.rs:1: warning: b'})

    def test_what_the_kernel_does_not_bear_out(self):
        self.untrue.return_value = ['life.rst: CONFIG_X: no such option']
        self.assertEqual(self.verdicts(), {
            'docs.kernel': 'life.rst: CONFIG_X: no such option'})
        self.untrue.assert_called_with(env.TREE)

    def test_what_was_written_before_is_not_taken_for_it(self):
        self.verdicts()
        self.program('make', 'echo nothing')
        with self.refused('the pages to be written', 'nothing'):
            self.verdicts()

    def test_no_pages(self):
        self.write('broken', '')
        with self.refused('the pages to be written', 'whole log'):
            self.verdicts()

    def test_the_machines_own_sphinx(self):
        self.enterContext(mock.patch.object(env, 'HOST_TOOLS', True))
        self.program('sphinx-build', 'echo "sphinx-build 3.4.2"')
        with self.refused('sphinx-build 3.4.3 or later', 'sphinx-build 3.4.2',
                          'apt-get install python3-sphinx'):
            self.verdicts()
        (self.tmp / 'bin/sphinx-build').unlink()
        with mock.patch.dict('os.environ', {'PATH': f'{self.tmp}/bin'}), \
                self.refused('sphinx-build 3.4.3', 'none'):
            self.verdicts()

    def test_in_the_root_that_has_it(self):
        with mock.patch.dict('os.environ', {'KP_DOCS': '/cache/docs-1',
                                            'KP_WORK': '/work'}):
            command = docs._inside(['make', 'x'])
        self.assertEqual(command[:2], ['unshare', '--mount'])
        self.assertEqual(command[-6:], ['/cache/docs-1', '/work', 'env',
                                        'PATH=/usr/bin:/bin', 'make', 'x'])


class Crates(support.Case):
    def crates(self, said, ours):
        built = types.SimpleNamespace(arch='x86_64', obj=self.tmp / 'obj',
                                      tree=self.tmp, flavour='test')

        def compiled(command, targets, log, stage):
            self.assertEqual(targets, ['rustdoc'])
            self.write('work/logs/docs-rustdoc.log', said)
        self.enterContext(mock.patch.object(docs.kernel, 'compile_targets',
                                            compiled))
        self.enterContext(mock.patch.object(
            docs.checkkernel, 'rustdoc', lambda _, out: self.assertEqual(
                out.name, 'rustdoc') or ours))
        self.enterContext(mock.patch.object(complaints, 'names',
                                            lambda: _KNOWN))
        return docs.crates(built)[1]

    def test_both_are_asked(self):
        good = Result('x', 'pass', '')
        self.assertEqual(self.crates(_RUSTDOC, good), [])
        self.assertEqual(self.crates(_RUSTDOC, Result('x', 'fail', 'bad')),
                         ['bad'])
        self.assertEqual(self.crates(
            _RUSTDOC.replace('sync.rs', 'kprobes.rs'), good),
            ['rust/kernel/kprobes.rs:12: warning: unresolved link to `x`'])


_ROOTS = '''
for last; do :; done
case "$*" in
*/mkroot.sh\\ * | */mkdocs.sh\\ * | */mkclients.sh\\ *) mkdir "$last" ;;
*) echo "entered, with ${KP_DOCS:-none}" ;;
esac
'''


class Root(Debian):
    """Which command makes which root."""

    def kp(self, *words, **variables):
        """Its words, and the roots in the cache."""
        self.program('id', 'echo 0')
        self.program('unshare', '')
        self.program('setpriv', _ROOTS)
        _, text = self.bash(f'bash {env.KPROBES}/kp {" ".join(words)}',
                            CACHE=str(self.tmp / 'roots'), KP_GIVEN='',
                            HOST_TOOLS='', **{'PIECE': '', **variables})
        return text, sorted(path.name.split('-')[0] for path in
                            (self.tmp / 'roots').glob('*-????????????'))

    def made_of(self, root, *names):
        """There is a ROOT that is called by these files, and no others."""
        lists = b''.join((env.KPROBES / 'toolchain' / name).read_bytes()
                         for name in names)
        stamp = hashlib.sha256(lists).hexdigest()[:12]
        self.assertTrue((self.tmp / f'roots/{root}-{stamp}').is_dir())

    def test_the_pages_have_one_of_their_own(self):
        text, roots = self.kp('kernel')
        self.assertEqual(roots, ['root'])
        self.assertIn('entered, with none', text)
        text, roots = self.kp('docs')
        self.assertEqual(roots, ['docs', 'root'])
        self.assertIn('docs: root made in', text)
        self.assertNotIn('toolchain: root made in', text)
        self.assertRegex(text, r'entered, with \S*/docs-[0-9a-f]{12}\n')
        text, _ = self.kp('docs')
        self.assertNotIn('root made in', text)

    def test_of_the_matrix_one_piece_wants_it(self):
        self.assertEqual(self.kp('test-all', PIECE='c-arm')[1], ['root'])
        self.assertEqual(self.kp('test-all', PIECE='docs')[1],
                         ['docs', 'root'])

    def test_it_does_not_tell_kernels_apart(self):
        self.kp('docs')
        self.made_of('root', 'packages', 'apt-preferences', 'mkroot.sh',
                     'debian.sh')

    def test_real_programs_have_one_of_their_own(self):
        self.assertEqual(self.kp('test-clients')[1], ['clients', 'root'])
        self.assertEqual(self.kp('kernel')[1], ['clients', 'root'])
        self.assertEqual(self.kp('test-all', PIECE='clients')[1],
                         ['clients', 'root'])
        self.made_of('clients', 'clients-packages', 'clients-preferences',
                     'mkclients.sh', 'debian.sh')

    def test_one_that_is_deleted_meanwhile_is_made_again(self):
        for name, command in (('docs', 'docs'), ('clients', 'test-clients')):
            self.kp(command)
            self.program('flock', f"""
                if [ "$*" = "-n -s 9" ] && [ ! -e {self.tmp}/{name} ]; then
                    : >{self.tmp}/{name}
                    rm -r {self.tmp}/roots/{name}-????????????
                fi
                exec /usr/bin/flock "$@"
                """)
            text, roots = self.kp(command)
            self.assertIn('beginning again', text)
            self.assertIn(name, roots)
            self.assertRegex(text, 'entered, with .*\n$')

    def test_that_of_real_programs_knows_newer_suites(self):
        self.program('mmdebstrap', 'mkdir t; echo "$@"')
        status, text = self.making('mkclients.sh', 'clients-packages',
                                   DEBIAN_MIRROR='http://m',
                                   DEBIAN_SECURITY='http://s')
        self.assertEqual((status, text), (0, ''))
        said = (self.tmp / 't.log').read_text()
        self.assertRegex(said, r'--include=linux-perf,bpftrace,\S*,xz-utils ')
        self.assertRegex(said, r'deb \[arch=amd64 check-valid-until=no '
                         r'signed-by=\S+\] http://m forky main')
        self.assertRegex(said, r'deb \[arch=amd64 signed-by=\S+\] '
                         r'http://m trixie-backports main')
        self.assertIn('clients-preferences', said)

    def test_that_of_an_older_list_goes(self):
        self.write('roots/.rust-kprobes', '')
        self.write('roots/docs-0123456789ab/usr/x', '')
        self.write('roots/root-0123456789ab/usr/x', '')
        self.assertEqual(self.kp('docs')[1], ['docs', 'root'])
        self.assertFalse((self.tmp / 'roots/docs-0123456789ab').exists())

    def test_other_rules_make_another(self):
        self.kp('docs')
        lists = b''.join((env.KPROBES / 'toolchain' / name).read_bytes()
                         for name in ('docs-packages', 'mkdocs.sh',
                                      'debian.sh'))
        stamp = hashlib.sha256(lists).hexdigest()[:12]
        self.assertTrue((self.tmp / f'roots/docs-{stamp}').is_dir())

    def test_of_whose_packages(self):
        self.program('mmdebstrap', 'mkdir t; echo "$@"')
        self.write('toolchain/docs-packages',
                   '# none\n\nmake\npython3-sphinx\n')
        status, text = self.making('mkdocs.sh', DEBIAN_MIRROR='http://m',
                                   DEBIAN_SECURITY='http://s')
        self.assertEqual((status, text), (0, ''))
        said = (self.tmp / 't.log').read_text()
        self.assertIn('--architectures=amd64 ', said)
        self.assertIn('--include=make,python3-sphinx trixie t deb ', said)
        self.assertEqual(said.count('http://m trixie'), 2)
        self.assertEqual(said.count('http://s trixie-security main'), 1)
        self.assertIn('Acquire::Retries "3"', said)
        self.assertTrue((self.tmp / 't/work').is_dir())

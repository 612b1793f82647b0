# SPDX-License-Identifier: GPL-2.0
"""make docs: what it makes, and which warnings fail it."""

import types
from unittest import mock

import complaints
import docs
from ktap import Result
from tests import support

_SPHINX = '''\
make: Entering directory '/work/tree'
WARNING: dot(1) not found, for better output quality install graphviz
'''
# make, as far as it matters here: what it says, and the page that comes of it.
_MAKE = '''#!/bin/sh
cd {0}
for word; do case $word in
O=*) out=${{word#O=}}/Documentation/output ;;
SPHINXDIRS=*) out=$out/${{word#SPHINXDIRS=}} ;;
esac; done
cat said
[ ! -e broken ] && mkdir -p $out && cp said $out/index.html
'''


class Docs(support.Case):
    def setUp(self):
        super().setUp()
        self.write('bin/make', _MAKE.format(self.tmp)).chmod(0o755)
        self.write('said', _SPHINX)
        self.enterContext(mock.patch.dict('os.environ', {
            'PATH': f'{self.tmp}/bin:/usr/bin:/bin', 'KP_DOCS': ''}))
        self.enterContext(mock.patch.object(docs.overlay, 'sync'))

    def test_a_warning_about_a_page(self):
        for lines in ([],
                      ['/tree/a.rst:12: WARNING: Title underline too short.',
                       'a.rst:7: ERROR: Unknown directive type "cod".',
                       'a.rst:40: (SEVERE/4) Unexpected section title.',
                       "/t/a.rst: WARNING: document isn't in any toctree"]):
            self.write('said', _SPHINX + ''.join(f'{x}\n' for x in lines))
            self.assertEqual(docs.pages()[1], lines)

    def test_pages_of_an_earlier_run_do_not_count(self):
        docs.pages()
        self.write('broken', '')
        with self.refused('the pages to be written', 'dot(1)', 'whole log'):
            docs.pages()

    def test_a_page_that_there_is_not(self):
        self.enterContext(mock.patch.object(docs.overlay, 'files',
                                            lambda: ['rust/a.rs']))
        self.write('work/tree/Documentation/a.rst', '')
        self.write('work/tree/rust/a.rs', '// See Documentation/a.rst and\n'
                   '// Documentation/b.rst.\n')
        self.assertEqual(docs.references(),
                         ['rust/a.rs: Documentation/b.rst'])

    def test_warnings_of_both_crates(self):
        text = ('warning: unresolved link to `x`\n'
                '  --> /work/tree/rust/kernel/{}.rs:12:9\n')
        self.enterContext(mock.patch.object(
            complaints, 'names', lambda: {'rust/kernel/kprobes.rs'}))
        built = types.SimpleNamespace(arch='x86_64', obj=self.tmp / 'obj',
                                      tree=self.tmp, flavour='test')
        good, bad = Result('x', 'pass'), Result('x', 'fail', 'bad')
        for file, ours, warnings in (
                ('sync', good, []), ('sync', bad, ['bad']),
                ('kprobes', good, ['rust/kernel/kprobes.rs:12: warning: '
                                   'unresolved link to `x`'])):
            with mock.patch.object(
                    docs.kernel, 'compile_targets',
                    lambda _, targets, log, stage, file=file: self.write(
                        log, ' '.join(targets) + '\n' + text.format(file))), \
                    mock.patch.object(docs.checkkernel, 'rustdoc',
                                      return_value=ours), \
                    mock.patch.object(docs, 'references', return_value=['x']):
                self.assertEqual(
                    {one.name: one.reason for one in docs.run(lambda: built)},
                    {'docs.pages': '', 'docs.references': 'x',
                     'docs.rustdoc': ''.join(warnings)})

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
# make, as far as it matters here: it prints lines, and writes the page.
_MAKE = '''#!/bin/sh
cat {0}/said
for word; do case $word in O=*) out=${{word#O=}}/Documentation/output ;; esac; done
mkdir -p $out/trace/rust-kprobes && touch $out/trace/rust-kprobes/index.html
'''


class Docs(support.Case):
    def setUp(self):
        super().setUp()
        self.write('bin/make', _MAKE.format(self.tmp)).chmod(0o755)
        self.write('said', _SPHINX)
        self.enterContext(mock.patch.dict('os.environ', {
            'PATH': f'{self.tmp}/bin:/usr/bin:/bin'}))
        self.enterContext(mock.patch.object(docs, '_inside', list))
        self.enterContext(mock.patch.object(docs.overlay, 'sync'))

    def test_a_warning_about_a_page(self):
        for lines in ([],
                      ['/tree/a.rst:12: WARNING: Title underline too short.',
                       'a.rst:7: ERROR: Unknown directive type "cod".',
                       'a.rst:40: (SEVERE/4) Unexpected section title.',
                       "/t/a.rst: WARNING: document isn't in any toctree"]):
            self.write('said', _SPHINX + ''.join(f'{x}\n' for x in lines))
            self.assertEqual(docs.pages()[1], lines)

    def test_a_page_that_there_is_not(self):
        self.enterContext(mock.patch.object(docs.overlay, 'files',
                                            lambda: ['rust/a.rs']))
        self.write('work/tree/Documentation/a.rst', '')
        self.write('work/tree/rust/a.rs', '// See Documentation/a.rst and\n'
                   '// Documentation/b.rst.\n')
        self.assertEqual(docs.references(),
                         ['rust/a.rs: Documentation/b.rst'])

    def test_each_part_counts(self):
        ours = {'sync': [], 'kprobes': [
            'rust/kernel/kprobes.rs:12: warning: unresolved link to `x`']}
        self.enterContext(mock.patch.object(
            complaints, 'names', lambda: {'rust/kernel/kprobes.rs'}))
        self.enterContext(mock.patch.object(docs, 'references', lambda: ['x']))
        self.enterContext(mock.patch.object(
            docs.checkkernel, 'rustdoc',
            lambda *_: Result('x', 'fail', 'bad')))
        built = types.SimpleNamespace(arch='x86_64', obj=self.tmp / 'obj',
                                      tree=self.tmp, flavour='test')
        self.write('said', 'a.rst:1: WARNING: so')
        for file, warnings in ours.items():
            with mock.patch.object(
                    docs.kernel, 'compile_targets',
                    lambda _command, _targets, log, _stage: self.write(
                        log, 'warning: unresolved link to `x`\n  --> /work/'
                        f'tree/rust/kernel/{file}.rs:12:9\n')):
                self.assertEqual(
                    {part.name: part.reason
                     for part in docs.run(lambda: built)},
                    {'docs.pages': 'a.rst:1: WARNING: so', 'docs.references': 'x',
                     'docs.rustdoc': '\n'.join([*warnings, 'bad'])})

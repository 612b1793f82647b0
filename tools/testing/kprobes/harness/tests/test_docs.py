# SPDX-License-Identifier: GPL-2.0
"""make docs: what it makes, and which warnings fail it."""

from pathlib import Path
from unittest import mock

import docs
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
    def setUp(self) -> None:
        super().setUp()
        self.write('bin/make', _MAKE.format(self.tmp)).chmod(0o755)
        self.write('said', _SPHINX)
        self.given(PATH=f'{self.tmp}/bin:/usr/bin:/bin')
        self.replace((docs, '_inside', list), (docs.overlay, 'sync', mock.Mock()))

    def test_a_warning_about_a_page(self) -> None:
        for lines in ([],
                      ['/tree/a.rst:12: WARNING: Title underline too short.',
                       'a.rst:7: ERROR: Unknown directive type "cod".',
                       'a.rst:40: (SEVERE/4) Unexpected section title.',
                       "/t/a.rst: WARNING: document isn't in any toctree"]):
            self.write('said', _SPHINX + ''.join(f'{x}\n' for x in lines))
            self.assertEqual(docs.pages()[1], lines)

    def test_a_page_that_there_is_not(self) -> None:
        self.replace((docs.overlay, 'files', lambda: ['rust/a.rs']))
        self.write('work/tree/Documentation/a.rst', '')
        self.write('work/tree/rust/a.rs', '// See Documentation/a.rst and\n'
                   '// Documentation/b.rst, tools/testing/kprobes/x.\n')
        result = docs.listed('docs.references', docs.references())
        self.assertEqual(Path(result.log).read_text().split('\n'), [
            'rust/a.rs: Documentation/b.rst', 'rust/a.rs: tools/testing/kprobes'])

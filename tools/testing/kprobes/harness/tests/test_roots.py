# SPDX-License-Identifier: GPL-2.0
"""kp's roots beside the toolchain's: who gets which, and of what they are."""

import hashlib

import env
from tests.test_shell import Debian

_ROOTS = '''
for last; do :; done
case "$*" in
*/mkroot.sh\\ *) mkdir "$last" ;;
*) echo "entered, with ${KP_DOCS:-none}" ;;
esac
'''


class Roots(Debian):
    def setUp(self):
        super().setUp()
        self.program('id', 'echo 0')
        self.program('unshare', '')
        self.program('setpriv', _ROOTS)

    def kp(self, command, piece=''):
        """What kp COMMAND says, and the roots in the cache."""
        _, text = self.bash(f'bash {env.KPROBES}/kp {command}', PIECE=piece,
                            CACHE=str(self.tmp / 'roots'), KP_GIVEN='')
        return text, sorted(path.name.split('-')[0] for path in
                            (self.tmp / 'roots').glob('*-????????????'))

    def test_who_gets_which(self):
        for command, piece, *roots in (
                ('test-all', 'c-arm', 'root'),
                ('test-all', 'docs', 'docs', 'root'),
                ('test-clients', '', 'clients', 'root'),
                ('test-all', '', 'clients', 'docs', 'root')):
            self.assertEqual(self.kp(command, piece)[1], roots)
            self.bash('rm -r roots')

    def test_it_is_made_once_entered_and_goes_with_its_list(self):
        self.write('roots/.rust-kprobes', '')
        for name in 'docs', 'root':
            self.write(f'roots/{name}-0123456789ab/usr/x', '')
        text, roots = self.kp('docs')
        self.assertIn('docs: root made in', text)
        self.assertEqual(roots, ['docs', 'root'])
        self.assertFalse((self.tmp / 'roots/docs-0123456789ab').exists())
        stamp = hashlib.sha256(b''.join(
            (env.KPROBES / 'toolchain' / name).read_bytes() for name in
            ('docs-packages', 'mkroot.sh', 'debian.sh'))).hexdigest()[:12]
        text, _ = self.kp('docs')
        self.assertNotIn('root made in', text)
        self.assertRegex(text, rf'entered, with \S*/docs-{stamp}\n')
        self.assertIn('entered, with none', self.kp('kernel')[0])

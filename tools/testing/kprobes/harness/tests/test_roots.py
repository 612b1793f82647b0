# SPDX-License-Identifier: GPL-2.0
"""kp's roots beside the toolchain's: who gets which, and of what they are."""

import hashlib

import env
from tests.test_shell import Debian

_ROOTS = '''
for last; do :; done
case "$*" in
*/mkroot.sh\\ * | */mkdocs.sh\\ * | */mkclients.sh\\ *) mkdir "$last" ;;
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
                            CACHE=str(self.tmp / 'roots'), KP_GIVEN='',
                            HOST_TOOLS='')
        return text, sorted(path.name.split('-')[0] for path in
                            (self.tmp / 'roots').glob('*-????????????'))

    def test_who_gets_which(self):
        for command, piece, *roots in (
                ('kernel', '', 'root'), ('test-all', 'c-arm', 'root'),
                ('docs', '', 'docs', 'root'),
                ('test-all', 'docs', 'docs', 'root'),
                ('test-clients', '', 'clients', 'root'),
                ('test-all', 'clients', 'clients', 'root'),
                ('test-all', '', 'clients', 'docs', 'root')):
            self.assertEqual(self.kp(command, piece)[1], roots)
            self.bash('rm -r roots')

    def test_it_is_made_once_and_entered(self):
        text, _ = self.kp('docs')
        self.assertIn('docs: root made in', text)
        text, _ = self.kp('docs')
        self.assertNotIn('root made in', text)
        self.assertRegex(text, r'entered, with \S*/docs-[0-9a-f]{12}\n')
        self.assertIn('entered, with none', self.kp('kernel')[0])

    def test_its_name_is_that_of_its_files(self):
        self.kp('test-all')
        for root, *names in (
                ('root', 'packages', 'apt-preferences', 'mkroot.sh'),
                ('docs', 'docs-packages', 'mkdocs.sh'),
                ('clients', 'clients-packages', 'clients-preferences',
                 'mkclients.sh')):
            stamp = hashlib.sha256(b''.join(
                (env.KPROBES / 'toolchain' / name).read_bytes()
                for name in (*names, 'debian.sh'))).hexdigest()[:12]
            self.assertTrue((self.tmp / f'roots/{root}-{stamp}').is_dir())

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

    def test_that_of_an_older_list_goes(self):
        self.write('roots/.rust-kprobes', '')
        for name in 'docs', 'root':
            self.write(f'roots/{name}-0123456789ab/usr/x', '')
        self.assertEqual(self.kp('docs')[1], ['docs', 'root'])
        self.assertFalse((self.tmp / 'roots/docs-0123456789ab').exists())

    def made(self, script, *lists):
        """What mmdebstrap is asked for."""
        self.program('mmdebstrap', 'mkdir t; echo "$@"')
        self.assertEqual(self.making(
            script, *lists, DEBIAN_MIRROR='http://m',
            DEBIAN_SECURITY='http://s'), (0, ''))
        return (self.tmp / 't.log').read_text()

    def test_of_whose_packages(self):
        said = self.made('mkdocs.sh', 'docs-packages')
        self.assertIn('--architectures=amd64 ', said)
        self.assertRegex(said, '--include=make,.*python3-yaml trixie t deb ')
        self.assertEqual(said.count('http://m trixie'), 2)
        self.assertEqual(said.count('http://s trixie-security main'), 1)
        self.assertIn('Acquire::Retries "3"', said)
        self.assertTrue((self.tmp / 't/work').is_dir())

    def test_that_of_real_programs_knows_newer_suites(self):
        said = self.made('mkclients.sh', 'clients-packages',
                         'clients-preferences')
        self.assertRegex(said, r'--include=linux-perf,bpftrace,\S*,xz-utils ')
        for suite in 'forky', 'trixie-backports':
            self.assertRegex(said, rf'deb \[[^]]*\] http://m {suite} main')
        self.assertIn('clients-preferences', said)

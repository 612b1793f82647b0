# SPDX-License-Identifier: GPL-2.0
"""The shell part: what it refuses before the harness can run."""

import os
import re
import subprocess

import cli
import env
from tests import support

_TOOLCHAIN = env.KPROBES / 'toolchain'
_COMMON = _TOOLCHAIN / 'common.sh'
_KP = env.KPROBES / 'kp'


class Shell(support.Case):
    def bash(self, script, **variables):
        """SCRIPT after common.sh: (status, output)."""
        done = subprocess.run(
            ['bash', '-euc', f'. {_COMMON}\n{script}'], check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, cwd=self.tmp,
            env={**os.environ, 'ARCH': '',
                 'PATH': f'{self.tmp}/bin:/usr/bin:/bin',
                 **variables})
        return done.returncode, done.stdout

    def refuses(self, result, *words):
        """RESULT is that of a shell that refused, and said WORDS."""
        status, text = result
        self.assertEqual(status, 2, text)
        for word in words:
            self.assertIn(word, text)
        return text

    def program(self, name, text):
        """A program of ours in front of the machine's."""
        self.write(f'bin/{name}', f'#!/bin/sh\n{text}\n').chmod(0o755)


class Given(Shell):
    """What stands on the command line of make."""

    def test_only_known_names(self) -> None:
        for text in ('', 'ARCH=arm', 'IMPL=c ARCH:=arm V+=1', 'CACHE::=/x',
                     'ARGS=symbol=vfs_read\\ foo=1 V=1', 'http_proxy=x',
                     'ARGS=\\\\ V=1', 'DIR=*', 'ARGS=a\\\tb=1'):
            self.assertEqual(self.bash('check_given "$TEXT"', TEXT=text), (0, ''), text)
        for text, name in (('V=1 ACRH=x', 'ACRH'), ('arch=x', 'arch'), ('ARGS=x\\\\ FOO=1', 'FOO')):
            self.refuses(self.bash('check_given "$TEXT"', TEXT=text),
                         f'found:    {name}\n',
                         'one of the variables ARCH IMPL')

    def test_what_counts_ends_with_the_count(self) -> None:
        counting = re.search("^counting='(.*)'$", _KP.read_text(), re.M)[1]
        self.assertEqual(set(counting.split()), set(cli._COUNTING))
        for command in (*counting.split(), 'kernel'):
            self.assertEqual(
                self.bash(f'bash {_KP} {command} 2>/dev/null', KP_GIVEN='FOO=1'),
                (2, '' if command == 'kernel'
                 else '0 passed, 1 failed, 0 skipped\n'))


class Switches(Shell):
    def test_neither_yes_nor_no_and_a_cache_in_the_checkout(self) -> None:
        cache = f'{self.tmp}/cache'
        for variables, words in (
                *(({'CACHE': cache, name: 'yes'}, f'{name}=1, or {name}=0 for')
                  for name in ('V', 'UNDO', 'FAST')),
                ({'CACHE': f'{env.REPO}/cache'},
                 'CACHE= outside of this checkout')):
            self.refuses(self.bash(f'bash {_KP} no-such-command', **variables), words)

    def test_no_is_no(self) -> None:
        script = (f"sed -e '/^here=/s|=.*|={env.KPROBES}|' "
                  f"-e '/^KP_REPO=/,$d' {_KP} >kp\n"
                  'echo \'echo "<${UNDO-none}>"\' >>kp; bash kp')
        self.assertEqual(self.bash(script, UNDO='0'), (0, '<none>\n'))
        self.assertEqual(self.bash(script, UNDO='1'), (0, '<1>\n'))


class Distclean(Shell):
    def test_it_says_what_it_deletes_and_leaves_other_files(self) -> None:
        cache = self.tmp / 'a cache'
        for name in ('.rust-kprobes', 'root-0123456789ab/bin/x',
                     'docs-ba9876543210.part.log', 'checkouts/1/z',
                     'ccache/a', 'times.json', 'theirs/b'):
            self.write(f'a cache/{name}', '')
        status, text = self.bash(f'bash {_KP} distclean', CACHE=str(cache))
        self.assertEqual(status, 0, text)
        for words in (f'deleting {cache}: the toolchain',
                      'deleting root-0123456789ab', 'deleting ccache',
                      'what is not ours'):
            self.assertIn(words, text)
        self.assertEqual([path.name for path in cache.iterdir()], ['theirs'])


# Programs of the machine are files in bin/, its keyrings files in keys/, and
# its disk has what is written in free.
_MACHINE = '''
KEYRINGS=keys PAUSE=0
have() { [ -e "bin/$1" ]; }
free_kib() { cat free; }
'''
# A root that has something of all there is to say.
_ROOT = """
target=t called='the root of a test' room=3000000 room_called='3 GiB'
include=(make gcc) suites=(trixie-backports) extra_include=(stap)
without='make it' works='All else works' preferences="it's/apt"
make_debian
"""
_SOURCES = ''.join(
    'deb [signed-by=keys/debian-archive-keyring.gpg check-valid-until=no] '
    f'http://{place} main\n' for place in (
        'm trixie', 'm trixie-backports', 'm trixie-updates',
        's trixie-security'))
# Says how it was called, and runs the hooks as mmdebstrap does.
_MMDEBSTRAP = """
mkdir t
for word; do case $word in
*-hook=*) sh -ec "${word#*=}" exec t || exit ;;
*) echo "$word" ;;
esac; done
"""


class Debian(Shell):
    """Making a root of Debian's, on a machine that a test makes up."""

    def setUp(self) -> None:
        super().setUp()
        self.write('free', '4000000')
        self.write('keys/debian-archive-keyring.gpg', '')
        self.write("it's/apt", 'Package: make\n')

    def debian(self, script, **variables):
        """SCRIPT after debian.sh: (status, output)."""
        return self.bash(
            f'. {_TOOLCHAIN}/debian.sh\n{_MACHINE}\n{script}', **{
                'DEBIAN_MIRROR': 'http://m', 'DEBIAN_SECURITY': 'http://s',
                **variables})


class Root(Debian):
    """What a root is made of, and where that fails."""

    def test_all_in_one_step(self) -> None:
        self.refuses(self.debian(_ROOT), 'found:    none in PATH', 'apt-get install mmdebstrap')
        self.program('mmdebstrap', _MMDEBSTRAP)
        self.assertEqual(self.debian(_ROOT), (0, ''))
        log = (self.tmp / 't.log').read_text()
        for line in ('--architectures=amd64', '--include=make gcc stap',
                     '--aptopt=Acquire::Retries "3"',
                     '--dpkgopt=path-exclude=/usr/share/man/*'):
            self.assertIn(f'{line}\n', log)
        self.assertTrue(log.endswith(f'\ntrixie\nt\n{_SOURCES}'), log)
        self.assertEqual((self.tmp / 't/etc/apt/preferences.d/ours').read_text(), 'Package: make\n')
        # What cannot run here is unpacked.
        self.assertEqual(self.debian(f'machine=s390x\n{_ROOT}'), (0, ''))
        log = (self.tmp / 't.log').read_text()
        for line in ('--architectures=s390x', '--variant=extract', '--include=?essential'):
            self.assertIn(f'{line}\n', log)
        # Where the keys are a .pgp file, the sources name that.
        self.bash('rm -r t; mv keys/*.gpg keys/debian-archive-keyring.pgp')
        self.assertEqual(self.debian(_ROOT), (0, ''))
        self.assertIn(_SOURCES.replace('.gpg', '.pgp'), (self.tmp / 't.log').read_text())

    def test_a_missing_version_is_avoided_once(self) -> None:
        self.program('mmdebstrap', _MMDEBSTRAP + """
            cat t/etc/apt/preferences.d/avoided >>all
            echo 'E: Failed to fetch http://m/f/flex_2-8%2bb4_amd64.deb  404'
            exit 25""")
        self.debian(_ROOT)
        self.assertEqual(
            (self.tmp / 'all').read_text(), '\n\nPackage: flex\n'
            'Pin: version *2-8+b4\nPin-Priority: -1\n\n')

    def test_no_room_before_and_afterwards(self) -> None:
        self.program('mmdebstrap', 'mkdir t; echo 99999 >free; exit 1')
        for free, mib in (('2999999', 2929), ('3000000', 97)):
            self.write('free', free)
            self.refuses(
                self.debian(_ROOT), 'expected: 3 GiB free for the root of a '
                f'test\n  found:    {mib} MiB free in .\n', 'CACHE=')
            self.assertFalse((self.tmp / 't').exists())

    def ways(self, good, mirrors, more=''):
        """What is tried until the shell pattern GOOD fits the call."""
        self.write('calls', '')
        self.program('mmdebstrap', f"""
            mkdir t
            echo "$*" | sed 's/.*include=\\([^-]*\\) -.* [a-z]* t /\\1 /;
                s/deb [^]]*] //g; s/ main//g' >>calls
            echo 'E: Failed to fetch http://m/x/by-hash/SHA256/ab  404  Not Found [IP: ::1]'
            case $* in {good}) ;; *) exit 25 ;; esac""")
        result = self.debian(f'{more}\n{_ROOT}', DEBIAN_MIRROR=mirrors)
        calls = (self.tmp / 'calls').read_text()
        return result, re.sub('http://(.) trixie', r'\1', calls).splitlines()

    def test_without_some_suites_then_from_another_archive(self) -> None:
        calls = ['make gcc stap m m-backports m-updates s-security'] * 2 + [
            'make gcc m m-backports']
        (status, text), tried = self.ways('*stap*) exit 25 ;; *', 'http://m http://n')
        self.assertEqual((status, tried), (0, calls), text)
        self.assertIn('without trixie-updates trixie-security. make it does '
                      'not work in it', text)
        (self.tmp / 't/opt/without').unlink()
        (status, text), tried = self.ways('*http://n*', 'http://m http://n')
        self.assertEqual((status, tried), (0, [*calls, 'make gcc stap n n-backports n-updates']))
        self.assertNotIn('does not work', text)
        self.assertFalse((self.tmp / 't/opt/without').exists())
        (status, text), tried = self.ways('*http://m?other*', 'http://m', 'instead=other')
        self.assertEqual((status, tried), (0, [*calls, 'make gcc http://m other']), text)
        result, tried = self.ways('none', 'http://m')
        self.assertEqual(tried, calls)
        self.refuses(
            result, 'mmdebstrap to make a Debian trixie root for the root of a '
            'test\n', 'http://m (suites: trixie trixie-backports; exit status '
            '25; not to be had: http://m/x)', 'its log: t.log\n',
            'DEBIAN_MIRROR=', 'All else works')
        self.assertFalse((self.tmp / 't').exists())

    def test_what_works_without_each_root(self) -> None:
        for name, text in (('mmdebstrap', 'exit 1'), ('sleep', ''),
                           ('df', 'printf "\\n- - - 9000000\\n"')):
            self.program(name, text)
        for name, works in (
                ('root', 'Without it only make help and make distclean work.'),
                ('docs', 'All but make docs works'),
                ('clients_arm', 'All but make test-clients ARCH=arm works')):
            self.refuses(self.bash(f'bash {_TOOLCHAIN}/mkroot.sh {name} t'), works)


class Keys(Debian):
    """A keyring that lacks what Debian trixie is signed with."""

    def test_each_way_to_say_it_and_none_at_all(self) -> None:
        # apt with gpgv, apt with sqv; and a key that is there and too old.
        for missing in ('NO_PUBKEY 6ED0E7B82643E131',
                        'Missing key 4CB50190207B4758A3F73A796ED0E7B82643E131',
                        'EXPKEYSIG 6ED0E7B82643E131'):
            self.write('calls', '')
            self.program('mmdebstrap', f'echo >>calls; echo "is: {missing}, x"; exit 25')
            self.refuses(
                self.debian(_ROOT), 'expected: the keys that Debian '
                'trixie is signed with, in keys/debian-archive-keyring.gpg\n'
                f'  found:    it has none that is still good ({missing}); the '
                'log: t.log\n', 'apt-get install debian-archive-keyring')
            # No other way would do better.
            self.assertEqual((self.tmp / 'calls').read_text(), '\n')
        (self.tmp / 'keys/debian-archive-keyring.gpg').unlink()
        self.refuses(self.debian(_ROOT), '\n  found:    no such file',
                     'apt-get install debian-archive-keyring')


class Ids(Shell):
    """An ordinary user's ids: whether they will do, and what makes them do."""

    def ids(self, subuid, subgid):
        """What check_ids says of these two files, and the ranges."""
        self.program('id', '[ "$1" = -un ] && echo me || echo 1000')
        for name, text in (('subuid', subuid), ('subgid', subgid)):
            path = self.write(name, text or '')
            if text is None:
                path.unlink()
        return self.bash('set -o pipefail; SUBUID=subuid SUBGID=subgid; '
                         'check_ids; subid subuid; subid subgid')

    def test_settings_that_forbid_namespaces(self) -> None:
        for name in ('newuidmap', 'newgidmap'):
            self.program(name, '')
        for knob, value in (('apparmor_restrict_unprivileged_userns', 1),
                            ('unprivileged_userns_clone', 0)):
            path = self.write(knob, f'{value}\n')
            self.refuses(self.bash('check_ids() { :; }; SYSCTL=.; check_mapping'),
                         f'kernel.{knob}', f'sysctl -w kernel.{knob}={1 - value}')
            path.unlink()

    def test_enough_and_too_few(self) -> None:
        for name in ('me', '1000'):
            line = f'# who\nyou:1:65536\n{name}:9:9\n{name}:165536:65536\n'
            self.assertEqual(self.ids(line, line), (0, '165536 65536\n165536 65536\n'))
        enough = 'me:100000:65536\n'
        for subuid, subgid, files in (
                (None, None, 'subuid subgid'), ('', enough, 'subuid'),
                (enough, 'me:100000:1000\nyou:200000:65536\n', 'subgid')):
            self.refuses(
                self.ids(subuid, subgid),
                "expected: a line 'me:START:65536' in subuid and in subgid\n"
                f'  found:    no such line in {files}\n  do:       sudo touch '
                'subuid subgid && sudo usermod --add-subuids 100000-165535 '
                '--add-subgids 100000-165535 me')

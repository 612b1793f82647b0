# SPDX-License-Identifier: GPL-2.0
"""The shell part: what it refuses before the harness can run."""

import os
import re
import subprocess
import time

import cli
import env
import procs
from tests import support

_TOOLCHAIN = env.KPROBES / 'toolchain'
_COMMON = _TOOLCHAIN / 'common.sh'
_PACKAGES = 'rustc\nclang-22\nlld-22\nllvm-22\nlibclang-22-dev\nmake\n'


class Shell(support.Case):
    def bash(self, script, **variables):
        """SCRIPT after common.sh: (status, output)."""
        done = subprocess.run(
            ['bash', '-euc', f'. {_COMMON}\n{script}'], check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, cwd=self.tmp,
            env={**os.environ, 'PATH': f'{self.tmp}/bin:/usr/bin:/bin',
                 **variables})
        return done.returncode, done.stdout

    def program(self, name, text):
        """A program of ours in front of the machine's."""
        self.write(f'bin/{name}', f'#!/bin/sh\n{text}\n').chmod(0o755)


class Llvm(Shell):
    """rustc and clang of one LLVM major."""

    def major(self, text):
        self.write('packages', text)
        return self.bash('llvm_major packages')

    def test_the_major_that_the_packages_name(self):
        self.assertEqual(self.major(_PACKAGES), (0, '22\n'))

    def test_two_majors(self):
        status, text = self.major(_PACKAGES.replace('lld-22', 'lld-21'))
        self.assertEqual(status, 2)
        self.assertIn('found:    21 22', text)

    def test_no_major(self):
        status, text = self.major('rustc\nclang\n')
        self.assertEqual(status, 2)
        self.assertIn('none of them', text)

    def test_the_list_that_is_shipped(self):
        status, text = self.bash(
            f'llvm_major {env.KPROBES}/toolchain/packages')
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r'\A\d+\n\Z')

    def check(self, version):
        self.program('chroot', f'echo called >>{self.tmp}/calls\n'
                     f'echo "rustc 1.99.0"; echo "LLVM version: {version}"')
        return self.bash(f'check_llvm {self.tmp}/root 22')

    def test_they_agree_and_are_asked_once(self):
        for _ in range(2):
            self.assertEqual(self.check('22.1.8'), (0, ''))
        self.assertEqual((self.tmp / 'calls').read_text(), 'called\n')

    def test_they_do_not_agree(self):
        for _ in range(2):
            status, text = self.check('23.1.0')
            self.assertEqual(status, 2)
            for words in ('expected: rustc of LLVM 22', 'found:    LLVM 23',
                          'name clang-23, lld-23, llvm-23 and '
                          'libclang-23-dev'):
                self.assertIn(words, text)

    def test_no_rustc(self):
        self.program('chroot', 'echo "rustc: not found"; exit 127')
        status, text = self.bash(f'check_llvm {self.tmp}/root 22')
        self.assertEqual(status, 2)
        self.assertIn('expected: rustc -vV to run', text)
        self.assertIn('found:    rustc: not found', text)

    def test_chroot_is_found_by_an_ordinary_user(self):
        status, text = self.bash('PATH=/usr/bin:/bin; . '
                                 f'{env.KPROBES}/toolchain/common.sh; '
                                 'command -v chroot')
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r'/s?bin/chroot\n\Z')


class Given(Shell):
    """What stands on the command line of make."""

    def given(self, text):
        return self.bash('check_given "$TEXT"', TEXT=text)

    def test_names_that_are_known(self):
        for text in ('', 'ARCH=arm', 'IMPL=c ARCH:=arm V+=1', 'CACHE::=/x',
                     'ARGS=symbol=vfs_read\\ foo=1 V=1', 'http_proxy=x',
                     'ARGS=\\\\ V=1', 'DIR=*', 'ARGS=a\\\tb=1'):
            self.assertEqual(self.given(text), (0, ''), text)

    def test_the_nearest_of_those_is_named(self):
        for wrong, near in (('ACRH', 'ARCH'), ('arch', 'ARCH'),
                            ('IMPLE', 'IMPL'), ('PEICE', 'PIECE'),
                            ('HOSTTOOLS', 'HOST_TOOLS'), ('JOB', 'JOBS'),
                            ('DEBIAN_MIROR', 'DEBIAN_MIRROR')):
            status, text = self.given(f'V=1 {wrong}=x')
            self.assertEqual(status, 2)
            self.assertIn(f'found:    {wrong}\n', text)
            self.assertIn(f'did you mean {near}=?', text)

    def test_what_is_called_otherwise_elsewhere(self):
        for theirs, ours in (('VERBOSE', 'V'), ('verbose', 'V'),
                             ('SRC', 'KSRC'), ('KDIR', 'KSRC'),
                             ('KERNELDIR', 'KSRC'), ('M', 'DIR'),
                             ('MODULE', 'DIR'), ('J', 'JOBS'),
                             ('PARAMS', 'ARGS'), ('MIRROR', 'DEBIAN_MIRROR')):
            status, text = self.given(f'{theirs}=1')
            self.assertEqual(status, 2)
            self.assertIn(f'did you mean {ours}=?', text)

    def test_only_what_is_ours_is_meant(self):
        text = self.bash('printf "%s\\n" "${!ELSEWHERE[@]}" - '
                         '"${ELSEWHERE[@]}" - "${VARIABLES[@]}"')[1]
        theirs, meant, ours = map(set, map(str.split, text.split('-\n')))
        self.assertTrue(meant)
        self.assertLessEqual(meant, ours)
        self.assertFalse(theirs & ours)

    def test_a_word_behind_an_escaped_backslash_is_seen(self):
        self.assertEqual(self.given('ARGS=x\\\\ FOO=1')[0], 2)

    def test_nothing_is_made_before(self):
        # Not a good place: would the name be let pass, this is refused.
        cache = env.REPO / 'cache-to-be'
        done = subprocess.run(
            ['make', '-C', env.REPO, 'test', 'ACRH=arm', f'CACHE={cache}'],
            check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('did you mean ARCH=?', done.stdout)
        self.assertFalse(cache.exists())

    def test_what_counts_ends_with_the_count(self):
        text = (env.KPROBES / 'kp').read_text()
        counting = re.search("^counting='(.*)'$", text, re.M)[1].split()
        self.assertEqual(set(counting), set(cli._COUNTING))
        for command in (*counting, 'kernel'):
            done = subprocess.run(
                ['bash', env.KPROBES / 'kp', command], check=False, text=True,
                env={'PATH': '/usr/bin:/bin', 'KP_GIVEN': 'FOO=1'},
                capture_output=True)
            self.assertEqual(
                (done.returncode, done.stdout),
                (2, '' if command == 'kernel'
                 else '0 passed, 1 failed, 0 skipped\n'))

    def test_make_tells_of_all(self):
        known = set(self.bash('echo "${VARIABLES[@]}"')[1].split())
        text = (env.REPO / 'Makefile').read_text()
        told = set(re.findall(r'^#:   ([A-Z_]+)=', text, re.M))
        self.assertEqual(told, known)
        passed = re.search(r'^export (ARCH .*)$', text, re.M)[1].split()
        self.assertEqual(set(passed), known)


class Distclean(Shell):
    """Deleting the cache: what is deleted is said, what is not ours stays."""

    def distclean(self):
        cache = self.tmp / 'a cache'
        for name in ('.rust-kprobes', 'root-0123456789ab/bin/x',
                     'root-ba9876543210.part/y', 'docs-0123456789ab/x',
                     'docs-ba9876543210.part.log', 'checkouts/1/z',
                     'ccache/a', 'times.json', 'root.lock', 'theirs/b'):
            self.write(f'a cache/{name}', '')
        done = subprocess.run(
            ['bash', env.KPROBES / 'kp', 'distclean'], text=True, check=False,
            env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'CACHE': str(cache),
                 'HOME': str(self.tmp)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout, cache

    def test_it_says_what_it_deletes(self):
        status, text, cache = self.distclean()
        self.assertEqual(status, 0, text)
        self.assertIn(f'deleting {cache}: the toolchain', text)
        for words in ('1 of 5: root-0123456789ab',
                      '2 of 5: root-ba9876543210.part',
                      '3 of 5: docs-0123456789ab',
                      '4 of 5: checkouts/1', '5 of 5: ccache',
                      'what is not ours'):
            self.assertIn(words, text)
        self.assertEqual([path.name for path in cache.iterdir()], ['theirs'])


class Meanwhile(Shell):
    """Who waits while the cache is deleted has a new one, or a root of it."""

    def waits(self, lock, script, delete):
        """What SCRIPT says that waits for LOCK while somebody deletes."""
        cache = self.write('cache/.rust-kprobes', '').parent
        said = self.tmp / 'said'
        with procs.turn(cache / lock, 'x', 'y'), open(said, 'wb') as out:
            process = subprocess.Popen(
                ['bash', '-euc', script], stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT,
                env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
                     'CACHE': str(cache), 'HOME': str(self.tmp),
                     'HOST_TOOLS': '1'})
            until = time.monotonic() + 20
            while 'waiting for it' not in said.read_text() \
                    and time.monotonic() < until:
                time.sleep(0.01)
            for name in delete:
                (cache / name).unlink()
        process.wait(timeout=60)
        return said.read_text()

    def test_a_cache_that_is_deleted(self):
        for name in ('.rust-kprobes', 'lock'):
            said = self.waits(
                'lock', f'exec bash {env.KPROBES}/kp no-such-command', (name,))
            self.assertIn('was deleted meanwhile: beginning again', said)
            # It has come to the harness, and that to its work.
            self.assertIn('expected: one of apply', said)
            self.assertTrue((self.tmp / 'cache' / name).exists(), name)
            self.assertTrue((self.tmp / 'cache/checkouts').exists())

    def functions(self, script):
        """SCRIPT behind the functions of kp that lock; who begins again says so."""
        text = (env.KPROBES / 'kp').read_text()
        found = [text[text.index(begin):text.index(end)] for begin, end in (
            ('# begin_again: ', '\nif [ -n "${HOST_TOOLS'),
            ('# make_root WHAT', '\nmake_root toolchain'))]
        self.write('kp', 'echo "again: $*"')
        return '\n'.join((f'. {_COMMON}', f'here={self.tmp}', 'given=(kernel)',
                          f'KP_WORK={self.tmp}/work', *found, script))

    def test_a_root_that_is_deleted(self):
        self.write('cache/.rust-kprobes', '')
        for name in ('root-1', 'docs-1'):
            self.write(f'cache/{name}/opt/complete', '')
        for roots, again in (('root-1 docs-1', ''), ('', ''),
                             ('root-2', 'again: kernel\n'),
                             ('root-1 docs-2', 'again: kernel\n')):
            _, text = self.bash(self.functions(f'hold_cache {roots}'),
                                CACHE=f'{self.tmp}/cache')
            self.assertEqual(text.partition('beginning again\n')[2], again)

    def test_a_cache_that_is_deleted_before_a_root_is_made(self):
        script = self.functions('make_root x 1 none $CACHE/root-1; echo made')
        said = self.waits('root.lock', script, ('root.lock',))
        self.assertIn('again: kernel', said)
        self.assertNotIn('once (planned', said)

    def test_nothing_is_deleted(self):
        said = self.waits('lock', f'exec bash {env.KPROBES}/kp no-such-command',
                          ())
        self.assertNotIn('beginning again', said)
        self.assertIn('expected: one of apply', said)


# Programs of the machine are files in bin/, its keyrings files in keys/, and
# its disk has what is written in free.
_MACHINE = '''
KEYRINGS=keys UID_MAP=uid_map
have() { [ -e "bin/$1" ]; }
free_kib() { cat free; }
'''


class Debian(Shell):
    """Making a root of Debian's, on a machine that a test makes up."""

    def setUp(self):
        super().setUp()
        self.write('free', '4000000')
        self.write('keys/debian-archive-keyring.gpg', '')

    def debian(self, script, **variables):
        """SCRIPT after debian.sh: (status, output)."""
        return self.bash(f'. {_TOOLCHAIN}/debian.sh\n{_MACHINE}\n{script}',
                         **variables)

    def making(self, name, *lists, **variables):
        """The script NAME, with LISTS beside it, makes the root `t`."""
        self.write('toolchain/common.sh', f'. {_COMMON}\n')
        self.write('toolchain/debian.sh',
                   f'. {_TOOLCHAIN}/debian.sh\n{_MACHINE}')
        for one in (name, *lists):
            self.write(f'toolchain/{one}', (_TOOLCHAIN / one).read_text())
        return self.bash(f'bash toolchain/{name} t', **variables)


class Tool(Debian):
    """Which program makes a root."""

    def tool(self, *programs):
        for name in programs:
            self.program(name, 'exit 1')
        return self.debian('choose_tool; echo "$tool"')

    def test_mmdebstrap_where_it_is(self):
        self.assertEqual(self.tool('mmdebstrap', 'debootstrap'),
                         (0, 'mmdebstrap\n'))

    def test_debootstrap_for_root(self):
        self.write('uid_map', '         0          0 4294967295\n')
        self.assertEqual(self.tool('debootstrap'), (0, 'debootstrap\n'))

    def test_debootstrap_is_not_for_an_ordinary_user(self):
        self.write('uid_map', '         0       1000          1\n')
        status, text = self.tool('debootstrap')
        self.assertEqual(status, 2)
        self.assertIn('fails at mknod', text)
        self.assertIn('apt-get install mmdebstrap', text)

    def test_neither(self):
        status, text = self.tool()
        self.assertEqual(status, 2)
        self.assertIn('neither in PATH', text)


# A root that has something of all there is to say.
_ROOT = """
target=t called='the root of a test' room=3000000 room_called='3 GiB'
include=(make gcc) foreign=(armhf s390x) suites=(trixie-backports)
preferences="it's/apt"
commands=('echo "it'"'"'s $((1 + 1))" >>ran' 'echo 3 >>ran')
"""
_SOURCES = """\
deb [signed-by=keys/debian-archive-keyring.gpg] http://m trixie main
deb [arch=amd64 signed-by=keys/debian-archive-keyring.gpg] http://m \
trixie-updates main
deb [arch=amd64 signed-by=keys/debian-archive-keyring.gpg] http://m \
trixie-backports main
deb [arch=amd64 signed-by=keys/debian-archive-keyring.gpg] http://s \
trixie-security main
"""
# Says how it was called, and runs the hooks as mmdebstrap does.
_MMDEBSTRAP = """
for one; do case $one in
*-hook=*) sh -ec "${one#*=}" exec t || exit ;;
*) echo "$one" ;;
esac; done
"""
# What debootstrap leaves, and programs that say when they are called.
_DEBOOTSTRAP = """
debootstrap() {
    echo "debootstrap $*" >>calls
    mkdir -p t/proc t/usr/sbin t/etc/dpkg/dpkg.cfg.d \
        t/etc/apt/apt.conf.d t/etc/apt/preferences.d
}
chroot() {
    echo "$(ls t/usr/sbin): $*" >>calls
    [ "$2 $3" != "${broken:-}" ]
}
mountpoint() { [ -e mounted ]; }
mount() { echo "mount $4" >>calls; }
umount() { echo "umount $2, t is $(ls -d t)" >>calls; }
"""


class Root(Debian):
    """What a root is made of, with either program, and where that fails."""

    def made(self, script='', **variables):
        self.write("it's/apt", 'Package: make\n')
        return self.debian(f'{script}{_ROOT}make_debian', **{
            'DEBIAN_MIRROR': 'http://m', 'DEBIAN_SECURITY': 'http://s',
            **variables})

    def by_debootstrap(self, script='', **variables):
        self.write('uid_map', '0 0 1\n')
        self.program('debootstrap', '')
        status, text = self.made(_DEBOOTSTRAP + script, **variables)
        return status, text, (self.tmp / 'calls').read_text()

    def test_all_in_one_step_by_mmdebstrap(self):
        self.program('mmdebstrap', f'mkdir t\n{_MMDEBSTRAP}')
        self.program('chroot', '[ "$1" = t ] && shift && exec "$@"')
        self.assertEqual(self.made(), (0, ''))
        said = (self.tmp / 't.log').read_text()
        for line in ('--architectures=amd64,armhf,s390x', '--include=make,gcc',
                     '--aptopt=Acquire::Retries "3"',
                     '--dpkgopt=path-exclude=/usr/share/man/*'):
            self.assertIn(f'{line}\n', said)
        self.assertTrue(said.endswith(f'\ntrixie\nt\n{_SOURCES}'), said)
        self.assertEqual(
            (self.tmp / 't/etc/apt/preferences.d/ours').read_text(),
            'Package: make\n')
        self.assertEqual((self.tmp / 'ran').read_text(), "it's 2\n3\n")

    def test_all_by_debootstrap_and_the_roots_own_apt(self):
        status, text, calls = self.by_debootstrap()
        self.assertEqual((status, text), (0, ''))
        self.assertIn('--keyring=keys/debian-archive-keyring.gpg trixie t '
                      'http://m\n', calls)
        # In this order, and no service starts while packages come.
        self.assertEqual(
            [line for line in calls.splitlines() if 'install' not in line][1:],
            [': t dpkg --add-architecture armhf',
             ': t dpkg --add-architecture s390x',
             'mount t/proc',
             'policy-rc.d: t sh -ec apt-get -q --error-on=any update; '
             'apt-get -qy dist-upgrade',
             'policy-rc.d: t sh -c echo "it\'s $((1 + 1))" >>ran',
             'policy-rc.d: t sh -c echo 3 >>ran',
             'policy-rc.d: t apt-get clean',
             'umount t/proc, t is t'])
        self.assertRegex(calls, r'install "\$@" sh make gcc\n')
        etc = self.tmp / 't/etc'
        self.assertEqual((etc / 'apt/sources.list').read_text(), _SOURCES)
        self.assertIn('Acquire::Retries "3";\n',
                      (etc / 'apt/apt.conf.d/99ours').read_text())
        self.assertIn('force-unsafe-io\n',
                      (etc / 'dpkg/dpkg.cfg.d/ours').read_text())
        self.assertEqual((etc / 'apt/preferences.d/ours').read_text(),
                         'Package: make\n')
        self.assertFalse((self.tmp / 't/usr/sbin/policy-rc.d').exists())

    def test_a_step_that_fails_is_the_last(self):
        for step, mounted in (('dpkg --add-architecture', False),
                              ('sh -ec', True), ('sh -c', True),
                              ('apt-get clean', True)):
            self.write('calls', '')
            status, text, calls = self.by_debootstrap(broken=step)
            self.assertEqual(status, 2)
            self.assertIn('debootstrap to make a Debian trixie root', text)
            calls = calls.splitlines()
            if mounted:
                # Or the deletion would begin with the machine's processes.
                self.assertEqual(calls.pop(), 'umount t/proc, t is t')
            *_, last = (line for line in calls if ': t ' in line)
            self.assertIn(f': t {step}', last)
            self.assertFalse((self.tmp / 't').exists())

    def test_what_is_mounted_already_stays(self):
        self.write('mounted', '')
        status, text, calls = self.by_debootstrap()
        self.assertEqual((status, text), (0, ''))
        self.assertNotIn('mount', calls)

    def test_no_room(self):
        self.program('mmdebstrap', 'echo called')
        self.write('free', '2999999')
        status, text = self.made()
        self.assertEqual(status, 2)
        self.assertIn('expected: 3 GiB free for the root of a test\n'
                      '  found:    2929 MiB free in .\n', text)
        self.assertIn('CACHE=', text)
        self.assertFalse((self.tmp / 't.log').exists())

    def test_the_disk_got_full(self):
        self.program('mmdebstrap', 'mkdir t; echo 99999 >free; exit 1')
        status, text = self.made()
        self.assertEqual(status, 2)
        self.assertIn('expected: 3 GiB free for the root of a test\n'
                      '  found:    97 MiB free in .\n', text)
        self.assertNotIn('reachable', text)
        self.assertFalse((self.tmp / 't').exists())

    def test_another_failure(self):
        self.program('mmdebstrap', 'mkdir t; echo 100000 >free\n'
                     'echo what it says; exit 25')
        status, text = self.made()
        self.assertEqual(status, 2)
        self.assertTrue(text.startswith('what it says\n'), text)
        self.assertIn('mmdebstrap to make a Debian trixie root from http://m\n'
                      '  found:    exit status 25; its log: t.log\n', text)
        self.assertFalse((self.tmp / 't').exists())

    def test_that_of_the_toolchain(self):
        self.program('mmdebstrap', _MMDEBSTRAP)
        self.program('chroot', 'echo "$*"')
        status, text = self.making('mkroot.sh', 'packages', 'apt-preferences')
        self.assertEqual((status, text), (0, ''))
        said = (self.tmp / 't.log').read_text()
        include, = re.findall('--include=(.*)', said)
        self.assertIn('rustc', include.split(','))
        self.assertNotIn('#', include)
        self.assertIn('=amd64,armhf,ppc64el,s390x\n', said)
        self.assertRegex(said, 'debian trixie-backports main\n')
        self.assertIn(' && apt-get download busybox-static:amd64 '
                      'busybox-static:armhf busybox-static:ppc64el '
                      'busybox-static:s390x\n', said)
        self.assertIn(' && apt-get download linux-source-7.3 || true\n', said)
        for name, one in (('etc/apt/preferences.d/ours', 'apt-preferences'),
                          ('run/host/ca.crt', None)):
            self.assertEqual(
                (self.tmp / 't' / name).read_text(),
                one and (_TOOLCHAIN / one).read_text() or '')


# What says that a key is missing: apt with gpgv, apt with sqv, debootstrap; and
# apt, where a key is there and too old.
_NO_KEY = """  The following signatures couldn't be verified because the public \
key is not available: NO_PUBKEY 6ED0E7B82643E131 NO_PUBKEY 78DBA3BC47EF2265
E: The repository 'http://deb.debian.org/debian trixie InRelease' is not signed.
""", """  Sub-process /usr/bin/sqv returned an error code (1), error message \
is: Missing key 4CB50190207B4758A3F73A796ED0E7B82643E131, which is needed to \
verify signature. Missing key B8E5F13176D2A7A75220028078DBA3BC47EF2265, which \
is needed to verify signature.
""", """E: Release signed by unknown key (key id 762F67A0B2C39DE4)
""", """  The following signatures were invalid: EXPKEYSIG 6ED0E7B82643E131 \
Debian Archive Automatic Signing Key (12/bookworm) <ftpmaster@debian.org>
"""


class Keys(Debian):
    """A keyring that lacks what Debian trixie is signed with."""

    def failed(self, log):
        self.write('log', log)
        return self.debian('set -o pipefail; tool=mmdebstrap '
                           'mirror=http://mirror keyring=/usr/share/k.gpg\n'
                           'root_failed 25 log')

    def test_each_way_to_say_it(self):
        self.program('dpkg-query', 'echo "keyring 2019.1"')
        for log, keys in zip(_NO_KEY, (
                '6ED0E7B82643E131 78DBA3BC47EF2265',
                '4CB50190207B4758A3F73A796ED0E7B82643E131 '
                'B8E5F13176D2A7A75220028078DBA3BC47EF2265',
                '762F67A0B2C39DE4', '6ED0E7B82643E131'), strict=True):
            status, text = self.failed(f'I: running\n{log}{log}E: failed\n')
            self.assertEqual(status, 2, text)
            self.assertIn('expected: the keys that Debian trixie is signed '
                          'with, in /usr/share/k.gpg\n', text)
            self.assertIn(f'good of {keys} (keyring 2019.1); the log: log\n',
                          text)
            self.assertIn('apt-get install debian-archive-keyring', text)
            self.assertIn('/pool/main/d/debian-archive-keyring/', text)
            self.assertNotIn('http://mirror', text)

    def test_a_machine_without_that_package(self):
        self.program('dpkg-query', 'exit 1')
        status, text = self.failed(_NO_KEY[0])
        self.assertEqual(status, 2)
        self.assertIn('(not a package of this machine)', text)

    def test_what_else_went_wrong(self):
        status, text = self.failed('Err:1 http://mirror trixie InRelease\n'
                                   '  Could not connect\n')
        self.assertEqual(status, 2)
        self.assertIn('is http://mirror reachable', text)
        self.assertIn('exit status 25; its log: log', text)
        self.assertNotIn('keyring', text)

    def test_no_keyring_at_all(self):
        self.program('mmdebstrap', 'echo called')
        (self.tmp / 'keys/debian-archive-keyring.gpg').unlink()
        for name, packages in (('mkroot.sh', 'packages'),
                               ('mkdocs.sh', 'docs-packages')):
            status, text = self.making(name, packages)
            self.assertEqual(status, 2)
            self.assertIn('signed with, in keys/debian-archive-keyring.gpg\n'
                          '  found:    no such file', text)
            self.assertIn('apt-get install debian-archive-keyring', text)
            self.assertFalse((self.tmp / 't.log').exists())

    def sources(self, *there):
        """The lines of apt's sources, with these keyrings on the machine."""
        for path in (self.tmp / 'keys').iterdir():
            path.unlink()
        for name in there:
            self.write(f'keys/{name}', '')
        status, text = self.debian(
            'choose_keyring; choose_sources; printf "%s\\n" "${sources[@]}"',
            DEBIAN_MIRROR='http://mirror', DEBIAN_SECURITY='http://security')
        self.assertEqual(status, 0, text)
        return text.splitlines()

    def test_each_source_says_whose_signature_counts(self):
        name = 'debian-archive-keyring'
        for there, want in (((), 'gpg'), ((f'{name}.pgp',), 'pgp'),
                            ((f'{name}.gpg',), 'gpg'),
                            ((f'{name}.gpg', f'{name}.pgp'), 'gpg')):
            lines = self.sources(*there)
            self.assertEqual(len(lines), 3)
            for line in lines:
                self.assertRegex(
                    line, r'^deb \[(arch=amd64 )?signed-by=keys/'
                    rf'{name}\.{want}\] http://(mirror|security) trixie')

    def test_mkroot_asks(self):
        self.program('dpkg-query', 'echo "keyring 2019.1"')
        self.program('mmdebstrap', f'cat <<"END"\n{_NO_KEY[2]}END\nexit 25')
        for name, packages in (('mkroot.sh', 'packages'),
                               ('mkdocs.sh', 'docs-packages')):
            status, text = self.making(name, packages)
            self.assertEqual(status, 2)
            self.assertIn('signed with, in keys/debian-archive-keyring.gpg\n',
                          text)
            self.assertIn('none that is still good of 762F67A0B2C39DE4 '
                          '(keyring 2019.1); the log: t.log\n', text)


class Mapped(Shell):
    """root, where it has not all that root has."""

    def mapped(self, status):
        self.program('id', 'echo 0')
        self.program('unshare', f'echo not permitted; exit {status}')
        return self.bash('mapped echo done')

    def test_a_root_that_may(self):
        self.assertEqual(self.mapped(0), (0, 'done\n'))

    def test_a_root_that_may_not(self):
        status, text = self.mapped(1)
        self.assertEqual(status, 2)
        self.assertIn('CAP_SYS_ADMIN', text)
        self.assertIn('found:    unshare --mount --pid: not permitted', text)
        self.assertNotIn('done', text)


class Ids(Shell):
    """An ordinary user's ids: what is missing, and a command that mends it."""

    def ids(self, subuid, subgid):
        """What check_ids says of these two files; None: there is none."""
        self.program('id', '[ "$1" = -un ] && echo me || echo 1000')
        for name, text in (('subuid', subuid), ('subgid', subgid)):
            path = self.write(name, text or '')
            if text is None:
                path.unlink()
        return self.bash('set -o pipefail; SUBUID=subuid SUBGID=subgid; '
                         'check_ids\n'
                         'subid subuid; subid subgid')

    def told(self, subuid, subgid, found, do):
        status, text = self.ids(subuid, subgid)
        self.assertEqual(status, 2, text)
        self.assertIn("expected: a line 'me:START:65536' in subuid and in "
                      'subgid\n', text)
        self.assertIn(f'  found:    {found}\n  do:       {do}\n', text)

    def test_enough(self):
        for name in ('me', '1000'):
            line = f'you:100000:65536\n{name}:165536:65536\n'
            self.assertEqual(self.ids(line, line),
                             (0, '165536 65536\n165536 65536\n'))

    def test_no_line_takes_what_is_free_in_both_files(self):
        self.told('you:100000:65536\n', 'they:165536:65536\nx:5:6\n',
                  'no line for me in subuid; no line for me in subgid',
                  'sudo usermod --add-subuids 231072-296607 '
                  '--add-subgids 231072-296607 me')

    def test_only_what_is_missing_is_added(self):
        self.told('# who\n', 'me:100000:65536\n', 'no line for me in subuid',
                  'sudo usermod --add-subuids 165536-231071 me')

    def test_a_line_of_too_few_ids(self):
        few = 'me:100000:1000\n'
        self.told(few, few, 'a line for 1000 ids only in subuid; '
                  'a line for 1000 ids only in subgid',
                  'sudo usermod --add-subuids 101000-166535 '
                  '--add-subgids 101000-166535 me')
        # With what that command adds, it is enough.
        more = few + 'me:101000:65536\n'
        self.assertEqual(self.ids(more, more),
                         (0, '101000 65536\n101000 65536\n'))

    def test_a_gap_must_be_large_enough(self):
        taken = 'you:100000:65536\nthey:200000:65536\nx:400000:9000000\n'
        self.told(taken, taken + 'me:9:9\n', 'no line for me in subuid; '
                  'a line for 9 ids only in subgid',
                  'sudo usermod --add-subuids 265536-331071 '
                  '--add-subgids 265536-331071 me')

    def test_no_files_at_all(self):
        self.told(None, None,
                  'no line for me in subuid; no line for me in subgid',
                  'sudo touch subuid subgid && sudo usermod --add-subuids '
                  '100000-165535 --add-subgids 100000-165535 me')


class Switches(Shell):
    """What is yes or no, and where the cache may be: kp says so at once."""

    def kp(self, **variables):
        return self.bash(f'bash {env.KPROBES}/kp no-such-command',
                         **{'CACHE': f'{self.tmp}/cache', **variables})

    def test_neither_yes_nor_no(self):
        for name in ('V', 'UNDO', 'FAST', 'HOST_TOOLS'):
            status, text = self.kp(**{name: 'yes'})
            self.assertEqual(status, 2)
            self.assertIn(f'{name}=1, or {name}=0 for no', text)

    def test_no_is_no(self):
        script = (f"sed -e '/^here=/s|=.*|={env.KPROBES}|' "
                  f"-e '/^KP_REPO=/,$d' {env.KPROBES}/kp >kp\n"
                  'echo \'echo "<${UNDO-none}>"\' >>kp; bash kp')
        self.assertEqual(self.bash(script, UNDO='0'), (0, '<none>\n'))
        self.assertEqual(self.bash(script, UNDO='1'), (0, '<1>\n'))

    def test_a_cache_in_the_checkout(self):
        status, text = self.kp(CACHE=f'{env.REPO}/cache')
        self.assertEqual(status, 2)
        self.assertIn('CACHE= outside of this checkout', text)

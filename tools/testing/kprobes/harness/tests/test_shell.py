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
_KP = env.KPROBES / 'kp'
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


class Llvm(Shell):
    """rustc and clang of one LLVM major."""

    def test_the_major_that_the_packages_name(self):
        text = (_TOOLCHAIN / 'packages').read_text()
        status, major = self.bash(f'llvm_major {_TOOLCHAIN}/packages')
        self.assertRegex(major, r'\A\d+\n\Z')
        self.assertEqual(re.findall(r'^(?:clang|lld|llvm|libclang)-(\d+)', text,
                                    re.M), [major.strip()] * 4)

    def check(self, says):
        self.program('chroot', f'echo called >>{self.tmp}/calls; {says}')
        return self.bash(f'check_llvm {self.tmp}/root 22')

    def test_whether_they_agree_is_asked_once(self):
        for _ in range(2):
            self.refuses(self.check('echo "LLVM version: 23.1.0"'),
                         'expected: rustc of LLVM 22', 'found:    LLVM 23',
                         'name LLVM 23 in toolchain/packages')
        self.refuses(self.check('echo "rustc: not found"; exit 127'),
                     'expected: rustc -vV to run', 'found:    rustc: not found')
        self.write('calls', '')
        for _ in range(2):
            self.assertEqual(self.check('echo "LLVM version: 22.1.8"'), (0, ''))
        self.assertEqual((self.tmp / 'calls').read_text(), 'called\n')

    def test_chroot_is_found_by_an_ordinary_user(self):
        self.assertRegex(self.bash(f'PATH=/usr/bin:/bin; . {_COMMON}; '
                                   'command -v chroot')[1], r'/s?bin/chroot\n')


class Given(Shell):
    """What stands on the command line of make."""

    def given(self, text):
        return self.bash('check_given "$TEXT"', TEXT=text)

    def test_names_that_are_known(self):
        for text in ('', 'ARCH=arm', 'IMPL=c ARCH:=arm V+=1', 'CACHE::=/x',
                     'ARGS=symbol=vfs_read\\ foo=1 V=1', 'http_proxy=x',
                     'ARGS=\\\\ V=1', 'DIR=*', 'ARGS=a\\\tb=1'):
            self.assertEqual(self.given(text), (0, ''), text)

    def test_another_name_is_refused_with_the_list_of_those(self):
        for text, name in (('V=1 ACRH=x', 'ACRH'), ('arch=x', 'arch'),
                           ('ARGS=x\\\\ FOO=1', 'FOO')):
            self.refuses(self.given(text), f'found:    {name}\n',
                         'one of the variables ARCH IMPL')

    def test_nothing_is_made_before(self):
        # Not a good place: would the name be let pass, this is refused.
        cache = env.REPO / 'cache-to-be'
        self.refuses(self.bash(f'make -C {env.REPO} test ACRH=arm '
                               f'CACHE={cache}'), 'found:    ACRH')
        self.assertFalse(cache.exists())

    def test_what_counts_ends_with_the_count(self):
        counting = re.search("^counting='(.*)'$", _KP.read_text(), re.M)[1]
        self.assertEqual(set(counting.split()), set(cli._COUNTING))
        for command in (*counting.split(), 'kernel'):
            self.assertEqual(
                self.bash(f'bash {_KP} {command} 2>/dev/null', KP_GIVEN='FOO=1'),
                (2, '' if command == 'kernel'
                 else '0 passed, 1 failed, 0 skipped\n'))

    def test_make_tells_of_all(self):
        known = set(self.bash('echo "${VARIABLES[@]}"')[1].split())
        text = (env.REPO / 'Makefile').read_text()
        told = set(re.findall(r'^#:   ([A-Z_]+)=', text, re.M))
        self.assertEqual(told, known)
        passed = re.search(r'^export (ARCH .*)$', text, re.M)[1].split()
        self.assertEqual(set(passed), known)


class Switches(Shell):
    """What is yes or no, and where the cache may be: kp says so at once."""

    def kp(self, **variables):
        return self.bash(f'bash {_KP} no-such-command',
                         **{'CACHE': f'{self.tmp}/cache', **variables})

    def test_neither_yes_nor_no(self):
        for name in ('V', 'UNDO', 'FAST', 'HOST_TOOLS'):
            self.refuses(self.kp(**{name: 'yes'}),
                         f'{name}=1, or {name}=0 for no')

    def test_no_is_no(self):
        script = (f"sed -e '/^here=/s|=.*|={env.KPROBES}|' "
                  f"-e '/^KP_REPO=/,$d' {_KP} >kp\n"
                  'echo \'echo "<${UNDO-none}>"\' >>kp; bash kp')
        self.assertEqual(self.bash(script, UNDO='0'), (0, '<none>\n'))
        self.assertEqual(self.bash(script, UNDO='1'), (0, '<1>\n'))

    def test_a_cache_in_the_checkout(self):
        self.refuses(self.kp(CACHE=f'{env.REPO}/cache'),
                     'CACHE= outside of this checkout')


class Distclean(Shell):
    """Deleting the cache: what is deleted is said, what is not ours stays."""

    def test_it_says_what_it_deletes(self):
        cache = self.tmp / 'a cache'
        for name in ('.rust-kprobes', 'root-0123456789ab/bin/x',
                     'root-ba9876543210.part/y', 'docs-0123456789ab/x',
                     'docs-ba9876543210.part.log', 'checkouts/1/z',
                     'ccache/a', 'times.json', 'root.lock', 'theirs/b'):
            self.write(f'a cache/{name}', '')
        status, text = self.bash(f'bash {_KP} distclean', CACHE=str(cache))
        self.assertEqual(status, 0, text)
        for words in (f'deleting {cache}: the toolchain',
                      '1 of 5: root-0123456789ab',
                      '2 of 5: root-ba9876543210.part',
                      '3 of 5: docs-0123456789ab',
                      '4 of 5: checkouts/1', '5 of 5: ccache',
                      'what is not ours'):
            self.assertIn(words, text)
        self.assertEqual([path.name for path in cache.iterdir()], ['theirs'])


class Meanwhile(Shell):
    """Who waits while the cache is deleted has a new one, or a root of it."""

    def waits(self, lock, script, delete=''):
        """What SCRIPT says that waits for LOCK while somebody deletes a file."""
        cache = self.write('cache/.rust-kprobes', '').parent
        output = self.tmp / 'output'
        with procs.turn(cache / lock, 'x', 'y'), open(output, 'wb') as out:
            process = subprocess.Popen(
                ['bash', '-euc', script], stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT,
                env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
                     'CACHE': str(cache), 'HOME': str(self.tmp),
                     'HOST_TOOLS': '1'})
            until = time.monotonic() + 20
            while 'waiting for it' not in output.read_text() \
                    and time.monotonic() < until:
                time.sleep(0.01)
            if delete:
                (cache / delete).unlink()
        process.wait(timeout=60)
        return output.read_text()

    def test_a_cache_that_is_deleted(self):
        for name in ('.rust-kprobes', 'lock', ''):
            text = self.waits('lock', f'exec bash {_KP} no-such-command', name)
            self.assertEqual('deleted meanwhile: beginning again' in text,
                             bool(name))
            # It has come to the harness, and that to its work.
            self.assertIn('expected: one of apply', text)
            self.assertTrue((self.tmp / 'cache' / name).exists(), name)
            self.assertTrue((self.tmp / 'cache/checkouts').exists())

    def functions(self, script):
        """SCRIPT behind the functions of kp that lock; who begins again says so."""
        text = _KP.read_text()
        self.write('kp', 'echo "again: $*"')
        return '\n'.join((
            f'. {_COMMON}; here={self.tmp} given=(kernel)',
            f'KP_WORK={self.tmp}/work',
            *(text[text.index(begin):text.index(end)] for begin, end in (
                ('# begin_again: ', '\nif [ -n "${HOST_TOOLS'),
                ('# make_root WHAT', '\nmake_root toolchain'))), script))

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
        text = self.waits('root.lock', script, 'root.lock')
        self.assertIn('again: kernel', text)
        self.assertNotIn('once (planned', text)


# Programs of the machine are files in bin/, its keyrings files in keys/, and
# its disk has what is written in free.
_MACHINE = '''
KEYRINGS=keys UID_MAP=uid_map PAUSE=0
have() { [ -e "bin/$1" ]; }
free_kib() { cat free; }
'''
# A root that has something of all there is to say.
_ROOT = """
target=t called='the root of a test' room=3000000 room_called='3 GiB'
include=(make gcc) suites=(trixie-backports) extra_include=(stap)
without='make it' preferences="it's/apt"
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
# What says that a key is missing: apt with gpgv, apt with sqv, debootstrap; and
# apt, where a key is there and too old.
_NO_KEY = (
    ('NO_PUBKEY 6ED0E7B82643E131 NO_PUBKEY 78DBA3BC47EF2265',
     '6ED0E7B82643E131 78DBA3BC47EF2265'),
    ('is: Missing key 4CB50190207B4758A3F73A796ED0E7B82643E131, which is',
     '4CB50190207B4758A3F73A796ED0E7B82643E131'),
    ('E: Release signed by unknown key (key id 762F67A0B2C39DE4)',
     '762F67A0B2C39DE4'),
    ('invalid: EXPKEYSIG 6ED0E7B82643E131 Debian Archive', '6ED0E7B82643E131'))


class Debian(Shell):
    """Making a root of Debian's, on a machine that a test makes up."""

    def setUp(self):
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

    def making(self, name, *lists, **variables):
        """The script NAME, with LISTS beside it, makes the root `t`."""
        self.write('toolchain/common.sh', f'. {_COMMON}\n')
        self.write('toolchain/debian.sh',
                   f'. {_TOOLCHAIN}/debian.sh\n{_MACHINE}')
        for entry in (name, *lists, 'files'):
            self.write(f'toolchain/{entry}', (_TOOLCHAIN / entry).read_text())
        return self.bash(f'bash toolchain/{name} t', **variables)


class Tool(Debian):
    """Which program makes a root."""

    def tool(self, *programs, user='0 0 4294967295'):
        self.write('uid_map', f'{user}\n')
        for name in programs:
            self.program(name, 'exit 1')
        return self.debian('choose_tool; echo "$tool"')

    def test_mmdebstrap_or_debootstrap_for_root(self):
        self.refuses(self.tool(), 'neither in PATH')
        self.assertEqual(self.tool('debootstrap'), (0, 'debootstrap\n'))
        self.refuses(self.tool(user='0 1000 1'), 'fails at mknod',
                     'apt-get install mmdebstrap')
        self.assertEqual(self.tool('mmdebstrap'), (0, 'mmdebstrap\n'))


class Root(Debian):
    """What a root is made of, with either program, and where that fails."""

    def by_debootstrap(self, script='', **variables):
        self.write('uid_map', '0 0 1\n')
        self.program('debootstrap', '')
        result = self.debian(_DEBOOTSTRAP + script + _ROOT, **variables)
        return result, (self.tmp / 'calls').read_text()

    def test_all_in_one_step_by_mmdebstrap(self):
        self.program('mmdebstrap', _MMDEBSTRAP)
        self.assertEqual(self.debian(_ROOT), (0, ''))
        log = (self.tmp / 't.log').read_text()
        for line in ('--architectures=amd64', '--include=make,gcc,stap',
                     '--aptopt=Acquire::Retries "3"',
                     '--dpkgopt=path-exclude=/usr/share/man/*'):
            self.assertIn(f'{line}\n', log)
        self.assertTrue(log.endswith(f'\ntrixie\nt\n{_SOURCES}'), log)
        self.assertEqual(
            (self.tmp / 't/etc/apt/preferences.d/ours').read_text(),
            'Package: make\n')

    def test_all_by_debootstrap_and_the_roots_own_apt(self):
        result, calls = self.by_debootstrap()
        self.assertEqual(result, (0, ''))
        # In this order, and no service starts while packages come.
        self.assertEqual(calls.splitlines(), [
            'debootstrap --variant=minbase --arch=amd64 --keyring=keys/'
            'debian-archive-keyring.gpg trixie t http://m', 'mount t/proc',
            'policy-rc.d: t sh -ec apt-get -q --error-on=any update; '
            'apt-get -qy dist-upgrade',
            '\t\tapt-get -qy install "$@" sh make gcc stap',
            'policy-rc.d: t apt-get clean', 'umount t/proc, t is t'])
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
        for step in ('sh -ec', 'apt-get clean'):
            self.write('calls', '')
            result, calls = self.by_debootstrap(broken=step)
            self.refuses(result, 'debootstrap to make a Debian trixie root')
            # Or the deletion would begin with the machine's processes.
            *_, last, umount = calls.splitlines()
            self.assertEqual(umount, 'umount t/proc, t is t')
            self.assertIn('install' if step == 'sh -ec' else step, last)
            self.assertFalse((self.tmp / 't').exists())

    def test_what_is_mounted_already_stays(self):
        self.write('mounted', '')
        result, calls = self.by_debootstrap()
        self.assertEqual(result, (0, ''))
        self.assertNotIn('mount', calls)

    def test_no_room(self):
        self.program('mmdebstrap', 'mkdir t; echo 99999 >free; exit 1')
        for free, mib in (('2999999', 2929), ('3000000', 97)):
            self.assertFalse((self.tmp / 't.log').exists())
            self.write('free', free)
            text = self.refuses(
                self.debian(_ROOT), 'expected: 3 GiB free for the root of a '
                f'test\n  found:    {mib} MiB free in .\n', 'CACHE=')
            self.assertNotIn('reachable', text)
            self.assertFalse((self.tmp / 't').exists())

    def ways(self, good, mirrors='http://m http://n'):
        """What is tried until the shell pattern GOOD fits the call."""
        self.program('mmdebstrap', f"""
            mkdir t
            echo "$*" | sed 's/.*include=\\([^ ]*\\).* trixie t / \\1 /;
                s/deb [^]]*] //g; s/ main//g' >>calls
            echo 'E: Failed to fetch http://m/x/by-hash/SHA256/ab  404  Not Found [IP: ::1]'
            case $* in {good}) ;; *) exit 25 ;; esac""")
        result = self.debian(_ROOT, DEBIAN_MIRROR=mirrors)
        return result, [re.sub('http://(.) trixie', r'\1', line).split()
                        for line in (self.tmp / 'calls').read_text(
                            ).splitlines()]

    all_of_m = ['make,gcc,stap', 'm', 'm-backports', 'm-updates', 's-security']
    all_of_n = ['make,gcc,stap', 'n', 'n-backports', 'n-updates']
    least = ['make,gcc', 'm', 'm-backports']

    def test_without_the_suites_that_it_can_do_without(self):
        (status, text), calls = self.ways('*stap*) exit 25 ;; *')
        self.assertEqual(status, 0, text)
        self.assertEqual(calls, [self.all_of_m] * 2 + [self.least])
        self.assertEqual((self.tmp / 't/opt/without').read_text(), 'stap\n')
        self.assertIn('once more in 0 s', text)
        self.assertIn('without trixie-updates trixie-security. make it does '
                      'not work in it', text)

    def test_from_another_archive(self):
        (status, text), calls = self.ways('*http://n*')
        self.assertEqual(status, 0, text)
        self.assertEqual(calls, [self.all_of_m] * 2 + [self.least,
                                                       self.all_of_n])
        self.assertFalse((self.tmp / 't/opt/without').exists())

    def test_no_way(self):
        result, calls = self.ways('none', 'http://m')
        self.assertEqual(calls, [self.all_of_m] * 2 + [self.least])
        text = self.refuses(
            result, 'mmdebstrap to make a Debian trixie root for the root of '
            'a test\n', 'http://m (suites: trixie trixie-backports; exit '
            'status 25; not to be had: http://m/x)', 'its log: t.log\n',
            'DEBIAN_MIRROR=', 'HOST_TOOLS=1 works')
        self.assertEqual(text.count('security; exit status 25'), 2)
        self.assertFalse((self.tmp / 't').exists())

    def test_that_of_the_toolchain(self):
        self.program('mmdebstrap', _MMDEBSTRAP)
        self.assertEqual(
            self.making('mkroot.sh', 'packages', 'apt-preferences'), (0, ''))
        log = (self.tmp / 't.log').read_text()
        include = re.search('--include=(.*)', log)[1].split(',')
        self.assertLessEqual({'rustc', 'systemtap'}, set(include))
        self.assertNotIn('#', ' '.join(include))
        self.assertEqual(
            re.findall('] http://deb.debian.org/(.*) main$', log, re.M),
            ['debian trixie', 'debian trixie-backports',
             'debian trixie-updates', 'debian-security trixie-security',
             'debian forky'])
        self.assertEqual(
            (self.tmp / 't/etc/apt/preferences.d/ours').read_text(),
            (_TOOLCHAIN / 'apt-preferences').read_text())
        self.assertEqual((self.tmp / 't/run/host/ca.crt').read_text(), '')


class Keys(Debian):
    """A keyring that lacks what Debian trixie is signed with."""

    def test_each_way_to_say_it(self):
        for package, told in (('echo "keyring 2019.1"', 'keyring 2019.1'),
                              ('exit 1', 'not a package of this machine')):
            self.program('dpkg-query', package)
            for log, keys in _NO_KEY:
                self.write('calls', '')
                self.program('mmdebstrap', f'echo >>calls; echo "{log}"\n'
                             f'echo "{log}"; exit 25')
                text = self.refuses(
                    self.debian(_ROOT), 'expected: the keys that Debian '
                    'trixie is signed with, in keys/debian-archive-keyring.gpg'
                    f'\n  found:    it has none that is still good of {keys} '
                    f'({told}); the log: t.log\n',
                    'apt-get install debian-archive-keyring',
                    '/pool/main/d/debian-archive-keyring/')
                self.assertNotIn('http://m', text)
                # No other way would do better.
                self.assertEqual((self.tmp / 'calls').read_text(), '\n')

    def test_no_keyring_at_all(self):
        self.program('mmdebstrap', 'echo called')
        (self.tmp / 'keys/debian-archive-keyring.gpg').unlink()
        for name, packages in (('mkroot.sh', 'packages'),
                               ('mkdocs.sh', 'docs-packages')):
            self.refuses(self.making(name, packages), 'signed with, in keys/'
                         'debian-archive-keyring.gpg\n  found:    no such file',
                         'apt-get install debian-archive-keyring')
            self.assertFalse((self.tmp / 't.log').exists())

    def test_each_source_says_whose_signature_counts(self):
        for there in (('gpg',), ('pgp',), ('gpg', 'pgp')):
            for path in (self.tmp / 'keys').iterdir():
                path.unlink()
            for suffix in there:
                self.write(f'keys/debian-archive-keyring.{suffix}', '')
            self.assertEqual(
                self.debian('choose_keyring; choose_sources 0 "${suites[@]}" '
                            'trixie-backports "${extra_suites[@]}"\n'
                            'printf "%s\\n" "${sources[@]}"'),
                (0, _SOURCES.replace('.gpg', f'.{there[0]}')))


class Ci(Shell):
    """.ci/run on a machine that lacks something, with a mirror at fault."""

    def ci(self, works, user=0):
        """What apt-get was asked, whose installing WORKS or not."""
        self.write('calls', '')
        return self.bash(f"""
            T=$PWD
            command() {{ [ "$2" = git ] || [ -e "$T/$2" ]; }}
            compgen() {{ :; }}
            id() {{ echo {user}; }}
            exec() {{ echo "exec $*"; builtin exit; }}
            apt-get() {{
                local last=${{*: -1}}
                echo "${{last/-q/update}}" >>$T/calls
                [ "$1" != update ] && {works} && : >$T/make >$T/$last
            }}
            PAUSE=0
            . {env.REPO}/.ci/run 2>&1"""), (self.tmp / 'calls'
                                            ).read_text().split()

    def test_each_way(self):
        again = ['update', 'mmdebstrap', 'debootstrap']
        for works, calls in (
                ('true', ['mmdebstrap']),
                ('grep -q update $T/calls', ['mmdebstrap', *again[:2]]),
                ('[ $last = debootstrap ]', ['mmdebstrap', *again]),
                ('[ $(grep -c update $T/calls) = 2 ]',
                 ['mmdebstrap', *again, *again[:2]])):
            self.assertEqual(self.ci(works), ((0, 'exec make test\n'), calls))
            for name in ('make', 'mmdebstrap', 'debootstrap'):
                (self.tmp / name).unlink(missing_ok=True)

    def test_no_way(self):
        for user, count in ((0, 7), (1000, 0)):
            result, calls = self.ci('false', user)
            self.refuses(result, 'CI: expected make mmdebstrap installed, or '
                         'root and an archive')
            self.assertEqual(len(calls), count)


class Mapped(Shell):
    """root, where it has not all that root has."""

    def mapped(self, status):
        self.program('id', 'echo 0')
        self.program('unshare', f'echo not permitted; exit {status}')
        return self.bash('mapped echo done')

    def test_whether_a_root_may_make_namespaces(self):
        self.assertEqual(self.mapped(0), (0, 'done\n'))
        text = self.refuses(
            self.mapped(1), 'CAP_SYS_ADMIN',
            'found:    unshare --mount --pid: not permitted')
        self.assertNotIn('done', text)


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

    def test_enough(self):
        for name in ('me', '1000'):
            line = f'# who\nyou:1:65536\n{name}:9:9\n{name}:165536:65536\n'
            self.assertEqual(self.ids(line, line),
                             (0, '165536 65536\n165536 65536\n'))

    def test_too_few(self):
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

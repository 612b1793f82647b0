# SPDX-License-Identifier: GPL-2.0
"""The shell part: what it refuses before the harness can run."""

import os
import re
import subprocess

import cli
import env
from tests import support

_COMMON = env.KPROBES / 'toolchain/common.sh'
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


class Root(Shell):
    """Which program makes the toolchain root."""

    def root(self, *programs):
        # Nothing of the machine's is called by the part that chooses.
        script = (env.KPROBES / 'toolchain/mkroot.sh').read_text()
        chosen = script[script.index('if have mmdebstrap'):
                        script.index('[ -e "$keyring" ] || refuse')]
        for name in programs:
            self.program(name, 'exit 1')
        return self.bash('have() { [ -e bin/"$1" ]; }\n' + chosen.replace(
            '/proc/self/uid_map', 'uid_map') + '\necho "$tool"')

    def test_mmdebstrap_where_it_is(self):
        self.assertEqual(self.root('mmdebstrap', 'debootstrap'),
                         (0, 'mmdebstrap\n'))

    def test_debootstrap_for_root(self):
        self.write('uid_map', '         0          0 4294967295\n')
        self.assertEqual(self.root('debootstrap'), (0, 'debootstrap\n'))

    def test_debootstrap_is_not_for_an_ordinary_user(self):
        self.write('uid_map', '         0       1000          1\n')
        status, text = self.root('debootstrap')
        self.assertEqual(status, 2)
        self.assertIn('fails at mknod', text)
        self.assertIn('apt-get install mmdebstrap', text)

    def test_neither(self):
        status, text = self.root()
        self.assertEqual(status, 2)
        self.assertIn('neither in PATH', text)


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


class Keys(Shell):
    """A keyring that lacks what Debian trixie is signed with."""

    def failed(self, log):
        self.write('log', log)
        return self.bash('set -o pipefail; root_failed mmdebstrap 25 log '
                         'http://mirror /usr/share/k.gpg')

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
        script = (env.KPROBES / 'toolchain/mkroot.sh').read_text()
        status, text = self.bash('keyring=none; ' + re.search(
            r'^\[ -e "\$keyring" \] \|\| refuse.*$', script, re.M)[0])
        self.assertEqual(status, 2)
        self.assertIn('signed with, in none\n  found:    no such file', text)
        self.assertIn('apt-get install debian-archive-keyring', text)

    def sources(self, *there):
        """The lines of apt's sources, with these keyrings on the machine."""
        script = (env.KPROBES / 'toolchain/mkroot.sh').read_text()
        for name in there:
            self.write(f'keys/{name}', '')
        status, text = self.bash(
            'mirror=http://mirror security=http://security\n' + re.sub(
                '(?m)^keyring=.*/', 'keyring=keys/',
                script[script.index('\nkeyring='):
                       script.index('\napt_options=')])
            + '\nprintf "%s\\n" "${sources[@]}"')
        self.assertEqual(status, 0, text)
        return text.splitlines()

    def test_each_source_says_whose_signature_counts(self):
        name = 'debian-archive-keyring'
        for there, want in (((), 'gpg'), ((f'{name}.pgp',), 'pgp'),
                            ((f'{name}.gpg',), 'gpg')):
            lines = self.sources(*there)
            self.assertEqual(len(lines), 4)
            for line in lines:
                self.assertRegex(
                    line, r'^deb \[(arch=amd64 )?signed-by=keys/'
                    rf'{name}\.{want}\] http://(mirror|security) trixie')

    def test_mkroot_asks(self):
        script = (env.KPROBES / 'toolchain/mkroot.sh').read_text()
        self.assertRegex(script, r'root_failed \$tool \$status "\$log" '
                         r'"\$mirror" "\$keyring"\n')


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

# SPDX-License-Identifier: GPL-2.0
"""make series: what is built after which mail."""

import difflib
from unittest import mock

import env
import series
from tests import support

_OFFER = 'source "rust/kprobes/Kconfig"\n'
_SAMPLES = '\nconfig SAMPLE_KPROBES_BATCH\n\nconfig SAMPLE_JPROBES\n'


def _mail(path, before, after):
    return ''.join(difflib.unified_diff(
        before.splitlines(True), after.splitlines(True),
        f'a/{path}' if before else '/dev/null', f'b/{path}'))


class Builds(support.Case):
    """Mails: the crate, its Kconfig's place, that of the samples, theirs in Rust."""

    def setUp(self):
        super().setUp()
        self.write('work/tree/arch/Kconfig', 'config KPROBES\n')
        self.write('work/tree/samples/Kconfig', 'menu\n')
        self.write('work/tree/samples/rust/Kconfig', 'menu\n')
        (env.WORK / 'orig').mkdir()
        self.mails = [
            self.write('1.patch', _mail('rust/kprobes/Kconfig', '', 'x\n')),
            self.write('2.patch', _mail('arch/Kconfig', 'config KPROBES\n',
                                        'config KPROBES\n' + _OFFER)),
            self.write('3.patch', _mail('samples/Kconfig', 'menu\n',
                                        'menu\n' + _SAMPLES)),
            self.write('4.patch', _mail(
                'samples/rust/Kconfig', 'menu\n',
                'menu\n\nconfig SAMPLE_RUST_KPROBE\n'
                '\nconfig SAMPLE_RUST_KPROBE_FAULT\n'))]
        self.built = []
        self.enterContext(mock.patch.object(series.toolchain, 'ready'))
        self.enterContext(mock.patch.object(env, 'HOST_TOOLS', True))
        self.enterContext(mock.patch.object(
            series.fragments, 'write', lambda *words: self.left_out.append(
                words[-1])))
        self.left_out = []
        self.enterContext(mock.patch.object(
            series.kernel, 'compile_targets',
            lambda command, targets, log, stage: self.built.append(
                (stage.name, stage.planned, log.parent.name))))

    def test_each_from_the_mail_on_that_offers_it(self):
        series._build_each(self.mails)
        rust = ('CONFIG_SAMPLE_RUST_KPROBE',
                'CONFIG_SAMPLE_RUST_KPROBE_FAULT')
        c_too = ('CONFIG_SAMPLE_KPROBES_BATCH', 'CONFIG_SAMPLE_JPROBES', *rust)
        tests = ('CONFIG_RUST_KERNEL_KPROBES_KUNIT_TEST', *c_too)
        self.assertEqual([*zip(self.built, self.left_out, strict=True)], [
            (('series 1/4 c', 12, 'build-c'), tests),
            (('series 2/4 c', 3, 'build-c'), c_too),
            (('series 2/4 rust', 12, 'build-rust'), c_too),
            (('series 3/4 c', 3, 'build-c'), rust),
            (('series 3/4 rust', 3, 'build-rust'), rust),
            (('series 4/4 c', 3, 'build-c'), ()),
            (('series 4/4 rust', 3, 'build-rust'), ())])

    def test_a_series_that_is_not_whole(self):
        for mails, *words in (((0, 1), 'SAMPLE_KPROBES_BATCH', 'patches/'),
                              ((2, 2), '3.patch to apply')):
            with self.refused(*words):
                series._build_each([self.mails[mail] for mail in mails])
            # A refusal leaves the copy that it is about.
            series.shutil.rmtree(env.WORK / 'series/tree')


class Mails(support.Case):
    def test_checkpatch_may_warn_of_one_bug_only(self):
        allowed = ['--ignore=AVOID_BUG']
        for lines, options in (
                (('+\tBUG();', '-\tBUG_ON(x);', '+//! BUG() and WARN()',
                  '+ * BUG() traps.', '+    Of => "BUG() traps",'), allowed),
                ((), []), (('+\tBUG();', '+\tBUG();'), []),
                (('+\tVM_BUG_ON(x);',), []),
                (('+\tBUG();', '+\tif (x) BUG();'), [])):
            with self.subTest(lines):
                mail = self.write('1.patch', 'No BUG() here\n@@ -1 +1 @@\n'
                                  + ''.join(f'{line}\n' for line in lines))
                self.assertEqual(series._ignored(mail), options)

# SPDX-License-Identifier: GPL-2.0
"""Config fragments: what is asked for, and that it is really there."""

import arches
import fragments
from tests import support

# What merge_config.sh and Kconfig say where a result is not as asked for.
_LOG = '''\
/work/.tmp.config.Qe:109:warning: unexpected data: CONFIG B=y
WARNING: Value requested for CONFIG_LOST not in final .config
Requested value: CONFIG_LOST=m
Actual value:    \n\
WARNING: CONFIG_C differs:
Requested value: CONFIG_C=y
Actual value:    CONFIG_C=m
WARNING: CONFIG_D differs:
Requested value: # CONFIG_D is not set
Actual value:    CONFIG_D=y
WARNING: CONFIG_KERNEL_XZ differs:
Requested value: CONFIG_KERNEL_XZ=y
Actual value:    # CONFIG_KERNEL_XZ is not set
'''


class Fragments(support.Case):
    def setUp(self):
        super().setUp()
        self.tree, self.obj = self.tmp / 'tree', self.tmp / 'obj'
        self.obj.mkdir()
        for name in (*fragments._TINY, arches.of('x86_64').defconfig):
            self.write(f'tree/{name}', f'# {name}\n')
        self.write('tree/samples/Kconfig', 'config OLD\n')
        self.commands, self.log, self.tools = [], '', 'clang 22'
        self.status = 0
        self.replace((fragments.procs, 'run', self.run_),
                     (fragments.toolchain, 'identity', lambda: self.tools))

    def run_(self, command, log, **_):
        self.commands.append([str(word) for word in command])
        with log.open('a') as out:
            out.write(self.log)
        (self.obj / '.config').write_text('')
        return self.status

    def configure(self, flavour, absent=()):
        """The commands that configure a kernel."""
        self.commands.clear()
        fragments.write(self.tree, self.obj, 'x86_64', 'rust', flavour,
                        ['make', '-C', 'x', 'CC=ccache clang'], absent)
        return self.commands

    def test_made_again_for_another_kconfig_fragment_or_compiler_only(self):
        self.replace((fragments, 'FOLDER', self.tmp / 'config'))
        for name in ('common', 'x86_64', 'impl-rust', 'debug', 'up'):
            self.write(f'config/{name}.config', 'CONFIG_A=y\n')
        changes = (
            lambda: None,
            lambda: self.write('tree/samples/Kconfig', 'config NEW\n'),
            lambda: self.write('config/debug.config', 'CONFIG_B=y\n'),
            lambda: self.write(f'tree/{fragments._TINY[1]}', 'CONFIG_C=y\n'),
            lambda: setattr(self, 'tools', 'clang 23'),
            (self.obj / '.config').unlink)
        for change in changes:
            change()
            self.assertEqual(len(self.configure('up')), 1)
            self.assertEqual(self.configure('up'), [])

    def test_a_line_that_did_not_stick_is_named(self):
        self.replace((fragments, 'chosen', lambda *_: [
            self.write('a.config', 'CONFIG_LOST=y\nCONFIG_C=y\n'),
            self.write('b.config', 'CONFIG_LOST=m\n'
                       '# CONFIG_D is not set\n# CONFIG_KERNEL_XZ=y?\n')]))
        self.log = _LOG
        for _ in range(2):
            with self.refused(
                    'b.config: CONFIG_LOST=m (the result has no such option)',
                    'a.config: CONFIG_C=y (the result has CONFIG_C=m)',
                    'b.config: # CONFIG_D is not set (the result has '
                    'CONFIG_D=y)', 'CONFIG B=y', 'depends on'):
                self.configure('test')
        # What only the kernel's own configurations ask for is no line of ours.
        self.log = _LOG[_LOG.index('WARNING: CONFIG_KERNEL_XZ'):]
        self.assertEqual(len(self.configure('test')), 1)

    def test_gcc_has_the_defconfig_below(self):
        self.assertIn('x86_64_defconfig', ' '.join(self.configure('gcc')[0]))

    def test_what_a_tree_does_not_have_may_be_missing(self):
        option = 'CONFIG_SAMPLE_KPROBES_BATCH'
        self.log = (f'WARNING: Value requested for {option} not in final '
                    f'.config\nRequested value: {option}=m\nActual value:\n')
        with self.refused(f'common.config: {option}=m'):
            self.configure('bench')
        self.assertTrue(self.configure('bench', absent=(option,)))

    def test_what_cannot_be_configured_is_refused(self):
        self.log, self.status = 'Kconfig:7: syntax error\n', 2
        with self.refused('to configure', 'Kconfig:7: syntax error'):
            self.configure('test')

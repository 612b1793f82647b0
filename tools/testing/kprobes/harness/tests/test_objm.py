# SPDX-License-Identifier: GPL-2.0
"""What a module's Kbuild names is looked for before anything is built."""

import modules
import objm
from tests import support


class Named(support.Case):
    def check(self, text, *files, name='Kbuild'):
        """A folder with TEXT as its Kbuild, and FILES."""
        for old in self.tmp.glob('m/*'):
            old.unlink()
        for one in files:
            self.write(f'm/{one}', '')
        objm.check(self.write(f'm/{name}', text).parent)

    def test_each_kind_of_source(self):
        for kind in ('c', 'rs', 'S', 'c_shipped', 'o_shipped'):
            self.check('obj-m := foo.o\n', f'foo.{kind}')

    def test_what_is_not_there(self):
        with self.refused('foo.c or foo.rs or foo.S', 'obj-m names foo.o',
                          'there is bar.rs)', 'Kbuild', 'obj-m := bar.o'):
            self.check('obj-m := foo.o\n', 'bar.rs', 'bar.h', 'foo.mod.c')
        with self.refused('obj-m names foo.o'):
            self.check('obj-m := foo.o foo-b.o\nfoo-b-y := b.o\n', 'b.c')
        with self.refused('obj-m names foo.o', 'nor any other source',
                          'Makefile'):
            self.check('obj-m += foo.o\n', name='Makefile')

    def test_each_of_several(self):
        text = 'obj-m := a.o \\\n\tb.o\nobj-m += c.o # and d.o\n'
        self.check(text, 'a.c', 'b.rs', 'c.S')
        for missing in 'abc':
            with self.refused(f'obj-m names {missing}.o'):
                self.check(text, *(f'{one}.c' for one in 'abc'
                                   if one != missing))

    def test_a_module_of_several_files(self):
        for kind in ('objs', 'y', 'm'):
            text = f'obj-m := foo.o\nfoo-{kind} := a.o b.o\n'
            self.check(text, 'a.c', 'b.S')
            with self.refused('b.c or b.rs', 'foo.o is of b.o', 'there is a.c'):
                self.check(text, 'a.c')
        self.check('obj-m := foo.o\nfoo-$(CONFIG_X) += a.o\nfoo-y := a.o\n',
                   'a.c')

    def test_what_only_a_build_can_tell(self):
        for text in ('obj-m := $(NAME).o\n', 'obj-$(CONFIG_X) += foo.o\n',
                     'obj-m := folder/\n', 'include other\n',
                     'subdir-ccflags-y := -g\n',
                     'obj-m := foo.o\nfoo-$(CONFIG_X) := a.o\n',
                     'obj-m := foo.o\n$(obj)/foo.c: $(src)/foo.y\n\tyacc\n',
                     'obj-m := foo.o\n%.c: %.y\n\tyacc\n',
                     '$(eval $(call all,foo))\n'):
            self.check(text)

    def test_a_rule_for_another_makes_nothing(self):
        with self.refused('obj-m names foo.o'):
            self.check('obj-m := foo.o\nother_foo.c: x\nV := foo.c\n'
                       'W = foo.c :=\n')

    def test_a_makefile(self):
        self.check('ifneq ($(KERNELRELEASE),)\nobj-m := foo.o\nelse\nall:\n'
                   '\tmake -C /lib/modules/x/build M=$(PWD) modules\nendif\n',
                   'foo.c', name='Makefile')
        # A Kbuild goes before it.
        self.write('m/Makefile', 'obj-m := none.o\n')
        objm.check(self.write('m/Kbuild', 'obj-m := foo.o\n').parent)

    def test_no_obj_m(self):
        with self.refused('a line obj-m := name.o', 'no obj-m',
                          '(obj-m := foo.o)'):
            self.check('# SPDX-License-Identifier: GPL-2.0\n', 'foo.rs')

    def test_our_own(self):
        for name in modules.NAMES:
            objm.check(modules.EXAMPLES / name)

# SPDX-License-Identifier: GPL-2.0
"""What a module's Kbuild names is looked for before anything is built."""

import modules
import objm
from tests import support


class Named(support.Case):
    def check(self, text, files='', name='Kbuild'):
        """A folder with TEXT as its Kbuild, and FILES."""
        for old in self.tmp.glob('m/*'):
            old.unlink()
        for file in files.split():
            self.write(f'm/{file}', '')
        objm.check(self.write(f'm/{name}', text).parent)

    def test_what_is_there_or_only_a_build_can_tell(self):
        for text, files in (
                *(('obj-m := foo.o\n', f'foo.{kind}')
                  for kind in ('c', 'rs', 'S', 'c_shipped', 'o_shipped')),
                ('obj-m := a.o b.o\nobj-m += c.o # d.o\n', 'a.c b.rs c.S'),
                *((f'obj-m := foo.o\nfoo-{kind} := a.o b.o\n', 'a.c b.S')
                  for kind in ('objs', 'y', 'm')),
                ('obj-m := foo.o\nfoo-$(CONFIG_X) += a.o\nfoo-y := a.o\n',
                 'a.c'),
                ('NAME := foo\nobj-m := $(NAME).o\n', 'foo.c'),
                ('obj-m := foo.o\n%.c: %.y\n\tyacc\n', 'foo.y'),
                *((text, '') for text in (
                    'obj-$(CONFIG_X) += foo.o\n', 'obj-m := folder/\n',
                    'include $(srctree)/other\n',
                    'obj-m := foo.o\nfoo-$(CONFIG_X) := a.o\n',
                    'obj-m := foo.o\n$(obj)/foo.c: $(src)/foo.y\n\tyacc\n'))):
            with self.subTest(text):
                self.check(text, files)
        self.check('ifneq ($(KERNELRELEASE),)\nobj-m := foo.o\nelse\nall:\n'
                   '\tmake -C /lib/modules/x/build M=$(PWD) modules\nendif\n',
                   'foo.c', 'Makefile')
        for name in modules.shown():
            objm.check(modules.EXAMPLES / name)

    def test_what_is_not_there(self):
        three = 'obj-m := a.o \\\n\tb.o\nobj-m += c.o # and d.o\n'
        for text, files, *words in (
                ('obj-m := foo.o\n', 'bar.rs bar.h foo.mod.c',
                 'foo.c or foo.rs or foo.S', 'Kbuild names foo.o',
                 'there is bar.rs)', 'obj-m := bar.o'),
                (three, 'b.c c.c', 'names a.o'),
                (three, 'a.c b.c', 'names c.o'),
                ('obj-m := foo.o\nfoo-y := a.o b.o\n', 'a.c', 'b.c or b.rs',
                 'there is a.c'),
                # A rule for another file makes nothing of foo.o.
                ('obj-m := foo.o\nother_foo.c: x\n\ttouch $@\n', '',
                 'names foo.o', 'nor any other source'),
                ('# SPDX-License-Identifier: GPL-2.0\n', 'foo.rs',
                 'a line obj-m := name.o', 'no obj-m', '(obj-m := foo.o)')):
            with self.subTest(text), self.refused(*words):
                self.check(text, files)

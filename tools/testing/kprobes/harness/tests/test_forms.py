# SPDX-License-Identifier: GPL-2.0
"""What C reads of the forms that forms/generate.py makes."""

import os
import re
import subprocess

import env
from tests import support


class Table(support.Case):
    def test_places_are_told_by_distances_and_never_by_addresses(self) -> None:
        made = subprocess.run(
            ['python3', '-B', env.REPO / 'arch/x86/kprobes/tests/forms/generate.py'],
            env={**os.environ, 'PYTHONPATH': str(env.REPO / 'lib/tests/kprobes/forms')},
            check=True, capture_output=True, text=True).stdout
        text, data = made.split('\t.section .rodata, "a"\n')
        places = set(re.findall(r'^(\S+):', text, re.M))
        operands = {directive: [operand.strip() for line in re.findall(
            rf'^(?:\S+:)?\s*\.{directive}\s+(.*)$', data, re.M)
            for operand in line.split(',')] for directive in ('quad', 'long')}
        self.assertTrue(operands['quad'])
        self.assertEqual([word for word in operands['quad']
                          if places & set(re.split(r'[ +-]+', word))][:9], [])
        called = {place for place in places if re.match(
            r'\.L(stub|second|third|next|to_\w+?)\d+$', place)}
        self.assertTrue(called)
        distances = {word.removesuffix(' - .') for word in operands['long']
                     if word.endswith(' - .')}
        self.assertEqual(sorted(called - distances)[:9], [])

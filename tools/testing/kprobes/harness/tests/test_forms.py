# SPDX-License-Identifier: GPL-2.0
"""What forms/generate.py makes of its description."""

import re
import subprocess

import env
from tests import support


class Table(support.Case):
    """What C reads of the forms."""

    def setUp(self):
        super().setUp()
        made = subprocess.run(
            ['python3', '-B', env.KPROBES / 'forms/generate.py'],
            check=True, capture_output=True, text=True).stdout
        text, self.data = made.split('\t.section .rodata, "a"\n')
        self.places = set(re.findall(r'^(\S+):', text, re.M))

    def operands(self, directive):
        return [operand.strip() for line in re.findall(
            rf'^(?:\S+:)?\s*\.{directive}\s+(.*)$', self.data, re.M)
            for operand in line.split(',')]

    def test_no_word_is_the_address_of_a_place(self):
        words = self.operands('quad')
        self.assertTrue(words)
        self.assertEqual([word for word in words
                          if self.places & set(re.split(r'[ +-]+', word))][:9],
                         [])

    def test_places_are_told_by_how_far_they_are(self):
        far = {word.removesuffix(' - .') for word in self.operands('long')
               if word.endswith(' - .')}
        called = re.compile(r'\.L(stub|second|third|next|to_\w+?)\d+$')
        places = {place for place in self.places if called.match(place)}
        self.assertTrue(places)
        self.assertEqual(sorted(places - far)[:9], [])

# SPDX-License-Identifier: GPL-2.0
"""The archive that a guest begins with."""

import gzip
import types
from unittest import mock

import guest
from tests import support


class Initramfs(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.built = types.SimpleNamespace(machine=None, obj=self.tmp)

    def test_it_is_the_same_every_time(self) -> None:
        # make bench compares no two runs with different ones.
        with mock.patch.object(guest, 'busybox', lambda arch: b'x'), \
                mock.patch.object(gzip.time, 'time', side_effect=(1, 1e9)):
            self.assertEqual(*(guest.initramfs(
                self.built, name, '').read_bytes() for name in ('a', 'b')))

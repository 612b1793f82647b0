# SPDX-License-Identifier: GPL-2.0
"""Without the nightly toolchain there is no Miri, which is said."""

from unittest import mock

import host
import nightly
import packages
from tests import support


class Nightly(support.Case):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(packages, 'PAUSE', 0))

    def test_without_miri_its_tests_are_skipped_with_the_reason(self):
        listing = self.write('nightly',
                             f'{"0" * 64} file:///nowhere/miri.tar.xz\n')
        with mock.patch.object(host, 'fetch'), \
                mock.patch.object(nightly, 'LIST', listing):
            result, = host.miri()
        self.assertEqual(result.status, 'skip')
        self.assertIn('no Miri: file:///nowhere/miri.tar.xz', result.reason)

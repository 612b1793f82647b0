# SPDX-License-Identifier: GPL-2.0
"""make series: the warning of checkpatch.pl that a mail may have."""

import series
from tests import support


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

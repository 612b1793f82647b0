# SPDX-License-Identifier: GPL-2.0
"""What the head of a case of make test-clients, or of its script, says."""

import itertools
import re

LINE = re.compile(r'# (limit|differs|options|inside): +(.*)')


def of(text):
    """{word: text} of the lines `# word: text` before the first command."""
    head = itertools.takewhile(lambda line: line.startswith('#'),
                               text.splitlines())
    return {match[1]: match[2] for match in map(LINE.match, head) if match}

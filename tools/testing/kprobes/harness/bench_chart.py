# SPDX-License-Identifier: GPL-2.0
"""The benchmark's chart: horizontal bars, one panel per section, as SVG."""

from html import escape
from math import log10

_COLOURS = {'c': '#7f8c9b', 'committed': '#7f8c9b', 'rust': '#c8602a'}
_NAMES = {'c': 'C', 'committed': 'C (committed)', 'rust': 'Rust'}
_LEFT, _WIDTH, _RIGHT, _BAR = 380, 480, 120, 11


def _text(x, y, text, *, anchor='start', weight='normal', colour='#333'):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-weight="{weight}" fill="{colour}">{escape(text)}</text>')


def _panel(parts, top, title, rows, results):
    figures = [got for row in rows for result in results.values()
               if (got := result['rows'].get(row.name, {}).get(row.figure))]
    if not figures:
        return top
    most = max(figures)
    # Three orders of magnitude do not fit on a linear axis.
    logarithmic = most > 100 * max(min(figures), 1)

    def width(figure):
        if logarithmic:
            return _WIDTH * log10(figure + 1) / log10(most + 1)
        return _WIDTH * figure / most
    note = ' — logarithmic' if logarithmic else ''
    parts.append(_text(10, top + 14, title + note, weight='bold'))
    top += 24
    for row in rows:
        middle = top + _BAR * len(results) / 2 + 4
        parts.append(_text(_LEFT - 8, middle, row.title, anchor='end'))
        for impl, result in results.items():
            got = result['rows'].get(row.name, {})
            if row.figure in got:
                long = width(got[row.figure])
                label = f'{got[row.figure]:,}'
                if got.get('traps'):
                    label += f' ({got["traps"]:g} traps)'
                parts.append(
                    f'<rect x="{_LEFT}" y="{top}" width="{long:.1f}" '
                    f'height="{_BAR - 1}" fill="{_COLOURS[impl]}"/>')
                parts.append(_text(_LEFT + long + 5, top + 9, label))
            else:
                parts.append(_text(_LEFT + 5, top + 9,
                                   f'{_NAMES[impl]}: no figure',
                                   colour='#999'))
            top += _BAR
        top += 6
    return top + 14


def draw(results, sections):
    """The chart of RESULTS ({impl: result}) as the text of an SVG file."""
    parts, top = [], 34
    x = 10
    for impl in results:
        parts.append(f'<rect x="{x}" y="10" width="12" height="12" '
                     f'fill="{_COLOURS[impl]}"/>')
        parts.append(_text(x + 17, 20, _NAMES[impl]))
        x += 130
    for title, rows in sections.items():
        top = _panel(parts, top, title, rows, results)
    size = _LEFT + _WIDTH + _RIGHT
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" '
            f'height="{top}" viewBox="0 0 {size} {top}" '
            'font-family="sans-serif" font-size="11">\n'
            '<!-- SPDX-License-Identifier: GPL-2.0 -->\n'
            f'<rect width="{size}" height="{top}" fill="#fff"/>\n'
            + '\n'.join(parts) + '\n</svg>\n')

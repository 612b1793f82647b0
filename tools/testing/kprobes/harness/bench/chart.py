# SPDX-License-Identifier: GPL-2.0
"""The benchmark's chart: horizontal bars, one panel per section, as SVG."""

from html import escape
from math import log10

from bench.rows import Row, Sections

_COLOURS = {'c': '#7f8c9b', 'committed': '#7f8c9b', 'rust': '#c8602a'}
_NAMES = {'c': 'C', 'committed': 'C (committed)', 'rust': 'Rust'}
_LEFT, _WIDTH, _RIGHT, _BAR = 380, 480, 120, 11


def _text(x: float, y: float, text: str, style: str = '') -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return (f'<rect x="{x}" y="{y}" width="{width:.1f}" height="{height}" '
            f'fill="{colour}"/>')


def _panel(parts: list[str], top: int, title: str, rows: list[Row],
           results: dict[str, dict]) -> int:
    """Draw ROWS below TOP; where the panel ends."""
    figures = [figure for row in rows for result in results.values() if (
        figure := result['rows'].get(row.name, {}).get(row.figure))]
    if not figures:
        return top
    most = max(figures)
    # Three orders of magnitude do not fit on a linear axis.
    logarithmic = most > 100 * max(min(figures), 1)
    parts.append(_text(10, top + 14, title + (
        ' — logarithmic' if logarithmic else ''), 'font-weight="bold"'))
    top += 24
    for row in rows:
        parts.append(_text(_LEFT - 8, top + _BAR * len(results) / 2 + 4,
                           row.title, 'text-anchor="end"'))
        for impl, result in results.items():
            shown = result['rows'].get(row.name, {})
            if row.figure in shown:
                figure = shown[row.figure]
                width = _WIDTH * (log10(figure + 1) / log10(most + 1)
                                  if logarithmic else figure / most)
                label = f'{figure:,}'
                if shown.get('traps'):
                    label += f' ({shown["traps"]:g} traps)'
                parts += [_box(_LEFT, top, width, _BAR - 1, _COLOURS[impl]),
                          _text(_LEFT + width + 5, top + 9, label)]
            else:
                parts.append(_text(_LEFT + 5, top + 9,
                                   f'{_NAMES[impl]}: no figure',
                                   'fill="#999"'))
            top += _BAR
        top += 6
    return top + 14


def draw(results: dict[str, dict], sections: Sections) -> str:
    """The chart of RESULTS ({impl: result}) as the text of an SVG file."""
    parts, top = [], 34
    for place, impl in enumerate(results):
        x = 10 + 130 * place
        parts += [_box(x, 10, 12, 12, _COLOURS[impl]),
                  _text(x + 17, 20, _NAMES[impl])]
    for title, rows in sections.items():
        top = _panel(parts, top, title, rows, results)
    size = _LEFT + _WIDTH + _RIGHT
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" '
            f'height="{top}" viewBox="0 0 {size} {top}" '
            'font-family="sans-serif" font-size="11" fill="#333">\n'
            '<!-- SPDX-License-Identifier: GPL-2.0 -->\n'
            + _box(0, 0, size, top, '#fff') + '\n'
            + '\n'.join(parts) + '\n</svg>\n')

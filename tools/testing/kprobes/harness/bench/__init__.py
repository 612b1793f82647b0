# SPDX-License-Identifier: GPL-2.0
"""make bench: what kprobes cost, in C and in Rust.

The guest runs a module of our own (../bench) under TCG with
`-icount shift=0,sleep=off -smp 1`, where a virtual nanosecond is one executed
instruction, or one of waiting. So figures are exact, repeat, and do not depend
on the machine. How each column is counted:

instructions  time stamp counter around 64 times 256 calls of the probed
              function, the loop included (the bare rows show what it costs);
              for what may wait, a QEMU plugin (../bench/insncount.c) that
              counts what all tasks together execute between two marks
traps         a boot of its own with QEMU's exception log: exceptions between
              two marks, per hit (which ones: rows.Arch.trap)
ns            virtual time until the call is back
syncs         a boot of its own with two CPUs, without icount (one of them
              spins): function call interrupts that the second, kept busy,
              receives while the first one works; the median of 7 rounds,
              which may differ by one between runs
bytes         free memory that registering takes

A run is compared with the one before it of the same kernel (repeat.py);
where a figure does not repeat, the run fails and names the rows.
"""

import concurrent.futures
import errno
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import env
import guest
import kernel
import procs
import progress
import qemu
from bench import repeat
from bench.rows import BOOTS, LANES, QUICK, Arch, Row, Sections, of_arch, of_one_hit, sections

SOURCES = env.SELFTESTS / 'bench'
# A measurement of one implementation, and the figures of its rows.
Result = dict
Figures = dict[str, dict]
# The rows of one boot, its seconds, its initramfs.
Boot = tuple[Figures, float, Path]
_NAMES = {'c': 'C', 'rust': 'Rust', 'committed': 'C, committed'}
_WORD = re.compile(r'(\w+)=(\S+)')
# Seconds for one boot, minutes for measuring in all.
_LIMIT = 20 * 60
_TOTAL = 30


def _script(name: str) -> str:
    lines = ['B=/sys/kernel/debug/kprobes_bench',
             'S=/proc/sys/debug/kprobes-optimization',
             'for module in 0 1 2 3 4 5 6 7; do'
             ' load kprobes_bench_sites$module; done',
             'load kprobes_bench || say "bench: modules=refused"']
    if name == 'lifecycle':
        # Text symbols of the kernel itself: no third column.
        lines.append("grep -E '^[0-9a-f]+ [tT] [^[:space:]]+$' /proc/kallsyms"
                     " | cut -d' ' -f1 >$B/targets ||"
                     ' say "bench: targets=refused"')
    for rows, optimization in BOOTS[name]:
        lines += [f'[ ! -e $S ] || echo {optimization} >$S',
                  f'echo {rows} >$B/run || say "bench: refused={rows}"']
    return '\n'.join(lines + ['say "bench: done"', ''])


def read(lines: list[str]) -> tuple[Figures, bool]:
    """{row: figures} out of a console; also whether it came to its end."""
    rows: Figures = {}
    for line in lines:
        if line.startswith('bench: row='):
            figures = {key: int(value) if re.fullmatch(r'-?\d+', value)
                       else value for key, value in _WORD.findall(line)}
            rows[str(figures.pop('row'))] = figures
        elif re.match(r'bench: (modules|targets|refused)=', line):
            raise env.Refusal('the guest to run the benchmark\'s modules',
                              line, 'see the console\'s lines before it')
    return rows, 'bench: done' in lines


def count_traps(log: Path, rows: Figures, arch: Arch) -> Figures:
    """ROWS of a traps boot, with what QEMU's exception LOG says of each."""
    counts, current = {}, None
    with open(log, encoding='utf-8', errors='replace') as text:
        for line in text:
            if match := arch.mark.search(line):
                current = int(match[1], 16) // 16
                counts[current] = 0
            elif current is not None and arch.trap.match(line):
                counts[current] += 1
    for name, row in rows.items():
        if 'mark' in row and row['mark'] not in counts:
            raise env.Refusal(f'a mark for the row {name} in QEMU\'s log',
                              f'none in {env.host(log)}',
                              'does this QEMU log page faults with -d int?')
    return {name: {'traps': round(counts[row['mark']] / row['n'], 2)}
            if 'mark' in row else row for name, row in rows.items()}


def count_spans(log: Path, rows: Figures) -> Figures:
    """ROWS, those counted by the plugin completed out of its LOG."""
    marks = {int(number): int(count) for number, count in re.findall(
        r'^mark (\d+) (\d+)$', log.read_text(errors='replace'), re.M)}
    counted = {}
    for name, row in rows.items():
        if 'spans' not in row:
            continue
        begins = range(row['first'], row['first'] + 2 * row['spans'], 2)
        if any(at not in marks or at + 1 not in marks for at in begins):
            raise env.Refusal(f'the marks of the row {name} from QEMU\'s '
                              'plugin', f'{len(marks)} marks, not those, in '
                              f'{env.host(log)}',
                              'does this QEMU run plugins (-plugin)?')
        total = sum(marks[at + 1] - marks[at] for at in begins)
        counted[name] = {'unit': 'insns', 'mean': round(total / row['n']), 'n': row['n']}
    return rows | counted


def _plugin(out: Path, insn: str) -> Path:
    """The counter of instructions, compiled for the mark INSN."""
    target = out / 'insncount.so'
    log = env.LOGS / 'insncount.log'
    if procs.run(['clang', '-O2', '-Wall', '-shared', '-fPIC', '-o', target,
                  f'-DMARK={insn}', SOURCES / 'insncount.c'], log):
        raise env.Refusal('the QEMU plugin insncount.c to compile',
                          procs.tail(log, 10), 'see the lines above')
    return target


def _boot(built: kernel.Built, modules: list[Path], name: str, tick: Callable[[str], None]) -> Boot:
    """One boot. Two of them may run at once: under icount the figures do not
    depend on what else the machine does."""
    image = guest.initramfs(built, f'bench-{name}', _script(name), modules)
    log = env.LOGS / f'{built.name}-{name}.log'
    alone = name != 'syncs'
    # The same clock and the same random numbers in every run.
    extra = ['-seed', '1', '-rtc', 'base=2026-01-01,clock=vm'] if alone else []
    if name == 'traps':
        extra += ['-d', 'int', '-D', str(log)]
    elif name == 'lifecycle':
        extra += ['-plugin', str(_plugin(built.obj, of_arch(built.arch).insn)),
                  '-d', 'plugin', '-D', str(log)]
    console = qemu.boot(
        built, image, name=f'bench-{name}', smp=1 if alone else 2,
        icount=alone, force='tcg', memory=1024, thread='multi', extra=extra,
        # A batch of 10,000 says nothing until it is done.
        timeout=_LIMIT, silence=_LIMIT, on_line=tick,
        # Nothing is to be woken up on the CPU that counts interrupts.
        cmdline=f'kunit.enable=0 {of_arch(built.arch).cmdline}'
                + ('' if alone else ' isolcpus=1'))
    rows, done = read(console.lines)
    if not done or console.splats:
        raise env.Refusal(f'the guest to end "{name}" with "bench: done", and '
                          'without complaints',
                          '; '.join(console.splats[:3]) or 'it did not',
                          f'whole console: {env.host(console.log)}')
    if name == 'traps':
        rows = count_traps(log, rows, of_arch(built.arch))
        log.unlink()
    elif name == 'lifecycle':
        rows = count_spans(log, rows)
    return rows, console.seconds, image


def _measure(arch: str, impl: str, names: tuple[str, ...], wanted: Sections) -> Result:
    """The rows of one implementation."""
    built, table = kernel.build(arch, impl, 'bench'), of_arch(arch)
    if built.has('HAVE_OPTPROBES') and not built.has('OPTPROBES'):
        raise env.Refusal('CONFIG_OPTPROBES=y in the kernel to measure',
                          'it is off', 'see config/bench.config')
    modules = kernel.ours(built, SOURCES.relative_to(env.REPO))
    started = time.monotonic()
    quick = names == QUICK
    with progress.Stage(f'bench {impl}' + ' quick' * quick,
                        1 if quick else table.minutes[impl]) as stage:
        stage.expected = sum(1 + row.traps for row in _rows(wanted))

        def tick(line: str) -> None:
            if line.startswith('bench: row='):
                stage.tick(line.split()[1])
        boots: dict[str, Boot] = {}

        def run(lane: tuple[str, ...]) -> None:
            for name in filter(names.__contains__, lane):
                boots[name] = _boot(built, modules, name, tick)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(run, LANES))
    figures: Figures = {}
    for rows, _, _ in boots.values():
        for name, row in rows.items():
            figures.setdefault(name, {}).update(row)
    progress.budget('measuring', _TOTAL, time.monotonic() - started)
    progress.say(f'{impl}: ' + ', '.join(f'{name} {boots[name][1]:.0f} s' for name in names))
    made_from = repeat.digest(
        [built.image, SOURCES / 'insncount.c',
         *(boots[name][2] for name in names)], built.machine.qemu[0])
    return {'SPDX-License-Identifier': 'GPL-2.0', 'arch': arch, 'impl': impl,
            'release': built.release, 'made_from': made_from,
            'rows': dict(sorted(figures.items()))}


def _rows(wanted: Sections) -> list[Row]:
    return [row for rows in wanted.values() for row in rows]


def _figures_of(result: Result, row: Row) -> dict:
    return result['rows'].get(row.name, {})


def value(result: Result | None, row: Row) -> int | None:
    """The figure that stands for ROW, or None."""
    return _figures_of(result, row).get(row.figure) if result else None


def troubles(result: Result, wanted: Sections) -> Iterator[str]:
    """The rows that a run lacks, or that are no figures."""
    for row in _rows(wanted):
        figures = _figures_of(result, row)
        if result['impl'] == 'c' and (figures.get('errno') == -errno.EOPNOTSUPP or
                                      re.search(of_arch(result['arch']).c_lacks, row.name)):
            continue
        problem = next((problem for is_so, problem in (
            (not figures, 'is missing'),
            ('wrong' in figures, 'has {wrong} {found}, expected {expected}'),
            ('errno' in figures, 'failed with errno {errno}'),
            (row.figure not in figures, 'has no figure'),
            (row.traps and 'traps' not in figures, 'has no traps counted'),
        ) if is_so), None)
        if problem:
            yield f'{result["impl"]}: row {row.name} ' + problem.format(**figures)


def too_dear(c: Result | None, rust: Result | None, wanted: Sections) -> Iterator[str]:
    """The rows of Rust that cost more than they may."""
    for row in _rows(wanted):
        theirs, ours = value(c, row), value(rust, row)
        if ours is None:
            continue
        if row.most and theirs and ours > row.most * theirs:
            yield (f'rust: row {row.name}: {ours} is {ours / theirs:.3f} of '
                   f'C\'s {theirs}, and may be {row.most}')
        if row.limit and ours > row.limit:
            yield f'rust: row {row.name}: {ours}, and may be {row.limit}'


def _cells(figures: dict, row: Row) -> str:
    """The figure and the worst one, or why there is none: 29 characters."""
    if row.figure not in figures:
        return f'{"failed" if figures else "missing":>15} {"":13}'
    figure = figures[row.figure]
    worst = figures.get('worst', figure)
    return f'{figure:>15,} {"" if worst == figure else f"{worst:,}":>13}'


def table(results: dict[str, Result], wanted: Sections) -> Iterator[str]:
    """The table as lines."""
    names = [_NAMES[impl] for impl in results]
    for title, rows in wanted.items():
        yield ''
        yield f'{title:59}' + ''.join(
            f' {name:>15} {"worst":>13}' for name in names) \
            + (f' {"ratio":>6}' if len(names) > 1 else '') \
            + (f'  traps {" / ".join(names)}' if rows[0].traps else '')
        for row in rows:
            figures = [_figures_of(result, row) for result in results.values()]
            line = f'  {row.title:57}' + ''.join(f' {_cells(cells, row)}' for cells in figures)
            if len(figures) > 1:
                theirs, ours = (cells.get(row.figure) for cells in figures[:2])
                line += f' {ours / theirs:6.2f}' if theirs and ours is not None else f' {"":6}'
            if row.traps:
                line += '  ' + ' / '.join(
                    f'{cells["traps"]:g}' if 'traps' in cells else '-'
                    for cells in figures)
            yield line.rstrip()


def _keep(measured: dict[str, Result], name: str) -> None:
    """Write the figures as JSON, one row a line, so that changes show in a diff."""
    folder = env.RESULTS / 'bench'
    folder.mkdir(parents=True, exist_ok=True)
    for impl, result in measured.items():
        path = folder / f'{impl}-{name}.json'
        rows = ',\n'.join(f'  {json.dumps(row)}: {json.dumps(figures)}'
                          for row, figures in result['rows'].items())
        head = json.dumps({key: part for key, part in result.items() if key != 'rows'}, indent=1)
        path.write_text(head.removesuffix('\n}') + f',\n "rows": {{\n{rows}\n }}\n}}\n')
        progress.say(f'figures: {env.host(path)}')


def bench(impls: list[str], quick: bool) -> int:
    """Measure IMPLS; prints and writes the results. The exit status."""
    arch = env.choice('ARCH', env.ARCHES, env.ARCHES[0])
    own = of_arch(arch)
    names, wanted = tuple(BOOTS), sections(own)
    if quick:
        names, wanted = QUICK, of_one_hit(wanted)
    committed = SOURCES / f'c-{arch}.json'
    reference = json.loads(committed.read_text()) if committed.exists() else None
    if quick and not reference:
        raise env.Refusal(f'the committed figures of C, {committed.name}',
                          'no such file', 'make bench IMPL=c, then copy its '
                          f'JSON to {env.host(committed)}')
    measured = {impl: _measure(arch, impl, names, wanted) for impl in impls}
    results = {'committed': reference, **measured} if quick and reference else measured
    for line in table(results, wanted):
        progress.say(line)
    _keep(measured, arch + ('-quick' if quick else ''))
    if 'c' in measured and reference:
        for difference in repeat.compare(reference, measured['c'], _rows(wanted)):
            progress.say(f'not the committed figure of C: {difference}')
    failures = [problem for result in measured.values() for problem in troubles(result, wanted)]
    failures += too_dear(measured.get('c', reference), measured.get('rust'), wanted)
    if not failures:
        # A run with something missing is nothing to compare with.
        for result in measured.values():
            failures += repeat.check(result, _rows(wanted), quick)
    for failure in failures:
        progress.say(f'FAILED {failure} (again: make bench{"-quick" if quick else ""} ARCH={arch}; '
                     f'log: {env.host(env.LOGS)})')
    return 1 if failures else 0

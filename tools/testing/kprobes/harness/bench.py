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
traps         a boot of its own with QEMU's exception log: breakpoint and
              debug exceptions (v=03, v=01) between two marks, per hit
ns            virtual time until the call is back
syncs         a boot of its own with two CPUs, without icount (one of them
              spins): function call interrupts that the second, kept busy,
              receives while the first one works; the median of 7 rounds,
              which may differ by one between runs
bytes         free memory that registering takes

A run is compared with the one before it of the same kernel (bench_repeat.py);
where a figure does not repeat, the run fails and names the rows.
"""

import json
import re
import threading
import time

import bench_repeat
import env
import guest
import kernel
import procs
import progress
import qemu
from bench_rows import BOOTS, HITS, QUICK, SECTIONS

ARCH = 'x86_64'
SOURCES = env.KPROBES / 'bench'
COMMITTED = SOURCES / f'c-{ARCH}.json'
_WORD = re.compile(r'(\w+)=(\S+)')
_MARK = re.compile(r'v=0e .*CR2=ffffffff0000([0-9a-f]{4})\b')
_TRAP = re.compile(r'^ *\d+: v=0[13] ')
# Minutes that one boot has been seen to take on two busy cores.
_PLANNED = {
    'c': {'hits': 0.7, 'traps': 0.6, 'scale': 12.7, 'lifecycle': 14.4,
          'syncs': 2.6},
    'rust': {'hits': 0.9, 'traps': 0.8, 'scale': 0.8, 'lifecycle': 1.1,
             'syncs': 2.1}}
_LIMIT = 20 * 60
# Minutes that measuring may take in all.
_TOTAL = 30


def _script(name):
    lines = ['B=/sys/kernel/debug/kprobes_bench',
             'S=/proc/sys/debug/kprobes-optimization',
             'for module in 0 1 2 3 4 5 6 7; do'
             ' load kprobes_bench_sites$module; done',
             'load kprobes_bench || say "bench: modules=refused"']
    if name == 'lifecycle':
        # Text symbols of the kernel itself: no third column.
        lines.append("grep -E '^[0-9a-f]+ [tT] [^[:space:]]+$' /proc/kallsyms |"
                     " cut -d' ' -f1 >$B/targets ||"
                     ' say "bench: targets=refused"')
    for what, optimization in BOOTS[name]:
        lines += [f'[ ! -e $S ] || echo {optimization} >$S',
                  f'echo {what} >$B/run || say "bench: refused={what}"']
    return '\n'.join(lines + ['say "bench: done"', ''])


def _figure(text):
    """A row's line as {key: number or text}."""
    return {key: int(value) if re.fullmatch(r'-?\d+', value) else value
            for key, value in _WORD.findall(text)}


def read(lines):
    """{row: figures} out of a console; also whether it came to its end."""
    rows, done = {}, False
    for line in lines:
        if line.startswith('bench: row='):
            found = _figure(line.removeprefix('bench: '))
            rows[found.pop('row')] = found
        elif re.match(r'bench: (modules|targets|refused)=', line):
            raise env.Refusal('the guest to run the benchmark\'s modules',
                              line, 'see the console\'s lines before it')
        done = done or line == 'bench: done'
    return rows, done


def count_traps(log, rows):
    """ROWS of a traps boot, with what QEMU's exception LOG says of each."""
    counts, current = {}, None
    with open(log, encoding='utf-8', errors='replace') as text:
        for line in text:
            if ' v=0' not in line:
                continue
            if match := _MARK.search(line):
                number = int(match[1], 16) // 16
                current = number if number % 2 == 0 else None
                if current is not None:
                    counts[current] = 0
            elif current is not None and _TRAP.match(line):
                counts[current] += 1
    found = {}
    for name, row in rows.items():
        if 'mark' not in row:
            found[name] = row
            continue
        if row['mark'] not in counts:
            raise env.Refusal(f'a mark for the row {name} in QEMU\'s log',
                              f'none in {env.host(log)}',
                              'does this QEMU log page faults with -d int?')
        found[name] = {'traps': round(counts[row['mark']] / row['n'], 2)}
    return found


def count_spans(log, rows):
    """ROWS, those counted by the plugin completed out of its LOG."""
    marks = {}
    for line in log.read_text(errors='replace').splitlines():
        if match := re.fullmatch(r'mark (\d+) (\d+)', line):
            marks[int(match[1])] = int(match[2])
    found = {}
    for name, row in rows.items():
        found[name] = row
        if 'spans' not in row:
            continue
        pairs = [(row['first'] + 2 * i, row['first'] + 2 * i + 1)
                 for i in range(row['spans'])]
        if any(a not in marks or b not in marks for a, b in pairs):
            raise env.Refusal(f'the marks of the row {name} from QEMU\'s '
                              'plugin', f'{len(marks)} marks, not those, in '
                              f'{env.host(log)}',
                              'does this QEMU run plugins (-plugin)?')
        mean = round(sum(marks[b] - marks[a] for a, b in pairs) / row['n'])
        found[name] = {'unit': 'insns', 'mean': mean, 'n': row['n']}
    return found


def _plugin(out):
    """The instruction counter, compiled."""
    target = out / 'insncount.so'
    log = env.LOGS / 'insncount.log'
    status = procs.run(['clang', '-O2', '-Wall', '-shared', '-fPIC', '-o',
                        target, SOURCES / 'insncount.c'], log)
    if status:
        raise env.Refusal('the QEMU plugin insncount.c to compile',
                          procs.tail(log, 10), 'see the lines above')
    return target


class _Boot:
    """One boot of the benchmark's kernel. Two of them may run at once: under
    icount the figures do not depend on what else the machine does."""

    def __init__(self, built, modules, name, tick):
        self.built, self.name, self.tick = built, name, tick
        self.rows, self.problem, self.seconds = {}, None, 0
        self.image = guest.initramfs(built, f'bench-{name}', _script(name),
                                     modules)

    def _boot(self):
        log = env.LOGS / f'{self.built.name}-{self.name}.log'
        alone = self.name != 'syncs'
        # The same clock and the same random numbers in every run.
        extra = ['-seed', '1', '-rtc', 'base=2026-01-01,clock=vm'] \
            if alone else []
        if self.name == 'traps':
            extra += ['-d', 'int', '-D', str(log)]
        elif self.name == 'lifecycle':
            extra += ['-plugin', str(_plugin(self.built.obj)),
                      '-d', 'plugin', '-D', str(log)]
        console = qemu.boot(
            self.built, self.image, name=f'bench-{self.name}',
            smp=1 if alone else 2, icount=alone, force='tcg', memory=1024,
            thread='multi',
            extra=extra, timeout=_LIMIT, on_line=self.tick,
            # A batch of 10,000 says nothing until it is done.
            silence=_LIMIT,
            # Nothing is to be woken up on the CPU that counts interrupts.
            cmdline='kunit.enable=0 tsc=nowatchdog'
                    + ('' if alone else ' isolcpus=1'))
        self.seconds = console.seconds
        rows, done = read(console.lines)
        if not done:
            raise env.Refusal(f'the guest to end "{self.name}" with '
                              '"bench: done"', 'it did not',
                              f'whole console: {env.host(console.log)}')
        if console.splats:
            raise env.Refusal('a kernel without complaints',
                              '; '.join(console.splats[:3]),
                              f'whole console: {env.host(console.log)}')
        if self.name == 'traps':
            rows = count_traps(log, rows)
            log.unlink()
        elif self.name == 'lifecycle':
            rows = count_spans(log, rows)
        self.rows = rows

    def run(self):
        try:
            self._boot()
        except Exception as problem:    # handed to the thread that waits
            self.problem = problem


def _sequence(boots):
    """Run BOOTS one after the other."""
    for boot in boots:
        boot.run()


def _names(quick):
    return QUICK if quick else tuple(BOOTS)


def _lanes(names):
    """Two boots run at a time: those of NAMES that run beside the others."""
    beside = [name for name in names if name in ('lifecycle', 'hits')]
    return beside, [name for name in names if name not in beside]


def _minutes(impl, quick):
    """Planned for one implementation."""
    return max(sum(_PLANNED[impl][name] for name in lane)
               for lane in _lanes(_names(quick)))


def _measure(impl, quick):
    """The rows of one implementation."""
    built = kernel.build(ARCH, impl, 'bench')
    _check_config(built)
    modules = kernel.ours(built, SOURCES.name)
    names = _names(quick)
    lock = threading.Lock()
    started = time.monotonic()
    with progress.Stage(f'bench {impl}' + (' quick' if quick else ''),
                        _minutes(impl, quick)) as stage:
        stage.expected = sum(
            len(rows) * (2 if rows is HITS else 1)
            for rows in SECTIONS.values() if rows is HITS or not quick)

        def tick(line):
            if line.startswith('bench: row='):
                with lock:
                    stage.tick(line.split()[1])
        boots = {name: _Boot(built, modules, name, tick) for name in names}
        beside, others = ([boots[name] for name in lane]
                          for lane in _lanes(names))
        side = threading.Thread(target=_sequence, args=(beside,), daemon=True)
        side.start()
        _sequence(others)
        side.join()
        for boot in boots.values():
            if boot.problem:
                raise boot.problem
    rows = {}
    for boot in boots.values():
        for name, row in boot.rows.items():
            rows.setdefault(name, {}).update(row)
    progress.say(f'{impl}: ' + ', '.join(
        f'{name} {boot.seconds:.0f} s' for name, boot in boots.items()))
    made_from = bench_repeat.digest(
        [built.image, SOURCES / 'insncount.c',
         *(boot.image for boot in boots.values())], f'qemu-system-{ARCH}')
    return {'SPDX-License-Identifier': 'GPL-2.0', 'arch': ARCH, 'impl': impl,
            'release': built.release, 'made_from': made_from,
            'rows': dict(sorted(rows.items()))}, time.monotonic() - started


def _check_config(built):
    if built.impl == 'c' and not built.has('OPTPROBES'):
        raise env.Refusal('CONFIG_OPTPROBES=y in the kernel to measure',
                          'it is off', 'see config/bench.config')


def _sections(quick):
    return {title: [row for row in rows if not quick or row in HITS]
            for title, rows in SECTIONS.items()
            if not quick or rows is HITS}


def troubles(results, quick):
    """What keeps this run from being a success: texts."""
    found = []
    for impl, result in results.items():
        for row in (r for rows in _sections(quick).values() for r in rows):
            got = result['rows'].get(row.name)
            if got is None:
                found.append(f'{impl}: row {row.name} is missing')
            elif 'wrong' in got:
                found.append(f'{impl}: row {row.name}: {got["wrong"]} is '
                             f'{got["found"]}, expected {got["expected"]}')
            elif 'errno' in got:
                found.append(f'{impl}: row {row.name} failed with errno '
                             f'{got["errno"]}')
            elif row.figure not in got:
                found.append(f'{impl}: row {row.name} has no figure')
            elif row.traps and 'traps' not in got:
                found.append(f'{impl}: row {row.name} has no traps counted')
    return found


def dear(results, reference, quick):
    """The rows of Rust that cost more than they may: texts."""
    theirs, ours = results.get('c', reference), results.get('rust')
    if not ours:
        return []
    found = []
    for row in (r for rows in _sections(quick).values() for r in rows):
        a, b = theirs and value(theirs, row), value(ours, row)
        if row.most and a and b is not None and b > row.most * a:
            found.append(f'rust: row {row.name}: {b} is {b / a:.3f} of C\'s '
                         f'{a}, and may be {row.most}')
        if row.limit and b is not None and b > row.limit:
            found.append(f'rust: row {row.name}: {b}, and may be {row.limit}')
    return found


def value(result, row):
    """The figure that stands for ROW, or None."""
    return result['rows'].get(row.name, {}).get(row.figure)


def _cell(result, row):
    """The figure and the worst one, or why there is none: 29 characters."""
    got = result['rows'].get(row.name, {})
    if row.figure in got:
        worst = got.get('worst', got[row.figure])
        worst = f'{worst:,}' if worst != got[row.figure] else ''
        return f'{got[row.figure]:>15,} {worst:>13}'
    return f'{"failed" if got else "missing":>15} {"":13}'


def _traps(result, row):
    return f'{result["rows"].get(row.name, {}).get("traps", ""):g}' \
        if 'traps' in result['rows'].get(row.name, {}) else ''


def table(results, quick):
    """The table as lines."""
    impls = list(results)
    names = {'c': 'C', 'rust': 'Rust', 'committed': 'C, committed'}
    lines = []
    for title, rows in _sections(quick).items():
        head = f'{title:59}'
        for impl in impls:
            head += f' {names[impl]:>15} {"worst":>13}'
        head += f' {"ratio":>6}' if len(impls) > 1 else ''
        head += f'  traps {" / ".join(names[i] for i in impls)}' \
            if rows[0].traps else ''
        lines += ['', head]
        for row in rows:
            line = f'  {row.title:57}'
            for impl in impls:
                line += ' ' + _cell(results[impl], row)
            if len(impls) > 1:
                a, b = (value(results[i], row) for i in impls[:2])
                line += f' {b / a:6.2f}' if a and b is not None else f' {"":6}'
            if row.traps:
                line += '  ' + ' / '.join(_traps(results[i], row) or '-'
                                          for i in impls)
            lines.append(line.rstrip())
    return lines


def difference(first, second, quick):
    """The row that differs most between two results: (part, row name).

    Counts of interrupts, which come from two CPUs running freely, may differ
    by one.
    """
    worst = (0.0, '')
    for row in (r for rows in _sections(quick).values() for r in rows):
        a, b = value(first, row), value(second, row)
        if row.unit == 'syncs' and None not in (a, b) and abs(a - b) <= 1:
            continue
        if a and b is not None:
            worst = max(worst, (abs(b - a) / a, row.name))
    return worst


def _committed():
    if not COMMITTED.exists():
        return None
    return json.loads(COMMITTED.read_text())


def dumps(result):
    """RESULT as JSON, one row a line, so that changes show in a diff."""
    rows = ',\n'.join(f'  {json.dumps(name)}: {json.dumps(row)}'
                      for name, row in result['rows'].items())
    head = json.dumps({key: value for key, value in result.items()
                       if key != 'rows'}, indent=1)
    return head.removesuffix('\n}') + f',\n "rows": {{\n{rows}\n }}\n}}\n'


def bench(impls, quick):
    """Measure IMPLS; prints and writes the results. The exit status."""
    results = {}
    reference = _committed()
    if quick and not reference:
        raise env.Refusal(f'the committed figures of C, {COMMITTED.name}',
                          'no such file', 'make bench IMPL=c, then copy its '
                          f'JSON to {env.host(COMMITTED)}')
    if quick:
        results['committed'] = reference
    planned = sum(_minutes(impl, quick) for impl in impls)
    progress.say(f'measuring: planned {planned:.1f} min (limit {_TOTAL} min), '
                 'beside building what is not built yet')
    measured, took = {}, 0
    for impl in impls:
        measured[impl], seconds = _measure(impl, quick)
        took += seconds / 60
    results.update(measured)
    progress.budget('measuring', _TOTAL, took * 60)
    over = took > _TOTAL
    if over:
        for result in measured.values():
            result['over_budget'] = f'{took:.1f} of {_TOTAL} minutes'
    for line in table(results, quick):
        progress.say(line)

    folder = env.RESULTS / 'bench'
    folder.mkdir(parents=True, exist_ok=True)
    for impl, result in measured.items():
        path = folder / f'{impl}-{ARCH}{"-quick" if quick else ""}.json'
        path.write_text(dumps(result))
        progress.say(f'figures: {env.host(path)}')
    import bench_chart
    path = folder / f'bench-{ARCH}{"-quick" if quick else ""}.svg'
    path.write_text(bench_chart.draw(results, _sections(quick)))
    progress.say(f'chart:   {env.host(path)}')

    if 'c' in measured and reference:
        part, name = difference(reference, measured['c'], quick)
        progress.say(f'largest difference from the committed figures of C: '
                     f'{part:.2%}' + (f' ({name})' if name else ''))
    progress.say(f'measuring: planned {planned:.1f} min, took {took:.1f} min, '
                 f'limit {_TOTAL} min'
                 + ('  OVER BUDGET' if over else ''))
    found = troubles(measured, quick)
    found += dear(measured, reference, quick)
    if not found:
        # A run with something missing is nothing to compare with.
        rows = [row for part in _sections(quick).values() for row in part]
        for result in measured.values():
            found += bench_repeat.check(result, rows, quick, progress.say)
    for text in found:
        progress.say(f'FAILED {text}')
    return 1 if found else 0

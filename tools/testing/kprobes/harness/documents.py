# SPDX-License-Identifier: GPL-2.0
"""What README.md and the pages say is so: commands, files, listings, tables.

A reader who types what stands there gets what stands there. So each listing
says how that is known. In a comment before it, `.. checked: HOW` in a page and
`<!-- checked: HOW -->` in README, HOW is one of

make run        it is in what that shows, which fails where it is not
make module     README's call of it, which the piece of the examples runs
file PATH       it is that file, without its licence
test NAME       the test of that name shows it
commands        commands of ours, or that install what they need
picture         nothing is to be run: boxes and arrows

Code in a page is a literalinclude of a file that the tests build; what a page
says that only the kernel's source can tell is looked at by make docs.
"""

import fnmatch
import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import arches
import env
import guests
from ktap import Result

PAGES = env.REPO / 'Documentation/trace/rust-kprobes'
_COMMON = env.KPROBES / 'toolchain/common.sh'
# The kernel's own files and functions that are named.
THEIRS = env.KPROBES / 'plan/kernel.txt'
# What a build or a run makes.
_MADE = ('arch/x86/kprobes/built-in.a', 'cases.S', 'results/coverage')
# Words in the names of files that stand for others.
_ANY = re.compile('IMPL|FLAVOUR|ARCH')


@dataclass
class Listing:
    """Lines that stand by themselves, and how they are known."""

    page: str
    line: int
    how: str = ''
    text: list = field(default_factory=list)
    include: str = ''
    options: dict = field(default_factory=dict)

    @property
    def place(self):
        """For who has to mend it."""
        return f'{self.page}:{self.line}'


def pages():
    """README and the pages."""
    return [env.REPO / 'README.md', *sorted(PAGES.glob('*.rst'))]


def _name(path):
    return str(path.relative_to(env.REPO))


def _indent(line):
    return len(line) - len(line.lstrip())


def _block(lines, start, more=0):
    """The block behind START that is indented by more than MORE; its end."""
    end = start
    while end < len(lines) and (not lines[end].strip()
                                or _indent(lines[end]) > more):
        end += 1
    found = lines[start:end]
    while found and not found[-1].strip():
        found.pop()
    first = 0
    while found and not found[0].strip():
        found.pop(0)
        first += 1
    least = min((_indent(line) for line in found if line.strip()), default=0)
    return [line[least:] for line in found], start + first, end


_MARK = re.compile(r'\s*(?:\.\.|<!--) checked: (.*?)(?: -->)?$')
_DIRECTIVE = re.compile(r'(\s*)\.\. (literalinclude|code-block)::\s*(\S*)$')
_OPTION = re.compile(r':([\w-]+):\s*(.*)$')


def listings(path):
    """All listings of a page."""
    text = path.read_text().split('\n')
    return _in_markdown(path, text) if path.suffix == '.md' \
        else _in_page(path, text)


def _in_page(path, lines):
    found, how, at = [], '', 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if match := _MARK.match(line):
            how = match[1]
            continue
        if match := _DIRECTIVE.match(line):
            body, first, at = _block(lines, at, len(match[1]))
            one = Listing(_name(path), first, how)
            if match[2] == 'literalinclude':
                one.include = match[3]
            while body and (option := _OPTION.match(body[0])):
                one.options[option[1]] = option[2]
                body.pop(0)
            one.text = body
            found.append(one)
            how = ''
        elif line.rstrip().endswith('::') \
                and not line.lstrip().startswith('.. '):
            body, first, at = _block(lines, at, _indent(line))
            found.append(Listing(_name(path), first + 1, how, body))
            how = ''
        elif line.strip() and not line.startswith('.. '):
            # What it was for must be next, but for a sentence before it.
            how = how if _ends_before(lines, at) else ''
    return found


def _ends_before(lines, at):
    """Does the paragraph of the line before AT end with a listing?"""
    while at <= len(lines) and lines[at - 1].strip():
        if lines[at - 1].rstrip().endswith('::'):
            return True
        at += 1
    return False


def _in_markdown(path, lines):
    found, how, at = [], '', 0
    while at < len(lines):
        line = lines[at]
        if match := _MARK.match(line):
            how = match[1]
        elif line.startswith('    ') and not lines[at - 1].strip():
            body, first, at = _block(lines, at)
            found.append(Listing(_name(path), first + 1, how, body))
            how = ''
            continue
        elif line.strip():
            how = ''
        at += 1
    return found


def words(path):
    """What stands between backquotes, with its line; not in listings."""
    inside = set()
    for one in listings(path):
        inside.update(range(one.line, one.line + len(one.text)))
    pattern = r'`([^`]+)`' if path.suffix == '.md' else r'``([^`]+)``'
    text = '\n'.join('' if number in inside else line for number, line
                     in enumerate(path.read_text().split('\n'), 1))
    return [(text.count('\n', 0, match.start()) + 1,
             ' '.join(match[1].split()))
            for match in re.finditer(pattern, text)]


# Commands.

def _targets():
    text = (env.REPO / 'Makefile').read_text().replace('\\\n', ' ')
    return {'help', 'distclean',
            *re.search(r'^COMMANDS := (.*)$', text, re.M)[1].split()}


def _variables():
    text = _COMMON.read_text()
    found = re.search(r'^VARIABLES=\(([^)]*)\)', text, re.M)[1].split()
    return set(found)


def _value(name, value):
    """What is wrong with NAME=VALUE, which is one of our variables."""
    import matrix
    several = [value.replace('ARCH', arch) for arch in env.ARCHES]
    known = {'PIECE': ('name', *matrix.pieces()), 'ARCH': env.ARCHES,
             'IMPL': env.IMPLS}.get(name)
    if known and value and not set(several) <= set(known):
        return f'{name}={value}: one of {", ".join(known)}'
    return ''


def _make(command):
    """What is wrong with a call of make."""
    given = shlex.split(command, comments=True)[1:]
    named = dict(word.split('=', 1) for word in given if '=' in word)
    targets = [word for word in given if '=' not in word]
    if 'M' in named:
        folder = env.REPO / named.pop('M')
        if targets != ['modules'] or not (folder / 'Kbuild').exists():
            return f'nothing is built in {folder}'
        targets = []
    if wrong := set(targets) - _targets():
        return f'no such command: {", ".join(sorted(wrong))}'
    if wrong := set(named) - _variables():
        return f'no such variable: {", ".join(sorted(wrong))}'
    return '; '.join(filter(None, (_value(*one) for one in named.items())))


def _install(command):
    """What is wrong with a call of apt-get: a package that nobody wants."""
    wanted = ''.join(path.read_text() for path in
                     (_COMMON, env.REPO / '.ci/run'))
    packages = shlex.split(command)[3:]
    return ', '.join(one for one in packages
                     if not re.search(rf'\b{re.escape(one)}\b', wanted))


def _not_run(command):
    """What is wrong with a call of make that is right: no test does that."""
    import matrix
    return ', '.join(f'nothing runs make {word}: see RUN_BY in harness/matrix.py'
                     for word in shlex.split(command, comments=True)[1:]
                     if '=' not in word and word not in matrix.RUN_BY)


def _command(line):
    """What is wrong with a line of a listing, or None if it is no command."""
    if line.startswith('make '):
        command = line.split('  ')[0]
        return _make(command) or _not_run(command)
    if line.startswith('sudo apt-get install '):
        return _install(line)
    return None


def commands(paths):
    """What is wrong with commands."""
    found = []
    for path in paths:
        for line, word in words(path):
            if word.startswith('make ') \
                    and (wrong := _make(word) or _not_run(word)):
                found.append(f'{_name(path)}:{line}: {word}: {wrong}')
        for one in listings(path):
            if one.how != 'commands':
                continue
            for number, line in enumerate(one.text, one.line):
                wrong = _command(line) if line.strip() else ''
                if wrong is None:
                    wrong = 'no command of ours'
                if wrong:
                    found.append(f'{one.page}:{number}: {line}: {wrong}')
    return found


# Files.

_SUFFIX = r'\.(?:rs|c|h|S|py|sh|txt|rst|tc|list|config|json|patch|svg)'
_PATH = re.compile(rf'(?:[\w.*-]+/)+(?:[\w.*-]+)?|[\w*-]+{_SUFFIX}')
_PLAIN = re.compile(r'(?<![\w/`.-])((?:Documentation/)?[\w/-]+\.rst)\b')


def _of_theirs(names):
    return [line for line in THEIRS.read_text().splitlines()
            if line and not line.startswith('#') and ('/' in line) != names]


def theirs():
    """The kernel's own files that may be named."""
    return _of_theirs(names=False)


def debugfs():
    """What there is in debugfs."""
    text = (env.REPO / 'rust/kprobes/abi.c').read_text()
    return {f'kprobes/{name}' for name in
            re.findall(r'debugfs_create_file\("(\w+)"', text)} | {'kprobes/'}


def named_files(path):
    """(line, file) for each file that a page names."""
    found = [(line, word) for line, word in words(path)
             if _PATH.fullmatch(word)]
    for number, line in enumerate(path.read_text().split('\n'), 1):
        found += [(number, name) for name in _PLAIN.findall(
            re.sub(r'``[^`]*``|^\.\. literalinclude.*', '', line))]
    return found


def is_file(name, known):
    """Is NAME the end of one of the paths KNOWN, or of a folder of theirs?"""
    name = _ANY.sub('*', name.rstrip('/'))
    return any(fnmatch.fnmatchcase(one, name)
               or fnmatch.fnmatchcase(one, f'*/{name}') for one in known)


def files(paths, ours):
    """What is named, and neither in the repository nor the kernel's."""
    known = {str(path.relative_to(env.REPO)) for path in ours}
    known |= {str(folder) for path in ours
              for folder in path.relative_to(env.REPO).parents}
    known |= {*theirs(), *debugfs(), *_MADE}
    found, seen = [], set()
    for path in paths:
        for line, name in named_files(path):
            seen.add(name)
            if not is_file(name, known):
                found.append(f'{_name(path)}:{line}: {name}: neither here '
                             f'nor in plan/{THEIRS.name}')
    found += [f'plan/{THEIRS.name}: {name}: named by nobody'
              for name in theirs()
              if not any(is_file(one, {name}) for one in seen)]
    return found


# Functions and the like.

_WORD = re.compile(r'(?:\w+::)*([a-z_]\w*)\(\)|(?:\w+::)+(\w+)|([a-z]\w*_\w+)')
_SOURCE = ('.rs', '.c', '.h', '.S', '.py', '.sh', '.patch', '.txt', '.toml')


def names(paths, ours):
    """What is named like a function, and is in no source of ours."""
    known = {name for path in ours if path.suffix in _SOURCE
             # Those of this file say what is nowhere.
             and not path.is_relative_to(env.HARNESS / 'tests')
             or path.name in ('Kconfig', 'Makefile', 'Kbuild', 'kp')
             for name in re.findall(r'\w+', path.read_text(errors='replace'))}
    # Who has it as theirs has it in a source of ours.
    known -= set(_of_theirs(names=True))
    found, seen = [], set()
    for path in paths:
        for line, word in words(path):
            if match := _WORD.fullmatch(word):
                name = match[1] or match[2] or match[3]
                if name not in known:
                    seen.add(name)
                    if name not in _of_theirs(names=True):
                        found.append(f'{_name(path)}:{line}: {word}: neither '
                                     f'here nor in plan/{THEIRS.name}')
    return found + [f'plan/{THEIRS.name}: {name}: named by nobody'
                    for name in _of_theirs(names=True) if name not in seen]


# Listings.

def _name_of(one):
    """The path in the kernel tree of what a literalinclude includes, or ''."""
    path = Path(os.path.normpath(PAGES / one.include))
    return _name(path) if path.is_relative_to(env.REPO) else ''


def _included(one):
    """(its path in the repository, what is wrong) of a literalinclude."""
    name = _name_of(one)
    if not name:
        return '', 'leads out of the kernel tree'
    path = env.REPO / name
    if name in theirs():
        # Its text is looked at by make docs.
        return name, ''
    if not path.is_file():
        return name, 'no such file'
    text = path.read_text()
    for option in ('start-at', 'start-after', 'end-before', 'end-at'):
        mark = one.options.get(option)
        if mark and mark not in text:
            return name, f'{option}: nowhere in it: {mark}'
        if mark and option.startswith('start'):
            text = text[text.index(mark) + len(mark):]
    return name, ''


def _is_built(name):
    """Do the tests compile this file?"""
    import demo
    import modules
    path = env.REPO / name
    if name.startswith('samples/'):
        return path.stem in (*demo.samples('rust'), *guests.IN_RUST)
    if path.is_relative_to(modules.EXAMPLES):
        folder = path.relative_to(modules.EXAMPLES).parts[0]
        return folder in modules.NAMES
    if path.suffix == '.rs':
        return name.startswith(('rust/', 'arch/'))
    if path.is_relative_to(env.KPROBES):
        kbuild = path.parent / 'Kbuild'
        return path.parent.name in arches.of('x86_64').modules and kbuild.exists() \
            and f'{path.stem}.o' in kbuild.read_text()
    return False


def includes(paths):
    """What is included, and is not there, or is built by nobody."""
    found = []
    for path in paths:
        for one in listings(path):
            if not one.include:
                continue
            name, wrong = _included(one)
            if not wrong and not _is_built(name):
                wrong = 'no test builds it'
            if wrong:
                found.append(f'{one.place}: {one.include}: {wrong}')
    return found


_CODE = re.compile(r'^\s*(#include|#define|static |struct |fn |impl |use |let '
                   r'|pub |int |void )|[;{]\s*$', re.M)


def _without_licence(path):
    text = path.read_text().replace('\t', ' ' * 8).split('\n', 1)[1]
    return text.strip('\n').split('\n')


def _tests():
    import results
    return {line for path in results.PLANS.glob('*.txt')
            for line in path.read_text().splitlines()}


def _said(one):
    """What is wrong with what is said of how a listing is known."""
    kind, _, rest = one.how.partition(' ')
    text = '\n'.join(one.text)
    asked = any(line.startswith('$ ') for line in one.text)
    if one.how in ('make run', 'make module'):
        if not asked:
            return 'has no line that begins with "$ "'
        return _session(one)
    if kind == 'file':
        path = env.REPO / rest
        if not path.is_file():
            return f'{rest}: no such file'
        if not _is_built(rest):
            return f'{rest}: no test builds it'
        return '' if one.text == _without_licence(path) \
            else f'{rest}: has another text'
    if asked or _CODE.search(text):
        return f'commands or code, but "{one.how}"' if one.how \
            else 'commands or code that nobody runs: include a file'
    if kind == 'test':
        return '' if any(name.endswith(rest) for name in _tests()) \
            else f'{rest}: no such test'
    return '' if one.how in ('commands', 'picture') else \
        'nothing says how it is known: see harness/documents.py'


def shown(paths):
    """What is wrong with listings that are no literalinclude."""
    return [f'{one.place}: {wrong}' for path in paths
            for one in listings(path)
            if not one.include and (wrong := _said(one))]


# Sessions in a guest.

_VARIES = re.compile(r'0x[0-9a-f]+|\b[0-9a-f]{16}\b|(?<=\s)-\d+\b|\d+\.\d+'
                     r'|(?<=\[)0\d+|\d+|\.{5}|\s+')


def pattern(line):
    """LINE, whatever addresses, times and counts there are; none stays none."""
    def replace(match):
        one = match[0]
        if one.isspace():
            return r'\s+'
        if one.startswith('0x'):
            return '0x[0-9a-f]+'
        if one == '.....':
            # What a trace says of interrupts and preemption.
            return r'[.\w#]{5}'
        if re.fullmatch(r'\d+\.\d+|0\d+', one):
            return r'[\d.]+'
        if len(one) == 16:
            return '[0-9a-f]{16}'
        if one == '0' or one.startswith('-'):
            return re.escape(one)
        return r'[1-9]\d*'
    parts, last = [], 0
    for match in _VARIES.finditer(line.rstrip()):
        parts += [re.escape(line[last:match.start()]), replace(match)]
        last = match.end()
    return ''.join(parts) + re.escape(line.rstrip()[last:]) + r'\s*'


def absent(wanted, lines):
    """The first of WANTED that is not in LINES, in that order; or ''."""
    rest = iter(lines)
    for want in wanted:
        want = want.strip().removeprefix('kernel: ')
        if not want:
            continue
        wish = re.compile(pattern(want))
        if not any(wish.fullmatch(line.strip()) for line in rest):
            return want
    return ''


def sessions(how='make run'):
    """The listings that are known by what `make run` shows."""
    return [one for path in pages() for one in listings(path)
            if one.how == how]


def unseen(lines):
    """Of these, what is not in the LINES of a guest."""
    return [f'{one.place}: {line}' for one in sessions()
            if (line := absent(one.text, lines))]


def _session(one):
    """What of the commands of a session nobody gives."""
    import demo
    import modules
    asked = [line for line in one.text if line.startswith('$ ')]
    if one.how == 'make module':
        text = [line.strip() for line in one.text]
        return '' if any(text == modules.shown(name)[1]
                         for name in modules.NAMES) \
            else 'not what modules.py looks for'
    line = absent(asked, demo.commands())
    return line and f'guest/jobs/run.sh does not give, or not then: {line}'


# Tables.

def rows(path, columns):
    """The rows of a page's list-tables that have so many COLUMNS."""
    found, cells = [], []
    for line in [*path.read_text().split('\n'), '   * - ']:
        if match := re.match(r'   (\*) - (.*)|   ( ) - (.*)', line):
            if match[1]:
                if len(cells) == columns:
                    found.append(tuple(cells))
                cells = [match[2]]
            else:
                cells.append(match[4])
        elif cells and line.startswith('       '):
            cells[-1] += ' ' + line.strip()
    return [tuple(' '.join(cell.split()) for cell in row) for row in found]


def _texts(path):
    """{name: words} of a macro that gives each value its words."""
    text = re.sub(r'\\\n\s*', '', (env.REPO / path).read_text())
    return dict(re.findall(r'^    (\w+) ?(?:\([^()]*\))?\s*=>\s*"([^"]*)",',
                           text, re.M))


def refusals():
    """{(errno, words)} of each refusal, as the code has them."""
    words_of = _texts('rust/kprobes/model/refusal.rs')
    text = (env.REPO / 'rust/kprobes/abi.rs').read_text()
    text = text[text.index('match refusal {'):text.index('fn status(')]
    found = set()
    for names, value in re.findall(
            r'((?:\|?\s*Refusal::\w+(?:\(\w+\))?\s*)+)=> ([\w:()]+),', text):
        errno = f'``-{value}``' if value.isupper() or value == 'E2BIG' \
            else 'ftrace\'s'
        found |= {(errno, words_of[name])
                  for name in re.findall(r'Refusal::(\w+)', names)}
    return found


def no_jumps():
    """{(value, words)} of what keeps a jump away."""
    words_of = _texts('rust/kprobes/model/not_optimized.rs')
    text = (env.REPO / 'rust/kprobes/abi/no_jump.rs').read_text()
    return {(f'``{value}``', words_of[name]) for name, value in re.findall(
        r'NotOptimized::(\w+)(?:\([_, ]*\))? => \w+::kprobe_no_jump_reason_'
        r'(\w+),', text)}


# Of a client's reasons in Rust, those that no refusal has.
_ONLY_OF_RUST = {'BadName', 'OtherArguments', 'TextGoes', 'NoState',
                 'MayNotWait', 'Other'}


def reasons():
    """{(reason, words)} of what a client in Rust is told."""
    return {(f'``{name}``', words) for name, words in
            _texts('rust/kernel/kprobes/refused.rs').items()}


def other_words():
    """Reasons in Rust that say something else than the refusals do."""
    known = {words for _, words in refusals()}
    return [f'refused.rs: {name}: no words of refusal.rs: {words}'
            for name, words in sorted(reasons())
            if name.strip('`') not in _ONLY_OF_RUST and words not in known]


def _figures():
    """{(what, C's, ours)} of README, as make bench counts them."""
    found = set()
    for line in (env.REPO / 'README.md').read_text().splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if len(cells) == 4 and cells[3].startswith('`make bench'):
            found.add(tuple(cells[:3]))
    return found


def tables():
    """Where a table is not what the code has, or what another one has."""
    # What is refused, why there is no jump, and Rust's reasons: two columns.
    errors = set(rows(PAGES / 'errors.rst', 2))
    figures = set(rows(PAGES / 'overhead.rst', 3))
    return [f'{name}: {"not in it" if there else "no more"}: {" | ".join(row)}'
            for name, page, code in (
                ('errors.rst', errors - {('errno', 'why'),
                                         ('reason', 'in words')},
                 refusals() | no_jumps() | reasons()),
                ('overhead.rst', figures - {('what', 'C', 'Rust')},
                 _figures()))
            for there, missing in ((True, code - page), (False, page - code))
            for row in sorted(missing)] + other_words()


# What only the kernel's source can tell.

_FUNCTION = re.compile(r'^\.\. c:function:: (.*)$', re.M)
_OPTION_OF_KERNEL = re.compile(r'CONFIG_([A-Z0-9_]+)')
_DECLARED = re.compile(r'^\s*(?:menu)?config (\w+)$', re.M)


def _flat(text):
    """TEXT without what only its looks need."""
    return re.sub(r'\s*([(),;*])\s*', r'\1', ' '.join(text.split()))


def of_kernel(tree):
    """What the pages say of the kernel in TREE, with ours in it, and is not so."""
    found = [f'plan/{THEIRS.name}: {name}: not in the kernel'
             for name in theirs() if not (tree / name).exists()]
    found += [f'plan/{THEIRS.name}: {name}: not in the kernel'
              for name in _of_theirs(names=True) if subprocess.run(
                  ['grep', '-rqw', '--include=*.[ch]', name, tree],
                  check=False).returncode]
    header = _flat((tree / 'include/linux/kprobes.h').read_text())
    options = {name for path in tree.rglob('Kconfig*') if path.is_file()
               for name in _DECLARED.findall(path.read_text(errors='replace'))}
    for path in pages():
        text = path.read_text()
        for one in _FUNCTION.findall(text):
            if _flat(one) not in header:
                found.append(f'{_name(path)}: {one}: not in <linux/kprobes.h>')
        for name in sorted(set(_OPTION_OF_KERNEL.findall(text)) - options):
            found.append(f'{_name(path)}: CONFIG_{name}: no such option')
        for one in listings(path):
            if one.include and _name_of(one) in theirs():
                text_of = (tree / _name_of(one)).read_text()
                found += [f'{one.place}: {mark}: nowhere in {one.include}'
                          for option, mark in one.options.items()
                          if option.startswith(('start', 'end'))
                          and mark not in text_of]
    return found


def run(ours):
    """All rules, as results; OURS are the files of the repository."""
    paths = pages()
    return [Result(f'check.documents.{name}', 'fail' if wrong else 'pass',
                   '\n'.join(wrong))
            for name, wrong in (
                ('commands', commands(paths)), ('files', files(paths, ours)),
                ('names', names(paths, ours)), ('includes', includes(paths)),
                ('listings', shown(paths)), ('tables', tables()))]

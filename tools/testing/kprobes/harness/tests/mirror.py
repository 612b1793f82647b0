# SPDX-License-Identifier: GPL-2.0
"""A web server that plays a mirror of Debian, with faults by rule.

Tests give it an archive of their own. As a script, `mirror.py STATE`, it stands
before the real archive until it is interrupted; what to set, and each request
that meets a fault, is printed.
"""

import contextlib
import hashlib
import http.server
import lzma
import re
import sys
import threading
import urllib.error
import urllib.request
from typing import Callable, Iterator

Archive = dict[str, bytes]
# (pattern of a path, what goes wrong): 'missing' is 404, 'stale' an index of
# another size than the Release file says, 'cut' ends in the middle of a file,
# 'silent' stops there and keeps the connection.
Rules = list[tuple[str, str]]

_REAL = 'http://deb.debian.org'
_OTHERS = '(armhf|ppc64el|s390x)'
STATES: dict[str, Rules] = {
    'good': [],
    'other-architectures-stale': [(f'/binary-{_OTHERS}/', 'stale')],
    'extra-suites-stale': [
        ('/(trixie-updates|trixie-security|forky)/main/binary-', 'stale')],
    'by-hash-missing': [('/by-hash/', 'missing')],
    'version-missing': [('/pool/.*/shellcheck_0.10', 'missing')],
    'package-missing': [('/pool/.*/flex_', 'missing')],
    'files-cut': [('/pool/.*/(flex|libllvm22|bindgen)_', 'cut')],
    'silent': [('/pool/.*/flex_', 'silent')],
    'all-stale': [('/main/binary-', 'stale')],
}


def archive(packages: dict[tuple[str, str], dict[str, bytes]]) -> Archive:
    """{(suite, architecture): {path of a package's file: its bytes}} as files."""
    files: Archive = {}
    for (suite, arch), contents in packages.items():
        index = ''
        for path, data in contents.items():
            name, version, _ = path.rsplit('/', 1)[1].split('_')
            index += (f'Package: {name}\nVersion: 1:{version}\n'
                      f'Architecture: {arch}\nMaintainer: x\n'
                      f'Filename: {path}\nSize: {len(data)}\n'
                      f'SHA256: {hashlib.sha256(data).hexdigest()}\n\n')
            files[f'/{path}'] = data
        base, release = f'/dists/{suite}', ''
        for name, data in (('Packages', index.encode()),
                           ('Packages.xz', lzma.compress(index.encode()))):
            place = f'main/binary-{arch}'
            digest = hashlib.sha256(data).hexdigest()
            files[f'{base}/{place}/{name}'] = data
            files[f'{base}/{place}/by-hash/SHA256/{digest}'] = data
            release += f' {digest} {len(data)} {place}/{name}\n'
        head = (f'Codename: {suite}\nSuite: {suite}\nComponents: main\n'
                'Date: Thu, 01 Jan 2026 00:00:00 UTC\n'
                'Acquire-By-Hash: yes\nSHA256:\n')
        files[f'{base}/Release'] = files.get(
            f'{base}/Release', head.encode()) + release.encode()
    return files


def real(path: str) -> bytes | None:
    """A file of the real archive, or None where there is no such file."""
    try:
        with urllib.request.urlopen(_REAL + path, timeout=60) as answer:
            return answer.read()
    except urllib.error.HTTPError:
        return None


class _Request(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        fault = next((fault for pattern, fault in self.server.rules
                      if re.search(pattern, self.path)), '')
        data = None if fault == 'missing' else self.server.read(self.path)
        self.server.log(f'{self.path}: {fault}' if fault else '')
        if data is None:
            self.send_error(404)
            return
        if fault == 'stale':
            data += b'\n'
        self.send_response(200)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        if fault in ('cut', 'silent'):
            data = data[:len(data) // 2]
            self.close_connection = True
        with contextlib.suppress(ConnectionError):
            self.wfile.write(data)
        if fault == 'silent':
            self.wfile.flush()
            self.server.over.wait(300)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Files that READ gives, by their path, with faults by RULES."""

    daemon_threads = True

    def __init__(self, read: Callable[[str], bytes | None], rules: Rules,
                 log: Callable[[str], object] = lambda _: None):
        super().__init__(('127.0.0.1', 0), _Request)
        self.read, self.rules, self.log = read, rules, log
        self.over = threading.Event()
        self.address = f'http://127.0.0.1:{self.server_port}'

    def handle_error(self, *_):
        """Whoever closes a connection early is a client with a timeout."""


@contextlib.contextmanager
def running(files: Archive, rules: Rules) -> Iterator[Server]:
    """A server of FILES, in a thread."""
    with Server(files.get, rules) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,),
                         daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()


if __name__ == '__main__':
    with Server(real, STATES[sys.argv[1]],
                lambda line: line and print(line, flush=True)) as proxy:
        print(f'DEBIAN_MIRROR={proxy.address}/debian '
              f'DEBIAN_SECURITY={proxy.address}/debian-security', flush=True)
        proxy.serve_forever()

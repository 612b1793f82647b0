# SPDX-License-Identifier: GPL-2.0
"""A web server that plays a mirror of Debian, with faults by rule."""

import contextlib
import hashlib
import http.server
import lzma
import re
import threading
from typing import Callable, Iterator

Archive = dict[str, bytes]
# (pattern of a path, what goes wrong): 'missing' is 404, 'stale' an index of
# another size than the Release file says, 'cut' ends in the middle of a file,
# 'silent' stops there and keeps the connection.
Rules = list[tuple[str, str]]


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
        files[f'{base}/Release'] = files.get(f'{base}/Release', head.encode()) + release.encode()
    return files


class _Request(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self) -> None:
        fault = next((fault for pattern, fault in self.server.rules
                      if re.search(pattern, self.path)), '')
        data = None if fault == 'missing' else self.server.read(self.path)
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

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    """Files that READ gives, by their path, with faults by RULES."""

    daemon_threads = True

    def __init__(self, read: Callable[[str], bytes | None], rules: Rules) -> None:
        super().__init__(('127.0.0.1', 0), _Request)
        self.read, self.rules = read, rules
        self.over = threading.Event()
        self.address = f'http://127.0.0.1:{self.server_port}'

    def handle_error(self, *_: object) -> None:
        """Whoever closes a connection early is a client with a timeout."""


@contextlib.contextmanager
def running(files: Archive, rules: Rules) -> Iterator[Server]:
    """A server of FILES, in a thread."""
    with Server(files.get, rules) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()

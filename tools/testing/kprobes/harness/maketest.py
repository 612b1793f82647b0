# SPDX-License-Identifier: GPL-2.0
"""make test: checks, host tests, then the kernels of all architectures asked for.

While a kernel is built, the guests of the one before it run.
"""

import os

import arches
import check
import checkkernel
import guests
import host
import kernel
import progress
import results
import variables
from ktap import Result
from lanes import Group, Lanes

# Minutes that all of it may take: where no kernel has been built before, and where
# all have. README.md has the same.
COLD, WARM = 60, 25
# Minutes of the checks and host tests; those of an architecture are in its record.
HOST = 13


def checks() -> list[Result]:
    """The checks of make check."""
    outcomes = check.run()
    return outcomes + results.vanished('check', outcomes)


def host_tests() -> list[Result]:
    """The tests of make host-test: all, or those that TEST names."""
    test = os.environ.get('TEST', '')
    outcomes = []
    if not test.startswith('harness.'):
        outcomes += host.rust(test.removeprefix('host.'))
    if not test.startswith('host.'):
        outcomes += host.python(test.removeprefix('harness.'))
    return outcomes if test else outcomes + results.vanished('host', outcomes)


def clients(built: kernel.Built) -> list[Result]:
    """The tests of clients that need no root of their own."""
    outcomes = guests.client_tests(built)
    return outcomes + results.vanished('clients', outcomes, built.name)


def add_kernel(lanes: Lanes, arch: str, impl: str, neutral: bool) -> None:
    """Add to LANES all that make test runs on a kernel.

    Tests that do not depend on the architecture are run if NEUTRAL.
    """
    machine = arches.of(arch)
    stormy = arch == arches.NAMES[0]  # test-all has others

    def vanished(outcomes: list[Result]) -> list[Result]:
        return results.vanished('check-kernel kunit guest' + stormy * ' storm',
                                outcomes, f'{arch}-{impl}-test')
    group = Group(arch, machine.budget, vanished)

    def build() -> list[Result]:
        built = kernel.build(arch, impl)
        paths = guests.modules(built)
        for name, boot in guests.boots(built, paths):
            lanes.guest(group, f'{arch}.{impl}.{name}', boot)
        if impl != 'rust':
            return []
        if stormy:
            lanes.guest(group, f'{arch}.{impl}.storm', lambda: guests.storm(built, paths))
        if machine.clients and neutral:
            lanes.guest(Group(arch, machine.budget), f'{arch}.{impl}.clients',
                        lambda: clients(built))
        return checkkernel.run(built, neutral)
    lanes.compile(group, f'{arch}.{impl}.build', build)


def run() -> int:
    """The command; its exit status."""
    # Refused before anything begins.
    kernels = [(arch, variables.impl_in(arch)) for arch in variables.arches()]
    tally = results.Tally()
    lanes = Lanes(tally)
    progress.limit_all(COLD, WARM)
    group = Group('check and host tests', HOST)
    lanes.compile(group, 'check.run', checks)
    lanes.guest(group, 'host.run', host_tests)
    for number, (arch, impl) in enumerate(kernels):
        add_kernel(lanes, arch, impl, number == 0)
    lanes.run()
    progress.summary()
    return tally.close()

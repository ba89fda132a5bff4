"""Run a command on a machine that keeps its processes from their work at any time.

``python tools/pauses.py [--seed N] command ...`` runs a command, stops the processes that it starts
at random, one or all of them, for 0.3 to 1.5 seconds each time, and lets them go on. It exits as
the command does. A test that fails then depends on how fast the machine is.

Its processes are known by a variable in their environment, which they inherit. Whom a test stops
itself it notes in the folder that this variable names; these are left alone, and so are launchers
of MPI above them, which pass on to their engines that they go on.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: Where tests note the processes that they stop.
VARIABLE = "DISTNB_TEST_STOPPED"

#: Seconds for which processes are stopped, and between two stops.
STOPPED, BETWEEN = (0.3, 1.5), (0.2, 1.0)

#: How the names of MPI's launchers begin.
LAUNCHERS = ("mpiexec", "mpirun", "prte")

#: One stop in so many is for all processes at once.
ALL = 4


def started(folder: str) -> list[int]:
    """Return the processes that the command has started, itself among them."""
    mark = f"{VARIABLE}={folder}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (place / "environ").read_bytes().split(b"\0"):
                found.append(int(place.name))
    return [pid for pid in found if pid != os.getpid()]


def is_stopped(pid: int) -> bool:
    """Tell whether somebody else has stopped a process, or it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "TtZX"
    except OSError:
        return True


def launcher(pid: int) -> int:
    """Return the launcher of MPI that has started a process, 0 if none has."""
    try:
        above = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        name = Path(f"/proc/{above}/comm").read_text()
    except OSError:
        return 0
    return int(above) if name.startswith(LAUNCHERS) else 0


def send(pids: list[int], number: int, folder: str) -> list[int]:
    """Send a signal to processes; return those that are left alone, as a test has stopped them."""
    left = []
    for pid in pids:
        noted = {int(name) for name in os.listdir(folder)}
        if pid in noted | {launcher(each) for each in noted}:
            left.append(pid)
            continue
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    return left


def pause(folder: str, chance: random.Random, owed: list[int]) -> int:
    """Stop some processes for a while; return how many.

    ``owed``: those that are still to go on.
    """
    pids = [pid for pid in started(folder) if not is_stopped(pid)]
    if pids and chance.randrange(ALL):
        pids = [chance.choice(pids)]
    try:
        send(pids, signal.SIGSTOP, folder)
        time.sleep(chance.uniform(*STOPPED))
    finally:
        owed[:] = send(pids + owed, signal.SIGCONT, folder)
    return len(pids)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="run a command, stop its processes now and then")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    stops, owed = 0, list[int]()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(options.command, env=os.environ | {VARIABLE: folder})
        while process.poll() is None:
            stops += pause(folder, chance, owed)
            time.sleep(chance.uniform(*BETWEEN))
        send(owed, signal.SIGCONT, folder)
    print(f"pauses: {stops} stops of processes, seed {options.seed}")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())

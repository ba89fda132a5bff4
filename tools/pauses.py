"""Run a command on a machine that keeps its processes from their work at any time.

``python tools/pauses.py [--seed N] command ...`` runs a command, stops the processes that it starts
at random, one or all of them, for 0.3 to 1.5 seconds each time, and lets them go on. It exits as
the command does. A test that fails then depends on how fast the machine is.

Its processes are known by a variable in their environment, which they inherit. Whom a test stops
itself it notes in the folder that this variable names; these are left alone, see
``tests/stopping.py``. So are launchers of MPI, always: that they go on they pass on to their
engines, some time later, and one that a test has stopped would go on too.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

#: Where tests note the processes that they stop.
VARIABLE = "DISTNB_TEST_STOPPED"

#: Seconds for which processes are stopped, and between two stops.
STOPPED, BETWEEN = (0.3, 1.5), (0.2, 1.0)

#: How the names of MPI's launchers begin.
LAUNCHERS = ("mpiexec", "mpirun", "prte", "hydra")

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
    """Tell whether a process stands still with all its threads, or has ended."""
    try:
        threads = [*Path(f"/proc/{pid}/task").glob("*/stat")]
        states = [each.read_text().rpartition(")")[2].split()[0] for each in threads]
    except OSError:  # a thread ended meanwhile
        return False
    return all(state in "TtZX" for state in states)


def is_launcher(pid: int) -> bool:
    """Tell whether a process is a launcher of MPI."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith(LAUNCHERS)
    except OSError:
        return False


@contextlib.contextmanager
def alone(folder: str) -> Iterator[None]:
    """Nobody else notes, stops or continues processes meanwhile, neither tests nor this tool.

    Who is in here is not stopped: that, too, is done in here.
    """
    place = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(place, fcntl.LOCK_UN)  # also for a process that is being forked
        os.close(place)


def send(pids: list[int], number: int, folder: str) -> None:
    """Send a signal to processes, but for those that a test has stopped: it continues them."""
    with alone(folder):
        noted = {int(name) for name in os.listdir(folder)}
        for pid in pids:
            if pid not in noted:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)


def pause(folder: str, chance: random.Random) -> int:
    """Stop some processes for a while; return how many."""
    pids = [pid for pid in started(folder) if not is_stopped(pid) and not is_launcher(pid)]
    if pids and chance.randrange(ALL):
        pids = [chance.choice(pids)]
    try:
        send(pids, signal.SIGSTOP, folder)
        time.sleep(chance.uniform(*STOPPED))
    finally:
        send(pids, signal.SIGCONT, folder)
    return len(pids)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="run a command, stop its processes now and then")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    stops = 0
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(options.command, env=os.environ | {VARIABLE: folder})
        while process.poll() is None:
            stops += pause(folder, chance)
            time.sleep(chance.uniform(*BETWEEN))
    print(f"pauses: {stops} stops of processes, seed {options.seed}")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())

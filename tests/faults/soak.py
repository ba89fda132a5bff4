"""Random programs under random faults: ``python -m tests.faults.soak SECONDS [SEED] [apart]``.

Each program has a seed of its own, which is printed with what was done to it; with a seed only that
program runs. With ``apart`` engines and notebook share no memory. Whatever is wrong ends the run:
a number that is not NumPy's, an error that no user could make anything of, a wait that does not
end, a process that is left.
"""

import contextlib
import faulthandler
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

os.environ |= {"DISTNB_CUTOFF": "0", "DISTNB_PLACE": "engines", "DISTNB_JIT": "0"}
os.environ["DISTNB_SHARED"] = "1"

import numpy as np
import pytest

import distnb as dnb
from distnb.client.recovery import shared_memory
from tests.faults.processes import below, launchers_of
from tests.faults.programs import Program
from tests.stopping import stopped

#: Seconds in which work goes on after a fault, however busy the machine is.
_PATIENCE = 150
#: Faults of each program.
_FAULTS = 4


def kill(session, chance):
    """Kill an engine, or all."""
    pids = [about["pid"] for about in session.transport.about]
    for pid in chance.choice([pids, *([pid] for pid in pids)]):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_twice(session, chance):
    """Kill engines, and soon those that are to take over."""
    kill(session, chance)
    time.sleep(chance.uniform(0, 4))
    kill_launcher(session, chance)


def kill_launcher(session, chance):
    """Kill what started the engines."""
    for pid in launchers_of(session):
        with contextlib.suppress(ProcessLookupError):  # it ends with the engines
            os.kill(pid, signal.SIGKILL)


def stop(session, chance):
    """Let an engine stand still for a while."""
    about = chance.choice(session.transport.about)
    with contextlib.suppress(ProcessLookupError), stopped(about["pid"]):
        time.sleep(chance.uniform(0, 0.3))


def press(session, chance):
    """Press Ctrl-C, maybe twice."""
    for _ in range(chance.choice([1, 2])):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(chance.uniform(0, 0.02))


def cut(session, chance):
    """Cut a socket to an engine: it, or the notebook, finds the other gone."""
    chance.choice(session.transport.sockets._channels)._socket.shutdown(socket.SHUT_RDWR)


def raises(session, full):
    """Let a function of the user's fail on one engine."""

    def fails(part):
        if part[0] < 1000:
            raise ZeroDivisionError("mine")
        return part

    with pytest.raises(ZeroDivisionError, match="mine"):
        dnb.map(fails, dnb.arange(2000.0), dtype=float).sum().item()


def asks_too_much(session, full):
    """Ask for more memory than there is."""
    with pytest.raises(MemoryError):
        dnb.ones((1 << 24, 1 << 20)).sum().item()


def fills_the_disk(session, full):
    """Write where there is no room, onto a file that is there."""
    path = full / "x.npy"
    np.save(path, np.arange(9))
    with pytest.raises(OSError, match="No space left"):
        dnb.save(path, dnb.ones(100_000))
    assert os.listdir(full) == ["x.npy"]
    np.testing.assert_array_equal(np.load(path), np.arange(9))


def restarts(session, full):
    """Let another notebook be killed, and take up what it had; return the seconds until it is there."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        command = [sys.executable, "-c", _KEPT, file.name]
        killed = subprocess.run(command, check=False, timeout=_PATIENCE)
        assert killed.returncode == -signal.SIGKILL, killed
        begun = time.monotonic()
        with np.load(file.name) as expected, dnb.attach() as again:
            again["x0"].sum().item()
            took = time.monotonic() - begun
            for name, data in expected.items():
                np.testing.assert_array_equal(again[name].to_numpy(), data, name)
    return took


#: What a notebook does that is killed.
_KEPT = """
import os, signal, sys
import numpy as np
from tests.faults.soak import Program, dnb
session = dnb.start(2, keep="2 min")
program = Program(os.getpid())
for _ in range(40):
    program.statement()
for name, x in program.dist.items():
    session[name] = x
np.savez(sys.argv[1], **program.np)
os.kill(os.getpid(), signal.SIGKILL)
"""


#: What a program does itself.
OWN = {
    "a function fails": raises,
    "too much memory": asks_too_much,
    "the disk is full": fills_the_disk,
    "a notebook killed": restarts,
}
FAULTS = {
    "engines killed": kill,
    "killed, then their launcher": kill_twice,
    "launcher killed": kill_launcher,
    "engine stopped": stop,
    "socket cut": cut,
    "Ctrl-C": press,
}


class Trial:
    """A program on a session, and what is done to it."""

    def __init__(self, session, seed, full):
        self.session, self.full = session, full
        self.chance = random.Random(seed + 1000)
        self.program = Program(seed)

    def fault(self, kind, idle):
        """Let something go wrong; return the seconds until there is a value again, and what is lost."""
        if kind in OWN:
            return self._own(kind)
        thread = threading.Thread(target=self._later, args=(kind, self.chance.uniform(0, 0.05)))
        self.done = 0.0
        if kind == "Ctrl-C":
            self._interrupted(thread)
        else:
            self._go_on(thread, idle)
        thread.join()
        self._read()
        took = time.monotonic() - self.done
        return took, self.program.check()

    def _own(self, kind):
        """Do what fails between other statements."""
        for _ in range(self.chance.randrange(1, 8)):
            with contextlib.suppress(dnb.LostArrayError):
                self.program.statement()
        self.session.flush()
        begun = time.monotonic()
        took = OWN[kind](self.session, self.full)
        self._read()
        return took or time.monotonic() - begun, self.program.check()

    def _later(self, kind, delay):
        time.sleep(delay)
        self.done = time.monotonic()
        FAULTS[kind](self.session, self.chance)

    def _go_on(self, thread, idle):
        """Compute meanwhile, or do nothing."""
        thread.start()
        end = time.monotonic() + 0.2
        while not idle and (time.monotonic() < end or thread.is_alive()):
            try:
                self.program.statement()
            except dnb.LostArrayError:
                self.program.check()

    def _interrupted(self, thread):
        """Wait for values; whatever was recorded before is done, or lost."""
        for _ in range(self.chance.randrange(1, 8)):
            with contextlib.suppress(dnb.LostArrayError):
                self.program.statement()
        while True:
            try:
                if thread.ident is None:
                    thread.start()
                while thread.is_alive():
                    self._read()
                time.sleep(0.005)
                return
            except KeyboardInterrupt:
                pass

    def _read(self):
        for name in self.program.np:
            with contextlib.suppress(dnb.LostArrayError):
                self.program.dist[name].sum().item()


def programs(session, seconds, seed, full):
    """Run programs for some time, or the one of a seed; return kind -> what each fault took, cost."""
    found = defaultdict(list)
    kinds = [*FAULTS, *(kind for kind in OWN if full or kind != "the disk is full")]
    end = time.monotonic() + seconds
    seeds = [seed] if seed is not None else iter(lambda: random.randrange(1 << 30), None)
    for each in seeds:
        trial = Trial(session, each, full)
        session.flush()
        for _ in range(_FAULTS):
            kind = trial.chance.choice(kinds)
            idle = trial.chance.random() < 0.3
            print(f"seed {each}: {kind}{', idle' * idle}", end="", flush=True)
            faulthandler.dump_traceback_later(_PATIENCE, exit=True)
            took, lost = trial.fault(kind, idle)
            faulthandler.cancel_dump_traceback_later()
            print(f": a value after {took:.2f} s, {lost} arrays lost", flush=True)
            found[kind].append((took, lost))
        if time.monotonic() > end:
            break
    return found


@contextlib.contextmanager
def own_folder():
    """Have temporary files, and notebooks that are kept, in a folder of this run alone."""
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp") as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        yield
    tempfile.tempdir = None


@contextlib.contextmanager
def small_disk():
    """Give a folder on a disk of 64 kB; None to who may not mount one."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
        mounted = not os.getuid() and not subprocess.run(mount, check=False).returncode
        try:
            yield Path(folder) if mounted else None
        finally:
            if mounted:
                subprocess.run(["umount", folder], check=True)


def main():
    """Run for some seconds, and tell what came of it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    words = sys.argv[1:]
    if "apart" in words:
        words.remove("apart")
        shared_memory.new_segment = lambda *args, **options: None
    seconds, *seed = map(int, words)
    with own_folder(), small_disk() as full, dnb.start(2) as session:
        found = programs(session, seconds, seed[0] if seed else None, full)
    print(sum(map(len, found.values())), "faults")
    for kind, outcomes in found.items():
        took, lost = zip(*outcomes, strict=True)
        median = statistics.median(took)
        print(
            f"{kind}: {len(took)}, {sum(lost)} arrays lost, median {median:.2f} s, most {max(took):.2f} s"
        )
    left = below()
    assert not left, left
    print("all is well")


if __name__ == "__main__":
    main()

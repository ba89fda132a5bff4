"""Hand-written MPI programs: NumPy or Numba on each rank, mpi4py between them.

The ranks are started once and then do what the benchmark asks. While they wait for an order they
sleep in a socket: waiting inside MPI would take the cores from others.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.peers import CALLS, Peer
from benchmarks.workloads import Arrays, Case
from distnb.client.transport.mpiexec import engine_environment, find_mpiexec, mpi_family

ROOT = Path(__file__).resolve().parents[2]
#: Seconds that ranks may take to start, and for one order.
PATIENCE = 120


class World:
    """The ranks, and a connection to each."""

    running: ClassVar[World | None] = None

    def __init__(self, ranks: int, scale: str) -> None:
        self.ranks, self.scale = ranks, scale
        self.case: Case | None = None
        with tempfile.TemporaryDirectory(prefix="distnb-bench-") as folder:
            key = secrets.token_bytes(16)
            with Listener(f"{folder}/orders", backlog=ranks, authkey=key) as listener:
                self.process = self.start(str(listener.address), key)
                self.links = self.accept(listener)

    def start(self, address: str, key: bytes) -> subprocess.Popen[bytes]:
        launcher = find_mpiexec()
        environment = engine_environment(os.environ, mpi_family(launcher), self.ranks)
        command = [launcher, "-n", str(self.ranks), sys.executable]
        command += ["-m", "benchmarks.peers.mpi_rank", address]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment | {"DISTNB_BENCH_KEY": key.hex()},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def accept(self, listener: Listener) -> list[Connection]:
        """Return the connections in the order of the ranks."""
        listener._listener._socket.settimeout(1)  # type: ignore[attr-defined]  # no public way
        found: dict[int, Connection] = {}
        deadline = time.monotonic() + PATIENCE
        while len(found) < self.ranks:
            with contextlib.suppress(TimeoutError):
                link = listener.accept()
                found[link.recv()] = link
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.terminate()
                raise RuntimeError(f"MPI ranks: got {len(found)} of {self.ranks} in time")
        return [found[rank] for rank in range(self.ranks)]

    def ask(self, *order: Any) -> list[Any]:
        """Give an order to all ranks; return their answers."""
        for link in self.links:
            link.send(order)
        answers = {}
        while len(answers) < len(self.links):
            ready = wait([link for link in self.links if link not in answers], PATIENCE)
            if not ready:
                raise TimeoutError(f"order {order[0]}: no answer in {PATIENCE} s")
            for link in ready:
                done, answer = link.recv()  # type: ignore[union-attr]
                if not done:
                    raise RuntimeError(f"order {order[0]}: {answer}")
                answers[link] = answer
        return [answers[link] for link in self.links]

    def close(self) -> None:
        World.running = None
        for link in self.links:
            link.close()  # which ends the rank
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait(10)


class Mpi(Peer):
    """One program of the ranks; both kinds share the ranks and the data."""

    kind = ""

    def __init__(self, ranks: int, scale: str) -> None:
        super().__init__(ranks, scale)
        World.running = World.running or World(ranks, scale)
        self.world = World.running

    def load(self, case: Case, arrays: Arrays) -> None:
        self.case = case
        if self.world.case is not case:  # or the other kind has loaded it
            self.world.ask("load", case.name, self.scale)
            self.world.case = case

    def prepare(self) -> None:
        self.world.ask("prepare", self.kind)

    def run(self) -> float:
        return max(self.world.ask("run"))

    def result(self) -> np.ndarray:
        parts = sorted(self.world.ask("result"), key=lambda answer: answer[0])
        whole = [part for _, part in parts if part is not None]
        return np.asarray(whole[0]) if len(whole) == 1 else np.concatenate(whole)

    def unload(self) -> None:
        if self.world.case is not None:
            self.world.ask("unload")
            self.world.case = None

    def close(self) -> None:
        if World.running is self.world:
            self.world.close()

    def without(self, case: Case) -> str | None:
        if case.settings:
            return "a setting of distnb"
        return self.reasons.get(case.name) or CALLS.get(case.workload)


class MpiNumPy(Mpi):
    """NumPy on each rank's part."""

    kind = "numpy"
    reasons = {"W10": "nothing to send: as NumPy", "W11": "no client that reads"}


class MpiNumba(Mpi):
    """Compiled loops on each rank's part."""

    kind = "numba"
    reasons = {
        "W4": "nothing to fuse: as mpi4py+NumPy",
        "W9": "nothing to fuse: as mpi4py+NumPy",
        "W10": "would compile to one operation",
        "W11": "no client that reads",
    }

"""Run the workloads for distnb and its peers, side by side: ``python -m benchmarks.run``.

All who take part run a workload in turn, round after round, so that a slow minute of the machine
hits all of them; while one runs, the others sleep. The last result of each is compared with
NumPy's. Run it with nothing else running.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import micro, peers, report
from benchmarks.peers import Peer
from benchmarks.workloads import CASES, HOLDOUT, Arrays, Case

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"

#: Seconds that one peer may take for its rounds of a case, before it gets fewer of them.
PATIENCE = 6.0
#: Seconds for threads of the one before to fall asleep; and after the warm-up, for whatever is
#: still being compiled.
PAUSE, SETTLE = 0.05, 2.0
#: Seconds of a turn: short cases run as often as fits, as in a loop of a user's. A core that rested
#: may take 0.2 s to come back to its clock.
TURN = 0.5
#: Further runs of the warm-up at most, while one takes less than this part of the one before.
WARMER, BETTER = 4, 0.9

Row = dict[str, Any]


class Contest:
    """One case, run by all peers in turn."""

    def __init__(self, case: Case, scale: str, rounds: int) -> None:
        self.case, self.scale, self.rounds = case, scale, rounds
        self.arrays: Arrays = case.data(case.size(scale))
        self.shape = self.arrays[0].shape
        self.rows: dict[str, Row] = {}
        self.running: dict[str, Peer] = {}
        #: The times of each peer's turns.
        self.turns: dict[str, list[list[float]]] = {}
        self.expected: Any = None

    def load(self, everyone: dict[str, Peer | str]) -> None:
        """Give the data to all who take part; note why others do not."""
        for name, peer in everyone.items():
            reason = peer if isinstance(peer, str) else peer.without(self.case)
            self.rows[name] = {"without": reason} if reason else {}
            if not reason:
                assert isinstance(peer, Peer)
                self.running[name] = peer
                with self.failing(name):
                    peer.load(self.case, self.arrays)

    @contextlib.contextmanager
    def failing(self, name: str) -> Iterator[None]:
        """Take a peer out of the contest when it fails."""
        try:
            yield
        except Exception as error:
            free = self.case.tried and name not in ("NumPy", "distnb")
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            self.rows[name] = {"without" if free else "error": reason}
            self.running.pop(name, None)

    def turn(self, name: str) -> list[float]:
        """Return the times of a peer's runs, one after the other; the first is after a rest."""
        peer, steps = self.running[name], (self.case.steps(self.scale) or (1,))[0]
        times: list[float] = []
        self.rest(PAUSE)
        end = time.perf_counter() + TURN * (self.scale == "full")
        while not times or time.perf_counter() < end:
            peer.prepare()
            times.append(peer.run() / steps)
        return times

    def once(self, name: str) -> float:
        return self.turn(name)[-1]

    def rest(self, pause: float) -> None:
        """Pause, where times are looked at."""
        time.sleep(pause if self.scale == "full" else 0)

    def warm_up(self) -> None:
        """Run twice, the slow ones once; then as long as it helps. Say how many rounds each gets.

        Compilers work in the background, and what they made comes in bit by bit.
        """
        for name in list(self.running):
            with self.failing(name):
                start = time.perf_counter()
                first = self.once(name)
                took = time.perf_counter() - start
                last = self.once(name) if took < PATIENCE / 3 else first
                allowed = self.rounds if took * self.rounds < PATIENCE else min(self.rounds, 3)
                self.rows[name] |= {"first": first, "rounds": 1 if took > PATIENCE else allowed}
                for _ in range(WARMER if self.scale == "full" else 0):
                    if last < BETTER * first:
                        self.rest(SETTLE)
                        first, last = last, self.once(name)
        self.rest(SETTLE)

    def measure(self) -> None:
        for number in range(self.rounds):
            for name in list(self.running):
                row = self.rows[name]
                if number < row["rounds"]:
                    with self.failing(name):
                        self.turns.setdefault(name, []).append(self.turn(name))
                        if number + 1 == row["rounds"]:
                            self.check(name)

    def check(self, name: str) -> None:
        """Compare the last result with NumPy's."""
        if self.expected is None:
            self.expected = self.reference()
        found, row = self.running[name].result(), self.rows[name]
        turns = self.turns[name]
        row["runs"] = sum(map(len, turns))
        row["times"] = [statistics.median(turn) for turn in turns]
        row["seconds"] = statistics.median(t for turn in turns for t in turn)
        row["rested"] = statistics.median(turn[0] for turn in turns)
        row["equal"] = bool(np.array_equal(found, self.expected))
        t = self.case.tolerance
        if found.shape != self.expected.shape or not np.allclose(found, self.expected, t, t):
            raise ArithmeticError("the result is not NumPy's")

    def reference(self) -> np.ndarray:
        arrays = [a.copy() if i in self.case.writes else a for i, a in enumerate(self.arrays)]
        return np.asarray(self.case.code(np, *arrays, *self.case.steps(self.scale)))

    def end(self, everyone: dict[str, Peer | str]) -> None:
        for name, peer in everyone.items():
            if isinstance(peer, Peer):
                with self.failing(name):
                    peer.unload()
        self.arrays, self.expected = (), None
        gc.collect()

    def row(self) -> Row:
        steps = self.case.steps(self.scale)
        about = {"name": self.case.name, "what": self.case.what, "shape": self.shape}
        return about | {"steps": steps[0] if steps else 0, "peers": self.rows}


def contest(case: Case, everyone: dict[str, Peer | str], scale: str, rounds: int) -> Row:
    """Run one case; return its row of the results."""
    running = Contest(case, scale, rounds)
    try:
        running.load(everyone)
        running.warm_up()
        running.measure()
    finally:
        running.end(everyone)
    return running.row()


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    cpu = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {"Python": platform.python_version()}
    for package in ("numpy", "numba", "numexpr", "dask", "distributed", "mpi4py", "ipyparallel"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "memory_gib": round(memory),
        "system": platform.system(),
        "versions": versions,
    }


def chosen(only: str, holdout: bool) -> list[Case]:
    """Return the cases asked for, by name or by workload."""
    cases = CASES + HOLDOUT if holdout else CASES
    names = [name.strip().lower() for name in only.split(",") if name.strip()]
    found = [c for c in cases if not names or {c.name.lower(), c.workload.lower()} & set(names)]
    if not found:
        raise SystemExit(f"--only: got {only!r}, expected some of {[c.name for c in cases]}")
    return found


def gathered(names: list[str], ranks: int, scale: str) -> dict[str, Peer | str]:
    """Start all peers; in place of one that cannot run, why."""
    unknown = set(names) - set(peers.PEERS)
    if unknown:
        raise SystemExit(f"--peers: got {sorted(unknown)}, expected some of {list(peers.PEERS)}")
    everyone: dict[str, Peer | str] = {}
    for name in names:
        everyone[name] = peers.missing(name) or peers.make(name, ranks, scale)
    return everyone


def everything(args: argparse.Namespace) -> dict[str, Any]:
    """Run what was asked for; return the results."""
    cases = chosen(args.only, args.holdout)
    names = [name.strip() for name in args.peers.split(",")] if args.peers else list(peers.PEERS)
    results: dict[str, Any] = {"scale": args.scale, "ranks": args.n, "rounds": args.rounds}
    results |= {"date": time.strftime("%Y-%m-%d"), "note": args.note, "machine": machine()}
    results["cases"] = rows = []
    results["micro"], results["planning"] = [], []
    everyone = gathered(names, args.n, args.scale)
    try:
        for case in cases:
            rows.append(contest(case, everyone, args.scale, args.rounds))
            save(results, args.out)  # so that an interrupted run is not lost
            print(report.line(rows[-1]), flush=True)
        if not args.only and not isinstance(ours := everyone.get("distnb", ""), str):
            results["micro"] = micro.rows(ours.session, args.rounds, args.scale)  # type: ignore[attr-defined]
            results["planning"] = micro.of_many_ranks() if args.scale == "full" else []
    finally:
        for peer in everyone.values():
            if isinstance(peer, Peer):
                peer.close()
    return results


def save(results: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=2, help="engines, ranks, threads or workers")
    parser.add_argument("--only", default="", help="cases or workloads, such as W1,'W2 sum'")
    parser.add_argument("--peers", default="", help=f"some of {', '.join(peers.PEERS)}")
    parser.add_argument("--scale", choices=["full", "small"], default="full")
    parser.add_argument("--rounds", type=int, default=5, help="measured runs, fewer if slow")
    parser.add_argument("--holdout", action="store_true", help="add the hold-out workloads")
    parser.add_argument("--note", default="", help="what else is to be known of this run")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the results")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Run everything, and write results, table and plot; fail if a result is wrong."""
    args = arguments(given)
    results = everything(args)
    save(results, args.out)
    (args.out / "table.md").write_text(report.tables(results))
    report.plot(results, args.out / "speed.png")
    print("\n" + report.tables(results))
    failed = [
        f"{row['name']}, {name}: {one['error']}"
        for row in results["cases"]
        for name, one in row["peers"].items()
        if "error" in one
    ]
    print(*failed, sep="\n")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())

"""Graphs, balance and functions of parts: ``python -m benchmarks.graphs`` prints a table.

Against SciPy in one process, and against loops written by hand with mpi4py on as many ranks. Steps
take turns and medians are compared, but for PageRank with mpi4py, which has the machine for itself.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

import distnb as dnb
from benchmarks.peers import mpi_graph
from benchmarks.sparse import rmat
from benchmarks.turns import turns
from distnb.client.transport.mpiexec import engine_environment, find_mpiexec, mpi_family

ROOT = Path(__file__).resolve().parents[1]


class Row(NamedTuple):
    """A line of the table: what was measured, what it is to be, and what it is."""

    name: str
    goal: str
    found: str


def medians(
    session: Any, rounds: int, theirs: Callable[[], object], ours: Callable[[], object]
) -> Any:
    """Return the median seconds of both, which take turns."""

    def mine() -> None:
        ours()
        session.flush()

    for _ in range(3):  # plans, loops and where large blocks lie are found out
        mine()
    return [statistics.median(found) for found in turns(rounds, theirs, mine)]


def against(name: str, goal: float, seconds: Any) -> Row:
    """Return the row of a comparison."""
    theirs, ours = seconds
    return Row(
        name, f"{goal}x", f"{theirs / ours:5.2f}x ({1e3 * theirs:.1f} / {1e3 * ours:.1f} ms)"
    )


def by_hand(ranks: int, *what: str) -> tuple[float, int]:
    """Return seconds of a round, and bytes, of a loop with mpi4py."""
    launcher = find_mpiexec()
    environment = engine_environment(os.environ, mpi_family(launcher), ranks)
    command = [launcher, "-n", str(ranks), sys.executable, "-m", "benchmarks.peers.mpi_graph"]
    run = partial(subprocess.run, cwd=ROOT, env=environment, capture_output=True, check=True)
    seconds, nbytes = json.loads(run([*command, *what]).stdout)
    return seconds, nbytes


def sent(session: Any, run: Callable[[], object]) -> int:
    """Return the bytes that engines give each other while something runs."""
    session.flush()
    window = session.start_window()
    run()
    report = session.end_window(window)
    return sum(rank.bytes for op in report.ops for rank in op.ranks)


# -- products ----------------------------------------------------------------------------------


def products(session: Any, scale: int, rounds: int) -> Iterator[Row]:
    """Yield rows of products and of PageRank."""
    a = rmat(scale)
    ours = dnb.sparse.csr_array(a, dist="nnz", session=session)
    cuts = ("irregular", ours.layout.cuts)
    x, many = np.random.default_rng(0).random(a.shape[0]), np.ones((a.shape[0], 16))
    state = {"x": dnb.array(x, dist=cuts), "theirs": x}
    several = dnb.array(many, dist=(cuts, "*"))
    n = a.shape[0]

    def theirs() -> None:
        state["theirs"] = 0.85 * (a @ state["theirs"]) + 0.15 / n

    def mine() -> None:
        state["x"] = 0.85 * (ours @ state["x"]) + 0.15 / n

    yield against("PageRank, a round", 1.7, pair := medians(session, rounds, theirs, mine))
    nbytes = sent(session, mine)
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        sp.save_npz(file.name, a, compressed=False)
        seconds, theirs_sent = by_hand(session.size, "pagerank", file.name)
    yield against("the same, mpi4py", 1.0, (seconds, pair[1]))
    yield Row("its bytes, of those by hand", "< 1", f"{nbytes / theirs_sent:.2f} ({nbytes:,})")
    y = state["x"]
    yield against("A @ x", 1.7, medians(session, rounds, lambda: a @ x, lambda: ours @ fresh(y)))
    yield against("A.T @ x", 1.7, medians(session, rounds, lambda: a.T @ x, lambda: ours.T @ y))
    yield against("A @ X", 1.7, medians(session, rounds, lambda: a @ many, lambda: ours @ several))
    ours @ y
    yield Row("bytes of a second A @ x", "0", str(sent(session, lambda: ours @ y)))


def fresh(x: Any) -> Any:
    """Write into a vector, so that it is sent again; return it."""
    x[:1] = x[:1]
    return x


# -- graphs ------------------------------------------------------------------------------------


def graphs(session: Any, scale: int, paths: int, rounds: int) -> Iterator[Row]:
    """Yield rows of triangles and shortest paths."""
    a = sp.csr_array(rmat(scale) > 0)
    links = (a + a.T).astype(np.int64)
    links.setdiag(0)
    links.eliminate_zeros()
    links.data[:] = 1
    ours = dnb.sparse.csr_array(links, dist="nnz", session=session)
    count = int(((links @ links) * links).sum()) // 6
    assert int(dnb.graph.triangles(ours)) == count
    seconds = medians(
        session, rounds, lambda: (links @ links) * links, lambda: dnb.graph.triangles(ours)
    )
    yield against(f"triangles, scale {scale}", 4.0, seconds)
    lengths = sp.csr_array(rmat(paths))
    lengths.data[:] = np.random.default_rng(1).random(lengths.nnz) + 0.01
    ways = dnb.sparse.csr_array(lengths, dist="nnz", session=session)
    seconds = medians(
        session,
        rounds,
        lambda: csgraph.dijkstra(lengths, indices=0),
        lambda: dnb.graph.shortest_paths(ways, 0),
    )
    yield against(f"shortest paths, scale {paths}", 1.5, seconds)


# -- balance -----------------------------------------------------------------------------------


def balance(session: Any, scale: int) -> Iterator[Row]:
    """Yield rows of a loop over rows that are sorted by degree."""
    a = rmat(scale)
    a = a[np.argsort(-np.diff(a.indptr), kind="stable")]
    x = dnb.array(np.random.default_rng(0).random(a.shape[0]))

    def loop(mode: str) -> tuple[list[float], Any]:
        dnb.config.rebalance = mode
        ours = dnb.sparse.csr_array(a, session=session)
        (times,) = turns(30, lambda: (ours @ fresh(x), session.flush()))
        dnb.config.rebalance = "off"
        return times, ours

    before, _ = loop("off")
    after, ours = loop("auto")
    notes = [text for _, text in session.notes][-2:]
    found = [text.split(" products")[0].split()[-1] for text in notes if "cut anew after" in text]
    yield Row("sorted by degree: most / mean", "1.05", f"{ours.layout.imbalance:.2f}")
    yield Row("found after so many products", "10", found[0] if found else "not found")
    saved = 1 - statistics.median(after[-12:]) / statistics.median(before[-12:])
    yield Row("time saved", "30 %", f"{100 * saved:.0f} %")


# -- functions of parts --------------------------------------------------------------------------


@numba.njit(nogil=True)
def means(a: Any) -> Any:
    """Return the mean of four neighbours, for the inside."""
    out = np.empty((a.shape[0] - 2, a.shape[1] - 2))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.25 * (a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2])
    return out


@numba.njit(nogil=True)
def fill_means(a: Any, out: Any) -> None:
    """Fill the inside with the mean of four neighbours."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.25 * (a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2])


def functions(session: Any, side: int, rounds: int) -> Iterator[Row]:
    """Yield rows of `foreach` and `map_blocks`."""
    numbers = dnb.arange(1000.0, session=session, dist="block").splits(1000)

    def nothing(_: Any) -> None:
        pass

    (times,) = turns(rounds + 3, lambda: dnb.foreach(nothing, numbers))
    each = statistics.median(times[3:]) / 1000
    yield Row("foreach, an empty task", "50 us", f"{1e6 * each:.1f} us")
    grid = dnb.random.default_rng(0, session=session).random((side, side), dist="block")

    other = dnb.empty_like(grid)
    ranks = session.transport.client[:]  # by hand on the same engines, in turns

    def by_turns(ours: Callable[[], object]) -> tuple[float, float]:
        theirs: list[float] = []
        found = medians(
            session,
            rounds,
            lambda: theirs.append(max(ranks.apply_sync(mpi_graph.stencil_once, side))),
            ours,
        )
        return statistics.median(theirs), found[1]

    around: Any = {"halo": 1, "boundary": "periodic"}
    for name, ours in {
        "map_blocks": lambda: dnb.map_blocks(means, grid, **around),
        "map_blocks, out=": lambda: dnb.map_blocks(fill_means, grid, out=other, **around),
        "map_blocks, in place": lambda: dnb.map_blocks(fill_means, other, out=other, **around),
    }.items():
        yield against(f"{name}, mpi4py", 0.95, by_turns(ours))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--scale", type=int, default=20, help="of the graph of products")
    parser.add_argument("--graphs", type=int, default=16, help="scale of triangles")
    parser.add_argument("--paths", type=int, default=18, help="scale of shortest paths")
    parser.add_argument("--side", type=int, default=3000, help="of the square of the stencil")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    with dnb.start(given.ranks) as session:
        for rows in (
            products(session, given.scale, given.rounds),
            balance(session, given.scale),
            graphs(session, given.graphs, given.paths, given.rounds),
            functions(session, given.side, given.rounds),
        ):
            for row in rows:
                print(f"{row.name:34} {row.goal:>6}  {row.found}", flush=True)


if __name__ == "__main__":
    main()

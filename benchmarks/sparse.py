"""Products of sparse arrays against SciPy's in one process: ``python -m benchmarks.sparse``.

An R-MAT graph, whose rows differ much in length, and the five-point formula on a square. The two
take turns, and the best times are compared: other processes of the machine take from both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import distnb as dnb
from benchmarks.turns import turns

#: The shares of the quarters of an R-MAT graph's matrix.
QUARTERS = (0.57, 0.19, 0.19, 0.05)


def rmat(scale: int, degree: int = 16) -> Any:
    """Return the graph as SciPy's array; edges that come twice are summed."""
    rng = np.random.default_rng(scale)
    edges = degree << scale
    rows, columns = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    ends = np.cumsum(QUARTERS)[:3]
    for bit in range(scale):
        quarter = np.searchsorted(ends, rng.random(edges))
        rows |= (quarter >> 1) << bit
        columns |= (quarter & 1) << bit
    return sp.coo_array((np.ones(edges), (rows, columns)), shape=(1 << scale,) * 2).tocsr()


def poisson(n: int) -> Any:
    """Return the five-point formula on a square of n x n points."""
    line = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    eye = sp.eye_array(n)
    return (sp.kron(eye, line) + sp.kron(line, eye)).tocsr()


def best(rounds: int, *steps: Callable[[], object]) -> list[float]:
    """Return the shortest times of some steps, which take turns."""
    return [min(found) for found in turns(rounds, *steps)]


def rows(a: Any, session: Any, rounds: int) -> Iterator[tuple[str, float, float]]:
    """Yield for each product its name, and the seconds of SciPy and of distnb."""
    ours = dnb.sparse.csr_array(a, dist="nnz", session=session)
    cuts = ("irregular", ours.layout.cuts)
    rng = np.random.default_rng(0)
    x, many = rng.random(a.shape[1]), rng.random((a.shape[1], 16))
    y, several = dnb.array(x, dist=cuts), dnb.array(many, dist=(cuts, "*"))

    def flushed(step: Callable[[], object]) -> Callable[[], object]:
        return lambda: (step(), session.flush())

    for name, theirs, mine in (
        ("A @ x", lambda: a @ x, lambda: ours @ y),
        ("A.T @ x", lambda: a.T @ x, lambda: ours.T @ y),
        ("A @ X, 16 columns", lambda: a @ many, lambda: ours @ several),
        ("PageRank, a round", lambda: 0.85 * (a @ x) + 0.15, lambda: 0.85 * (ours @ y) + 0.15),
    ):
        step = flushed(mine)
        for _ in range(3):  # plans, loops and where large blocks lie are found out
            step()
        scipys, found = best(rounds, theirs, step)
        yield name, scipys, found


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--scale", type=int, default=19, help="of the R-MAT graph")
    parser.add_argument("--points", type=int, default=1000, help="along a side of the square")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    with dnb.start(given.ranks) as session:
        for name, a in (("R-MAT", rmat(given.scale)), ("Poisson", poisson(given.points))):
            print(f"{name}: {a.shape[0]:,} rows, {a.nnz:,} elements, {given.ranks} engines")
            for product, scipys, found in rows(a, session, given.rounds):
                times = f"SciPy {1e3 * scipys:7.1f} ms, distnb {1e3 * found:7.1f} ms"
                print(f"  {product:20} {times}, {scipys / found:5.2f}x")


if __name__ == "__main__":
    main()

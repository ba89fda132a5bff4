"""Loops written by hand with mpi4py: ``mpiexec -n 2 python -m benchmarks.peers.mpi_graph``.

``pagerank FILE``: each rank takes its rows of SciPy's matrix in the file, and all get all of the
vector in each round (Allgatherv). ``stencil SIDE``: means of neighbours on a square of this side,
with rows of neighbours sent before. Rank 0 prints seconds of a round, and bytes, as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
from mpi4py import MPI

COMM = MPI.COMM_WORLD


def even(n: int) -> np.ndarray:
    """Return where an axis is cut among ranks."""
    return np.array([n * r // COMM.size for r in range(COMM.size + 1)])


def timed(step: Callable[[], object], rounds: int = 15) -> float:
    """Return the median seconds of a step that all ranks do."""
    found = []
    for _ in range(rounds):
        COMM.Barrier()
        start = time.perf_counter()
        step()
        COMM.Barrier()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def pagerank(name: str) -> tuple[float, int]:
    """Return seconds of a round, and the bytes that all ranks get of others."""
    whole = sp.csr_array(sp.load_npz(name))
    cuts = even(whole.shape[0])
    mine = whole[cuts[COMM.rank] : cuts[COMM.rank + 1]]
    x = np.full(whole.shape[0], 1 / whole.shape[0])
    counts = np.diff(cuts)

    def step() -> None:
        y = 0.85 * (mine @ x) + 0.15 / len(x)
        COMM.Allgatherv(y, [x, counts, cuts[:-1], MPI.DOUBLE])

    return timed(step), 8 * len(x) * (COMM.size - 1)


@numba.njit(nogil=True)
def means(a: Any, out: Any) -> None:
    """Fill the inside with the mean of four neighbours."""
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            out[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@cache
def step_of_stencil(n: int) -> Callable[[], None]:
    """Return what a rank does in a round on a ring of rows."""
    cuts = even(n)
    a = np.random.default_rng(COMM.rank).random((cuts[COMM.rank + 1] - cuts[COMM.rank] + 2, n + 2))
    out = np.zeros_like(a)
    up, down = (COMM.rank - 1) % COMM.size, (COMM.rank + 1) % COMM.size

    def step() -> None:
        COMM.Sendrecv(a[1], dest=up, recvbuf=a[-1], source=down)
        COMM.Sendrecv(a[-2], dest=down, recvbuf=a[0], source=up)
        a[:, 0], a[:, -1] = a[:, -2], a[:, 1]
        means(a, out)

    return step


def stencil_once(n: int) -> float:
    """Return seconds of one round, for those who take turns with it."""
    return timed(step_of_stencil(n), 1)


def stencil(side: str) -> tuple[float, int]:
    """Return seconds of a round on a ring of rows, and the bytes that ranks send."""
    n = int(side)
    return timed(step_of_stencil(n)), 2 * COMM.size * (n + 2) * 8


if __name__ == "__main__":
    seconds, nbytes = {"pagerank": pagerank, "stencil": stencil}[sys.argv[1]](sys.argv[2])
    if COMM.rank == 0:
        print(json.dumps([seconds, nbytes]))

"""One rank of the hand-written programs: ``mpiexec -n 2 python -m benchmarks.peers.mpi_rank``.

``PROGRAMS`` says for each case how the arrays are split, what runs, and how the ranks' results make
up the whole. The programs of both kinds are the same; only the kernels differ.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import cache, partial
from multiprocessing.connection import Client, Connection
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from benchmarks import workloads as w

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
UP = RANK - 1 if RANK else MPI.PROC_NULL
DOWN = RANK + 1 if RANK + 1 < SIZE else MPI.PROC_NULL


def bounds(n: int, rank: int = RANK) -> tuple[int, int]:
    return n * rank // SIZE, n * (rank + 1) // SIZE


# -- how arrays are split ------------------------------------------------------------------------


def rows(a: np.ndarray) -> np.ndarray:
    first, last = bounds(len(a))
    return a[first:last].copy()


def rows_and_halo(a: np.ndarray) -> np.ndarray:
    """Return the rank's rows and one more on each side that has a neighbour."""
    first, last = bounds(len(a))
    return a[max(0, first - 1) : last + 1].copy()


def own(a: np.ndarray) -> np.ndarray:
    """Return the rows without those of the neighbours."""
    return a[int(RANK > 0) : len(a) - int(RANK + 1 < SIZE)]


def first_only(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return rows(arrays[0]), *(a.copy() for a in arrays[1:])


def all_rows(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(rows(a) for a in arrays)


def with_halo(a: np.ndarray) -> tuple[np.ndarray, ...]:
    return (rows_and_halo(a),)


# -- what the ranks say to each other ------------------------------------------------------------


def exchange(a: np.ndarray) -> None:
    """Take the edge rows from the neighbours."""
    COMM.Sendrecv(a[-2], DOWN, recvbuf=a[0] if RANK else None, source=UP)
    COMM.Sendrecv(a[1], UP, recvbuf=a[-1] if RANK + 1 < SIZE else None, source=DOWN)


def everywhere(part: np.ndarray) -> np.ndarray:
    """Return all ranks' rows, on each rank."""
    part = np.ascontiguousarray(part)
    counts = COMM.allgather(part.size)
    whole = np.empty((sum(counts) // (part.size // len(part)), *part.shape[1:]), part.dtype)
    COMM.Allgatherv(part, [whole, counts])
    return whole


def added(part: Any) -> np.ndarray:
    found = np.array(part)
    COMM.Allreduce(MPI.IN_PLACE, found)
    return found


# -- programs ------------------------------------------------------------------------------------


def stencil(name: str) -> Callable[..., Any]:
    def run(k: Any, a: np.ndarray, steps: int) -> np.ndarray:
        kernel = getattr(k, name)(a)
        for _ in range(steps):
            exchange(a)
            kernel()
        return own(a)

    return run


def sor(k: Any, a: np.ndarray, steps: int) -> np.ndarray:
    first = max(0, bounds(a.shape[1])[0] - 1)  # the whole is square
    for _ in range(steps):
        for colour in (0, 1):
            exchange(a)
            k.relax(a, (colour + first) % 2)
    return own(a)


def symmetric(k: Any, m: np.ndarray) -> np.ndarray:
    """Exchange blocks of columns, each for its transpose."""
    n = m.shape[1]
    out = np.empty_like(m)
    for turn in range(SIZE):
        peer = (turn - RANK) % SIZE
        first, last = bounds(n, peer)
        mine = m[:, first:last]
        if peer == RANK:
            theirs = mine
        else:
            theirs = np.empty((last - first, len(m)))
            COMM.Sendrecv(np.ascontiguousarray(mine), peer, recvbuf=theirs, source=peer)
        k.symmetric(mine, theirs, out[:, first:last])
    return out


def power_iteration(k: Any, m: np.ndarray, v: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        v = everywhere(k.matvec(m, v))
        v /= np.sqrt(v @ v)
    return v


def kmeans(k: Any, x: np.ndarray, centres: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        sums = added(k.cluster(x, centres))
        centres = sums[:, :-1] / np.maximum(sums[:, -1:], 1.0)
    return centres


def sort(k: Any, x: np.ndarray) -> np.ndarray:
    """Sort what lies here, exchange by value, and merge: for numbers spread evenly in [0, 1)."""
    mine = np.sort(x)
    cuts = np.searchsorted(mine, np.arange(1, SIZE) / SIZE)
    counts = np.diff([0, *cuts, mine.size])
    coming = np.array(COMM.alltoall(counts.tolist()))
    got = np.empty(coming.sum())
    COMM.Alltoallv([mine, counts], [got, coming])
    got.sort(kind="stable")  # which merges runs
    return got


def weighted_sum(k: Any, *lines: np.ndarray) -> float:
    above, below = added(k.weighted(*lines))
    return above / below


class Program(NamedTuple):
    """How a case is split and run, and how the ranks' results make up the whole.

    ``order`` is 1 or -1 if they are to be put together, 0 if all are the same.
    """

    split: Callable[..., tuple[np.ndarray, ...]]
    run: Callable[..., Any]
    order: int = 1


def local(name: str, order: int = 1) -> Program:
    """Return a program without messages."""
    return Program(all_rows, lambda k, *parts: getattr(k, name)(*parts), order)


def summed(name: str) -> Program:
    return Program(all_rows, lambda k, *parts: added(getattr(k, name)(*parts)), order=0)


PROGRAMS = {
    "W1": Program(with_halo, stencil("jacobi")),
    **{f"W2 {n}": local(n) for n in ("copy", "sum1", "add0", "adda", "iadd", "sqrt")},
    "W2 flip2": local("flip2", order=-1),
    "W2 max": Program(all_rows, lambda k, a: COMM.allreduce(k.maximum(a), MPI.MAX), order=0),
    "W2 sum": summed("total"),
    "W2 sum0": summed("sum0"),
    "W2 bincount": summed("bincount"),
    "W3": local("black_scholes"),
    "W4": Program(all_rows, lambda k, a, b: a @ everywhere(b)),
    "W5": Program(all_rows, symmetric),
    "W6": Program(first_only, power_iteration, order=0),
    "W7": Program(with_halo, sor),
    "W8": Program(first_only, kmeans, order=0),
    "W9": Program(all_rows, sort),
    "H1": Program(with_halo, stencil("nine_points")),
    "H2": local("chain"),
    "H3": Program(all_rows, weighted_sum, order=0),
}


# -- kernels -------------------------------------------------------------------------------------


def with_numpy() -> SimpleNamespace:
    """Return what a rank does with NumPy: the code of the workloads, on its part."""

    def stencil(sweep: Callable[..., None]) -> Callable[..., Any]:
        return lambda a: partial(sweep, a, np.empty((a.shape[0] - 2, a.shape[1] - 2)))

    def relax(a: np.ndarray, colour: int) -> None:
        for i, j in (w.RED, w.BLACK)[colour]:
            w.relax(a, i, j)

    def average(m: np.ndarray, other: np.ndarray, out: np.ndarray) -> None:
        np.add(m, other.T, out=out)
        out *= 0.5

    def cluster(x: np.ndarray, centres: np.ndarray) -> np.ndarray:
        distances = (centres * centres).sum(axis=1) - 2.0 * (x @ centres.T)
        member = (distances.argmin(axis=1)[:, None] == np.arange(len(centres))).astype("f8")
        return np.hstack([member.T @ x, member.sum(axis=0)[:, None]])

    def weighted(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> list[float]:
        return [np.where(x > y, x * weights, y * (1.0 - weights)).sum(), weights.sum()]

    codes = {name: partial(code, np) for name, (_, code) in w.PASSES.items()}
    return SimpleNamespace(
        **codes | {"maximum": codes["max"], "total": codes["sum"]},
        jacobi=stencil(w.sweep),
        nine_points=stencil(w.nine_point_sweep),
        relax=relax,
        bincount=partial(w.bincount, np),
        black_scholes=partial(w.black_scholes, np),
        symmetric=average,
        matvec=np.matmul,
        cluster=cluster,
        chain=partial(w.chain, np),
        weighted=weighted,
    )


def with_numba() -> SimpleNamespace:
    """Return what a rank does with compiled loops."""
    from benchmarks.peers.kernels import compiled

    k = compiled(parallel=False)
    alone = {
        "jacobi": lambda a: partial(k.jacobi, a, 1),
        "nine_points": lambda a: partial(k.nine_points, a, 1),
        "sum0": lambda a: k.sum0(a, 1),
        "bincount": lambda x: k.bincount(x, 1),
        "cluster": lambda x, centres: k.cluster(x, centres, 1),
    }
    return SimpleNamespace(**vars(k) | alone)


# -- orders --------------------------------------------------------------------------------------


class Rank:
    """What this rank has loaded."""

    def __init__(self) -> None:
        self.kernels = {"numpy": cache(with_numpy), "numba": cache(with_numba)}
        self.unload()

    def load(self, name: str, scale: str) -> None:
        self.case = next(c for c in w.CASES + w.HOLDOUT if c.name == name)
        self.scale, self.program = scale, PROGRAMS[name]
        self.parts = self.program.split(*self.case.data(self.case.size(scale)))

    def prepare(self, kind: str) -> None:
        self.found = None
        self.k = self.kernels[kind]()
        writes = self.case.writes
        self.ready = [a.copy() if i in writes else a for i, a in enumerate(self.parts)]

    def run(self) -> float:
        """Run once; return the seconds from when all begin until all have ended."""
        COMM.Barrier()
        start = time.perf_counter()
        self.found = self.program.run(self.k, *self.ready, *self.case.steps(self.scale))
        COMM.Barrier()
        return time.perf_counter() - start

    def result(self) -> tuple[int, Any]:
        """Return the place of the part in the whole, and the part."""
        order = self.program.order
        return RANK * order, self.found if order or not RANK else None

    def unload(self) -> None:
        self.parts, self.ready, self.found = (), [], None


def serve(link: Connection) -> None:
    """Do what is ordered, until the other side hangs up."""
    rank = Rank()
    link.send(RANK)
    while True:
        try:
            order, *arguments = link.recv()
        except EOFError:
            return
        try:
            answer = getattr(rank, order)(*arguments)
        except Exception as error:
            traceback.print_exc()
            link.send((False, f"{type(error).__name__}: {error}"))
            COMM.Abort(1)  # the others may wait for this one
        link.send((True, answer))


if __name__ == "__main__":
    key = bytes.fromhex(os.environ["DISTNB_BENCH_KEY"])
    with Client(sys.argv[1], authkey=key) as connection:
        serve(connection)

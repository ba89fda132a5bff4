"""Those who run the workloads. A peer that cannot express one says why, and the table shows it."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workloads import Arrays, Case

#: name -> module, class, and the packages it needs.
PEERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "NumPy": ("numpy_", "NumPy", ()),
    "distnb": ("distnb_", "Distnb", ()),
    "numexpr": ("numexpr_", "Numexpr", ("numexpr",)),
    "Numba": ("numba_", "Numba", ("numba",)),
    "mpi4py+NumPy": ("mpi_", "MpiNumPy", ("mpi4py",)),
    "mpi4py+Numba": ("mpi_", "MpiNumba", ("mpi4py", "numba")),
    "dask threads": ("dask_", "Threads", ("dask",)),
    "dask.distributed": ("dask_", "Distributed", ("dask", "distributed")),
}


#: workload -> why those who are written by hand for each leave it out.
CALLS = {
    "P": "a program of array functions",
    "F1": "a call of a library",
    "I": "an index of NumPy's",
    "S": "a loop of small steps",
    **{f"L{k}": "a call of LAPACK" for k in range(1, 6)},
}


class Peer:
    """Runs one case at a time: ``load``, then ``prepare`` and ``run`` in turn, then ``unload``.

    This class runs a function of this process on the arrays themselves; others override a little.
    """

    #: case -> what runs it, called with the arrays and the number of steps.
    codes: dict[str, Callable[..., Any]] = {}
    #: case (or workload) -> why it is left out.
    reasons: dict[str, str] = {}

    def __init__(self, ranks: int, scale: str) -> None:
        self.ranks, self.scale = ranks, scale

    def without(self, case: Case) -> str | None:
        """Return why a case is left out, or None."""
        if case.settings:
            return "a setting of distnb"
        if case.name in self.codes:
            return None
        return self.reasons.get(case.name) or (self.reasons | CALLS).get(
            case.workload, "not written"
        )

    def load(self, case: Case, arrays: Arrays) -> None:
        self.case, self.found = case, None
        self.arrays: tuple[Any, ...] = tuple(self.take(a) for a in arrays)

    def take(self, array: np.ndarray) -> Any:
        """Bring an array to where the peer works."""
        return array

    def prepare(self) -> None:
        """Forget the last result, and copy what the code writes to."""
        self.found = None
        self.ready = [a.copy() if i in self.case.writes else a for i, a in enumerate(self.arrays)]

    def run(self) -> float:
        """Run once; return the seconds."""
        start = time.perf_counter()
        self.found = self.call(*self.ready, *self.case.steps(self.scale))
        return time.perf_counter() - start

    def call(self, *arguments: Any) -> Any:
        return self.codes[self.case.name](*arguments)

    def result(self) -> np.ndarray:
        return np.asarray(self.found)

    def unload(self) -> None:
        self.found = None
        self.arrays, self.ready = (), []

    def close(self) -> None:
        """End what the peer started."""


def missing(name: str) -> str | None:
    """Return which package a peer needs and does not find."""
    absent = [p for p in PEERS[name][2] if importlib.util.find_spec(p) is None]
    return f"{' and '.join(absent)} not installed" if absent else None


def make(name: str, ranks: int, scale: str) -> Peer:
    module, kind, _ = PEERS[name]
    return getattr(importlib.import_module(f"benchmarks.peers.{module}"), kind)(ranks, scale)

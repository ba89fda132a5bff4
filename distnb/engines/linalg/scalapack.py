"""Factorisations by ScaLAPACK, in MKL as it comes from PyPI, of matrices that are dealt in blocks.

A C-contiguous block of a base is, by columns, a block of the transposed matrix. So ScaLAPACK works
on the engines' blocks in place, and the routines are those for the transposed matrix: R is found as
L of it.

Its messages are its own, on a context made of the session's communicator, and it blocks in MPI. Who
entered alone would wait for ever, so ranks agree three times: that all are ready, that all have the
workspaces, and that all are back. In between no interrupt comes through (``shielded``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from distnb.common.interrupts import shielded
from distnb.engines.collectives.reductions import Tree
from distnb.engines.linalg.blacs import Context, context_of, library
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.geometry.axes import BlockCyclic
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Factors"]

_READY, _PROVIDED, _BACK = 0, 2, 4  # each takes two tags: up a tree, and down

_REAL, _INTEGER = np.dtype(np.float64), np.dtype(np.intc)


class Matrix:
    """A base as ScaLAPACK sees it: transposed, by columns."""

    def __init__(self, base: LocalBase, rank: int) -> None:
        assert base.block is not None
        self.block = base.block
        self.dtype = base.dtype
        self.columns, self.rows = base.shape
        #: How many processes the columns and rows are dealt over, and which of them this one is.
        self.grid = base.layout.grid.sizes
        self.mine = base.layout.grid.coords(rank) or (0, 0)
        self.width = next(a.k for a in base.layout.axes if isinstance(a, BlockCyclic))
        local = max(1, base.block.shape[1])
        head = 1, 0, self.rows, self.columns, self.width, self.width, 0, 0, local
        self.descriptor = np.array(head, np.intc)
        self.start = 1, 1

    def enter(self, context: Context) -> None:
        """Say in which context the matrix is."""
        self.descriptor[1] = context.number

    def part(self, row: int, column: int) -> Matrix:
        """Return the part from a row and a column on, counted from 1."""
        found = copy(self)
        found.start = row, column
        return found

    @property
    def given(self) -> tuple[Any, ...]:
        """The arguments that say it in Fortran."""
        return self.block, *self.start, self.descriptor

    def indices(self, axis: int) -> np.ndarray:
        """Return the global indices of this rank's columns (0) or rows (1)."""
        blocks, within = np.divmod(np.arange(self.block.shape[axis]), self.width)
        return (blocks * self.grid[axis] + self.mine[axis]) * self.width + within


@dataclass(frozen=True)
class Space:
    """A workspace among the arguments; ScaLAPACK says how long it must be if it is given -1."""

    dtype: np.dtype | None  # None: that of the matrix
    told: bool = True  # its length is an argument, too
    complex_only: bool = False


_WORK = Space(None)
_IWORK = Space(_INTEGER)
_RWORK = Space(_REAL, True, True)
_RWORK_ONLY = Space(_REAL, False, True)


class RoutineCall:
    """One call of a routine; the name is without its first letters, and as for real matrices."""

    def __init__(self, name: str, *given: Any) -> None:
        matrix = next(x for x in given if isinstance(x, Matrix))
        self.dtype = matrix.dtype
        self.routine = library(symbol(name, self.dtype))
        real = self.dtype.kind != "c"
        self.given = [x for x in given if not (isinstance(x, Space) and x.complex_only and real)]
        self.spaces: list[np.ndarray] = []
        self.info = ctypes.c_int(0)

    def ask(self) -> None:
        """Ask how long the workspaces must be; all ranks ask together."""
        kinds = [x for x in self.given if isinstance(x, Space)]
        self.spaces = [np.zeros(1, kind.dtype or self.dtype) for kind in kinds]
        if kinds:
            self._call(asking=True)

    def allocate(self) -> None:
        """Make the workspaces."""
        self.spaces = [np.empty(max(1, int(s[0].real)), s.dtype) for s in self.spaces]

    def run(self) -> int:
        """Call the routine; return its ``info``."""
        self._call()
        return self.info.value

    def _call(self, asking: bool = False) -> None:
        spaces = iter(self.spaces)
        found: list[Any] = []
        for x in self.given:
            if isinstance(x, Space):
                space = next(spaces)
                found += [space, -1 if asking else len(space)][: 1 + x.told]
            elif isinstance(x, Matrix):
                found += x.given
            else:
                found.append(x)
        self.routine(*(_passed(x, self.dtype) for x in found), ctypes.byref(self.info))


class Regular(RoutineCall):
    """LU, and a look at what this rank has of the diagonal of U: ``getrf`` does not always tell."""

    def __init__(self, a: Matrix, pivots: np.ndarray) -> None:
        super().__init__("getrf", a.rows, a.columns, a, pivots)
        self.matrix = a

    def run(self) -> int:
        """Factor; return whether there is a pivot of 0."""
        a, code = self.matrix, super().run()
        _, columns, rows = np.intersect1d(a.indices(0), a.indices(1), True, True)
        return code or int((a.block[columns, rows] == 0).any())


def symbol(name: str, dtype: np.dtype) -> str:
    """Return what a routine is called in the library.

    >>> symbol("syevd", np.dtype(float)), symbol("syevd", np.dtype(complex))
    ('pdsyevd_', 'pzheevd_')
    """
    if dtype.kind != "c":
        return f"pd{name}_"
    kind = {"sy": "he", "or": "un"}.get(name[:2], name[:2])
    return f"pz{kind}{name[2:]}_"


def _passed(x: Any, dtype: np.dtype) -> Any:
    """Return an argument as Fortran takes it: by reference."""
    if isinstance(x, str):
        return x.encode()
    if isinstance(x, int):
        return ctypes.byref(ctypes.c_int(x))
    if isinstance(x, float):
        x = np.array(x, dtype)
    return x.ctypes.data_as(ctypes.c_void_p)


# -- routines ----------------------------------------------------------------------------------


def _pivots(a: Matrix) -> np.ndarray:
    return np.zeros(a.block.shape[1] + a.width, np.intc)


def _cholesky(a: Matrix, triangle: str) -> list[RoutineCall]:
    n = a.rows
    rest, start = ("U", (1, 2)) if triangle == "L" else ("L", (2, 1))
    return [
        RoutineCall("potrf", triangle, n, a),
        RoutineCall("laset", rest, n - 1, n - 1, 0.0, 0.0, a.part(*start)),
    ]


def _solve(a: Matrix, b: Matrix) -> list[RoutineCall]:
    pivots = _pivots(a)
    return [
        Regular(a, pivots),
        RoutineCall("getrs", "T", a.rows, b.columns, a, pivots, b),
    ]


def _inv(a: Matrix) -> list[RoutineCall]:
    pivots = _pivots(a)
    return [
        Regular(a, pivots),
        RoutineCall("getri", a.rows, a, pivots, _WORK, _IWORK),
    ]


def _lu(a: Matrix, pivots: np.ndarray) -> list[RoutineCall]:
    return [RoutineCall("getrf", a.rows, a.columns, a, pivots)]


def _qr(a: Matrix, *q: Matrix) -> list[RoutineCall]:
    """Factor the transposed matrix into L and Q; leave what is above L as 0."""
    n, m = a.rows, a.columns
    k = min(n, m)
    tau = np.empty(max(1, a.block.shape[1]), a.dtype)
    form = [
        step
        for x in q
        for step in (
            RoutineCall("lacpy", "A", k, m, a, x),
            RoutineCall("orglq", x.rows, m, k, x, tau, _WORK),
        )
    ]
    rest = RoutineCall("laset", "U", n, m - 1, 0.0, 0.0, a.part(1, 2))
    return [RoutineCall("gelqf", n, m, a, tau, _WORK), *form, rest]


def _svd(a: Matrix, s: np.ndarray, u: Matrix, vh: Matrix) -> list[RoutineCall]:
    """Find the left vectors, which are right vectors of the transposed matrix, and the others."""
    sizes = a.rows, a.columns
    return [RoutineCall("gesvd", "V", "V", *sizes, a, s, vh, u, _WORK, _RWORK_ONLY)]


def _svdvals(a: Matrix, s: np.ndarray) -> list[RoutineCall]:
    return [RoutineCall("gesvd", "N", "N", a.rows, a.columns, a, s, a, a, _WORK, _RWORK_ONLY)]


def _eigh(a: Matrix, w: np.ndarray, z: Matrix, triangle: str) -> list[RoutineCall]:
    return [RoutineCall("syevd", "V", triangle, a.rows, a, w, z, _WORK, _RWORK, _IWORK)]


def _eigvalsh(a: Matrix, w: np.ndarray, triangle: str) -> list[RoutineCall]:
    return [RoutineCall("syev", "N", triangle, a.rows, a, w, a, _WORK, _RWORK)]


class Routine(NamedTuple):
    """Steps, made of bases (matrices and vectors) and plain arguments; what to say if one fails."""

    steps: Callable[..., list[RoutineCall]]
    error: str | None = None
    #: Which elements must be finite, for what iterates: it might never end.
    finite: bool = False


_SPECTRUM = "Eigenvalues did not converge", True

ROUTINES: dict[str, Routine] = {
    "cholesky": Routine(_cholesky, "Matrix is not positive definite"),
    "eigh": Routine(_eigh, *_SPECTRUM),
    "eigvalsh": Routine(_eigvalsh, *_SPECTRUM),
    "inv": Routine(_inv, "Singular matrix"),
    "lu": Routine(_lu),
    "qr": Routine(_qr),
    "solve": Routine(_solve, "Singular matrix"),
    "svd": Routine(_svd, "SVD did not converge", True),
    "svdvals": Routine(_svdvals, "SVD did not converge", True),
}


# -- the command -------------------------------------------------------------------------------


class Factors:
    """Run a routine on whole bases, in place.

    ``command.args`` are its name and its plain arguments, ``command.outs`` matrices and vectors.
    The first is a matrix, and every rank has a part of its grid.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        name, *self.plain = command.args
        self.routine = ROUTINES[name]
        self.bases = [store.bases[x.base] for x in command.outs]
        self.rank = store.rank
        self.tree = Tree(list(range(self.bases[0].layout.grid.size)), self.rank)

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends to agree, besides ScaLAPACK's own."""
        return self._keys(0, self.tree.children, 1)

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in to agree."""
        return self._keys(1, self.tree.children, 0)

    def _keys(self, up: int, children: list[int], down: int) -> list[Key]:
        found: list[Key] = []
        for stage in (_READY, _PROVIDED, _BACK):
            found += [(child, stage + down) for child in children]
            if self.tree.parent is not None:
                found.append((self.tree.parent, stage + up))
        return found

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Do it with all ranks: what the library waits for counts as work."""
        before = clock.switch(COMPUTE)
        shielded(lambda: self._run(exchange))
        clock.switch(before)

    def _run(self, exchange: Exchange) -> None:
        parts = [Matrix(b, self.rank) if len(b.shape) == 2 else b.block for b in self.bases]
        matrices = [x for x in parts if isinstance(x, Matrix)]
        steps = self.routine.steps(*parts, *self.plain)
        if self.routine.finite:
            self._check_diagonal(matrices[0])
        self._agree(exchange, _READY)
        context = context_of(exchange.comm, matrices[0].grid)
        for matrix in matrices:
            matrix.enter(context)
        for step in steps:
            step.ask()
        for step in steps:
            step.allocate()
        self._agree(exchange, _PROVIDED)
        codes = [step.run() for step in steps]
        self._agree(exchange, _BACK)
        self._judge(codes)

    def _check_diagonal(self, a: Matrix) -> None:
        """Raise if there is an element that is not finite where the routine would read it."""
        bad = ~np.isfinite(a.block)
        if bad.any() and self.plain:
            columns, rows = a.indices(0)[:, None], a.indices(1)
            bad &= rows >= columns if self.plain[0] == "L" else rows <= columns
        if bad.any():
            raise np.linalg.LinAlgError(self.routine.error)

    def _agree(self, exchange: Exchange, stage: int) -> None:
        """Wait until all ranks have come to a stage; raise PeerFailed if one does not."""
        word = np.ones(1, np.uint8)
        for child in self.tree.children:
            exchange.receive(child, stage, np.empty_like(word))
        if self.tree.parent is not None:
            exchange.tell(self.tree.parent, stage, word)
            exchange.receive(self.tree.parent, stage + 1, np.empty_like(word))
        for child in self.tree.children:
            exchange.tell(child, stage + 1, word)

    def _judge(self, codes: list[int]) -> None:
        bad = next((code for code in codes if code), 0)
        if bad < 0:
            raise RuntimeError(f"ScaLAPACK: got {bad}, expected 0; report this as a bug")
        if bad and self.routine.error is not None:
            raise np.linalg.LinAlgError(self.routine.error)

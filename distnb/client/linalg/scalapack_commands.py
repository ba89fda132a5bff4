"""Factorisations by ScaLAPACK, where all engines have it: matrices are dealt in blocks on a grid.

Each is one command (:mod:`distnb.engines.linalg.scalapack`). It works on the transposed matrix, for
that is how it sees the elements of a base in C order. So the routines are chosen for that matrix,
and only eigenvectors and right hand sides are transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import copied, record_collective
from distnb.client.linalg.contractions import diagonal
from distnb.client.linalg.panel_commands import determinant, logarithm
from distnb.client.record.ranges import arange
from distnb.common.config import config
from distnb.geometry.axes import BlockCyclic
from distnb.geometry.layout import (
    Ints,
    Layout,
    make_layout,
    replicated,
)
from distnb.ops import matrix_functions

__all__ = ["ROUTINES", "WIDTH"]

#: Rows and columns of a block.
WIDTH = 64


def _layout(shape: Ints, grid: Ints, size: int) -> Layout:
    """Return the layout of a matrix that is dealt in blocks on a grid."""
    return make_layout(shape, size, (("cyclic", WIDTH),) * 2, grid)


def _grid(size: int) -> Ints:
    """Return engines along rows and columns, as square as possible; there are not fewer of rows.

    >>> _grid(6), _grid(7)
    ((3, 2), (7, 1))
    """
    columns = max(n for n in range(1, size + 1) if size % n == 0 and n * n <= size)
    return size // columns, columns


def _dealt(x: Array, dtype: np.dtype | None = None) -> Array:
    """Return a copy that is dealt in blocks."""
    size = x.session.size
    return copied(
        x, matrix_functions.work_dtype(dtype or x.dtype), _layout(x.shape, _grid(size), size)
    )


def _like(x: Array, shape: Ints) -> Array:
    """Return a new matrix on the grid of another one."""
    where = _layout(shape, x.dbase.layout.grid.sizes, x.session.size)
    return create(x.session, shape, x.dtype, where, ("empty",))


def _values(x: Array) -> Array:
    """Return room for real values, as many as rows or columns, for every engine."""
    size = x.session.size
    shape = (min(x.shape),)
    return create(x.session, shape, np.dtype(np.float64), replicated(1, size), ("empty",))


def _run(name: str, parts: Sequence[Array], *args: str) -> list[Array]:
    """Record a routine that works on matrices and vectors in place."""
    record_collective("scalapack", parts, parts, (name, *args))
    return list(parts)


def _other(triangle: str) -> str:
    """Return what a triangle is in the transposed matrix."""
    return "U" if triangle.upper() == "L" else "L"


def _panels_do() -> bool:
    """Tell whether to leave it to panels, which are as quick here, and can be interrupted."""
    return config.scalapack < 2


def _cholesky(x: Array, upper: bool) -> list[Array] | None:
    if _panels_do():
        return None
    return _run("cholesky", [_dealt(x)], "L" if upper else "U")


def _solve(a: Array, b: Array) -> list[Array]:
    dtype = np.result_type(a.dtype, b.dtype)
    return [_run("solve", [_dealt(a, dtype), _dealt(b.T, dtype)])[1].T]


def _inv(x: Array) -> list[Array]:
    return _run("inv", [_dealt(x)])


def _triangle(x: Array) -> tuple[Array, Array]:
    """Return the diagonal of U, and whether each row was exchanged."""
    a, n = _dealt(x), len(x)
    grid = a.dbase.layout.grid
    # One block more on each engine is room that the routine wants.
    where = Layout(grid, (BlockCyclic(WIDTH),), (1,))
    shape = (n + grid.sizes[1] * WIDTH,)
    pivots = create(x.session, shape, np.dtype(np.intc), where, ("empty",))
    _run("lu", [a, pivots])
    return diagonal(a), pivots[:n] != arange(1, n + 1, session=x.session)


def _det(x: Array) -> list[Array]:
    return determinant(*_triangle(x))


def _slogdet(x: Array) -> list[Array]:
    return logarithm(*_triangle(x))


def _qr(x: Array, mode: str) -> list[Array] | None:
    if mode == "raw" or _panels_do():
        return None
    k = len(x) if mode == "complete" else min(x.shape)
    a = _dealt(x)
    if mode == "r":
        return [_run("qr", [a])[0][:k]]
    a, q = _run("qr", [a, _like(a, (len(x), k))])
    return [q, a[:k]]


def _svd(x: Array, full: bool) -> list[Array] | None:
    if full:
        return None  # it finds as many vectors as values
    a, k = _dealt(x), min(x.shape)
    _, s, u, vh = _run("svd", [a, _values(a), _like(a, (len(x), k)), _like(a, (k, x.shape[1]))])
    return [u, s, vh]


def _svdvals(x: Array) -> list[Array]:
    a = _dealt(x)
    return _run("svdvals", [a, _values(a)])[1:]


def _eigh(x: Array, triangle: str) -> list[Array]:
    a = _dealt(x)  # whose conjugate is what the routine sees
    _, w, z = _run("eigh", [a, _values(a), _like(a, x.shape)], _other(triangle))
    return [w, z.T.conj()]


def _eigvalsh(x: Array, triangle: str) -> list[Array]:
    a = _dealt(x)
    return _run("eigvalsh", [a, _values(a)], _other(triangle))[1:]


#: Name of a function -> what finds its results, from what is given to the function; None where
#: there is no routine.
ROUTINES: dict[str, Callable[..., Sequence[Array] | None]] = {
    "cholesky": _cholesky,
    "det": _det,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "inv": _inv,
    "qr": _qr,
    "slogdet": _slogdet,
    "solve": _solve,
    "svd": _svd,
    "svdvals": _svdvals,
}

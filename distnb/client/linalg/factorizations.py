"""Factorizations, equations and eigenvalues of matrices and stacks of them, as in ``numpy.linalg``.

Where what is done is told by :mod:`distnb.client.linalg.factorization_commands`. Results are
NumPy's up to rounding, and up to the signs that factors leave open.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import NoValue
from distnb.client.handle.array import Array
from distnb.client.linalg import panel_commands, qdwh
from distnb.client.linalg.factorization_commands import (
    ON_NODE,
    SPECTRAL,
    factored,
    triangles,
)
from distnb.client.linalg.matrix_commands import operands
from distnb.client.linalg.products import matmul as _matmul
from distnb.client.math.ufuncs import where
from distnb.client.record.creation import zeros_like
from distnb.client.record.index_arrays import eye
from distnb.client.record.namespace import stands_for
from distnb.client.shape.viewing import broadcast_to

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matrix_power",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
]


# What NumPy returns where there are several results.
_ONE = np.ones((1, 1))
_QR: Any = type(np.linalg.qr(_ONE))
_SVD: Any = type(np.linalg.svd(_ONE))
_EIG: Any = type(np.linalg.eig(_ONE))
_EIGH: Any = type(np.linalg.eigh(_ONE))
_SLOGDET: Any = type(np.linalg.slogdet(_ONE))


# -- factorizations ----------------------------------------------------------------------------


@stands_for(np.linalg.cholesky, small="home")
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Array:
    """Return the Cholesky factor of a positive definite matrix, as ``numpy.linalg.cholesky``.

    Parameters
    ----------
    a : array_like
        A Hermitian matrix, or a stack; only one triangle is read.
    upper : bool
        Return the upper factor, and read the upper triangle.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite: from the engines, when a value is read.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.linalg.cholesky(dnb.array([[4.0, 2.0], [2.0, 5.0]])).to_numpy()
    array([[2., 0.],
           [1., 2.]])
    """

    def in_panels(x: Array) -> list[Array]:
        (found,) = panel_commands.cholesky(x.T.conj() if upper else x)
        return [found.T.conj() if upper else found]

    return factored("cholesky", operands(a), (bool(upper),), None, in_panels)[0]


@stands_for(np.linalg.qr, small="wide")
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Factor matrices into Q with orthonormal columns and R, as ``numpy.linalg.qr``.

    A tall matrix stays in blocks of rows, and so does Q; every engine gets R. Sent are triangles of
    the size of R up and down a binomial tree (TSQR). Signs can differ from NumPy's.

    Parameters
    ----------
    a : array_like
        A matrix, or a stack.
    mode : {'reduced', 'complete', 'r', 'raw'}
        As in NumPy.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     a = dnb.random.default_rng(1).random((12, 2))
    ...     q, r = dnb.linalg.qr(a)
    ...     dnb.allclose(q @ r, a), q.shape, r.shape
    (True, (12, 2), (2, 2))
    """
    (x,) = operands(a)

    def large(y: Array) -> list[Array]:
        return panel_commands.qr(y, mode)

    if mode == "r":
        return factored("qr", (x,), (mode,), lambda y: triangles(y, with_q=False), large)[0]
    if mode == "raw":
        return factored("qr", (x,), (mode,))
    in_rows = (lambda y: triangles(y, with_q=True)) if mode == "reduced" else None
    return _QR(*factored("qr", (x,), (mode,), in_rows, large))


@stands_for(np.linalg.svd)
def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return singular vectors and values, as ``numpy.linalg.svd``.

    A tall matrix is factored in blocks of rows first; its left vectors stay in rows. A wide one is
    transposed. ``hermitian`` changes nothing.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.linalg.svd(dnb.eye(7, 2) * 3, full_matrices=False).S.to_numpy()
    array([3., 3.])
    """
    if not compute_uv:
        return svdvals(a)
    (x,) = operands(a)
    full = full_matrices and (x.ndim < 2 or x.shape[-2] != x.shape[-1])
    if not full and x.ndim >= 2 and x.shape[-2] < x.shape[-1]:
        v, s, uh = _reduced_svd(x.mT)
        return _SVD(uh.mT, s, v.mT)
    return _SVD(*(factored("svd", (x,), (True,)) if full else _reduced_svd(x)))


def _reduced_svd(x: Array) -> tuple[Array, ...]:
    return factored("svd", (x,), (False,), _tall_svd, qdwh.svd, SPECTRAL)


def _tall_svd(x: Array) -> list[Array]:
    q, r = triangles(x, with_q=True)
    u, s, vh = factored("svd", (r,), (False,))
    return [_matmul(q, u), s, vh]


@stands_for(np.linalg.svdvals)
def svdvals(x: ArrayLike, /) -> Array:
    """Return the singular values, the largest first; every engine gets those of a matrix."""
    (x,) = operands(x)
    flat = x.mT if x.ndim >= 2 and x.shape[-2] < x.shape[-1] else x

    def in_rows(y: Array) -> tuple[Array, ...]:
        return factored("svdvals", triangles(y, with_q=False))

    return factored("svdvals", (flat,), (), in_rows, qdwh.svdvals, SPECTRAL)[0]


@stands_for(np.linalg.eigh, small="home")
def eigh(a: ArrayLike, UPLO: str = "L") -> Any:
    """Return eigenvalues, in ascending order, and eigenvectors of Hermitian matrices."""
    return _EIGH(
        *factored("eigh", operands(a), (UPLO,), None, lambda x: qdwh.eigh(x, UPLO), SPECTRAL)
    )


@stands_for(np.linalg.eigvalsh, small="home")
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Array:
    """Return the eigenvalues of Hermitian matrices, in ascending order."""

    def large(x: Array) -> list[Array]:
        return qdwh.eigh(x, UPLO)[:1]

    return factored("eigvalsh", operands(a), (UPLO,), None, large, SPECTRAL)[0]


@stands_for(np.linalg.eig, small="home")
def eig(a: ArrayLike) -> Any:
    """Return eigenvalues and right eigenvectors of square matrices, as ``numpy.linalg.eig``.

    They are real if all are, as in NumPy: so this function waits for the engines.
    """
    (x,) = operands(a)
    w, v = factored("eig", (x,))
    return _EIG(w, v) if x.dtype.kind == "c" or not _real(w) else _EIG(w.real, v.real)


@stands_for(np.linalg.eigvals, small="home")
def eigvals(a: ArrayLike) -> Array:
    """Return the eigenvalues of square matrices; real if all are, so it waits for the engines."""
    (x,) = operands(a)
    w = factored("eigvals", (x,))[0]
    return w if x.dtype.kind == "c" or not _real(w) else w.real


def _real(w: Array) -> bool:
    """Look whether all imaginary parts are 0."""
    return not bool((w.imag != 0).any())


# -- equations ---------------------------------------------------------------------------------


@stands_for(np.linalg.solve, small="home")
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solve systems of linear equations, as ``numpy.linalg.solve``.

    Parameters
    ----------
    a : array_like
        A square matrix, or a stack.
    b : array_like
        Of one axis: a right hand side; else matrices of them.

    Raises
    ------
    LinAlgError
        If a matrix is singular: from the engines, when a value is read.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.linalg.solve(dnb.array([[2.0, 0.0], [0.0, 4.0]]), dnb.ones(2)).to_numpy()
    array([0.5 , 0.25])
    """
    x, y = operands(a, b)
    if y.ndim != 1:
        return factored("solve", (x, y), (), None, panel_commands.solve, on_node=ON_NODE)[0]
    np.linalg.solve(np.empty((0, *x.shape[-2:]), x.dtype), np.empty(y.shape, y.dtype))
    found = factored(
        "solve", (x, y.alias(y.dview.insert(1))), (), None, panel_commands.solve, on_node=ON_NODE
    )[0]
    return found.alias(found.dview.fix(found.ndim - 1, 0))


@stands_for(np.linalg.inv, small="home")
def inv(a: ArrayLike) -> Array:
    """Return the inverse of square matrices; LinAlgError comes from the engines."""
    return factored("inv", operands(a), (), None, panel_commands.inv, on_node=ON_NODE)[0]


def inv_or_nan(a: ArrayLike) -> Array:
    """Return the inverse of square matrices; of what is singular, NaN."""
    return factored("inv_or_nan", operands(a), (), None, panel_commands.inv, on_node=ON_NODE)[0]


@stands_for(np.linalg.det, small="home")
def det(a: ArrayLike) -> Array:
    """Return the determinant of square matrices."""
    return factored("det", operands(a), (), None, panel_commands.det, on_node=ON_NODE)[0]


@stands_for(np.linalg.slogdet, small="home")
def slogdet(a: ArrayLike) -> Any:
    """Return sign and logarithm of the absolute value of the determinant."""
    return _SLOGDET(
        *factored("slogdet", operands(a), (), None, panel_commands.slogdet, on_node=ON_NODE)
    )


@stands_for(np.linalg.lstsq)
def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> tuple[Any, ...]:
    """Return solution, residuals, rank and singular values, as ``numpy.linalg.lstsq``.

    A tall matrix is factored in blocks of rows first. The rank is a number, and the shape of the
    residuals depends on it, so this function waits for the engines.
    """
    x, y = operands(a, b)
    if x.ndim != 2 or y.ndim not in (1, 2):  # NumPy raises
        np.linalg.lstsq(np.empty(x.shape[:2] + (0,) * (x.ndim - 2)), np.empty((0,) * y.ndim))
    if x.shape[0] != y.shape[0]:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    columns = y if y.ndim == 2 else y.alias(y.dview.insert(1))
    eps = np.finfo(np.result_type(x.dtype, y.dtype, np.float32)).eps
    cut = float(eps * max(x.shape) if rcond is None else rcond)
    found, rank, s = factored("lstsq", (x, columns), (cut,), lambda p, q: _tall_lstsq(p, q, cut))
    known = int(rank)
    residuals = _residuals(x, found, columns) if known == x.shape[1] < x.shape[0] else None
    if y.ndim == 1:
        found = found.alias(found.dview.fix(1, 0))
    if residuals is None:
        residuals = zeros_like(s, shape=(0,))
    return found, residuals, known, s


def _tall_lstsq(a: Array, b: Array, cut: float) -> tuple[Array, ...]:
    q, r = triangles(a, with_q=True)
    return factored("lstsq", (r, _matmul(q.T.conj(), b)), (cut,))


def _residuals(a: Array, x: Array, b: Array) -> Array:
    rest = b - _matmul(a, x)
    return (rest.conj() * rest).real.sum(axis=0)


@stands_for(np.linalg.pinv)
def pinv(
    a: ArrayLike,
    rcond: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | NoValue | None = np._NoValue,
) -> Array:
    """Return the Moore-Penrose pseudo-inverse, as ``numpy.linalg.pinv``: from singular vectors."""
    (x,) = operands(a)
    numpys: Any = np.linalg.pinv  # does not know our arrays
    numpys(np.empty((0,) * x.ndim, x.dtype), rcond, hermitian, rtol=rtol)  # checks
    given: Any = rcond if rcond is not None else rtol
    if given is None or given is np._NoValue:
        given = max(x.shape[-2:]) * np.finfo(_inexact(x.dtype)).eps if rtol is None else 1e-15
    u, s, vh = svd(x.conj(), full_matrices=False)
    if not s.size:
        return _matmul(vh.mT, u.mT)
    cut = _column(given) * s.max(axis=-1, keepdims=True)
    inverse = where(s > cut, 1 / where(s > cut, s, 1), 0)
    return _matmul(vh.mT, _column(inverse) * u.mT)


def _column(x: ArrayLike) -> Any:
    """Return array-like tolerances or values with one more axis."""
    if isinstance(x, Array):
        return x.alias(x.dview.insert(x.ndim))
    return np.asarray(x)[..., None] if np.ndim(x) else x


def _inexact(dtype: np.dtype) -> np.dtype:
    return np.dtype(dtype if dtype.kind in "fc" else np.float64)


@stands_for(np.linalg.matrix_rank)
def matrix_rank(
    A: ArrayLike,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Array:
    """Return the number of singular values above a tolerance, as ``numpy.linalg.matrix_rank``."""
    (x,) = operands(A)
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if x.ndim < 2:
        return (x != 0).any().astype(np.intp)
    s = svdvals(x)
    if tol is None:
        if rtol is None:
            rtol = max(x.shape[-2:]) * np.finfo(s.dtype).eps
        largest: Array = s.max(axis=-1, keepdims=True, initial=0)
        cut = largest * _column(rtol)
    else:
        cut = _column(tol)
    return (s > cut).sum(axis=-1)


@stands_for(np.linalg.matrix_power, small="home")
def matrix_power(a: ArrayLike, n: SupportsIndex) -> Array:
    """Raise square matrices to an integer power, by repeated squaring."""
    (x,) = operands(a)
    np.linalg.matrix_power(np.empty((0, *x.shape[-2:]) if x.ndim > 1 else x.shape, x.dtype), n)
    power = operator.index(n)
    if power == 0:
        ones = eye(x.shape[-1], dtype=x.dtype, session=x.session)
        return broadcast_to(ones, x.shape).copy()
    base, power = (inv(x), -power) if power < 0 else (x, power)
    found: Any = None
    while power:
        if power & 1:
            found = base if found is None else _matmul(found, base)
        power >>= 1
        base = _matmul(base, base) if power else base
    return found.copy() if found is x else found

"""``distnb.sparse.linalg``: what SciPy's functions would bring to the notebook for.

SciPy's solvers take distributed sparse arrays, and work on vectors in the notebook. These are for
vectors that lie on engines.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

import distnb as dnb
from distnb.common.errors import explain
from distnb.left_out import listing, refusal

__all__ = ["bicgstab", "cg", "norm"]

__dir__ = listing(__all__)
__getattr__ = refusal("distnb.sparse.linalg")

#: Residual of the largest singular value, of which ten to a thousand times less is missing.
_NEAR = 1e-5


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """Return a norm of a sparse array, as ``scipy.sparse.linalg.norm``.

    By default sent is one sum of squares; for 2 what ``A @ x`` and ``A.T @ x`` send, tens to
    thousands of times, the more the nearer singular values are to each other; for others sums, or
    extremes, of rows or columns. A single norm is read: then this waits.

    Parameters
    ----------
    x : sparse array
        Of two axes.
    ord : None, 'fro', 1, -1, 2, inf, -inf, or a number with an axis
        By default the root of the sum of squares. 2 is the largest singular value, of which about a
        millionth, or less, may be missing.
    axis : int, or tuple of int, optional
        Return the norm of each row (1) or column (0), in the orders None, 0, 1, 2, inf and -inf.
        Two axes are those along which a matrix has its columns and rows, (0, 1) by default.

    Returns
    -------
    NumPy's number, or DistArray of one axis
        The norm, or norms.

    Notes
    -----
    Singular values are those of G. Golub and W. Kahan's bidiagonalization (1965), which goes on
    until the residual says that one is near enough.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     A = dnb.sparse.csr_array([[3.0, 0], [4.0, -1.0]])
    ...     float(dnb.sparse.linalg.norm(A, 1)), dnb.sparse.linalg.norm(A, axis=0).to_numpy()
    (7.0, array([5., 1.]))
    """
    x = x if dnb.sparse.issparse(x) else dnb.sparse.csr_array(x)
    axes = _axes(x, axis)
    if len(axes) == 1:
        return _along(abs(x), ord, axes[0])
    if ord in (None, "fro", "f"):
        return np.asarray(dnb.linalg.norm(x._summed().data))[()]
    if ord == 2:
        return _largest(x.tocsr() if x.format == "coo" else x)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    sums = abs(x).sum(axis=axes[0] if abs(ord) == 1 else axes[1])
    return np.asarray(sums.max() if ord > 0 else sums.min())[()]


def _largest(x: Any) -> Any:
    """Return the largest singular value, by products with a vector, in double precision.

    Products with an array and its transposed, by turns, make a symmetric matrix of two diagonals:
    its eigenvalues become singular values, with the distance from one at most the residual.
    """
    from scipy.linalg import eigh_tridiagonal

    if 0 in x.shape:
        raise ValueError("`A` must not be empty.")
    found = np.zeros((), x.dtype if x.dtype.kind in "fc" else np.float64).real
    y = dnb.random.default_rng(0, session=x.session).normal(size=x.shape[1])
    y, before, beside, due = y / _length(y), None, [0.0], 0
    for k in range(20 * min(x.shape) + 20):  # without rounding, twice the least length suffice
        z = x.rmatvec(y) if k % 2 else x.matvec(y)
        z = z if before is None else z - beside[-1] * before
        beside.append(_length(z))
        if not np.isfinite(beside[-1]):
            return found.dtype.type(np.nan)
        if k >= due or not beside[-1]:  # it takes longer than a product of few elements
            values, vectors = eigh_tridiagonal(np.zeros(k + 1), beside[1:-1], False, "i", (k, k))
            found[...] = values[0]
            if beside[-1] * abs(vectors[-1, 0]) <= _NEAR * values[0]:
                break
            due = k + 1 + k // 20
        before, y = y, z / beside[-1]
    return found[()]


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    """Return one axis or two, from 0 on; raises what SciPy raises of others."""
    named = (0, 1) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    try:
        given = tuple([index(d) for d in named])
    except TypeError as error:
        raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    if len(given) not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    if not all(-2 <= d < 2 for d in given):
        raise ValueError(f"Invalid axis {given!r} for an array with shape {x.shape!r}")
    axes = tuple([d % 2 for d in given])
    if axes in ((0, 0), (1, 1)):
        raise ValueError("Duplicate axes given.")
    return axes


def _along(size: Any, ord: Any, axis: Any) -> Any:
    """Return norms of rows or columns."""
    if ord in (None, 2):
        return np.sqrt((size * size).sum(axis=axis))
    if ord == 0:
        return (size != 0).astype(np.int64).sum(axis=axis)
    if ord == 1:
        return size.sum(axis=axis)
    if ord in (np.inf, -np.inf):
        found = size.max(axis=axis) if ord > 0 else size.min(axis=axis)
        return found.toarray()
    if isinstance(ord, str):
        raise ValueError("Invalid norm order for vectors.")
    return size.power(ord).sum(axis=axis) ** (1 / ord)


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], object] | None = None,
) -> tuple[Any, int]:
    """Solve ``A @ x = b`` for a symmetric positive definite ``A`` by conjugate gradients.

    Parameters
    ----------
    A : sparse or dense array, (n, n)
        Whatever has ``@``.
    b, x0 : array, (n,)
        The right-hand side, and where to begin: by default at 0.
    rtol, atol : float
        It ends when ``norm(b - A @ x) <= max(rtol * norm(b), atol)``.
    maxiter : int, optional
        At most so many steps, by default ``10 * n``.
    M : sparse or dense array, (n, n), optional
        The preconditioner: near to the inverse of ``A``.
    callback : function, optional
        Is called with ``x`` after each step.

    Returns
    -------
    x : DistArray, (n,)
        The solution, as ``b``.
    info : int
        0, or the number of steps if these did not suffice.

    Notes
    -----
    A step is a product, which sends what ``A @ x`` sends, and numbers that come to the notebook:
    this waits. M. Hestenes, E. Stiefel, 1952.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     A = dnb.sparse.diags_array([2.0, 4.0, 8.0])
    ...     x, info = dnb.sparse.linalg.cg(A, dnb.ones(3))
    ...     x.to_numpy().round(6), info
    (array([0.5  , 0.25 , 0.125]), 0)
    """
    b, x, enough, steps = _begin(A, b, x0, rtol, atol, maxiter)
    r = b - A @ x
    p, rho = None, 1.0
    for _ in range(steps):
        if _length(r) <= enough:
            return x, 0
        z = r if M is None else M @ r
        before, rho = rho, _inner(r, z)
        p = z if p is None else z + (rho / before) * p
        q = A @ p
        step = rho / _inner(p, q)
        x, r = x + step * p, r - step * q
        if callback is not None:
            callback(x)
    return x, 0 if _length(r) <= enough else steps


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], object] | None = None,
) -> tuple[Any, int]:
    """Solve ``A @ x = b`` for any square ``A`` by stabilized biconjugate gradients.

    Parameters
    ----------
    A, b, x0, rtol, atol, maxiter, M, callback
        As for :func:`cg`; ``A`` need not be symmetric.

    Returns
    -------
    x : DistArray, (n,)
        The solution.
    info : int
        0, the number of steps if these did not suffice, or -10 or -11 if it broke down.

    Notes
    -----
    A step is two products, which send what ``A @ x`` sends, and numbers that come to the notebook:
    this waits. H. van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     A = dnb.sparse.csr_array([[2.0, 1.0], [0.0, 4.0]])
    ...     x, info = dnb.sparse.linalg.bicgstab(A, dnb.asarray([3.0, 4.0]))
    ...     x.to_numpy().round(6), info
    (array([1., 1.]), 0)
    """
    b, x, enough, steps = _begin(A, b, x0, rtol, atol, maxiter)
    r = b - A @ x
    shadow, p, v = r, None, np.zeros(())
    rho = alpha = omega = 1.0
    nothing = np.finfo(b.dtype).eps ** 2  # SciPy's
    for _ in range(steps):
        if _length(r) <= enough:
            return x, 0
        before, rho = rho, _inner(shadow, r)
        if abs(rho) < nothing:
            return x, -10
        if abs(omega) < nothing:
            return x, -11
        p = r if p is None else r + (rho / before) * (alpha / omega) * (p - omega * v)
        y = p if M is None else M @ p
        v = A @ y
        towards = _inner(shadow, v)
        if towards == 0:
            return x, -11
        alpha = rho / towards
        s = r - alpha * v
        z = s if M is None else M @ s
        t = A @ z
        size = _inner(t, t)
        omega = _inner(t, s) / size if size else 0.0
        x, r = x + alpha * y + omega * z, s - omega * t
        if callback is not None:
            callback(x)
    return x, 0 if _length(r) <= enough else steps


def _begin(
    A: Any, b: Any, x0: Any, rtol: float, atol: float, maxiter: int | None
) -> tuple[Any, Any, float, int]:
    """Return the right-hand side, where to begin, what is near enough, and how many steps."""
    b = dnb.asarray(b)
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"expected square matrix, but got shape={A.shape}")
    if b.shape != (A.shape[0],):
        raise ValueError(explain("b", f"shape {b.shape}", f"({A.shape[0]},)", "solve for one"))
    kind = np.result_type(A.dtype, b.dtype, np.float64 if b.dtype.kind in "biu" else b.dtype)
    kind = kind if kind.kind in "fc" else np.dtype(np.float64)
    b = b.astype(kind)
    x = dnb.zeros_like(b) if x0 is None else dnb.asarray(x0, dtype=kind).copy()
    if x.shape != b.shape:
        raise ValueError(explain("x0", f"shape {x.shape}", f"{b.shape}", "as b"))
    steps = 10 * len(b) if maxiter is None else maxiter
    size = _length(b)
    return b, x if size else dnb.zeros_like(b), max(rtol * size, atol), steps


def _inner(x: Any, y: Any) -> Any:
    return np.asarray(dnb.vdot(x, y))[()]


def _length(x: Any) -> float:
    return float(np.sqrt(abs(_inner(x, x))))

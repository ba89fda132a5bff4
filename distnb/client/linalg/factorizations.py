"""Factorizations, equations and eigenvalues of matrices and stacks of them, as in ``numpy.linalg``.

Where what is done is told by :mod:`distnb.client.linalg.factorization_commands`. Results are
NumPy's up to rounding, and up to the signs that factors leave open. Up to 4 MB that the notebook
has in reach, NumPy does itself where engines would send it all to one of them.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.batching.call_sites import from_users_line
from distnb.client.handle.arguments import NoValue
from distnb.client.handle.array import Array
from distnb.client.linalg import panel_commands, qdwh
from distnb.client.linalg.factorization_commands import (
    ON_NODE,
    SPECTRAL,
    factored,
    is_few,
    too_large,
    triangles,
)
from distnb.client.linalg.matrix_commands import operands
from distnb.client.linalg.products import matmul as _matmul
from distnb.client.math.ufuncs import where
from distnb.client.reach.whole_functions import step
from distnb.client.record.creation import zeros_like
from distnb.client.record.index_arrays import eye
from distnb.client.record.namespace import stands_for
from distnb.client.select.ordering import argsort
from distnb.client.select.sorting import sort
from distnb.client.select.taking import take_along_axis
from distnb.client.shape.viewing import broadcast_to
from distnb.ops import matrix_functions

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


@stands_for(np.linalg.cholesky, small="products")
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Array:
    """Return the Cholesky factor of a positive definite matrix.

    Stacks are factored where they lie. A matrix that is split goes to one engine, and the factor
    comes back in the default layout; one larger than ``config.alone`` is dealt in panels of
    columns, and each panel is sent to all engines while these update theirs.

    Parameters
    ----------
    a : array_like
        A Hermitian matrix, or a stack; only one triangle is read.
    upper : bool
        Return the upper factor, and read the upper triangle.

    Returns
    -------
    DistArray
        L of ``L @ L.conj().T``, or U of ``U.conj().T @ U``; zeros in the other triangle.

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


@stands_for(np.linalg.qr, small="factors")
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Factor matrices into Q with orthonormal columns and R, an upper triangle.

    A tall matrix stays in blocks of rows, and so does Q; every engine gets R. Sent are triangles of
    the size of R up and down a binomial tree (TSQR). Others are factored as by :func:`cholesky`: by
    one engine, or in panels. Signs can differ from NumPy's.
    One of at most ``config.cutoff`` bytes is factored by a single engine, or in the notebook.

    Parameters
    ----------
    a : array_like
        A matrix, or a stack.
    mode : {'reduced', 'complete', 'r', 'raw'}
        Whether Q has as many columns as R has rows, or is square; or R alone; or LAPACK's own.

    Returns
    -------
    Q, R : DistArray
        The factors, as a named tuple; R alone for mode 'r', ``h`` and ``tau`` for 'raw'.

    References
    ----------
    J. Demmel, L. Grigori, M. Hoemmen, J. Langou, "Communication-optimal parallel and sequential QR
    and LU factorizations", SIAM J. Sci. Comput. 34, 2012.

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
    if mode in ("f", "full", "e", "economic"):  # names of before, of which NumPy warns
        from_users_line(np.linalg.qr, _ONE, mode)
        return qr(x) if mode[0] == "f" else qr(x, "raw")[0].mT

    def large(y: Array) -> list[Array]:
        return panel_commands.qr(y, mode)

    if mode == "r":
        return factored("qr", (x,), (mode,), lambda y: triangles(y, with_q=False), large)[0]
    if mode == "raw":
        return factored("qr", (x,), (mode,))
    in_rows = (lambda y: triangles(y, with_q=True)) if mode == "reduced" else None
    return _QR(*factored("qr", (x,), (mode,), in_rows, large))


@stands_for(np.linalg.svd, small="factors", near=matrix_functions.svd)
def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return singular vectors and singular values of matrices.

    A tall matrix is factored in blocks of rows first, as by :func:`qr`: its left vectors stay in
    rows, and all engines get the others. A wide one is transposed. Else one engine computes, and
    sends vectors back in the default layout; matrices larger than 16 times ``config.alone`` are
    divided by all engines, which read sizes on the way: then this waits.

    Parameters
    ----------
    a : array_like
        A matrix, or a stack.
    full_matrices : bool
        Return square matrices of vectors, not only as many vectors as singular values.
    compute_uv : bool
        False returns the singular values alone, as :func:`svdvals`.
    hermitian : bool
        Whether only the lower triangles are read, of symmetric or Hermitian matrices: singular
        values are those of :func:`eigh` without their signs, and sent is what that sends.

    Returns
    -------
    U, S, Vh : DistArray
        A named tuple with ``a == U * S @ Vh``, the largest singular value first; every engine gets
        those of a matrix.

    References
    ----------
    Y. Nakatsukasa, N. Higham, "Stable and efficient spectral divide and conquer algorithms for the
    symmetric eigenvalue decomposition and the SVD", SIAM J. Sci. Comput. 35, 2013.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.linalg.svd(dnb.eye(7, 2) * 3, full_matrices=False).S.to_numpy()
    array([3., 3.])
    """
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    if not compute_uv:
        return svdvals(a)
    (x,) = operands(a)
    full = full_matrices and (x.ndim < 2 or x.shape[-2] != x.shape[-1])
    wide = not full and x.ndim >= 2 and x.shape[-2] < x.shape[-1]
    if wide and (not is_few(x) or too_large(x, SPECTRAL)):
        v, s, uh = _reduced_svd(x.mT)
        return _SVD(uh.mT, s, v.mT)
    return _SVD(*(factored("svd", (x,), (True,)) if full else _reduced_svd(x)))


def _hermitian_svd(a: ArrayLike, compute_uv: bool) -> Any:
    """Return what eigenvalues and eigenvectors tell: singular vectors have the signs."""
    if not compute_uv:
        return sort(np.abs(eigvalsh(a)), axis=-1)[..., ::-1]
    values, vectors = eigh(a)
    order = argsort(np.abs(values), axis=-1)[..., ::-1]
    values = take_along_axis(values, order, -1)
    u = take_along_axis(vectors, order[..., None, :], -1)
    signs = np.copysign(1.0, values)
    return _SVD(u, np.abs(values), (u * signs[..., None, :]).mT.conj())


def _reduced_svd(x: Array) -> tuple[Array, ...]:
    return factored("svd", (x,), (False,), _tall_svd, qdwh.svd, SPECTRAL)


def _tall_svd(x: Array) -> list[Array]:
    q, r = triangles(x, with_q=True)
    u, s, vh = factored("svd", (r,), (False,))
    return [_matmul(q, u), s, vh]


@stands_for(np.linalg.svdvals, small="products")
def svdvals(x: ArrayLike, /) -> Array:
    """Return the singular values of matrices, the largest first.

    Found as by :func:`svd`, without vectors: of a tall matrix, triangles are sent up and down a
    tree.

    Parameters
    ----------
    x : array_like
        A matrix, or a stack.

    Returns
    -------
    DistArray
        Along the last axis; every engine gets those of a matrix.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.svdvals(3 * dnb.eye(7, 2, dist="block")).to_numpy()
    array([3., 3.])
    """
    (x,) = operands(x)
    flat = x.mT if x.ndim >= 2 and x.shape[-2] < x.shape[-1] else x

    def in_rows(y: Array) -> tuple[Array, ...]:
        return factored("svdvals", triangles(y, with_q=False))

    return factored("svdvals", (flat,), (), in_rows, qdwh.svdvals, SPECTRAL)[0]


@stands_for(np.linalg.eigh, small="products")
def eigh(a: ArrayLike, UPLO: str = "L") -> Any:
    """Return eigenvalues and eigenvectors of Hermitian matrices.

    Stacks are solved where they lie. A matrix that is split goes to one engine, and vectors come
    back in the default layout; one larger than 16 times ``config.alone`` is divided by all engines,
    as by :func:`svd`: then this waits.

    Parameters
    ----------
    a : array_like
        A Hermitian matrix, or a stack.
    UPLO : {'L', 'U'}
        Which triangle is read.

    Returns
    -------
    eigenvalues, eigenvectors : DistArray
        A named tuple. Eigenvalues are in ascending order, and every engine gets those of a matrix;
        columns are vectors.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.array([[2.0, 1.0], [1.0, 2.0]], dist="block")
    ...     dnb.linalg.eigh(a).eigenvalues.to_numpy()
    array([1., 3.])
    """
    return _EIGH(
        *factored("eigh", operands(a), (UPLO,), None, lambda x: qdwh.eigh(x, UPLO), SPECTRAL)
    )


@stands_for(np.linalg.eigvalsh, small="products")
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Array:
    """Return the eigenvalues of Hermitian matrices, in ascending order.

    Found as by :func:`eigh`, which sends the same but for vectors.

    Parameters
    ----------
    a : array_like
        A Hermitian matrix, or a stack.
    UPLO : {'L', 'U'}
        Which triangle is read.

    Returns
    -------
    DistArray
        Along the last axis; every engine gets those of a matrix.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.eigvalsh(dnb.array([[2.0, 1.0], [1.0, 2.0]], dist="block")).to_numpy()
    array([1., 3.])
    """

    def large(x: Array) -> list[Array]:
        return qdwh.eigh(x, UPLO)[:1]

    return factored("eigvalsh", operands(a), (UPLO,), None, large, SPECTRAL)[0]


@stands_for(np.linalg.eig, small="home")
def eig(a: ArrayLike) -> Any:
    """Return eigenvalues and right eigenvectors of square matrices.

    Stacks are solved where they lie. A matrix that is split goes to one engine, however large it
    is, and vectors come back in the default layout. Whether all eigenvalues are real is read: this
    waits.

    Parameters
    ----------
    a : array_like
        A square matrix, or a stack.

    Returns
    -------
    eigenvalues, eigenvectors : DistArray
        A named tuple; real if all eigenvalues are. Every engine gets those of a matrix; columns are
        vectors.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.array([[2.0, 1.0], [0.0, 3.0]], dist="block")
    ...     dnb.linalg.eig(a).eigenvalues.to_numpy()
    array([2., 3.])
    """
    (x,) = operands(a)
    found = step(np.linalg.eig, _pairs, "factors", (x,), {})
    if found is not None:
        return found
    w, v = _pairs(x)
    return _EIG(w, v) if x.dtype.kind == "c" or not _real(w) else _EIG(w.real, v.real)


@stands_for(np.linalg.eigvals, small="home")
def eigvals(a: ArrayLike) -> Array:
    """Return the eigenvalues of square matrices.

    Found as by :func:`eig`, without vectors: this waits, too.

    Parameters
    ----------
    a : array_like
        A square matrix, or a stack.

    Returns
    -------
    DistArray
        Along the last axis, real if all are; every engine gets those of a matrix.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.eigvals(dnb.array([[0.0, -1.0], [1.0, 0.0]], dist="block")).to_numpy()
    array([0.+1.j, 0.-1.j])
    """
    (x,) = operands(a)
    found = step(np.linalg.eigvals, _values, "factors", (x,), {})
    if found is not None:
        return found
    w = _values(x)
    return w if x.dtype.kind == "c" or not _real(w) else w.real


def _pairs(x: Array) -> Any:
    """Return eigenvalues and vectors as complex numbers, of which nothing is read."""
    return factored("eig", (x,))


def _values(x: Array) -> Array:
    """Return eigenvalues as complex numbers, of which nothing is read."""
    return factored("eigvals", (x,))[0]


def _real(w: Array) -> bool:
    """Look whether all imaginary parts are 0."""
    return not bool((w.imag != 0).any())


# -- equations ---------------------------------------------------------------------------------


@stands_for(np.linalg.solve, small="products")
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solve systems of linear equations.

    Stacks are solved where they lie. A matrix that is split goes to one engine with the right hand
    sides, and solutions come back in the default layout. One larger than ``config.alone`` (16
    times, if all engines share a node that has the memory) is dealt in panels of columns with
    partial pivoting: each panel is sent to all engines, while these update theirs and the right
    hand sides.

    Parameters
    ----------
    a : array_like
        A square matrix, or a stack.
    b : array_like
        Of one axis: a right hand side; else matrices of them.

    Returns
    -------
    DistArray
        The solutions, of the shape of ``b``.

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


@stands_for(np.linalg.inv, small="products")
def inv(a: ArrayLike) -> Array:
    """Return the inverse of square matrices.

    Layout and messages are those of :func:`solve` for the columns of the identity.

    Parameters
    ----------
    a : array_like
        A square matrix, or a stack.

    Returns
    -------
    DistArray
        Of the same shape.

    Raises
    ------
    LinAlgError
        If a matrix is singular: from the engines, when a value is read.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.inv(dnb.array([[2.0, 0.0], [0.0, 4.0]], dist="block")).to_numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return factored("inv", operands(a), (), None, panel_commands.inv, on_node=ON_NODE)[0]


def inv_or_nan(a: ArrayLike) -> Array:
    """Return the inverse of square matrices; of what is singular, NaN."""
    return factored("inv_or_nan", operands(a), (), None, panel_commands.inv, on_node=ON_NODE)[0]


@stands_for(np.linalg.det, small="products", scalar=True)
def det(a: ArrayLike) -> Array:
    """Return the determinant of square matrices.

    The matrix is factored as by :func:`solve`, which sends the same but for right hand sides.

    Parameters
    ----------
    a : array_like
        A square matrix, or a stack.

    Returns
    -------
    DistArray
        A number that every engine gets, or one for each matrix of a stack.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     round(float(dnb.linalg.det(2 * dnb.eye(3, dist="block"))), 6)
    8.0
    """
    return factored("det", operands(a), (), None, panel_commands.det, on_node=ON_NODE)[0]


@stands_for(np.linalg.slogdet, small="products", scalar=True)
def slogdet(a: ArrayLike) -> Any:
    """Return sign and logarithm of the absolute value of the determinant.

    The matrix is factored as by :func:`solve`, which sends the same but for right hand sides.

    Parameters
    ----------
    a : array_like
        A square matrix, or a stack.

    Returns
    -------
    sign, logabsdet : DistArray
        A named tuple of numbers that every engine gets, or of one for each matrix of a stack; 0 and
        -inf for a singular one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     sign, size = dnb.linalg.slogdet(1e200 * dnb.eye(4, dist="block"))
    ...     float(sign), round(float(size), 3)
    (1.0, 1842.068)
    """
    return _SLOGDET(
        *factored("slogdet", operands(a), (), None, panel_commands.slogdet, on_node=ON_NODE)
    )


@stands_for(np.linalg.lstsq, small="factors", near=matrix_functions.lstsq)
def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> tuple[Any, ...]:
    """Return the solution of least squares, residuals, rank and singular values.

    A tall matrix is factored in blocks of rows first, as by :func:`qr`, and every engine gets the
    solution; else one engine computes. The rank is a number, and the shape of the residuals depends
    on it: this waits.

    Parameters
    ----------
    a : array_like
        A matrix.
    b : array_like
        Of one axis: a right hand side; of two: one in each column.
    rcond : float, optional
        Singular values below this share of the largest count as zero; by default the precision
        times the larger length of ``a``.

    Returns
    -------
    x : DistArray
        The solutions, of shape ``(a.shape[1],)`` or ``(a.shape[1], b.shape[1])``.
    residuals : DistArray
        Sums of squares of ``b - a @ x``; without elements if the rank is less than the columns, or
        there are no more rows.
    rank : int
        How many singular values count.
    s : DistArray
        The singular values.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.stack([dnb.arange(6.0, dist="block"), dnb.ones(6, dist="block")], 1)
    ...     x, _, rank, _ = dnb.linalg.lstsq(a, a[:, 0] * 2 + 1)
    ...     x.to_numpy().round(6), rank
    (array([2., 1.]), np.int32(2))
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
    return found, residuals, np.int32(known), s


def _tall_lstsq(a: Array, b: Array, cut: float) -> tuple[Array, ...]:
    q, r = triangles(a, with_q=True)
    return factored("lstsq", (r, _matmul(q.T.conj(), b)), (cut,))


def _residuals(a: Array, x: Array, b: Array) -> Array:
    rest = b - _matmul(a, x)
    return (rest.conj() * rest).real.sum(axis=0)


@stands_for(np.linalg.pinv, small="home")
def pinv(
    a: ArrayLike,
    rcond: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | NoValue | None = np._NoValue,
) -> Array:
    """Return the Moore-Penrose pseudo-inverse, from singular vectors.

    What is sent is what :func:`svd` and a product of its factors send.

    Parameters
    ----------
    a : array_like
        A matrix, or a stack.
    rcond : array_like, optional
        Singular values below this share of the largest count as zero.
    hermitian : bool
        As for :func:`svd`.
    rtol : array_like, optional
        The same as ``rcond``; one of both may be given.

    Returns
    -------
    DistArray
        With the lengths of the last two axes exchanged; it lies as products do.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.pinv(2 * dnb.eye(3, 2, dist="block")).to_numpy().round(6)
    array([[0.5, 0. , 0. ],
           [0. , 0.5, 0. ]])
    """
    (x,) = operands(a)
    if x.ndim < 2:
        wrong = f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
        raise np.linalg.LinAlgError(wrong)
    numpys: Any = np.linalg.pinv  # does not know our arrays
    numpys(np.empty((0,) * x.ndim, x.dtype), rcond, hermitian, rtol=rtol)  # checks
    given: Any = rcond if rcond is not None else rtol
    if given is None or given is np._NoValue:
        given = max(x.shape[-2:]) * np.finfo(_inexact(x.dtype)).eps if rtol is None else 1e-15
    u, s, vh = svd(x.conj(), full_matrices=False, hermitian=hermitian)
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


@stands_for(np.linalg.matrix_rank, small="home")
def matrix_rank(
    A: ArrayLike,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Any:
    """Return the number of singular values above a tolerance.

    What is sent is what :func:`svdvals` sends.

    Parameters
    ----------
    A : array_like
        A matrix, or a stack; of one axis: whether it has an element that is not zero.
    tol : array_like, optional
        The tolerance.
    hermitian : bool
        As for :func:`svd`.
    rtol : array_like, optional
        The tolerance as a share of the largest singular value; by default the precision times the
        larger length.

    Returns
    -------
    DistArray or int
        A number, or one for each matrix; of one axis Python's 0 or 1.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     int(dnb.linalg.matrix_rank(dnb.ones((6, 2), dist="block")))
    1
    """
    (x,) = operands(A)
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if x.ndim < 2:
        return int((x != 0).any())  # of Python, as NumPy's
    s = svd(x, compute_uv=False, hermitian=hermitian)
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
    """Raise square matrices to an integer power, by repeated squaring.

    Each product lies, and sends, as :func:`distnb.matmul`.

    Parameters
    ----------
    a : array_like
        A square matrix, or a stack.
    n : int
        The power; if negative, of the inverse.

    Returns
    -------
    DistArray
        Of the same shape.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.matrix_power(dnb.array([[1, 1], [0, 1]], dist="block"), 5).to_numpy()
    array([[1, 5],
           [0, 1]])
    """
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
    return found

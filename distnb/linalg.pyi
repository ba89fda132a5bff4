"""``distnb.linalg``: the names of ``numpy.linalg``, for distributed matrices and stacks of them."""

# Made by tools/make_stub.py from the functions themselves.

from collections.abc import Sequence
from typing import Any, SupportsIndex

from numpy.linalg import LinAlgError as LinAlgError
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.array.distarray import DistArray
from distnb.client.handle.arguments import Axes, NoValue
from distnb.client.linalg import contractions

def cholesky(a: ArrayLike, /, *, upper: bool = False) -> DistArray:
    """Return the Cholesky factor of a positive definite matrix."""

def cond(x: ArrayLike, p: float | str | None = None) -> DistArray:
    """Return the condition number of matrices; infinite where it cannot be known."""

def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> DistArray:
    """Return the cross product of vectors of three numbers along an axis."""

def det(a: ArrayLike) -> DistArray:
    """Return the determinant of square matrices."""

def diagonal(x: ArrayLike, /, *, offset: int = 0) -> DistArray:
    """Return the diagonals of the matrices in the last two axes, as a read-only view."""

def eig(a: ArrayLike) -> Any:
    """Return eigenvalues and right eigenvectors of square matrices."""

def eigh(a: ArrayLike, UPLO: str = "L") -> Any:
    """Return eigenvalues and eigenvectors of Hermitian matrices."""

def eigvals(a: ArrayLike) -> DistArray:
    """Return the eigenvalues of square matrices."""

def eigvalsh(a: ArrayLike, UPLO: str = "L") -> DistArray:
    """Return the eigenvalues of Hermitian matrices, in ascending order."""

def inv(a: ArrayLike) -> DistArray:
    """Return the inverse of square matrices."""

def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> tuple[Any, ...]:
    """Return the solution of least squares, residuals, rank and singular values."""

def matmul(x1: ArrayLike, x2: ArrayLike, /) -> DistArray:
    """Multiply matrices, as :func:`distnb.matmul`, whose layout and messages it has."""

def matrix_norm(
    x: ArrayLike, /, *, keepdims: bool = False, ord: float | str | None = "fro"
) -> DistArray:
    """Return a norm of the matrices in the last two axes, as :func:`norm`, which sends the same."""

def matrix_power(a: ArrayLike, n: SupportsIndex) -> DistArray:
    """Raise square matrices to an integer power, by repeated squaring."""

def matrix_rank(
    A: ArrayLike,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Any:
    """Return the number of singular values above a tolerance."""

def matrix_transpose(x: ArrayLike, /) -> DistArray:
    """Return the view with the last two axes exchanged; nothing is sent."""

def multi_dot(arrays: Sequence[Any], *, out: DistArray | None = None) -> DistArray:
    """Multiply several matrices in the order that needs the fewest multiplications."""

def norm(
    x: ArrayLike, ord: float | str | None = None, axis: Axes = None, keepdims: bool = False
) -> DistArray:
    """Return a norm of matrices or vectors."""

def outer(x1: ArrayLike, x2: ArrayLike, /) -> DistArray:
    """Multiply each element of one vector with each of another."""

def pinv(
    a: ArrayLike,
    rcond: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | NoValue | None = ...,
) -> DistArray:
    """Return the Moore-Penrose pseudo-inverse, from singular vectors."""

def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Factor matrices into Q with orthonormal columns and R, an upper triangle."""

def slogdet(a: ArrayLike) -> Any:
    """Return sign and logarithm of the absolute value of the determinant."""

def solve(a: ArrayLike, b: ArrayLike) -> DistArray:
    """Solve systems of linear equations."""

def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return singular vectors and singular values of matrices."""

def svdvals(x: ArrayLike, /) -> DistArray:
    """Return the singular values of matrices, the largest first."""

def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: contractions.SummedAxes = 2) -> DistArray:
    """Sum products over axes of two arrays, as :func:`distnb.tensordot`, which sends the same."""

def tensorinv(a: ArrayLike, ind: int = 2) -> DistArray:
    """Return the inverse of an array with respect to :func:`distnb.tensordot` over some axes."""

def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> DistArray:
    """Solve ``tensordot(a, x, x.ndim) == b`` for ``x``."""

def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> DistArray:
    """Sum the diagonals of the matrices in the last two axes."""

def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> DistArray:
    """Sum the products of (the conjugate of) vectors along an axis."""

def vector_norm(
    x: ArrayLike, /, *, axis: Axes = None, keepdims: bool = False, ord: float | str | None = 2
) -> DistArray:
    """Return a norm of vectors along axes."""

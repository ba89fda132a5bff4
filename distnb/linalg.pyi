"""``distnb.linalg``: the names of ``numpy.linalg``, for distributed matrices and stacks of them."""

# Made by tools/make_stub.py from the functions themselves.

from collections.abc import Sequence
from typing import Any

from numpy.linalg import LinAlgError as LinAlgError

from distnb.client.array.distarray import DistArray

def cholesky(a: Any, /, *, upper: bool = False) -> DistArray:
    """Return the Cholesky factor of a positive definite matrix, as ``numpy.linalg.cholesky``."""

def cond(x: Any, p: Any = None) -> DistArray:
    """Return the condition number, as ``numpy.linalg.cond``; infinite where it cannot be known."""

def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> DistArray:
    """Return the cross product of vectors of three numbers along an axis."""

def det(a: Any) -> DistArray:
    """Return the determinant of square matrices."""

def diagonal(x: Any, /, *, offset: int = 0) -> DistArray:
    """Return a copy of the diagonals of the matrices in the last two axes."""

def eig(a: Any) -> Any:
    """Return eigenvalues and right eigenvectors of square matrices, as ``numpy.linalg.eig``."""

def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return eigenvalues, in ascending order, and eigenvectors of Hermitian matrices."""

def eigvals(a: Any) -> DistArray:
    """Return the eigenvalues of square matrices; real if all are, so it waits for the engines."""

def eigvalsh(a: Any, UPLO: str = "L") -> DistArray:
    """Return the eigenvalues of Hermitian matrices, in ascending order."""

def inv(a: Any) -> DistArray:
    """Return the inverse of square matrices; LinAlgError comes from the engines."""

def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """Return solution, residuals, rank and singular values, as ``numpy.linalg.lstsq``."""

def matmul(x1: Any, x2: Any, /) -> DistArray:
    """Multiply matrices, as :func:`distnb.matmul`."""

def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> DistArray:
    """Return a norm of the matrices in the last two axes."""

def matrix_power(a: Any, n: Any) -> DistArray:
    """Raise square matrices to an integer power, by repeated squaring."""

def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return the number of singular values above a tolerance, as ``numpy.linalg.matrix_rank``."""

def matrix_transpose(x: Any, /) -> DistArray:
    """Return the view with the last two axes exchanged."""

def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> DistArray:
    """Multiply several matrices in the order that needs the fewest multiplications."""

def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> DistArray:
    """Return a norm of matrices or vectors, as ``numpy.linalg.norm``."""

def outer(x1: Any, x2: Any, /) -> DistArray:
    """Multiply each element of one vector with each of another."""

def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = ...) -> DistArray:
    """Return the Moore-Penrose pseudo-inverse, as ``numpy.linalg.pinv``: from singular vectors."""

def qr(a: Any, mode: str = "reduced") -> Any:
    """Factor matrices into Q with orthonormal columns and R, as ``numpy.linalg.qr``."""

def slogdet(a: Any) -> Any:
    """Return sign and logarithm of the absolute value of the determinant."""

def solve(a: Any, b: Any) -> DistArray:
    """Solve systems of linear equations, as ``numpy.linalg.solve``."""

def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return singular vectors and values, as ``numpy.linalg.svd``."""

def svdvals(x: Any, /) -> DistArray:
    """Return the singular values, the largest first; every engine gets those of a matrix."""

def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> DistArray:
    """Sum products over axes of two arrays, as :func:`distnb.tensordot`."""

def tensorinv(a: Any, ind: int = 2) -> DistArray:
    """Return the inverse with respect to ``tensordot`` over ``ind`` axes."""

def tensorsolve(a: Any, b: Any, axes: Any = None) -> DistArray:
    """Solve ``tensordot(a, x, x.ndim) == b``; ``axes`` of ``a`` are moved to its end first."""

def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> DistArray:
    """Sum the diagonals of the matrices in the last two axes."""

def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> DistArray:
    """Sum the products of (the conjugate of) vectors along an axis."""

def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> DistArray:
    """Return a norm of vectors along axes (None: of all elements)."""

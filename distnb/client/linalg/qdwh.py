"""Singular values and eigenvalues of matrices that no single engine factors: by QDWH.

The unitary polar factor is found by QDWH (Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration
for computing the matrix polar decomposition", 2010): six steps, each a QR or a Cholesky
factorisation and products of matrices. With it a spectrum is divided in two, until each part can be
left to a single engine (Nakatsukasa and Higham, "Stable and efficient spectral divide and conquer
algorithms for the symmetric eigenvalue decomposition and the SVD", 2013). The sizes of the parts
depend on the elements: these functions wait for the engines.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from distnb.client.handle.array import Array, create
from distnb.client.linalg import panel_commands
from distnb.client.linalg.contractions import diagonal, trace
from distnb.client.linalg.factorization_commands import SPECTRAL, factored, too_large
from distnb.client.linalg.products import matmul
from distnb.client.math.ufuncs import where
from distnb.client.record.index_arrays import each_index, eye
from distnb.client.record.placement import layout_of_new
from distnb.client.select.sorting import sort
from distnb.client.shape.joining import concatenate
from distnb.ops import matrix_functions

__all__ = ["eigh", "svd", "svdvals"]

#: Singular values of what is iterated are larger than this, or count as this.
_SMALLEST = 1e-17


def weights() -> list[tuple[float, float, float]]:
    """Return a, b and c of each step: they bring singular values from the smallest to 1.

    >>> len(weights())
    6
    """
    found = []
    low = _SMALLEST
    while abs(1 - low) > 1e-15:
        d = (4 * (1 - low**2) / low**4) ** (1 / 3)
        a = sqrt(1 + d) + sqrt(8 - 4 * d + 8 * (2 - low**2) / (low**2 * sqrt(1 + d))) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        found.append((a, b, c))
        low = min(1.0, low * (a + b * low**2) / (1 + c * low**2))
    return found


def unitary(x: Array) -> Array:
    """Return the unitary polar factor of a matrix with at least as many rows as columns."""
    m, n = x.shape
    one = eye(n, dtype=x.dtype, session=x.session)
    bound = abs(x).sum(axis=0).max() * abs(x).sum(axis=1).max()
    x = x / _or_one(bound**0.5)
    for a, b, c in weights():
        if c > 100:
            q, _ = panel_commands.qr(concatenate([x * sqrt(c), one]), "reduced")
            step = matmul(q[:m], q[m:].T.conj()) * ((a - b / c) / sqrt(c))
        else:
            z = matmul(x.T.conj(), x) * c + one
            step = panel_commands.solve(z, x.T.conj())[0].T.conj() * (a - b / c)
        x = x * (b / c) + step
    return x


def _size(x: Array) -> float:
    """Read the Frobenius norm."""
    return sqrt(float((abs(x) ** 2).sum()))


def _or_one(x: Array) -> Array:
    """Return a number, or 1 instead of 0."""
    return x + (x == 0)


def svd(x: Array) -> list[Array]:
    """Return left vectors, values and right vectors of a matrix with at least as many rows."""
    x, most = _in_range(_work(x), "SVD did not converge")
    u = unitary(x)
    h = matmul(u.T.conj(), x)
    w, v = divided((h + h.T.conj()) / 2)
    w, v = w[::-1], v[:, ::-1]
    return [matmul(u, v), abs(w) * most, v.T.conj()]


def svdvals(x: Array) -> list[Array]:
    """Return the singular values."""
    return [sort(svd(x)[1])[::-1]]


def eigh(x: Array, triangle: str) -> list[Array]:
    """Return eigenvalues in ascending order, and eigenvectors, of a Hermitian matrix."""
    x = _work(x)
    row, column = each_index(x.shape, session=x.session)
    kept = where(row > column if triangle.upper() == "L" else row < column, x, 0)
    whole = kept + kept.T.conj() + where(row == column, x.real, 0)
    whole, most = _in_range(whole, "Eigenvalues did not converge")
    w, v = divided(whole)
    return [w * most, v]


def _in_range(x: Array, error: str) -> tuple[Array, float]:
    """Return a matrix of which products of elements are numbers, and what it was divided by.

    Raises LinAlgError if an element is none, as NumPy does.
    """
    most = float(abs(x).max())
    if not np.isfinite(most):
        raise np.linalg.LinAlgError(error)
    limit = float(np.finfo(x.dtype).max) ** 0.25
    return (x, 1.0) if most == 0 or 1 / limit < most < limit else (x / most, most)


def _work(x: Array) -> Array:
    return x.astype(matrix_functions.work_dtype(x.dtype))


def divided(a: Array) -> list[Array]:
    """Return eigenvalues and eigenvectors: of each half of the spectrum, as far as needed."""
    if not too_large(a, SPECTRAL) or len(a) == 1:
        return list(factored("eigh", (a,), ("L",)))
    size = _size(a)
    entries = np.sort(diagonal(a).real.to_numpy())
    for shift in (entries[len(a) // 2], entries.mean(), entries.mean() + 1e-3 * size / len(a)):
        halves = _halves(a, float(shift), size)
        if halves is not None:
            return halves
    return list(factored("eigh", (a,), ("L",)))  # the spectrum cannot be divided


def _halves(a: Array, shift: float, size: float) -> list[Array] | None:
    """Divide the spectrum at a shift; return None if that does not divide it."""
    n = len(a)
    one = eye(n, dtype=a.dtype, session=a.session)
    rest = a - shift * one
    if _size(rest) <= 1e-15 * size:  # all eigenvalues are the same
        return [diagonal(a).real, one]
    above = (unitary(rest) + one) / 2  # the projector on eigenvalues above the shift
    k = round(float(trace(above).real))
    if not 0 < k < n:
        return None
    layout = layout_of_new((n, k), np.dtype(float), a.session, None)
    drawn = create(
        a.session, (n, k), np.dtype(float), layout, ("random", "normal", n, 0, (0.0, 1.0))
    )
    start = matmul(above, drawn)
    start = panel_commands.qr(start, "reduced")[0]
    v = panel_commands.qr(matmul(above, start), "complete")[0]
    turned = matmul(matmul(v.T.conj(), a), v)
    if _size(turned[k:, :k]) > 1e-13 * sqrt(n) * size:
        return None
    below, upper = divided(turned[k:, k:].copy()), divided(turned[:k, :k].copy())
    w = concatenate([below[0], upper[0]])
    return [w, concatenate([matmul(v[:, k:], below[1]), matmul(v[:, :k], upper[1])], axis=1)]

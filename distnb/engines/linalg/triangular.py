"""Panels of few columns, stored as rows: LU with pivots, and Householder's reflections."""

from __future__ import annotations

import numpy as np

__all__ = ["lu_panel", "reflectors", "swapped"]

#: Columns that are factored one by one.
_NARROW = 8


def lu_panel(p: np.ndarray, pivots: np.ndarray, strict: bool) -> None:
    """Factor in place a matrix whose columns are the rows of ``p``, with partial pivoting.

    The matrix has at least as many rows as columns. ``pivots[j]`` is the row that was exchanged
    with row j. The columns are halved until few are left, so that most of the work is products of
    matrices (Toledo, "Locality of reference in LU decomposition with partial pivoting", 1997).
    """
    n = len(p)
    if n <= _NARROW:
        _lu_columns(p, pivots, strict)
        return
    h = n // 2
    left, right = p[:h], p[h:]
    lu_panel(left, pivots[:h], strict)
    swapped(right, pivots[:h])
    unit = np.tril(left[:, :h].T, -1) + np.eye(h)
    right[:, :h] = np.linalg.solve(unit, right[:, :h].T).T
    right[:, h:] -= right[:, :h] @ left[:, h:]
    lu_panel(right[:, h:], pivots[h:], strict)
    swapped(left[:, h:], pivots[h:])
    pivots[h:] += h


def _lu_columns(p: np.ndarray, pivots: np.ndarray, strict: bool) -> None:
    for j, column in enumerate(p):
        rest = column[j:]
        size = np.abs(rest.real) + np.abs(rest.imag) if p.dtype.kind == "c" else np.abs(rest)
        at = j + int(size.argmax())
        pivots[j] = at
        if at != j:
            p[:, [j, at]] = p[:, [at, j]]
        if column[j] == 0:
            if strict:
                raise np.linalg.LinAlgError("Singular matrix")
            continue
        column[j + 1 :] /= column[j]
        if j + 1 < len(p):
            p[j + 1 :, j + 1 :] -= p[j + 1 :, j, None] * column[j + 1 :]


def swapped(rows: np.ndarray, pivots: np.ndarray) -> None:
    """Exchange columns j and ``pivots[j]``, for one j after the other, in place.

    >>> rows = np.arange(4)[None].copy()
    >>> swapped(rows, np.array([3, 3]))
    >>> rows
    array([[3, 0, 2, 1]])
    """
    order: dict[int, int] = {}
    for j, at in enumerate(pivots.tolist()):
        order[j], order[at] = order.get(at, at), order.get(j, j)
    moved = [j for j, at in order.items() if j != at]
    if moved:
        rows[:, moved] = rows[:, [order[j] for j in moved]]


def reflectors(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return R, Householder's vectors and T of a matrix whose columns are the rows of ``p``.

    R and the vectors are transposed. Q is ``1 - V @ T @ V.conj().T`` (Schreiber and Van Loan, "A
    storage-efficient WY representation for products of Householder transformations", 1989).
    """
    found, tau = np.linalg.qr(p.T, "raw")
    upper, vectors = np.tril(found), np.triu(found, 1)
    np.fill_diagonal(vectors, 1)
    inner = vectors.conj() @ vectors.T
    t = np.zeros((len(p), len(p)), p.dtype)
    for j, scale in enumerate(tau):
        t[:j, j] = -scale * (t[:j, :j] @ inner[:j, j])
        t[j, j] = scale
    return upper, vectors, t

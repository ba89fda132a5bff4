"""Code as users write it, for type checkers: mypy and pyright see no error here, and it runs."""

from __future__ import annotations

from typing import assert_type

import numpy as np

import distnb as dnb
from distnb import DistArray


def heat(n: int) -> DistArray:
    """Return what a plate's temperatures are after some steps."""
    u = dnb.zeros((n, n), dtype=np.float64, dist="block")
    u[0] = 100.0
    for _ in range(3):
        u[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) / 4
    return u


def made() -> list[DistArray]:
    """Return arrays made in all ways."""
    a = dnb.array([[1, 2], [3, 4]], dtype="float32", dist=("*", "block"))
    b = dnb.arange(12, dtype=dnb.int64).reshape(3, 4)
    c = dnb.full_like(b, 7, dist=("engine", 0))
    d = dnb.linspace(0.0, 1.0, 5, dist="replicated")
    e = dnb.random.default_rng(0).normal(size=(2, 3), dist=["cyclic", "block"])
    f = dnb.eye(3, dist=("cyclic", 2), grid=2)
    g = dnb.zeros(np.int64(4), dist=a.layout) if a.ndim == 1 else dnb.zeros(4, dist=None)
    h = dnb.empty_like(b, dist=c.layout)
    assert_type(a, DistArray)
    assert_type(b, DistArray)
    return [a, b, c, d, e, f, g, h]


def named(x: dnb.ndarray, kind: np.dtype) -> dnb.ndarray:
    """Return an array made with names of NumPy's."""
    joined = dnb.r_[x.ravel(), 0:3]
    whole = dnb.require(dnb.copy(joined), dnb.float64, ["C", "W"])
    dnb.random.seed(3)
    noise = dnb.random.rand(dnb.size(whole))
    assert dnb.ndim(noise) == 1
    assert dnb.issubdtype(kind, dnb.inexact)
    windows = dnb.lib.stride_tricks.sliding_window_view(whole, 2)
    dnb.testing.assert_allclose(windows[0], whole[:2])
    return dnb.ascontiguousarray(windows, dtype=kind)


def reduced(x: DistArray) -> float:
    """Return some sums."""
    rows = x.sum(axis=0)
    both = x.mean((0, 1), keepdims=True)
    assert_type(rows, DistArray)
    assert_type(both, DistArray)
    most = dnb.max(x, axis=np.int64(1), initial=0)
    few = dnb.quantile(x, [0.25, 0.5], axis=0)
    return float(x.sum() + x.max(where=x > 0, initial=-1.0) + most.sum() + few.sum() + rows.std())


def elementwise(x: DistArray, y: np.ndarray) -> DistArray:
    """Return what ufuncs and their methods make of arrays."""
    z = dnb.add(x, 1, where=y > 0, out=x)
    assert_type(z, DistArray)
    whole, rest = dnb.divmod(z, 2)
    assert_type(whole, DistArray)
    dnb.add.at(x, [0, 0], 1)
    table = dnb.multiply.outer(x, [1.0, 2.0])
    running = dnb.add.accumulate(x)
    total = dnb.add.reduce(table, axis=(0, 1), keepdims=True)
    dnb.sin(x, out=x)
    assert dnb.add.nin == 2
    assert dnb.add.identity == 0
    return dnb.where(rest > 0, running, total.squeeze()) + np.asarray(y).sum()


def chosen(x: DistArray) -> DistArray:
    """Return elements by index, by mask, by position, and in order."""
    x[x > 2] = 0
    x[[0, 1]] += 1
    x[..., None].squeeze(-1)[1:3] = np.array([5, 6])
    order = x.argsort(kind="stable")
    picked = dnb.take(x, order, axis=0)[::-1]
    values, counts = dnb.unique(x, return_counts=True)
    at = dnb.searchsorted(dnb.sort(x), [1, 2], side="right")
    parts = dnb.split(picked, 2) + [dnb.concatenate([values, counts, at])]
    return dnb.concatenate(parts, axis=0).astype(int)


def matrices(a: DistArray) -> tuple[DistArray, float]:
    """Return products and solutions."""
    product = a @ a.T + dnb.einsum("ij,kj->ik", a, a)
    solved = dnb.linalg.solve(product + 5 * dnb.eye(a.shape[0]), dnb.ones(a.shape[0]))
    back = dnb.fft.ifft(dnb.fft.fft(solved)).real
    return dnb.stack([solved, back], axis=-1), float(dnb.linalg.norm(a))


def moved(x: DistArray) -> str:
    """Tell where an array is."""
    y = x.redistribute(("block", "block"), grid=(2, 1))
    y.move("cyclic")
    dnb.config.gather_budget = 10**9
    host: np.ndarray = np.asarray(y)
    return f"{y.layout}, {y.layout.elements()}, {host.shape}, {len(y)}, {y[0, 0]:.1f}, {y.tolist()}"

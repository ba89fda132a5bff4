"""Loops of small steps, as a scientist types them: by rows, columns and elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Arrays = tuple[np.ndarray, ...]


class Loop(NamedTuple):
    """A program, its data for a size, and that size, in full and small."""

    what: str
    code: Callable[..., Any]
    data: Callable[[int], Arrays]
    full: int
    small: int
    writes: tuple[int, ...] = ()


def _uniform(*shapes: Callable[[int], tuple[int, ...]]) -> Callable[[int], Arrays]:
    """Return what makes arrays of random numbers, whose shapes depend on a size."""

    def make(n: int) -> Arrays:
        rng = np.random.default_rng(12)
        return tuple(rng.random(shape(n)) for shape in shapes)

    return make


def rows(xp, a, b):
    for i in range(1, a.shape[0]):
        a[i] = 0.5 * a[i - 1] + b[i]
    return a


def columns(xp, a):
    for j in range(1, a.shape[1]):
        a[:, j] += 0.3 * a[:, j - 1]
    return a


def maxima(xp, a, b):
    for _ in range(100):
        a = a * 0.99 + b * 0.01
        float(a.max())
    return a


def triangle(n: int) -> Arrays:
    rng = np.random.default_rng(13)
    return np.tril(rng.random((n, n))) + n * np.eye(n), rng.random(n)


def forward_substitution(xp, lower, b):
    x = xp.zeros(b.shape[0])
    for i in range(b.shape[0]):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def definite(n: int) -> Arrays:
    a = np.random.default_rng(14).random((n, n))
    return (a @ a.T + n * np.eye(n),)


def cholesky(xp, a):
    n = a.shape[0]
    lower = xp.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - (lower[i, :j] * lower[j, :j]).sum()
            lower[i, j] = xp.sqrt(rest) if i == j else rest / lower[j, j]
    return lower


def lu(xp, a):
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= xp.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def gram_schmidt(xp, a):
    q = xp.zeros_like(a)
    for k in range(a.shape[1]):
        v = a[:, k].copy()
        for j in range(k):
            v -= (q[:, j] @ v) * q[:, j]
        q[:, k] = v / xp.linalg.norm(v)
    return q


def durbin(xp, r):
    y = xp.zeros(r.shape[0])
    r = 0.01 * r
    alpha, beta = -r[0], 1.0
    y[0] = alpha
    for k in range(1, r.shape[0]):
        beta = beta * (1 - alpha * alpha)
        alpha = -(r[k] + (r[:k][::-1] * y[:k]).sum()) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def recursive_filter(xp, y):
    for i in range(1, y.shape[0]):
        y[i] = 0.25 * y[i] + 0.75 * y[i - 1]
    for i in range(y.shape[0] - 2, -1, -1):
        y[i] = 0.25 * y[i] + 0.75 * y[i + 1]
    for j in range(1, y.shape[1]):
        y[:, j] = 0.25 * y[:, j] + 0.75 * y[:, j - 1]
    return y


def covariance(xp, x):
    x = x - x.mean(axis=0)
    found = xp.zeros((x.shape[1], x.shape[1]))
    for i in range(x.shape[1]):
        found[i, i:] = found[i:, i] = x[:, i] @ x[:, i:] / (x.shape[0] - 1.0)
    return found


def places(n: int) -> Arrays:
    return (np.random.default_rng(15).random((n, n)),)


def elements(xp, a):
    total, n = 0.0, a.shape[0]
    for k in range(300):
        total += float(a[k * 7919 % n, k * 104729 % n])
    return xp.zeros(1) + total


def sieve(xp, line):
    prime = xp.ones(line.shape[0], dtype=bool)
    prime[:2] = False
    for i in range(2, int(line.shape[0] ** 0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return prime


def rk4(xp, start):
    def slope(at):
        x, y, z = at
        return xp.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    at, track = start[0], xp.zeros_like(start)
    for i in range(start.shape[0]):
        track[i] = at
        k1 = slope(at)
        k2 = slope(at + 0.0025 * k1)
        k3 = slope(at + 0.0025 * k2)
        at = at + 0.005 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(at + 0.005 * k3))
    return track


def smooth(xp, image):
    kernel = xp.exp(-(xp.arange(-3, 4) ** 2) / 2.0)
    kernel /= kernel.sum()
    found = xp.zeros_like(image)
    for i in range(image.shape[0]):
        found[i] = xp.convolve(image[i], kernel, mode="same")
    return found


def triangles(n: int) -> Arrays:
    rng = np.random.default_rng(16)
    return rng.integers(0, n, (2 * n, 3)), rng.random((2 * n, 3, 3))


def assembly(xp, corners, parts):
    n = corners.shape[0] // 2
    matrix, load = xp.zeros((n, n)), xp.zeros(n)
    for i in range(corners.shape[0]):
        nodes = corners[i]
        xp.add.at(matrix, (nodes[:, None], nodes), parts[i])
        xp.add.at(load, nodes, parts[i].sum(axis=1))
    matrix[:10] = 0
    xp.fill_diagonal(matrix, matrix.diagonal() + n)
    return matrix @ load


_SQUARE = _uniform(lambda n: (n, n))

LOOPS = {
    "rows": Loop(
        "a[i] = 0.5 * a[i-1] + b[i]",
        rows,
        _uniform(lambda n: (n, 50 * n), lambda n: (n, 50 * n)),
        *(400, 10, (0,)),
    ),
    "columns": Loop(
        "a[:, j] += 0.3 * a[:, j-1]", columns, _uniform(lambda n: (10 * n, n)), 400, 10, (0,)
    ),
    "maxima": Loop(
        "100 x (a = a*0.99 + b*0.01; float(a.max()))",
        maxima,
        _uniform(lambda n: (n, n), lambda n: (n, n)),
        *(300, 10),
    ),
    "forward": Loop("forward substitution by rows", forward_substitution, triangle, 2000, 10),
    "cholesky": Loop("Cholesky by elements", cholesky, definite, 120, 8),
    "lu": Loop("LU by columns", lu, definite, 300, 8, (0,)),
    "gram-schmidt": Loop("Gram-Schmidt by columns", gram_schmidt, _SQUARE, 200, 8),
    "durbin": Loop("Durbin's recursion", durbin, _uniform(lambda n: (n,)), 400, 8),
    "filter": Loop(
        "recursive filter", recursive_filter, _uniform(lambda n: (2 * n, n)), 200, 8, (0,)
    ),
    "covariance": Loop(
        "covariance by columns", covariance, _uniform(lambda n: (6 * n // 7, n)), 350, 7
    ),
    "elements": Loop("300 elements, one by one", elements, places, 2000, 20),
    "rk4": Loop("Runge-Kutta of three numbers", rk4, _uniform(lambda n: (n, 3)), 500, 5),
    "smooth": Loop("convolution by rows", smooth, _SQUARE, 200, 12),
    "assembly": Loop("assembly of finite elements", assembly, triangles, 300, 12),
    "sieve": Loop("sieve of Eratosthenes", sieve, _uniform(lambda n: (n,)), 2_000_000, 100),
}

"""Hand-fused loops, for Numba: with threads in one process, and one to a rank under MPI.

``parts`` is the number of threads that work at once; where a loop needs scratch memory of its own
for each, it is cut by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
from numba import njit, prange

from benchmarks.workloads import BINS, DENSITY, POLYNOMIAL, RATE, TAIL, VOLATILITY

CACHE = Path(__file__).resolve().parents[2] / "build" / "numba"
B1, B2, B3, B4, B5 = POLYNOMIAL

#: What a careful author allows: sums in any order, so that they use vector instructions.
FAST = {"reassoc", "contract", "nsz", "arcp"}


def compiled(parallel: bool) -> SimpleNamespace:
    """Return all kernels, compiled when first called and kept on disk."""
    # Numba's cache does not tell kernels with threads from those without.
    numba.config.CACHE_DIR = str(CACHE / ("threads" if parallel else "alone"))
    make = njit(parallel=parallel, fastmath=FAST, cache=True, error_model="numpy")
    kernels = {f.__name__: make(f) for f in KERNELS}
    return SimpleNamespace(**kernels | {n: filling(kernels[n], n == "flip2") for n in FILLING})


def filling(kernel: Callable[..., None], half: bool) -> Callable[..., np.ndarray]:
    """Return what makes the output, too: NumPy asks for large pages, Numba does not."""

    def run(a: np.ndarray, *others: np.ndarray) -> np.ndarray:
        out = np.empty(((len(a) + 1) // 2 if half else len(a), *a.shape[1:]))
        kernel(a, *others, out)
        return out

    return run


def jacobi(a, parts):
    """Sweep in place, in one pass: each part keeps the old values of the row above."""
    rows, n = a.shape[0] - 2, a.shape[1]
    edges = np.empty((parts, 2, n))
    for p in range(parts):
        edges[p, 0] = a[rows * p // parts]
        edges[p, 1] = a[1 + rows * (p + 1) // parts]
    for p in prange(parts):
        first, last = 1 + rows * p // parts, 1 + rows * (p + 1) // parts
        above, here = edges[p, 0].copy(), np.empty(n)
        for i in range(first, last):
            here[:] = a[i]
            below = edges[p, 1] if i == last - 1 else a[i + 1]
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (here[j] + here[j - 1] + here[j + 1] + above[j] + below[j])
            above, here = here, above


def nine_points(a, parts):
    """As ``jacobi``, with the four corners."""
    rows, n = a.shape[0] - 2, a.shape[1]
    edges = np.empty((parts, 2, n))
    for p in range(parts):
        edges[p, 0] = a[rows * p // parts]
        edges[p, 1] = a[1 + rows * (p + 1) // parts]
    for p in prange(parts):
        first, last = 1 + rows * p // parts, 1 + rows * (p + 1) // parts
        u, h = edges[p, 0].copy(), np.empty(n)
        for i in range(first, last):
            h[:] = a[i]
            d = edges[p, 1] if i == last - 1 else a[i + 1]
            for j in range(1, n - 1):
                near = u[j] + d[j] + h[j - 1] + h[j + 1]
                far = u[j - 1] + u[j + 1] + d[j - 1] + d[j + 1]
                a[i, j] = 0.25 * h[j] + 0.125 * near + 0.0625 * far
            u, h = h, u


def relax(a, colour):
    """Relax the points whose row and column add up to ``colour`` modulo 2."""
    rows, n = a.shape
    for i in prange(1, rows - 1):
        for j in range(1 + (i + 1 + colour) % 2, n - 1, 2):
            around = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
            a[i, j] += 1.5 * (0.25 * around - a[i, j])


def copy(a, out):
    for i in prange(a.shape[0]):
        out[i] = a[i]


def maximum(a):
    found = np.empty(a.shape[0])
    for i in prange(a.shape[0]):
        most = a[i, 0]
        for j in range(a.shape[1]):
            most = max(most, a[i, j])
        found[i] = most
    return found.max()


def total(a):
    found = 0.0
    for i in prange(a.shape[0]):
        row = 0.0
        for j in range(a.shape[1]):
            row += a[i, j]
        found += row
    return found


def sum0(a, parts):
    found = np.zeros((parts, a.shape[1]))
    for p in prange(parts):
        for i in range(a.shape[0] * p // parts, a.shape[0] * (p + 1) // parts):
            for j in range(a.shape[1]):
                found[p, j] += a[i, j]
    return found.sum(axis=0)


def sum1(a):
    found = np.empty(a.shape[0])
    for i in prange(a.shape[0]):
        row = 0.0
        for j in range(a.shape[1]):
            row += a[i, j]
        found[i] = row
    return found


def flip2(a, out):
    n = a.shape[0]
    for i in prange(out.shape[0]):
        out[i] = a[n - 1 - 2 * i]


def add0(a, out):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] + 0


def adda(a, out):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] + a[i, j]


def iadd(a):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += a[i, j]
    return a


def sqrt(a, out):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = math.sqrt(a[i, j])


def bincount(x, parts):
    found = np.zeros((parts, BINS), np.int64)
    for p in prange(parts):
        for i in range(x.size * p // parts, x.size * (p + 1) // parts):
            found[p, x[i]] += 1
    return found.sum(axis=0)


@njit(inline="always")
def normal_cdf(x):
    k = 1.0 / (1.0 + TAIL * abs(x))
    tail = DENSITY * math.exp(-0.5 * x * x)
    tail *= k * (B1 + k * (B2 + k * (B3 + k * (B4 + k * B5))))
    return tail if x < 0 else 1.0 - tail


def black_scholes(price, strike, years, out):
    for i in prange(price.size):
        spread = VOLATILITY * math.sqrt(years[i])
        drift = (RATE + 0.5 * VOLATILITY * VOLATILITY) * years[i]
        d1 = (math.log(price[i] / strike[i]) + drift) / spread
        discounted = strike[i] * math.exp(-RATE * years[i])
        out[i] = price[i] * normal_cdf(d1) - discounted * normal_cdf(d1 - spread)


def symmetric(m, other, out):
    """Average a block with the transpose of another, tile by tile."""
    rows, columns = m.shape
    tile = 32
    for p in prange((rows + tile - 1) // tile):
        for q in range((columns + tile - 1) // tile):
            for i in range(p * tile, min(rows, (p + 1) * tile)):
                for j in range(q * tile, min(columns, (q + 1) * tile)):
                    out[i, j] = 0.5 * (m[i, j] + other[j, i])


def matvec(m, v):
    out = np.empty(m.shape[0])
    for i in prange(m.shape[0]):
        found = 0.0
        for j in range(m.shape[1]):
            found += m[i, j] * v[j]
        out[i] = found
    return out


def cluster(x, centres, parts):
    """Return the sums (and, in the last column, numbers) of the points nearest to each centre."""
    k, d = centres.shape
    found = np.zeros((parts, k, d + 1))
    for p in prange(parts):
        for i in range(x.shape[0] * p // parts, x.shape[0] * (p + 1) // parts):
            best, least = 0, np.inf
            for c in range(k):
                distance = 0.0
                for j in range(d):
                    distance += (x[i, j] - centres[c, j]) ** 2
                if distance < least:
                    best, least = c, distance
            for j in range(d):
                found[p, best, j] += x[i, j]
            found[p, best, d] += 1.0
    return found.sum(axis=0)


def sort(x, parts):
    """Sort halves at once, and merge them."""
    out, cut = x.copy(), x.size // 2
    for p in prange(2):
        part = out[:cut] if p == 0 else out[cut:]
        part.sort()
    merged = np.empty_like(out)
    i, j = 0, cut
    for k in range(x.size):
        if j == x.size or (i < cut and out[i] <= out[j]):
            merged[k] = out[i]
            i += 1
        else:
            merged[k] = out[j]
            j += 1
    return merged


def chain(x, y, w, out):
    for i in prange(x.size):
        out[i] = math.sin(x[i]) * math.cos(y[i]) - abs(x[i] - y[i])
        out[i] += math.tanh(x[i] * y[i]) / (1.0 + w[i] * w[i])


def weighted(x, y, w):
    """Return the weighted sum and the sum of the weights."""
    above, below = 0.0, 0.0
    for i in prange(x.size):
        above += x[i] * w[i] if x[i] > y[i] else y[i] * (1.0 - w[i])
        below += w[i]
    return np.array([above, below])


KERNELS = (jacobi, nine_points, relax, copy, maximum, total, sum0, sum1, flip2, add0, adda, iadd)
KERNELS += (sqrt, bincount, black_scholes, symmetric, matvec, cluster, sort, chain, weighted)
#: Those that write to an array given last.
FILLING = ("copy", "flip2", "add0", "adda", "sqrt", "black_scholes", "chain")

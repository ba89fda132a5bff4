"""The workloads: plain array code, the same for NumPy and distnb, and the data it starts from.

A *case* is one row of the results. Its code takes the namespace, the arrays, and the number of
steps if it is a loop. What it writes to is copied before each run, outside of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.small_steps import LOOPS
from tests.programs import data, grids, matrices

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Case:
    """One row of the results.

    ``full`` and ``small`` are the size of the data and the number of steps (0: no loop); the time
    of a loop is given per step. ``writes`` are the positions of the arrays that the code changes.
    """

    name: str
    what: str
    code: Callable[..., Any]
    data: Callable[[int], Arrays]
    full: tuple[int, int]
    small: tuple[int, int]
    writes: tuple[int, ...] = ()
    needs: tuple[str, ...] = ()
    settings: dict[str, float] = field(default_factory=dict)
    tolerance: float = 1e-9
    #: Whether a peer need not be able to run it.
    tried: bool = False

    @property
    def workload(self) -> str:
        return self.name.split()[0]

    def size(self, scale: str) -> int:
        return (self.full if scale == "full" else self.small)[0]

    def steps(self, scale: str) -> tuple[int, ...]:
        """Return the last argument of the code, if it is a loop."""
        steps = (self.full if scale == "full" else self.small)[1]
        return (steps,) if steps else ()


# -- data ----------------------------------------------------------------------------------------


def square(n: int) -> Arrays:
    return (np.random.default_rng(1).random((n, n)),)


def two_squares(n: int) -> Arrays:
    rng = np.random.default_rng(2)
    return rng.random((n, n)), rng.random((n, n))


def integers(n: int) -> Arrays:
    return (np.random.default_rng(3).integers(0, BINS, n),)


def line(n: int) -> Arrays:
    return (np.random.default_rng(4).random(n),)


def options(n: int) -> Arrays:
    """Prices, strikes and years of options."""
    rng = np.random.default_rng(5)
    return rng.uniform(10, 50, n), rng.uniform(10, 50, n), rng.uniform(0.1, 2, n)


def matrix_and_vector(n: int) -> Arrays:
    return np.random.default_rng(6).random((n, n)), np.ones(n)


def points_and_centres(n: int) -> Arrays:
    x = np.random.default_rng(7).random((n, CLUSTERS))
    return x, x[:CLUSTERS].copy()


def three_lines(n: int) -> Arrays:
    rng = np.random.default_rng(8)
    return rng.normal(size=n), rng.normal(size=n), rng.random(n)


# -- W1, W7: stencils ----------------------------------------------------------------------------


def sweep(a, t):
    t[:] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])
    a[1:-1, 1:-1] = t


def jacobi(xp, a, steps):
    t = xp.empty((a.shape[0] - 2, a.shape[1] - 2))
    for _ in range(steps):
        sweep(a, t)
    return a


RED, BLACK = ((1, 1), (2, 2)), ((1, 2), (2, 1))


def relax(a, i, j):
    """Relax the points of one lattice of stride 2, which are not each other's neighbours."""
    rows, columns = slice(i, -1, 2), slice(j, -1, 2)
    up, down = slice(i - 1, -2, 2), slice(i + 1, None, 2)
    left, right = slice(j - 1, -2, 2), slice(j + 1, None, 2)
    c = a[rows, columns]
    around = a[up, columns] + a[down, columns] + a[rows, left] + a[rows, right]
    c += 1.5 * (0.25 * around - c)


def sor(xp, a, steps):
    for _ in range(steps):
        for i, j in RED + BLACK:
            relax(a, i, j)
    return a


# -- W3: a long elementwise chain ----------------------------------------------------------------

RATE, VOLATILITY = 0.02, 0.3
POLYNOMIAL = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
TAIL, DENSITY = 0.2316419, 0.3989422804014327


def normal_cdf(xp, x):
    """Return the normal distribution function, by a polynomial good to 7 digits."""
    b1, b2, b3, b4, b5 = POLYNOMIAL
    k = 1.0 / (1.0 + TAIL * abs(x))
    tail = DENSITY * xp.exp(-0.5 * x * x) * (k * (b1 + k * (b2 + k * (b3 + k * (b4 + k * b5)))))
    return xp.where(x < 0, tail, 1.0 - tail)


def black_scholes(xp, price, strike, years):
    spread = VOLATILITY * xp.sqrt(years)
    drift = (RATE + 0.5 * VOLATILITY * VOLATILITY) * years
    d1 = (xp.log(price / strike) + drift) / spread
    discounted = strike * xp.exp(-RATE * years)
    return price * normal_cdf(xp, d1) - discounted * normal_cdf(xp, d1 - spread)


# -- W4 to W11 -----------------------------------------------------------------------------------


def symmetric(xp, m):
    return 0.5 * (m + m.T)


def power_iteration(xp, m, v, steps):
    for _ in range(steps):
        w = m @ v
        v = w / xp.sqrt((w * w).sum())
    return v


CLUSTERS = 16


def kmeans(xp, x, centres, steps):
    numbers = xp.arange(CLUSTERS)
    for _ in range(steps):
        distances = (centres * centres).sum(axis=1) - 2.0 * (x @ centres.T)
        nearest = distances.argmin(axis=1)
        member = (nearest[:, None] == numbers).astype("f8")
        centres = (member.T @ x) / xp.maximum(member.sum(axis=0), 1.0)[:, None]
    return centres


BINS = 1000


def bincount(xp, x):
    return xp.bincount(x, minlength=BINS)


def sort(xp, x):
    return xp.sort(x)


def tiny(xp, x, steps):
    for _ in range(steps):
        x = x + 1.5
    return float(x[0])


def read(xp, a, steps):
    for i in range(steps):
        value = float(a[i, i])
    return value


# -- W2: one pass over memory --------------------------------------------------------------------


def matrix_of_half_the_columns(n: int) -> Arrays:
    return (np.random.default_rng(12).random((n, max(1, n // 2))),)


def line_and_positions(n: int) -> Arrays:
    """Return numbers, and half as many positions of some of them, with values."""
    rng = np.random.default_rng(13)
    return rng.random(n), rng.integers(0, n, n // 2), rng.random(n // 2)


def placed(xp, a, i, values):
    a[i] = values
    return a


def added(xp, a, i, values):
    np.add.at(a, i, values)
    return a


INDEXED: dict[str, tuple[str, Callable[..., Any]]] = {
    "take": ("a[i] * 2", lambda xp, a, i, v: a[i] * 2),
    "put": ("a[i] = values", placed),
    "add.at": ("add.at(a, i, values)", added),
}


def double(xp, a):
    a += a
    return a


PASSES: dict[str, tuple[str, Callable[..., Any]]] = {
    "copy": ("a.copy()", lambda xp, a: a.copy()),
    "max": ("a.max()", lambda xp, a: a.max()),
    "sum": ("a.sum()", lambda xp, a: a.sum()),
    "sum0": ("a.sum(axis=0)", lambda xp, a: a.sum(axis=0)),
    "sum1": ("a.sum(axis=1)", lambda xp, a: a.sum(axis=1)),
    "flip2": ("a[::-2], materialised", lambda xp, a: a[::-2].copy()),
    "add0": ("a + 0", lambda xp, a: a + 0),
    "adda": ("a + a", lambda xp, a: a + a),
    "iadd": ("a += a", double),
    "sqrt": ("sqrt(a)", lambda xp, a: xp.sqrt(a)),
}

# -- linear algebra and Fourier transforms -------------------------------------------------------


def tall_matrix(n: int) -> Arrays:
    return (np.random.default_rng(9).random((n, max(1, n // 100))),)


def definite(n: int) -> Arrays:
    """Return a symmetric, positive definite matrix."""
    a = np.random.default_rng(10).random((n, n))
    return (a @ a.T + n * np.eye(n),)


def system(n: int) -> Arrays:
    rng = np.random.default_rng(11)
    return rng.random((n, n)), rng.random((n, 4))


# -- the programs of tests/programs --------------------------------------------------------------

#: program -> its size.
SIZES = {
    **dict.fromkeys((grids.heat, grids.waves, grids.life, grids.red_black, grids.edges), 2048),
    **dict.fromkeys((grids.mandelbrot, grids.julia, grids.gray_scott, grids.poisson), 1024),
    **dict.fromkeys((grids.cavity, grids.channel), 1024),
    **dict.fromkeys((grids.shallow_water, data.black_scholes, data.moving, data.words), 1 << 21),
    **dict.fromkeys((data.kmeans, data.pca, data.regression, data.logistic, data.walk), 1 << 20),
    **dict.fromkeys((matrices.lorenz, matrices.spectrum, data.primes), 1 << 20),
    **dict.fromkeys(
        (data.softmax, data.equalised, matrices.pagerank, matrices.power_iteration), 2000
    ),
    **dict.fromkeys((data.neighbours, matrices.n_body, matrices.ridge), 1000),
    matrices.floyd_warshall: 300,
    matrices.lu: 300,
    matrices.tridiagonal: 1 << 18,
}


def a_line_as_long(n: int) -> Arrays:
    """Return the size of a program, as the length of an array."""
    return (np.zeros(n),)


def of_program(program: Callable[..., Any]) -> Callable[..., Any]:
    """Return code that runs a program, and returns its first result."""

    def run(xp: Any, line: Any) -> Any:
        found = program(xp, line.shape[0])
        return found[0] if isinstance(found, tuple) else found

    return run


# -- hold-outs: of the same kinds, and not looked at when distnb is made faster ------------------


def nine_point_sweep(a, t):
    near = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    far = a[:-2, :-2] + a[:-2, 2:] + a[2:, :-2] + a[2:, 2:]
    t[:] = 0.25 * a[1:-1, 1:-1] + 0.125 * near + 0.0625 * far
    a[1:-1, 1:-1] = t


def nine_points(xp, a, steps):
    t = xp.empty((a.shape[0] - 2, a.shape[1] - 2))
    for _ in range(steps):
        nine_point_sweep(a, t)
    return a


def chain(xp, x, y, w):
    return xp.sin(x) * xp.cos(y) + xp.tanh(x * y) / (1.0 + w * w) - xp.abs(x - y)


def weighted_sum(xp, x, y, w):
    return xp.where(x > y, x * w, y * (1.0 - w)).sum() / w.sum()


# -- the tables ----------------------------------------------------------------------------------

N, SMALL = 4096, 256
LONG, SHORT = 1 << 24, 1 << 16

CASES = (
    Case("W1", "Jacobi sweep, written back", jacobi, square, (N, 50), (SMALL, 5), (0,)),
    *(
        Case(f"W2 {name}", what, code, square, (N, 0), (SMALL, 0), (0,) * (name == "iadd"))
        for name, (what, code) in PASSES.items()
    ),
    Case(
        "W2 bincount",
        "bincount of integers",
        bincount,
        integers,
        (LONG, 0),
        (SHORT, 0),
        needs=("bincount",),
    ),
    Case("W3", "Black-Scholes prices", black_scholes, options, (LONG, 0), (SHORT, 0)),
    Case("W4", "product of matrices", lambda xp, a, b: a @ b, two_squares, (N, 0), (SMALL, 0)),
    Case("W5", "0.5 * (M + M.T)", symmetric, square, (N, 0), (SMALL, 0)),
    Case("W6", "power iteration", power_iteration, matrix_and_vector, (8192, 10), (SMALL, 3)),
    Case("W7", "red-black SOR sweep, strided views", sor, square, (N, 20), (SMALL, 3), (0,)),
    Case("W8", "k-means step", kmeans, points_and_centres, (1_000_000, 5), (5000, 2)),
    Case("W9", "sort", sort, line, (LONG, 0), (SHORT, 0), needs=("sort",)),
    Case("W10", "tiny operation, dependent; then a read", tiny, line, (100, 1000), (100, 100)),
    Case(
        "W10 out",
        "the same, with cutoff 0",
        tiny,
        line,
        (100, 1000),
        (100, 100),
        settings={"cutoff": 0},
    ),
    Case("W11", "reading one element", read, square, (1024, 50), (SMALL, 5)),
    Case(
        "I mask",
        "a[a > 0.5].sum()",
        lambda xp, a: a[a > 0.5].sum(),
        matrix_of_half_the_columns,
        (N, 0),
        (SMALL, 0),
        tried=True,
    ),
    *(
        Case(
            f"I {name}",
            what,
            code,
            line_and_positions,
            (1 << 22, 0),
            (SHORT, 0),
            (0,) * (name != "take"),
            tried=True,
        )
        for name, (what, code) in INDEXED.items()
    ),
    *(
        Case(
            f"S {name}",
            loop.what,
            loop.code,
            loop.data,
            (loop.full, 0),
            (loop.small, 0),
            loop.writes,
            tried=True,
        )
        for name, loop in LOOPS.items()
    ),
    Case("L1", "singular values", lambda xp, a: xp.linalg.svdvals(a), square, (3000, 0), (64, 0)),
    Case(
        "L2",
        "singular values, tall",
        lambda xp, a: xp.linalg.svdvals(a),
        tall_matrix,
        (20_000, 0),
        (500, 0),
    ),
    Case("L3", "Cholesky", lambda xp, a: xp.linalg.cholesky(a), definite, (3000, 0), (64, 0)),
    Case("L4", "R of QR", lambda xp, a: abs(xp.linalg.qr(a)[1]), square, (3000, 0), (64, 0)),
    Case("L5", "solve", lambda xp, a, b: xp.linalg.solve(a, b), system, (3000, 0), (64, 0)),
    Case("F1", "fft2", lambda xp, a: xp.fft.fft2(a), square, (N, 0), (64, 0)),
    *(
        Case(
            f"P {f.__name__}",
            (f.__doc__ or "").split(".")[0].split(":")[0],
            of_program(f),
            a_line_as_long,
            (n, 0),
            (32, 0),
            tolerance=1e-6,
            tried=True,
        )
        for f, n in SIZES.items()
    ),
)

HOLDOUT = (
    Case("H1", "9-point sweep, written back", nine_points, square, (N, 10), (SMALL, 3), (0,)),
    Case("H2", "chain with sin, cos, tanh", chain, three_lines, (LONG, 0), (SHORT, 0)),
    Case("H3", "weighted mean with where", weighted_sum, three_lines, (LONG, 0), (SHORT, 0)),
)

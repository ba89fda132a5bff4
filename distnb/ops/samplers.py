"""Distributions whose parameters are arrays, and those that NumPy has not.

The number at an index is still a pure function of (seed, stream, index) and the parameters there.
Where candidates are rejected, attempt k draws its words from a stream of its own, so that it does
not matter which other indices need another attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from distnb.ops.philox import (
    TILE,
    fractions,
    multiply_high,
    places,
    words_of,
)
from distnb.ops.variates import Numbers

__all__ = ["SAMPLERS", "Draws", "between", "fill", "fill_all"]

#: Streams of a generator come below; attempts and forks are counted above.
_ATTEMPT, _FORK = 1 << 40, 1 << 56
_MOST = float(2**63 - 1024)  # the largest float64 that is an int64
_WIDEST = 8  # bytes of an integer


class Draws:
    """Random numbers for some indices, as many as are asked for."""

    def __init__(self, index: np.ndarray, seed: int, stream: int, fork: int = 0) -> None:
        self.index = index
        self.key = seed, stream
        self._fork = fork

    def at(self, which: np.ndarray) -> Draws:
        """Return the draws of some of the indices."""
        return Draws(self.index[which], *self.key, self._fork)

    def fork(self, number: int) -> Draws:
        """Return other draws for the same indices; ``number`` is 1, 2 or 3."""
        return Draws(self.index, *self.key, 4 * self._fork + number)

    def words(self, attempt: int = 0) -> np.ndarray:
        """Return two rows of 64 random bits."""
        seed, stream = self.key
        return words_of(self.index, seed, stream + attempt * _ATTEMPT + self._fork * _FORK)

    def uniform(self, attempt: int = 0) -> np.ndarray:
        """Return two rows of fractions between 0 and 1, both excluded."""
        words = self.words(attempt)
        words >>= np.uint64(12)
        return (words.view(np.int64) + 0.5) * 2.0**-52

    def exponential(self) -> np.ndarray:
        """Return standard exponential numbers."""
        return -np.log(self.uniform()[0])

    def normal(self, attempt: int = 0) -> np.ndarray:
        """Return standard normal numbers (Box and Muller)."""
        u, angle = self.uniform(attempt)
        return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * angle)


#: Of one attempt at some indices: candidates, and which are accepted.
Propose = Callable[..., tuple[np.ndarray, np.ndarray]]


def _accepted(draws: Draws, propose: Propose, *args: Any) -> np.ndarray:
    """Return the first candidate of each index that is accepted.

    ``propose(draws, attempt, *args)`` gets the arguments of the indices that are left.
    """
    n = draws.index.size
    out, left, attempt = np.empty(n), np.arange(n), 0
    while left.size:
        values, good = propose(draws.at(left), attempt, *(_of(a, left) for a in args))
        out[left[good]] = values[good]
        left, attempt = left[~good], attempt + 1
    return out


def _of(a: Any, which: np.ndarray) -> Any:
    """Return a parameter at some indices."""
    return a[which] if np.ndim(a) else a


def _by_size(draws: Draws, large: np.ndarray | bool, few: Any, many: Any, *args: Any) -> np.ndarray:
    """Return the results of two samplers, for indices with small and with large parameters."""
    if not np.ndim(large):
        return np.asarray((many if large else few)(draws, *args), np.float64)
    wide = np.broadcast_to(large, draws.index.shape)
    out = np.empty(draws.index.size)
    for sampler, where in ((few, ~wide), (many, wide)):
        which = np.flatnonzero(where)
        if which.size:
            out[which] = sampler(draws.at(which), *(_of(a, which) for a in args))
    return out


# -- continuous, by inversion --------------------------------------------------------------------


def _laplace(draws: Draws, loc: Any, scale: Any) -> np.ndarray:
    u = draws.uniform()[0]
    return loc + scale * np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))


def _logistic(draws: Draws, loc: Any, scale: Any) -> np.ndarray:
    u = draws.uniform()[0]
    return loc + scale * np.log(u / (1 - u))


def _gumbel(draws: Draws, loc: Any, scale: Any) -> np.ndarray:
    return loc - scale * np.log(draws.exponential())


def _triangular(draws: Draws, left: Any, mode: Any, right: Any) -> np.ndarray:
    u, base = draws.uniform()[0], right - left
    low = left + np.sqrt(u * (mode - left) * base)
    return np.where(u * base <= mode - left, low, right - np.sqrt((1 - u) * (right - mode) * base))


def _standard_cauchy(draws: Draws) -> np.ndarray:
    return np.tan(np.pi * (draws.uniform()[0] - 0.5))


# -- continuous, from normal and gamma numbers -----------------------------------------------------


def _gamma_parts(draws: Draws, shape: Any) -> tuple[np.ndarray, Any]:
    """Return numbers whose products with the exponentials of others are gamma distributed.

    Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); a shape below 1 is
    raised by 1, and the result multiplied with a power that may be too small for a float.
    """
    low = np.less(shape, 1)
    d = np.where(low, shape + 1, shape) - 1 / 3
    found = _accepted(draws.fork(1), _propose_gamma, d if np.ndim(d) else float(d))
    if not np.any(low):
        return found, 0.0
    power = np.log(draws.uniform()[0]) / np.where(low, shape, np.inf)
    return found, power


def _propose_gamma(draws: Draws, attempt: int, d: Any) -> tuple[np.ndarray, np.ndarray]:
    x, u = draws.normal(2 * attempt), draws.uniform(2 * attempt + 1)[0]
    v = (1 + x / np.sqrt(9 * d)) ** 3
    good = v > 0
    v = np.where(good, v, 1)
    good &= np.log(u) < x * x / 2 + d - d * v + d * np.log(v)
    return d * v, good | ~np.isfinite(d)


def _standard_gamma(draws: Draws, shape: Any) -> np.ndarray:
    x, power = _gamma_parts(draws, shape)
    return x * np.exp(power)


def _log_gamma(draws: Draws, shape: Any) -> np.ndarray:
    """Logarithms of gamma numbers, which never vanish."""
    x, power = _gamma_parts(draws, shape)
    return np.log(x) + power


def _chisquare(draws: Draws, df: Any) -> np.ndarray:
    return 2 * _standard_gamma(draws, df / 2)


def _noncentral_chisquare(draws: Draws, df: Any, nonc: Any) -> np.ndarray:
    known = np.isfinite(nonc)
    events = _poisson(draws.fork(3), np.where(known, nonc, 0.0)[()] / 2)
    return np.where(known, _chisquare(draws.fork(2), df + 2 * events), nonc)


def _f(draws: Draws, dfnum: Any, dfden: Any) -> np.ndarray:
    return _chisquare(draws.fork(2), dfnum) * dfden / (_chisquare(draws.fork(3), dfden) * dfnum)


def _noncentral_f(draws: Draws, dfnum: Any, dfden: Any, nonc: Any) -> np.ndarray:
    above = _noncentral_chisquare(draws.fork(2), dfnum, nonc)
    return above * dfden / (_chisquare(draws.fork(3), dfden) * dfnum)


def _beta(draws: Draws, a: Any, b: Any) -> np.ndarray:
    x, y = _log_gamma(draws.fork(2), a), _log_gamma(draws.fork(3), b)
    return 1 / (1 + np.exp(y - x))


def _standard_t(draws: Draws, df: Any) -> np.ndarray:
    return draws.normal() / np.sqrt(_chisquare(draws.fork(2), df) / df)


def _wald(draws: Draws, mean: Any, scale: Any) -> np.ndarray:
    """Michael, Schucany and Haas (1976)."""
    y = draws.normal() ** 2 * mean / (2 * scale)
    ratio = 1 / (1 + y + np.sqrt(y * (2 + y)))
    small = draws.fork(1).uniform()[0] * (1 + ratio) <= 1
    return mean * np.where(small, ratio, 1 / ratio)


def _vonmises(draws: Draws, mu: Any, kappa: Any) -> np.ndarray:
    """Best and Fisher (1979); it is normal for large kappa, uniform for the smallest."""

    def spread(draws: Draws, kappa: Any) -> np.ndarray:
        return _by_size(draws, ~np.less_equal(kappa, 1e-8), _angle, _best_fisher, kappa)

    def narrow(draws: Draws, kappa: Any) -> np.ndarray:
        return draws.normal() / np.sqrt(kappa)

    angle = mu + _by_size(draws, np.greater(kappa, 1e6), spread, narrow, kappa)
    return (angle + np.pi) % (2 * np.pi) - np.pi


def _angle(draws: Draws, kappa: Any) -> np.ndarray:
    return np.pi * (2 * draws.uniform()[0] - 1)


def _best_fisher(draws: Draws, kappa: Any) -> np.ndarray:
    r = 1 + np.sqrt(1 + 4 * kappa * kappa)
    rho = (r - np.sqrt(2 * r)) / (2 * kappa)
    s = np.where(np.less(kappa, 1e-5), 1 / kappa + kappa, (1 + rho * rho) / (2 * rho))
    found = _accepted(draws.fork(1), _propose_angle, kappa, s if np.ndim(s) else float(s))
    return np.where(draws.uniform()[0] < 0.5, -found, found)


def _propose_angle(draws: Draws, attempt: int, kappa: Any, s: Any) -> tuple[np.ndarray, np.ndarray]:
    u, v = draws.uniform(attempt)
    z = np.cos(np.pi * u)
    w = (1 + s * z) / (s + z)
    y = kappa * (s - w)
    good = (y * (2 - y) >= v) | (np.log(y / v) + 1 >= y)
    return np.arccos(np.clip(w, -1, 1)), good | np.isnan(kappa)


# -- discrete --------------------------------------------------------------------------------------

_SMALL = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 20)))])


def log_factorial(k: Any) -> Any:
    """Return log(k!) for whole numbers k >= 0: from a table, or by Stirling's series.

    >>> round(float(log_factorial(np.array(52.0))), 6)
    156.360836
    """
    x = np.maximum(k, 16.0)
    series = (x + 0.5) * np.log(x) - x + 0.5 * np.log(2 * np.pi)
    series = series + (1 / 12 - (1 / 360 - 1 / 1260 / (x * x)) / (x * x)) / x
    return np.where(np.less(k, 16), _SMALL[np.clip(k, 0, 16).astype(np.int64)], series)


def _inverted(u: np.ndarray, p: np.ndarray, ratio: Callable[..., Any], *args: Any) -> np.ndarray:
    """Return the least k whose probabilities up to it add up to ``u``.

    ``p`` is that of 0, and ``ratio(k, *args)`` what that of k - 1 is multiplied with.
    """
    found, left, p = np.zeros(u.size), np.arange(u.size), p * np.ones(u.size)
    total, k = p, 0
    while left.size:
        more = (u > total) & ((p > 0) | (k == 0))  # what rounding left over ends with the last k
        left, u, total = left[more], u[more], total[more]
        args = tuple(_of(a, more) for a in args)
        k += 1
        found[left] = k
        p = p[more] * ratio(k, *args)
        total = total + p
        over = p <= 0
        if over.any():
            found[left[over]] = k - 1
    return found


def _poisson(draws: Draws, lam: Any) -> np.ndarray:
    return _by_size(draws, np.greater_equal(lam, 10), _few_events, _many_events, lam)


def _few_events(draws: Draws, lam: Any) -> np.ndarray:
    return _inverted(draws.uniform()[0], np.exp(-lam), lambda k, lam: lam / k, lam)


def _many_events(draws: Draws, lam: Any) -> np.ndarray:
    return _accepted(draws, _propose_poisson, lam)


def _propose_poisson(draws: Draws, attempt: int, lam: Any) -> tuple[np.ndarray, np.ndarray]:
    """PTRS of Hormann, "The transformed rejection method for Poisson variables" (1993)."""
    u, v = draws.uniform(attempt)
    u -= 0.5
    b = 0.931 + 2.53 * np.sqrt(lam)
    a = -0.059 + 0.02483 * b
    us = 0.5 - np.abs(u)
    k = np.floor((2 * a / us + b) * u + lam + 0.43)
    quick = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    possible = (k >= 0) & ((us >= 0.013) | (v <= us))
    height = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b))
    return k, quick | (possible & (height <= k * np.log(lam) - lam - log_factorial(k)))


def _binomial(draws: Draws, n: Any, p: Any) -> np.ndarray:
    n, over = np.asarray(n, np.float64)[()], np.greater(p, 0.5)
    q = np.where(over, 1 - p, p)[()]
    k = _by_size(draws, n * q >= 10, _few_successes, _many_successes, n, q)
    return np.where(over, n - k, k)


def _few_successes(draws: Draws, n: Any, p: Any) -> np.ndarray:
    odds = p / (1 - p)
    start = np.exp(n * np.log1p(-p))
    step = lambda k, n, odds: (n - k + 1) / k * odds  # noqa: E731
    return _inverted(draws.uniform()[0], start, step, n, odds)


def _many_successes(draws: Draws, n: Any, p: Any) -> np.ndarray:
    return _accepted(draws, _propose_binomial, n, p)


def _propose_binomial(draws: Draws, attempt: int, n: Any, p: Any) -> tuple[np.ndarray, np.ndarray]:
    """BTRS of Hormann, "The generation of binomial random variates" (1993)."""
    u, v = draws.uniform(attempt)
    u -= 0.5
    spread = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    us = 0.5 - np.abs(u)
    k = np.floor((2 * a / us + b) * u + n * p + 0.5)
    quick = (us >= 0.07) & (v <= 0.92 - 4.2 / b)
    possible = (k >= 0) & (k <= n)
    k = np.clip(k, 0, n)
    m = np.floor((n + 1) * p)
    height = np.log(v * (2.83 + 5.1 / b) * spread / (a / (us * us) + b))
    above = log_factorial(m) + log_factorial(n - m) - log_factorial(k) - log_factorial(n - k)
    return k, possible & (quick | (height <= above + (k - m) * np.log(p / (1 - p))))


def _negative_binomial(draws: Draws, n: Any, p: Any) -> np.ndarray:
    lam = _standard_gamma(draws.fork(2), n) * ((1 - p) / p)
    return _poisson(draws.fork(3), lam)


def _geometric(draws: Draws, p: Any) -> np.ndarray:
    k = np.ceil(np.log(draws.uniform()[0]) / np.log1p(-p))
    return np.clip(k, 1, _MOST)


def _logseries(draws: Draws, p: Any) -> np.ndarray:
    """LK of Kemp, "Efficient generation of logarithmically distributed variables" (1981)."""
    u, v = draws.uniform()
    q = -np.expm1(u * np.log1p(-p))
    k = np.where(v <= q * q, np.floor(1 + np.log(v) / np.log(q)), np.where(v >= q, 1.0, 2.0))
    return np.where(v >= p, 1.0, np.clip(k, 1, _MOST))


def _zipf(draws: Draws, a: Any) -> np.ndarray:
    return _accepted(draws, _propose_zipf, np.minimum(a, 1024.0) - 1)


def _propose_zipf(draws: Draws, attempt: int, a: Any) -> tuple[np.ndarray, np.ndarray]:
    """Devroye, "Non-uniform random variate generation" (1986), X.6.1.

    Where many would be too large for an integer, they come from the others alone.
    """
    u, v = draws.uniform(attempt)
    least = np.exp(-a * np.log(_MOST))
    u = np.where(np.greater(least, 1e-3), least + (1 - least) * u, u)
    k = np.floor(np.exp(-np.log(u) / a))
    t, b = np.log1p(1 / k) * a, a * np.log(2.0)
    good = v * k * np.expm1(t) * np.exp(b - t) <= np.expm1(b)
    return k, good & (k <= _MOST)


def _hypergeometric(draws: Draws, ngood: Any, nbad: Any, nsample: Any) -> np.ndarray:
    good, bad, sample = (np.asarray(x, np.float64)[()] for x in (ngood, nbad, nsample))
    m = np.minimum(sample, good + bad - sample)
    few, many = np.minimum(good, bad), np.maximum(good, bad)
    k = _by_size(draws, np.greater(m, 10), _few_drawn, _many_drawn, few, many, m)
    k = np.where(good > bad, m - k, k)
    return np.where(m < sample, good - k, k)


def _few_drawn(draws: Draws, good: Any, bad: Any, m: Any) -> np.ndarray:
    """Of at most 10, of which at least half are bad."""
    start = log_factorial(bad) + log_factorial(good + bad - m)
    start = start - log_factorial(bad - m) - log_factorial(good + bad)
    step = lambda k, g, b, m: (g - k + 1) * (m - k + 1) / (k * (b - m + k))  # noqa: E731
    return _inverted(draws.uniform()[0], np.exp(start), step, good, bad, m)


def _many_drawn(draws: Draws, good: Any, bad: Any, m: Any) -> np.ndarray:
    return _accepted(draws, _propose_drawn, good, bad, m)


def _propose_drawn(
    draws: Draws, attempt: int, good: Any, bad: Any, m: Any
) -> tuple[np.ndarray, np.ndarray]:
    """HRUA of Stadlober, "Sampling from Poisson, binomial and hypergeometric ..." (1989)."""
    u, v = draws.uniform(attempt)
    n = good + bad
    middle = m * good / n + 0.5
    spread = np.sqrt((n - m) * m * good * bad / (n * n * (n - 1)) + 0.5)
    x = middle + (1.7155277699214135 * spread + 0.8989161620588988) * (v - 0.5) / u
    most = np.minimum(m, good)
    possible = (x >= 0) & (x < np.minimum(most + 1, np.floor(middle + 16 * spread)))
    k = np.clip(np.floor(x), 0, most)
    mode = np.floor((m + 1) * (good + 1) / (n + 2))

    def ways(k: Any) -> Any:
        inside = log_factorial(k) + log_factorial(good - k)
        return inside + log_factorial(m - k) + log_factorial(bad - m + k)

    return k, possible & (2 * np.log(u) <= ways(mode) - ways(k))


def _scaled_uniform(draws: Draws, loc: Any, scale: Any) -> np.ndarray:
    """Return the numbers that ``philox`` gives for parameters without axes."""
    return fractions(draws.words()[0]) * scale + loc


def _scaled(kind: str, draws: Draws, loc: Any, scale: Any) -> np.ndarray:
    """Return the numbers that ``variates`` gives for parameters without axes."""
    out = np.empty(draws.index.size)
    Numbers(kind, *draws.key, ()).at(draws.index, out)
    return out * scale + loc


def between(kind: np.dtype, closed: bool) -> str:
    """Return the name of what draws integers of a dtype between arrays, with their ends or not."""
    return f"integers_{kind}{'_closed' if closed else ''}"


def _integers_between(
    kind: np.dtype, closed: bool, draws: Draws, low: Any, high: Any
) -> np.ndarray:
    """Whole numbers in [low, high), or [low, high], as those of ``philox``."""
    if kind.itemsize < _WIDEST:  # else what is given holds no others
        least, most = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
        for name, wrong in (("low", low < least), ("high", high > most + (not closed))):
            if np.any(wrong):
                raise ValueError(f"{name} is out of bounds for {kind}")
    if np.any(low > high if closed else low >= high):
        raise ValueError("low > high" if closed else "low >= high")
    first, end = (np.asarray(x).astype(np.uint64) for x in (low, high))
    n, words = end - first + np.uint64(closed), draws.words()
    found = multiply_high(words, n)
    return np.where(n == 0, words[0], found) + first  # all there are: a word is one of them


#: name -> function(draws, *args) of numbers or arrays; the names are those of NumPy's methods.
SAMPLERS: dict[str, Callable[..., np.ndarray]] = {
    "beta": _beta,
    "binomial": _binomial,
    "chisquare": _chisquare,
    "f": _f,
    "gamma": lambda draws, shape, scale: _standard_gamma(draws, shape) * scale,
    "geometric": _geometric,
    "gumbel": _gumbel,
    "hypergeometric": _hypergeometric,
    "laplace": _laplace,
    "log_gamma": _log_gamma,
    "logistic": _logistic,
    "lognormal": lambda draws, mean, sigma: np.exp(mean + sigma * draws.normal()),
    "logseries": _logseries,
    "negative_binomial": _negative_binomial,
    "noncentral_chisquare": _noncentral_chisquare,
    "noncentral_f": _noncentral_f,
    "pareto": lambda draws, a: np.expm1(draws.exponential() / a),
    "poisson": _poisson,
    "power": lambda draws, a: np.exp(-draws.exponential() / a),
    "rayleigh": lambda draws, scale: scale * np.sqrt(2 * draws.exponential()),
    "scaled_exponential": partial(_scaled, "standard_exponential"),
    "scaled_normal": partial(_scaled, "standard_normal"),
    "scaled_uniform": _scaled_uniform,
    "standard_cauchy": _standard_cauchy,
    "standard_gamma": _standard_gamma,
    "standard_t": _standard_t,
    "triangular": _triangular,
    "vonmises": _vonmises,
    "wald": _wald,
    "weibull": lambda draws, a: np.exp(np.log(draws.exponential()) / a),
    "zipf": _zipf,
}


SAMPLERS |= {
    between(kind, closed): partial(_integers_between, kind, closed)
    for kind in map(np.dtype, "?bBhHiIlL")
    for closed in (False, True)
}


def fill(
    kind: str,
    seed: int,
    stream: int,
    args: tuple[Any, ...],
    index_runs: Iterable[tuple[int, int]],
    out: np.ndarray,
) -> None:
    """Fill ``out`` as ``philox.fill`` does; ``args`` may be arrays as long as ``out``."""
    sampler = SAMPLERS[kind]
    with np.errstate(all="ignore"):
        for index, here in places(index_runs, out.size):
            given = (a[here] if isinstance(a, np.ndarray) else a for a in args)
            found = sampler(Draws(index, seed, stream), *given)
            np.copyto(out[here], found, casting="unsafe")


def fill_all(kind: str, seed: int, stream: int, args: tuple[float, ...], out: np.ndarray) -> None:
    """Fill all of an array, as ``philox.fill_all`` does; ``args`` are numbers."""
    with np.errstate(all="ignore"):
        for at in range(0, out.size, TILE):
            tile = out[at : at + TILE]
            index = np.arange(at, at + tile.size, dtype=np.uint64)
            found = SAMPLERS[kind](Draws(index, seed, stream), *args)
            np.copyto(tile, found, casting="unsafe")

"""Random numbers by global index: the same for every number of engines and every layout."""

from __future__ import annotations

import operator
from functools import lru_cache
from math import copysign, isfinite
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array, numeric
from distnb.client.handle.indexing import lengths
from distnb.client.record.eager import delivered
from distnb.client.session.session import Session
from distnb.client.stats.bit_generators import NAME, PhiloxBitGenerator, Seed
from distnb.client.stats.drawing import Size, check_cast, floating
from distnb.client.stats.random_texts import described
from distnb.client.stats.shuffling import Shuffler
from distnb.common.errors import explain
from distnb.ops.philox import words_of
from distnb.ops.samplers import between
from distnb.ops.scalars import SCALARS

__all__ = ["Generator", "default_rng"]

_FLOATS, _INTEGERS = np.dtype(np.float64), np.dtype(np.int64)


@described
class Generator(Shuffler):
    """Makes arrays of random numbers, with the methods of ``numpy.random.Generator``.

    The number at a global index depends on the seed, on how many arrays the generator has made
    before, and on the index: never on the number of engines, the layout or the timing. The words
    are those of Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011),
    so the numbers are not those of NumPy's generators. Of all but uniform numbers and integers,
    NumPy's own methods draw blocks of 1,024 indices, each from a counter of its own. With arrays of
    parameters an index is drawn by itself: normal and exponential numbers are the same then, others
    come from other methods.

    Nothing is sent. The layout is the default, or ``dist=`` and ``grid=``. Parameters may be
    arrays, which broadcast; then the result lies as that of an elementwise operation, to where the
    parameters are brought. What NumPy refuses raises at the call, or, in the elements of an array,
    when an engine finds it.

    Parameters
    ----------
    seed : optional
        A number, several, or what a generator of NumPy's is made of; by default a fresh one is
        drawn.
    session : Session, optional
        By default the current one, whenever an array is drawn.

    Examples
    --------
    >>> import distnb as dnb
    >>> def draw(n):
    ...     with dnb.inprocess(n):
    ...         rng = dnb.random.default_rng(1)
    ...         return rng.random(5).to_numpy(), rng.poisson([1, 10, 100]).to_numpy()
    >>> [bool((a == b).all()) for a, b in zip(draw(1), draw(3))]
    [True, True]
    """

    #: Whether the end of a range may be below its begin.
    _may_fall = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({NAME})"

    @property
    def bit_generator(self) -> PhiloxBitGenerator:
        """What the numbers follow from: ``state`` can be kept and assigned, ``seed_seq`` spawns.

        Generators that are made of it share it, as NumPy's do: each goes on where another was.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     rng = dnb.random.default_rng(1)
        ...     state = rng.bit_generator.state
        ...     x = rng.random(5)
        ...     rng.bit_generator.state = state
        ...     bool((x == rng.random(5)).all())
        True
        """
        return self._bits

    def random(
        self,
        size: Size = None,
        dtype: DTypeLike = float,
        out: Array | None = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats uniformly from [0, 1)."""
        return self._standard("uniform", (0.0, 1.0), size, dtype, out, dist, grid)

    def uniform(
        self,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats uniformly from [low, high)."""
        ends = _plain(low, high)
        if ends is None:
            return self._scaled("uniform", low, np.subtract(high, low), size, dist, grid)
        if not isfinite(ends[1] - ends[0]):
            raise OverflowError("high - low range exceeds valid bounds")
        if ends[1] < ends[0] and not self._may_fall:
            shown = f"[{ends[0]}, {ends[1]})"
            raise ValueError(explain("range", shown, "low <= high", "swap them"))
        return self._draw("uniform", ends, size, _FLOATS, dist, grid)

    def standard_normal(
        self,
        size: Size = None,
        dtype: DTypeLike = float,
        out: Array | None = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from the standard normal distribution."""
        return self._standard("normal", (0.0, 1.0), size, dtype, out, dist, grid)

    def normal(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from a normal distribution."""
        plain = _plain(loc, scale)
        if plain is None:
            return self._scaled("normal", loc, scale, size, dist, grid)
        _positive(plain[1], "pass the standard deviation")
        return self._draw("normal", plain, size, _FLOATS, dist, grid)

    def standard_exponential(
        self,
        size: Size = None,
        dtype: DTypeLike = float,
        method: str = "zig",
        out: Array | None = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from the exponential distribution with mean 1."""
        return self._standard("exponential", (1.0,), size, dtype, out, dist, grid)

    def exponential(
        self, scale: ArrayLike = 1.0, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw floats from an exponential distribution with mean ``scale``."""
        plain = _plain(scale)
        if plain is None:
            return self._scaled("exponential", 0.0, scale, size, dist, grid)
        _positive(plain[0], "pass the mean")
        return self._draw("exponential", plain, size, _FLOATS, dist, grid)

    def standard_gamma(
        self,
        shape: ArrayLike,
        size: Size = None,
        dtype: DTypeLike = float,
        out: Array | None = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from the gamma distribution with scale 1."""
        kind, size = floating(dtype), _size_of(out, size, dtype)
        found = self._sample("standard_gamma", (shape,), size, dist, grid, kind)
        return found if out is None else delivered(found, out)

    def gamma(
        self,
        shape: ArrayLike,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from a gamma distribution."""
        return self._sample("gamma", (shape, scale), size, dist, grid)

    def integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        dtype: DTypeLike = np.int64,
        endpoint: bool = False,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw integers from [low, high), or [low, high] with ``endpoint``."""
        ends: Any = (0, low) if high is None else (low, high)
        kind = _INTEGERS if dtype is np.int64 or dtype is int else numeric(dtype)
        if kind.kind not in "iub":
            raise TypeError(explain("dtype", kind, "an integer type", "use random() for floats"))
        if size is not None and 0 in lengths(size):
            return self._draw("integers", (0, 1), size, kind, dist, grid)  # whatever the range is
        if _plain(*ends) is None:
            return self._between(ends[0], ends[1], size, kind, endpoint, dist, grid)
        first, stop = _whole(ends[0]), _whole(ends[1]) + bool(endpoint)
        lowest, highest = _limits(kind)
        if first >= stop or first < lowest or stop - 1 > highest:
            raise ValueError(
                explain(
                    "range", f"[{first}, {stop})", f"a filled one within {kind}", "widen or swap it"
                )
            )
        return self._draw("integers", (first, stop), size, kind, dist, grid)

    def beta(
        self, a: ArrayLike, b: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw floats from a beta distribution."""
        return self._sample("beta", (a, b), size, dist, grid)

    def binomial(
        self, n: ArrayLike, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw numbers of successes among ``n`` trials."""
        return self._sample("binomial", (n, p), size, dist, grid, np.int64)

    def chisquare(
        self, df: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw floats from a chi-square distribution."""
        return self._sample("chisquare", (df,), size, dist, grid)

    def f(
        self,
        dfnum: ArrayLike,
        dfden: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from an F distribution."""
        return self._sample("f", (dfnum, dfden), size, dist, grid)

    def geometric(
        self, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw numbers of trials up to the first success."""
        return self._sample("geometric", (p,), size, dist, grid, np.int64)

    def gumbel(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from a Gumbel distribution."""
        return self._sample("gumbel", (loc, scale), size, dist, grid)

    def hypergeometric(
        self,
        ngood: ArrayLike,
        nbad: ArrayLike,
        nsample: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw numbers of good ones in samples without replacement."""
        return self._sample(
            "hypergeometric", (ngood, nbad, nsample), size, dist, grid, np.int64, np.int64
        )

    def laplace(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from a Laplace distribution."""
        return self._sample("laplace", (loc, scale), size, dist, grid)

    def logistic(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from a logistic distribution."""
        return self._sample("logistic", (loc, scale), size, dist, grid)

    def lognormal(
        self,
        mean: ArrayLike = 0.0,
        sigma: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats whose logarithms are normal."""
        return self._sample("lognormal", (mean, sigma), size, dist, grid)

    def logseries(
        self, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw integers from a logarithmic series distribution."""
        return self._sample("logseries", (p,), size, dist, grid, np.int64)

    def negative_binomial(
        self, n: ArrayLike, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw numbers of failures before ``n`` successes."""
        return self._sample("negative_binomial", (n, p), size, dist, grid, np.int64)

    def noncentral_chisquare(
        self,
        df: ArrayLike,
        nonc: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from a noncentral chi-square distribution."""
        return self._sample("noncentral_chisquare", (df, nonc), size, dist, grid)

    def noncentral_f(
        self,
        dfnum: ArrayLike,
        dfden: ArrayLike,
        nonc: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from a noncentral F distribution."""
        return self._sample("noncentral_f", (dfnum, dfden, nonc), size, dist, grid)

    def pareto(
        self, a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw floats from a Pareto II distribution."""
        return self._sample("pareto", (a,), size, dist, grid)

    def poisson(
        self, lam: ArrayLike = 1.0, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw integers from a Poisson distribution."""
        return self._sample("poisson", (lam,), size, dist, grid, np.int64)

    def power(
        self, a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw floats in [0, 1] from a power distribution."""
        return self._sample("power", (a,), size, dist, grid)

    def rayleigh(
        self, scale: ArrayLike = 1.0, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw floats from a Rayleigh distribution."""
        return self._sample("rayleigh", (scale,), size, dist, grid)

    def standard_cauchy(self, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> Array:
        """Draw floats from the standard Cauchy distribution."""
        return self._sample("standard_cauchy", (), size, dist, grid)

    def standard_t(
        self, df: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw floats from Student's t distribution."""
        return self._sample("standard_t", (df,), size, dist, grid)

    def triangular(
        self,
        left: ArrayLike,
        mode: ArrayLike,
        right: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from a triangular distribution."""
        return self._sample("triangular", (left, mode, right), size, dist, grid)

    def vonmises(
        self,
        mu: ArrayLike,
        kappa: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw angles from a von Mises distribution."""
        return self._sample("vonmises", (mu, kappa), size, dist, grid)

    def wald(
        self,
        mean: ArrayLike,
        scale: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw floats from a Wald (inverse Gaussian) distribution."""
        return self._sample("wald", (mean, scale), size, dist, grid)

    def weibull(
        self, a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw floats from a Weibull distribution."""
        return self._sample("weibull", (a,), size, dist, grid)

    def zipf(
        self, a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw integers from a Zipf distribution."""
        return self._sample("zipf", (a,), size, dist, grid, np.int64)

    def _standard(
        self,
        kind: str,
        args: tuple[Any, ...],
        size: Size,
        dtype: DTypeLike,
        out: Array | None,
        dist: Dist,
        grid: Grid,
    ) -> Array:
        """Draw numbers without parameters, into an array that may be given."""
        if out is None and dtype is float:
            return self._draw(kind, args, size, _FLOATS, dist, grid)
        shape = _size_of(out, size, dtype)
        found = self._draw(kind, args, shape, floating(dtype), dist, grid)
        return found if out is None else delivered(found, out)

    def _scaled(
        self, kind: str, loc: ArrayLike, scale: ArrayLike, size: Size, dist: Dist, grid: Grid
    ) -> Array:
        """Draw standard numbers, times arrays, plus arrays."""
        return self._sample(f"scaled_{kind}", (loc, scale), size, dist, grid)

    def _between(
        self,
        low: ArrayLike,
        high: ArrayLike,
        size: Size,
        kind: np.dtype,
        closed: bool,
        dist: Dist,
        grid: Grid,
    ) -> Array:
        """Draw integers between arrays; those of the notebook's are made ends that are included."""
        to = np.dtype(np.uint64 if kind == np.uint64 else np.int64)
        least, most = _limits(kind)
        first = _bound("low", low, kind, to, least, most)
        end = _bound("high", high, kind, to, least, most if closed else most + 1)
        if not isinstance(end, Array) and not closed:
            if end.size and end.min() <= least:
                raise ValueError("low >= high")
            end, closed = end - 1, True
        if not isinstance(end, Array):
            end = end.astype(to)
        return self._sample(between(kind, closed), (first, end), size, dist, grid, kind, to)

    def bytes(self, length: int) -> bytes:
        """Return random bytes, in the notebook.

        What is sent is the bytes, if they were drawn on engines.

        Parameters
        ----------
        length : int
            How many.

        Returns
        -------
        bytes
            Each value as likely.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     len(dnb.random.default_rng(1).bytes(10))
        10
        """
        return self.integers(0, 256, length, np.uint8).to_numpy().tobytes()

    def spawn(self, n_children: int) -> list[Generator]:
        """Return generators whose numbers have nothing to do with each other's; nothing is sent.

        Parameters
        ----------
        n_children : int
            How many.

        Returns
        -------
        list of Generator
            With seeds that follow from that of this one.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     first, second = dnb.random.default_rng(1).spawn(2)
        ...     bool((first.random(5) != second.random(5)).all())
        True
        """
        streams = range(n_children)
        words = [self._next() for _ in streams]
        return [Generator(_mixed(self._seed, w), self._session) for w in words]


def _size_of(out: Array | None, size: Size, dtype: DTypeLike) -> Size:
    """Return the size that is asked for, by itself or by an array to draw into."""
    if out is None:
        return size
    if not isinstance(out, Array):
        raise TypeError(explain("out", type(out).__name__, "a DistArray", "leave it out"))
    if out.dtype != numeric(dtype):
        raise TypeError(explain("out", out.dtype, numeric(dtype), "pass dtype="))
    if size is not None and lengths(size) != out.shape:
        raise ValueError(explain("out", f"shape {out.shape}", lengths(size), "leave out size"))
    return out.shape


def _plain(*parameters: Any) -> tuple[float, ...] | None:
    """Return parameters as floats; None if any is an array."""
    floats = True
    for p in parameters:
        if type(p) is not float:
            floats = False
            if type(p) not in SCALARS and (isinstance(p, Array) or np.ndim(p)):
                return None
    return parameters if floats else tuple(map(float, parameters))


def _whole(end: SupportsIndex | float) -> int:
    """Return the end of a range as an integer; of a fraction that is what NumPy has, too."""
    if type(end) is int:  # to look for a protocol takes longer than to draw
        return end
    return operator.index(end) if isinstance(end, SupportsIndex) else int(end)


def _bound(name: str, end: ArrayLike, kind: np.dtype, to: np.dtype, least: int, most: int) -> Any:
    """Return an end of a range that is an array: in the notebook of integers that hold it.

    Engines find what is out of bounds, but for what is none of the integers that they get.
    """
    x: Any = end if isinstance(end, Array) else np.asarray(end)
    if x.dtype.kind not in "biufO":
        check_cast(x.dtype, to)
    if isinstance(x, Array) and (x.dtype.kind == "u") == (to.kind == "u"):
        return x
    if x.dtype == object:
        x = np.vectorize(int, otypes=[object])(x)
    if x.size:
        lowest, highest = int(x.min()), int(x.max())
        if lowest < least or highest > most:
            raise ValueError(f"{name} is out of bounds for {kind}")
        if not isinstance(x, Array):
            fits = highest <= np.iinfo(to).max
            x = x.astype(to) if fits else x.astype(object)
    return x


@lru_cache(maxsize=16)
def _limits(kind: np.dtype) -> tuple[int, int]:
    """Return the least and the largest of integers, or of truth values."""
    return (0, 1) if kind.kind == "b" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))


def _positive(scale: float, do: str) -> None:
    if scale < 0 or (scale == 0 and copysign(1, scale) < 0):  # of NaN all are NaN
        raise ValueError(explain("scale", scale, "a number >= 0", do))


def _mixed(seed: int, number: int) -> int:
    """Return the seed of a generator that was spawned (the words of an index never drawn)."""
    last = np.array([2**64 - 1 - number], np.uint64)
    return int(words_of(last, seed, 2**64 - 1)[0, 0])


def default_rng(seed: Generator | Seed = None, *, session: Session | None = None) -> Generator:
    """Return a generator of random numbers, which lie on engines.

    Nothing is sent: each engine draws what it holds. A seed gives the same numbers on any number of
    engines, but other ones than NumPy's.

    Parameters
    ----------
    seed : optional
        A number, several, or what a generator of NumPy's is made of; by default a fresh one is
        drawn. Under SPMD give one: else each rank would draw its own. A generator is returned as it
        is.
    session : Session, optional
        By default the current one, whenever an array is drawn.

    Returns
    -------
    Generator
        With the methods of ``numpy.random.Generator``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rng = dnb.random.default_rng(1)
    ...     rng.integers(10, size=5, dist="block").to_numpy()
    array([3, 8, 1, 0, 9])
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed, session)

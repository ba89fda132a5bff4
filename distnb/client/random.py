"""Random numbers by global index: the same for every number of engines and every layout."""

from __future__ import annotations

import operator
import secrets
from typing import Any

import numpy as np

from distnb.client.array import DistArray
from distnb.client.creation import _shape
from distnb.client.current import need
from distnb.client.handle import create, numeric
from distnb.client.placement import layout_of_new
from distnb.client.session import Session
from distnb.errors import explain

__all__ = ["Generator", "default_rng"]


class Generator:
    """Makes arrays of random numbers.

    The number at a global index depends on the seed, on how many arrays the generator has made
    before, and on the index: never on the number of engines, the layout or the timing. The
    numbers are those of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
    3", 2011), not those of NumPy's generators.

    Examples
    --------
    >>> import distnb as dnb
    >>> def draw(n):
    ...     with dnb.inprocess(n):
    ...         return dnb.random.default_rng(1).random(5).to_numpy()
    >>> bool((draw(1) == draw(3)).all())
    True
    """

    def __init__(self, seed: int, session: Session | None = None) -> None:
        self.seed = seed
        self._session = session
        self._stream = 0

    def _draw(
        self, kind: str, args: tuple[Any, ...], size: Any, dtype: Any, dist: Any, grid: Any
    ) -> DistArray:
        session = need(self._session)
        shape = () if size is None else _shape(size)
        found = numeric(dtype)
        layout = layout_of_new(shape, found, session, dist, grid)
        how = ("random", kind, self.seed, self._stream, args)
        made = create(session, shape, found, layout, how)
        self._stream += 1
        return made

    def random(
        self, size: Any = None, dtype: Any = float, *, dist: Any = None, grid: Any = None
    ) -> DistArray:
        """Draw floats uniformly from [0, 1)."""
        return self._draw("uniform", (0.0, 1.0), size, _floating(dtype), dist, grid)

    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> DistArray:
        """Draw floats uniformly from [low, high)."""
        return self._draw("uniform", (float(low), float(high)), size, float, dist, grid)

    def standard_normal(
        self, size: Any = None, dtype: Any = float, *, dist: Any = None, grid: Any = None
    ) -> DistArray:
        """Draw floats from the standard normal distribution."""
        return self._draw("normal", (0.0, 1.0), size, _floating(dtype), dist, grid)

    def normal(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> DistArray:
        """Draw floats from a normal distribution."""
        if scale < 0:
            raise ValueError(
                explain("scale", scale, "a number >= 0", "pass the standard deviation")
            )
        return self._draw("normal", (float(loc), float(scale)), size, float, dist, grid)

    def exponential(
        self, scale: float = 1.0, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> DistArray:
        """Draw floats from an exponential distribution with mean ``scale``."""
        if scale < 0:
            raise ValueError(explain("scale", scale, "a number >= 0", "pass the mean"))
        return self._draw("exponential", (float(scale),), size, float, dist, grid)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> DistArray:
        """Draw integers from [low, high), or [low, high] with ``endpoint``."""
        first, last = (
            (0, operator.index(low))
            if high is None
            else (operator.index(low), operator.index(high))
        )
        stop = last + bool(endpoint)
        kind = numeric(dtype)
        if kind.kind not in "iub":
            raise TypeError(explain("dtype", kind, "an integer type", "use random() for floats"))
        lowest, highest = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
        if first >= stop or first < lowest or stop - 1 > highest:
            raise ValueError(
                explain(
                    "range", f"[{first}, {stop})", f"a filled one within {kind}", "widen or swap it"
                )
            )
        return self._draw("integers", (first, stop), size, kind, dist, grid)


def _floating(dtype: Any) -> np.dtype:
    kind = numeric(dtype)
    if kind not in (np.float32, np.float64):
        raise TypeError(explain("dtype", kind, "float32 or float64", "use integers() for integers"))
    return kind


def default_rng(seed: int | None = None, *, session: Session | None = None) -> Generator:
    """Return a generator; without a seed, a fresh one is drawn.

    Under SPMD give a seed: without one each rank would draw its own.
    """
    if seed is None:
        return Generator(secrets.randbits(63), session)
    value = operator.index(seed)
    if not 0 <= value < 1 << 64:
        raise ValueError(explain("seed", value, "a number from 0 to 2**64 - 1", "pass another"))
    return Generator(value, session)

"""The functions of ``numpy.random`` that draw from one generator for all: ``seed``, ``rand`` ..."""

from __future__ import annotations

from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array
from distnb.client.session.session import Session
from distnb.client.stats.drawing import Seed, Size, number_of
from distnb.client.stats.random import Generator

__all__ = ["RandomState"]

#: What ``get_state`` names the way in which numbers follow from a seed.
NAME = "Philox4x32-10"


class RandomState(Generator):
    """Makes arrays of random numbers, with the methods of ``numpy.random.RandomState``.

    The numbers are those of :class:`distnb.random.Generator`, and not those of NumPy's streams: a
    seed gives the same numbers on any number of engines, but others than NumPy gives.

    Parameters
    ----------
    seed : optional
        A number, several, or a bit generator of NumPy's; without one, a fresh one is drawn.
    session : Session, optional
        By default the current one, whenever an array is drawn.

    Examples
    --------
    >>> import distnb as dnb
    >>> state = dnb.random.RandomState(1)
    >>> with dnb.inprocess(2):
    ...     state.rand(3, 2).shape, bool(state.randint(5, size=100).max() < 5)
    ((3, 2), True)
    """

    def __init__(self, seed: Seed = None, session: Session | None = None) -> None:
        super().__init__(seed, session)

    def seed(self, seed: Seed = None) -> None:
        """Begin again, with a seed."""
        self._seed, self._stream = number_of(seed), 0

    def get_state(self, legacy: bool = True) -> tuple[str, int, int]:
        """Return what the next numbers follow from: a name, the seed, the number of draws."""
        return NAME, self._seed, self._stream

    def set_state(self, state: tuple[str, int, int]) -> None:
        """Go on where a state was taken."""
        name, seed, stream = state
        if name != NAME:
            raise ValueError(f"set_state can only be used with legacy {NAME} state instances.")
        self._seed, self._stream = number_of(seed), int(stream)

    def rand(self, *shape: int, dist: Dist = None, grid: Grid = None) -> Array:
        """Draw floats uniformly from [0, 1)."""
        return self.random(shape or None, dist=dist, grid=grid)

    def randn(self, *shape: int, dist: Dist = None, grid: Grid = None) -> Array:
        """Draw floats from the standard normal distribution."""
        return self.standard_normal(shape or None, dist=dist, grid=grid)

    def random_sample(self, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> Array:
        """Draw floats uniformly from [0, 1)."""
        return self.random(size, dist=dist, grid=grid)

    def randint(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        dtype: DTypeLike = int,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw integers from [low, high), or from [0, low)."""
        return self.integers(low, high, size, dtype, dist=dist, grid=grid)

    def random_integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw integers from [low, high], or from [1, low]."""
        first, last = (1, low) if high is None else (low, high)
        return self.integers(first, last, size, endpoint=True, dist=dist, grid=grid)

    def tomaxint(self, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> Array:
        """Draw integers that are not negative."""
        return self.integers(0, 2**63 - 1, size, endpoint=True, dist=dist, grid=grid)

"""The functions of ``numpy.random`` that draw from one generator for all: ``seed``, ``rand`` ..."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array
from distnb.client.session.session import Session
from distnb.client.stats.bit_generators import NAME, PhiloxBitGenerator, Seed
from distnb.client.stats.drawing import Size
from distnb.client.stats.random import Generator
from distnb.common.errors import explain

__all__ = ["RandomState"]

#: What a seed may be that is no number.
_WAYS = np.random.SeedSequence | np.random.BitGenerator | PhiloxBitGenerator
#: What numbers of a seed are below, as in NumPy's legacy way.
_END = 1 << 32


def _of_32_bits(seed: Seed) -> Seed:
    """Return a seed whose numbers the legacy way takes; it refuses more than :class:`Generator`."""
    if seed is None or isinstance(seed, _WAYS):
        return seed
    numbers = np.asarray(seed)
    if numbers.ndim > 1 or not numbers.size:
        got = f"{numbers.ndim} axes" if numbers.size else "none"
        raise ValueError(explain("seed", got, "a number, or a list of some", "pass these"))
    if numbers.dtype.kind in "iu" and not (numbers.min() >= 0 and numbers.max() < _END):
        raise ValueError(explain("seed", seed, "numbers from 0 to 2**32 - 1", "take default_rng"))
    return seed


class RandomState(Generator):
    """Makes arrays of random numbers, with the methods of ``numpy.random.RandomState``.

    The numbers, layouts and messages are those of :class:`distnb.random.Generator`, and the numbers
    not those of NumPy's streams: a seed gives the same ones on any number of engines, but others
    than NumPy gives.

    Parameters
    ----------
    seed : optional
        A number, several, or what a generator of NumPy's is made of; by default a fresh one is
        drawn.
    session : Session, optional
        By default the current one, whenever an array is drawn.

    Raises
    ------
    ValueError
        If a number is not from 0 to 2**32 - 1, as with NumPy, or there is none.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     state = dnb.random.RandomState(1)
    ...     state.rand(3, 2).shape, bool(state.randint(5, size=100).max() < 5)
    ((3, 2), True)
    """

    _may_fall = True

    def __init__(self, seed: Seed = None, session: Session | None = None) -> None:
        super().__init__(_of_32_bits(seed), session)

    def seed(self, seed: Seed = None) -> None:
        """Begin again, with a seed; nothing is sent.

        Parameters
        ----------
        seed : optional
            A number, several, or what a generator of NumPy's is made of; by default a fresh one is
            drawn.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.random.seed(1)
        ...     x = dnb.random.rand(5)
        ...     dnb.random.seed(1)
        ...     bool((x == dnb.random.rand(5)).all())
        True
        """
        self._bits.begin(_of_32_bits(seed))

    def get_state(self, legacy: bool = True) -> tuple[str, int, int]:
        """Return what the next numbers follow from; nothing is sent.

        Parameters
        ----------
        legacy : bool
            Changes nothing.

        Returns
        -------
        tuple
            A name, the seed, and how many arrays were drawn.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     state = dnb.random.get_state()
        ...     x = dnb.random.rand(5)
        ...     dnb.random.set_state(state)
        ...     bool((x == dnb.random.rand(5)).all())
        True
        """
        return NAME, self._seed, self._bits.stream

    def set_state(self, state: tuple[str, int, int]) -> None:
        """Go on where a state was taken; nothing is sent.

        Parameters
        ----------
        state : tuple
            What :meth:`get_state` has returned.

        Raises
        ------
        ValueError
            If it is a state of NumPy's.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.random.set_state(("Philox4x64-10", 1, 0))
        ...     dnb.random.get_state()[1:]
        (1, 0)
        """
        name, seed, stream = state
        if name != NAME:
            raise ValueError(f"set_state can only be used with legacy {NAME} state instances.")
        self._bits.begin(seed, int(stream))

    def rand(self, *shape: int, dist: Dist = None, grid: Grid = None) -> Array:
        """Draw floats uniformly from [0, 1).

        Each engine draws what it holds, by global index: numbers depend on neither engines nor
        layout. Nothing is sent but parameters that are arrays, to where the result lies.

        Parameters
        ----------
        *shape : int
            The lengths of axes; without, one number.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            float64.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.random.RandomState(1).rand(2, 2, dist="block").to_numpy().round(2)
        array([[0.3 , 0.85],
               [0.16, 0.03]])
        """
        return self.random(shape or None, dist=dist, grid=grid)

    def randn(self, *shape: int, dist: Dist = None, grid: Grid = None) -> Array:
        """Draw floats from the standard normal distribution.

        Each engine draws what it holds, by global index: numbers depend on neither engines nor
        layout. Nothing is sent but parameters that are arrays, to where the result lies.

        Parameters
        ----------
        *shape : int
            The lengths of axes; without, one number.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            float64.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.random.RandomState(1).randn(2, 2, dist="block").to_numpy().round(2)
        array([[-0.24, -0.79],
               [-0.63, -0.77]])
        """
        return self.standard_normal(shape or None, dist=dist, grid=grid)

    def random_sample(self, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> Array:
        """Draw floats uniformly from [0, 1).

        Each engine draws what it holds, by global index: numbers depend on neither engines nor
        layout. Nothing is sent but parameters that are arrays, to where the result lies.

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape; by default that to which parameters broadcast, or one number.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            float64, of shape ``size``.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.random.RandomState(1).random_sample(3, dist="block").to_numpy().round(2)
        array([0.3 , 0.85, 0.16])
        """
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
        """Draw integers from [low, high), or from [0, low).

        Each engine draws what it holds, by global index: numbers depend on neither engines nor
        layout. Nothing is sent but parameters that are arrays, to where the result lies.

        Parameters
        ----------
        low : int or array_like
            The least number; without ``high`` it is 0, and all are below this.
        high : int or array_like, optional
            What all numbers are below.
        size : int or tuple of int, optional
            The shape; by default that to which parameters broadcast, or one number.
        dtype : dtype
            An integer type, or bool.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            Of ``dtype`` and shape ``size``.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.random.RandomState(1).randint(10, size=4, dist="block").to_numpy()
        array([3, 8, 1, 0])
        """
        found: Any = self.integers(low, high, size, dtype, dist=dist, grid=grid)
        if dtype in (int, bool) and isinstance(found, np.generic):
            return found.item()  # as NumPy, one of Python's
        return found

    def random_integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw integers from [low, high], or from [1, low].

        Each engine draws what it holds, by global index: numbers depend on neither engines nor
        layout. Nothing is sent but parameters that are arrays, to where the result lies.

        Parameters
        ----------
        low : int or array_like
            The least number; without ``high`` it is 1, and this the largest.
        high : int or array_like, optional
            The largest number.
        size : int or tuple of int, optional
            The shape; by default that to which parameters broadcast, or one number.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            int64, of shape ``size``.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.random.RandomState(1).random_integers(6, size=4, dist="block").to_numpy()
        array([2, 6, 1, 1])
        """
        first, last = (1, low) if high is None else (low, high)
        return self.integers(first, last, size, endpoint=True, dist=dist, grid=grid)

    def tomaxint(self, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> Array:
        """Draw integers that are not negative.

        Each engine draws what it holds, by global index: numbers depend on neither engines nor
        layout. Nothing is sent but parameters that are arrays, to where the result lies.

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape; by default that to which parameters broadcast, or one number.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            int64, of shape ``size``.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     bool((dnb.random.RandomState(1).tomaxint(9, dist="block") >= 0).all())
        True
        """
        return self.integers(0, 2**63 - 1, size, endpoint=True, dist=dist, grid=grid)

"""Random numbers by global index: a pure function of (seed, stream, flat global index).

Engines agree on an array without talking: each computes the numbers of the indices it owns, and
neither the layout nor the number of engines nor the order of the work changes one bit. The words
are those of Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC
2011), with the index in the low half of the counter, the stream in its high half, and the seed as
the key.

Uniform numbers and integers need only integer arithmetic and IEEE's exactly rounded operations:
they are the same everywhere. Normal and exponential numbers also take NumPy's log and cos, whose
last bit may change with NumPy's build, the C library and the kind of CPU. Among engines that are
alike in these it does not depend on where in an array a value lies (a test holds NumPy to that).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from math import pi, prod
from typing import Any

import numpy as np

from distnb.common.errors import explain
from distnb.geometry.slices import (
    Section,
    Sections,
    interval,
    total,
)

__all__ = [
    "DISTRIBUTIONS",
    "TILE",
    "Runs",
    "fill",
    "multiply_high",
    "runs_of",
    "tiles",
    "words_of",
]

#: Indices worked at once. Their six words of 64 bits fit in the second-level cache of a core.
TILE = 8192

#: What to multiply by, and how the key is bumped from round to round (Salmon et al., table 2).
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_BUMPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_LOW = 0xFFFFFFFF

#: Starts of some runs, and their stops (or lengths).
Batch = tuple[np.ndarray, np.ndarray]


def fill(
    kind: str,
    seed: int,
    stream: int,
    args: tuple[Any, ...],
    index_runs: Iterable[tuple[int, int]],
    out: np.ndarray,
) -> None:
    """Fill ``out`` with the random numbers of flat global indices.

    Law: the number at an index depends on that index, ``kind``, ``seed``, ``stream``, ``args`` and
    the dtype only. Filling the parts of any partition gives the parts of the whole.

    Parameters
    ----------
    kind : str
        A name in :data:`DISTRIBUTIONS`.
    seed, stream : int
        64 bits of each count.
    args : tuple
        Parameters of the distribution, as in NumPy: numbers, checked by whoever asks.
    index_runs : iterable of (int, int)
        Runs ``[start, stop)`` of indices, in the order of ``out``. Short runs are worked together.
        What :func:`runs_of` returns is not walked run by run.
    out : ndarray
        One-dimensional and contiguous.

    Examples
    --------
    >>> whole, part = np.empty(10), np.empty(4)
    >>> fill("normal", 1, 0, (0.0, 1.0), [(0, 10)], whole)
    >>> fill("normal", 1, 0, (0.0, 1.0), [(8, 10), (3, 5)], part)
    >>> bool((part == whole[[8, 9, 3, 4]]).all())
    True
    """
    distribution = DISTRIBUTIONS[kind]
    scratch = np.empty((3, 2, min(TILE, out.size)), np.uint64)
    at = 0
    for index in tiles(index_runs):
        tile = out[at : at + index.size]
        at += index.size
        if tile.size == index.size:  # else the error below
            words = _philox(index, seed, stream, scratch[..., : index.size])
            distribution(words, tile, *args)
    if at != out.size:
        raise ValueError(
            explain("random numbers", f"{at} indices", out.size, "report this as a bug")
        )


# Words


def words_of(index: np.ndarray, seed: int, stream: int | np.ndarray) -> np.ndarray:
    """Return the words w0 to w3 of each index, as rows ``w0 << 32 | w1`` and ``w2 << 32 | w3``.

    Each index may have a stream of its own.

    >>> [hex(w) for w in words_of(np.zeros(1, np.uint64), 0, 0)[:, 0].tolist()]
    ['0x6627e8d5e169c58d', '0xbc57ac4c9b00dbd8']
    """
    return _philox(index, seed, stream, np.empty((3, 2, index.size), np.uint64))


def _philox(
    index: np.ndarray, seed: int, stream: int | np.ndarray, scratch: np.ndarray
) -> np.ndarray:
    """Encrypt the counters; the result is a part of ``scratch``.

    A round takes words (c0, c1, c2, c3), with M0 and M1 the multipliers and (k0, k1) its key, to
    (hi(M1*c2) ^ c1 ^ k0, lo(M1*c2), hi(M0*c0) ^ c3 ^ k1, lo(M0*c0)). Here ``even`` holds c0 and c2,
    and ``odd`` c1 and c3 in its low halves; its high halves are left over from the products.
    """
    even, odd, product = scratch
    np.bitwise_and(index, _LOW, out=even[0])
    even[1] = stream & _LOW
    np.right_shift(index, 32, out=odd[1])
    odd[0] = stream >> 32 & _LOW
    *rounds, (multipliers, key) = _schedule(seed)
    for m, k in rounds:
        np.multiply(even, m, out=product)
        np.right_shift(product, 32, out=even)
        np.bitwise_xor(even, odd, out=even)
        np.bitwise_xor(even, k, out=even)
        np.bitwise_and(even, _LOW, out=even)
        odd, product = product[::-1], odd
    # Each product of the last round is two words already, but for what is mixed into the upper.
    np.multiply(even, multipliers, out=product)
    np.bitwise_xor(odd, key, out=odd)
    np.left_shift(odd, 32, out=odd)
    return np.bitwise_xor(product, odd, out=product)


@lru_cache(maxsize=64)
def _schedule(seed: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return the multipliers and keys of each round, for the two rows of words.

    The words of a row are c0 before even rounds and c2 before odd ones, or the other way round.
    """
    words = seed & _LOW, seed >> 32 & _LOW
    rounds = []
    for r in range(_ROUNDS):
        keys = [(k + r * bump) & _LOW for k, bump in zip(words, _BUMPS, strict=True)]
        here = -1 if r % 2 else 1
        pair = np.array(_MULTIPLIERS[::here], np.uint64), np.array(keys[::-here], np.uint64)
        rounds.append((pair[0][:, None], pair[1][:, None]))
    return tuple(rounds)


# Distributions: each may overwrite the words


def _uniform(words: np.ndarray, out: np.ndarray, low: float, high: float) -> None:
    """``low + (high - low)*u``, u in [0, 1); as NumPy warns, rounding may give ``high`` itself."""
    u = _float_target(out)
    bits = min(53, np.finfo(out.dtype).nmant + 1)  # all that leave u below 1 in the dtype of out
    _unit(words[0], bits, out=u)
    if (low, high) != (0, 1):
        np.multiply(u, high - low, out=u)
        np.add(u, low, out=u)
    _deliver(u, out)


def _normal(words: np.ndarray, out: np.ndarray, loc: float, scale: float) -> None:
    """Box and Muller's transform (1958), one number of the pair; it stays within 8.6 scales."""
    z = _float_target(out)
    _log_unit(words[0], out=z)
    np.multiply(z, -2.0, out=z)
    np.sqrt(z, out=z)
    angle = words[0].view(np.float64)
    _unit(words[1], 53, out=angle, times=2 * pi)
    np.cos(angle, out=angle)
    np.multiply(z, angle, out=z)
    np.multiply(z, scale, out=z)
    np.add(z, loc, out=z)
    _deliver(z, out)


def _exponential(words: np.ndarray, out: np.ndarray, scale: float) -> None:
    """By inversion; no number exceeds 36.8 scales."""
    x = _float_target(out)
    _log_unit(words[0], out=x)
    np.subtract(0.0, x, out=x)  # negation would make -0.0 of log(1)
    np.multiply(x, scale, out=x)
    _deliver(x, out)


def _integers(words: np.ndarray, out: np.ndarray, low: int, high: int) -> None:
    """Integers in [low, high), ``high - low <= 2**64``, for any integer dtype and bool.

    A random fraction of b bits times n = high - low, rounded down (Lemire, "Fast random integer
    generation in an interval", 2019), without his rejection: an index has no spare words. Hence
    the probability of a value is not 1/n but within 2**-b of it (exact if n is a power of two),
    a relative bias of at most n * 2**-b. With b = 64 that is 2**-32 at most for n <= 2**32, but
    near n = 2**64 some values would be twice as likely as others; above 2**32 all 128 bits are
    used, and it is at most 2**-64.
    """
    n = int(high) - int(low)
    if n <= 1 << 32:
        values = _multiply_high(words[0], n)
    elif n < 1 << 64:
        values = multiply_high(words, n)
    else:
        values = words[0]
    np.add(values, int(low) & 0xFFFFFFFFFFFFFFFF, out=values)  # modulo 2**64, as is the cast
    np.copyto(out, values, casting="unsafe")


def _multiply_high(w: np.ndarray, n: int) -> np.ndarray:
    """Return ``w * n >> 64`` for ``n <= 2**32``."""
    low = w & _LOW
    low *= n
    low >>= 32
    high = w >> 32
    high *= n
    high += low
    high >>= 32
    return high


def multiply_high(words: np.ndarray, n: Any) -> np.ndarray:
    """Return ``(words[0] << 64 | words[1]) * n >> 128``; ``n`` is a number or an array."""
    n = np.asarray(n, np.uint64)
    high = _multiply_high_64(words, n)
    low = words[0] * n
    low += high[1]
    return high[0] + (low < high[1])


def _multiply_high_64(w: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return ``w * n >> 64``, by the halves of both."""
    low, high = w & _LOW, w >> 32
    below, above = n & np.uint64(_LOW), n >> np.uint64(32)
    middle = high * below + (low * below >> 32)
    other = low * above + (middle & _LOW)
    return high * above + (middle >> 32) + (other >> 32)


def _unit(w: np.ndarray, bits: int, out: np.ndarray, times: float = 1.0) -> None:
    """Set ``out`` to the upper bits of each word as a fraction in [0, 1), times a number."""
    np.right_shift(w, 64 - bits, out=w)
    np.multiply(w.view(np.int64), times * 2.0**-bits, out=out)  # signed ones convert faster


def _log_unit(w: np.ndarray, out: np.ndarray) -> None:
    """Set ``out`` to the logarithms of fractions of 53 bits in (0, 1]."""
    np.right_shift(w, 11, out=w)
    np.add(w, 1, out=w)
    np.multiply(w.view(np.int64), 2.0**-53, out=out)
    np.log(out, out=out)


def _float_target(out: np.ndarray) -> np.ndarray:
    """Return where to compute in double precision: ``out`` itself if that is its type."""
    return out if out.dtype == np.float64 else np.empty(out.size)


def _deliver(x: np.ndarray, out: np.ndarray) -> None:
    if x is not out:
        np.copyto(out, x, casting="same_kind")


#: name -> function(words, out, *args) that fills ``out``, a contiguous tile, from the words of its
#: indices (see :func:`words_of`).
DISTRIBUTIONS: dict[str, Callable[..., None]] = {
    "uniform": _uniform,
    "normal": _normal,
    "integers": _integers,
    "exponential": _exponential,
}


# Indices


def runs_of(shape: tuple[int, ...], sections: tuple[Sections, ...]) -> Runs:
    """Return the runs of flat global indices that a part of an array covers.

    Parameters
    ----------
    shape : tuple of int
        Of the whole array.
    sections : tuple of tuple of Section
        For each axis, its global indices that are in the part, in local order.

    Returns
    -------
    Runs
        An iterable of ``(start, stop)`` of C-order indices, in the C order of the part. Trailing
        axes that are whole are in one run with an interval of the axis before.

    Examples
    --------
    >>> list(runs_of((4, 3, 2), (interval(1, 3), interval(0, 2), interval(0, 2))))
    [(6, 10), (12, 16)]
    >>> list(runs_of((4, 3, 2), (interval(1, 3), interval(0, 3), interval(0, 2))))
    [(6, 18)]
    """
    return Runs(shape, sections)


class Runs:
    """Runs of flat global indices; see :func:`runs_of`. Nothing is stored for each run."""

    def __init__(self, shape: tuple[int, ...], sections: tuple[Sections, ...]) -> None:
        shape = shape or (1,)
        sections = tuple(map(_joined, sections)) or (interval(0, 1),)
        last = len(shape) - 1
        while last and sections[last] == interval(0, shape[last]):
            last -= 1
        strides = [prod(shape[d + 1 :]) for d in range(last + 1)]
        self._outer = list(zip(sections[:last], strides[:last], strict=True))
        self._last, self._inner = sections[last], strides[last]
        self._counts = (*map(total, sections[:last]), sum(s.count for s in sections[last]))
        self._number = prod(self._counts) if self._inner else 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for starts, stops in self.batches(TILE):
            yield from zip(starts.tolist(), stops.tolist(), strict=True)

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield the starts and the stops of the next runs, at most ``size`` of them."""
        for lo in range(0, self._number, size):
            numbers = np.arange(lo, min(lo + size, self._number))
            *places, run = np.unravel_index(numbers, self._counts)
            starts, lengths = _runs_at(self._last, run)
            starts *= self._inner
            for (sections, stride), place in zip(self._outer, places, strict=True):
                starts += _indices_at(sections, place) * stride
            yield starts, starts + lengths * self._inner


def _joined(sections: Sections) -> Sections:
    """Join intervals that touch, such as all of a cyclic axis but the tail, and that tail."""
    found: list[Section] = []
    for s in sections:
        if found and s.count == found[-1].count == 1 and sum(found[-1][:2]) == s.start:
            found[-1:] = interval(found[-1].start, s.start + s.block)
        else:
            found.append(s)
    return tuple(found)


def _runs_at(sections: Sections, numbers: np.ndarray) -> Batch:
    """Return the starts and the lengths of the runs with these numbers."""
    rows, rest = _locate([s.count for s in sections], numbers)
    start, block, period, _ = np.array(sections).T
    return start[rows] + rest * period[rows], block[rows]


def _indices_at(sections: Sections, places: np.ndarray) -> np.ndarray:
    """Return the indices with these places in the local order."""
    rows, rest = _locate([s.block * s.count for s in sections], places)
    start, block, period, _ = np.array(sections).T
    run = rest // block[rows]
    return start[rows] + run * period[rows] + (rest - run * block[rows])


def _locate(sizes: list[int], places: np.ndarray) -> tuple[np.ndarray | int, np.ndarray]:
    """Return in which of consecutive parts each place is, and how far into it."""
    if len(sizes) == 1:  # most often; dividing by one number is fast
        return 0, places
    ends = np.cumsum(sizes)
    rows = np.searchsorted(ends, places, "right")
    return rows, places - (ends - sizes)[rows]


def tiles(index_runs: Iterable[tuple[int, int]]) -> Iterator[np.ndarray]:
    """Yield the indices of the runs, in order, as uint64 arrays of at most TILE.

    Many short runs share a tile; a long one fills many. The arrays are valid until the next.
    """
    steps, index = _steps(TILE), np.empty(TILE, np.int64)
    batches = index_runs.batches(TILE) if isinstance(index_runs, Runs) else _batches(index_runs)
    for starts, stops in batches:
        ends = np.cumsum(stops - starts)
        begins = ends - (stops - starts)
        for lo in range(0, int(ends[-1]), TILE):
            hi = min(lo + TILE, int(ends[-1]))
            first, last = np.searchsorted(ends, (lo, hi - 1), "right")
            here = slice(first, last + 1)
            # The index at place lo + t of the batch is start + (lo + t - begin) of its run.
            shift = starts[here] - begins[here] + lo
            if last > first:
                shift = np.repeat(shift, np.minimum(ends[here], hi) - np.maximum(begins[here], lo))
            yield np.add(steps[: hi - lo], shift, out=index[: hi - lo]).view(np.uint64)


@lru_cache(maxsize=4)
def _steps(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int64)


def _batches(index_runs: Iterable[tuple[int, int]]) -> Iterator[Batch]:
    runs = iter(index_runs)
    while some := list(islice(runs, TILE)):
        starts, stops = np.array(some, np.int64).T
        yield starts, stops

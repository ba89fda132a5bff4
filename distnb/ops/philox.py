"""Random numbers by global index: a pure function of (seed, stream, flat global index).

Engines agree on an array without talking: each computes the numbers of the indices it owns, and
neither the layout nor the number of engines nor the order of the work changes one bit. The words
are those of Philox4x64-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC
2011), with the index in the lowest word of the counter, the stream in the next one, and the seed
as the key. NumPy has it, compiled: it gives the words of all indices from one on. Those of single
indices far apart, or of many streams, are computed here, by NumPy's operations on arrays.

Uniform numbers and integers need only integer arithmetic and IEEE's exactly rounded operations:
they are the same everywhere. All others are in :mod:`~distnb.ops.variates`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import prod
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
    "fill_all",
    "fractions",
    "is_run",
    "multiply_high",
    "numpys",
    "one",
    "places",
    "runs_of",
    "words_of",
]

#: Indices worked at once. Their words and what is made of them fit in the caches of a core.
TILE = 8192

#: What to multiply by, and how the key is bumped from round to round (Salmon et al., table 2).
_MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_BUMPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS = 10
_LOW, _WORD = 0xFFFFFFFF, (1 << 64) - 1
#: Words of a counter.
_WORDS = 4
#: Words that are found for each one that is asked for, at most: beyond it they are found singly.
_WASTE = 40

#: A row of first words, or of fractions, and maybe one of second ones.
Rows = Sequence[np.ndarray] | np.ndarray
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
    >>> fill("uniform", 1, 0, (0.0, 1.0), [(0, 10)], whole)
    >>> fill("uniform", 1, 0, (0.0, 1.0), [(8, 10), (3, 5)], part)
    >>> bool((part == whole[[8, 9, 3, 4]]).all())
    True
    """
    for index, here in places(index_runs, out.size):
        if is_run(index):
            _fill_run(kind, seed, stream, args, int(index[0]), out[here])
        else:
            words = words_of(index, seed, stream, _rows_of(kind, args))
            DISTRIBUTIONS[kind](_given(kind, words), out[here], *args)


def fill_all(kind: str, seed: int, stream: int, args: tuple[Any, ...], out: np.ndarray) -> None:
    """Fill ``out`` as :func:`fill` does, with all numbers of an array: of the indices from 0 on.

    >>> few, whole = np.empty(4), np.empty(9)
    >>> fill_all("uniform", 1, 0, (0.0, 1.0), few)
    >>> fill("uniform", 1, 0, (0.0, 1.0), [(0, 9)], whole)
    >>> bool((few == whole[:4]).all())
    True
    """
    if out.size <= TILE:
        _fill_run(kind, seed, stream, args, 0, out)
        return
    for at in range(0, out.size, TILE):
        _fill_run(kind, seed, stream, args, at, out[at : at + TILE])


def _fill_run(
    kind: str, seed: int, stream: int, args: tuple[Any, ...], start: int, out: np.ndarray
) -> None:
    """Fill with the numbers of the indices from one on."""
    if kind == "integers":
        rows = [_words(seed, r, stream, start, out.size) for r in range(_rows_of(kind, args))]
    else:
        first = out if out.dtype.char == "d" else np.empty(out.size)
        rows = [_at(seed, 0, stream, start).random(out=first)]
    DISTRIBUTIONS[kind](rows, out, *args)


# Words


def words_of(index: np.ndarray, seed: int, stream: int | np.ndarray, rows: int = 2) -> np.ndarray:
    """Return one word of 64 bits for each index, or two: a row of first ones, and one of second.

    Each index may have a stream of its own. First words and second ones have different keys, so
    what needs one word does not find the other.

    >>> [hex(w) for w in words_of(np.array([0, 5], np.uint64), 0, 0)[0].tolist()]
    ['0x2f4ba6408e4d89b', '0x471128b9e807f7dd']
    """
    if isinstance(stream, np.ndarray):
        return _singly(index, seed, stream, rows)
    found = np.empty((rows, index.size), np.uint64)
    if is_run(index):
        for row in range(rows):
            found[row] = _words(seed, row, stream, int(index[0]), index.size)
        return found
    first = int(index.min()) if index.size else 0
    span = int(index.max()) + 1 - first if index.size else 0
    if span > _WASTE * index.size:
        return _singly(index, seed, stream, rows)
    for row in range(rows):
        found[row] = _words(seed, row, stream, first, span)[index - np.uint64(first)]
    return found


def is_run(index: np.ndarray) -> bool:
    """Tell whether each index is the next one."""
    ends = index.size > 0 and int(index[-1]) - int(index[0]) == index.size - 1
    return ends and bool((index[1:] - index[:-1] == 1).all())


_THREADS = threading.local()


def _words(seed: int, row: int, stream: int, start: int, n: int) -> np.ndarray:
    """Return the words of indices from one on."""
    found: np.ndarray = _at(seed, row, stream, start).bit_generator.random_raw(n)
    return found


def _at(seed: int, row: int, stream: int, start: int) -> np.random.Generator:
    """Return NumPy's generator, which goes on at an index."""
    generator = numpys(seed, row, stream, 0, start // _WORDS)
    if over := start % _WORDS:
        generator.bit_generator.random_raw(over, output=False)
    return generator


def numpys(seed: int, row: int, stream: int, block: int, count: int = 0) -> np.random.Generator:
    """Return NumPy's generator with this key and counter; each thread has one, for its next use."""
    try:
        generator, bits, state, counter, key = _THREADS.own
    except AttributeError:
        generator, bits, state, counter, key = _THREADS.own = _own()
    counter[0], counter[1], counter[2] = count, stream, block
    key[0], key[1] = seed, row
    bits.state = state
    found: np.random.Generator = generator
    return found


def _own() -> tuple[Any, ...]:
    """Return a generator, what draws its words, its state to be set, counter and key in it.

    NumPy reads lists of Python's integers in a fraction of the time that it takes for arrays.
    """
    generator = np.random.Generator(np.random.Philox(0))
    counter, key = [0] * _WORDS, [0, 0]
    state = {
        "bit_generator": "Philox",
        "state": {"counter": counter, "key": key},
        "buffer": [0] * _WORDS,
        "buffer_pos": _WORDS,  # it is empty
        "has_uint32": 0,
        "uinteger": 0,
    }
    return generator, generator.bit_generator, state, counter, key


@lru_cache(maxsize=64)
def _keys(seed: int, row: int) -> np.ndarray:
    """Return the two words of the key of each round."""
    rounds = [
        [k + r * bump & _WORD for k, bump in zip((seed, row), _BUMPS, strict=True)]
        for r in range(_ROUNDS)
    ]
    return np.array(rounds, np.uint64)


def _singly(index: np.ndarray, seed: int, stream: int | np.ndarray, rows: int) -> np.ndarray:
    """Return words of indices, each by itself.

    There are ten rounds. One takes (c0, c1, c2, c3), with M0 and M1 the multipliers and (k0, k1)
    its key, to (hi(M1*c2) ^ c1 ^ k0, lo(M1*c2), hi(M0*c0) ^ c3 ^ k1, lo(M0*c0)). NumPy's generator
    counts before it encrypts, hence the 1.
    """
    found = np.empty((rows, index.size), np.uint64)
    which = (index % np.uint64(_WORDS)).astype(np.intp)
    m0, m1 = np.array(_MULTIPLIERS, np.uint64)[:, None]
    for row in range(rows):
        c0, c1 = (
            index // np.uint64(_WORDS) + np.uint64(1),
            np.broadcast_to(np.asarray(stream, np.uint64), index.shape),
        )
        c2 = c3 = np.zeros(index.size, np.uint64)
        for keys in _keys(seed, row):
            high0, high1 = _multiply_high_64(c0, m0), _multiply_high_64(c2, m1)
            c0, c1, c2, c3 = high1 ^ c1 ^ keys[0], c2 * m1, high0 ^ c3 ^ keys[1], c0 * m0
        found[row] = np.choose(which, (c0, c1, c2, c3))
    return found


# Distributions: each may overwrite its rows
#
# Numbers among operands are arrays without axes, and places of results are not named: for a small
# array NumPy takes half the time then.


def _given(kind: str, words: Rows) -> Rows:
    """Return rows of words, or of fractions, as a distribution takes them."""
    return words if kind == "integers" else fractions(words)


def fractions(words: Any) -> Any:
    """Return the upper 53 bits of words, as fractions in [0, 1)."""
    return (words >> np.uint64(11)).view(np.int64) * 2.0**-53


def _uniform(rows: Rows, out: np.ndarray, low: float, high: float) -> None:
    """``low + (high - low)*u``, u in [0, 1); as NumPy warns, rounding may give ``high`` itself."""
    u = rows[0]
    if out.dtype.char != "d":  # as many bits as leave u below 1 in the dtype of out
        bits = np.finfo(out.dtype).nmant + 1
        np.floor(np.multiply(u, 2.0**bits, u), u)
        np.multiply(u, 2.0**-bits, u)
    if (low, high) != (0, 1):
        np.multiply(u, high - low, u)
        np.add(u, low, u)
    _deliver(u, out)


def _integers(rows: Rows, out: np.ndarray, low: int, high: int) -> None:
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
        values = _multiply_high(rows[0], _constant(n))
    elif n < 1 << 64:
        values = multiply_high(rows, n)
    else:
        values = rows[0]
    if low:  # modulo 2**64, as is the cast
        np.add(values, _constant(int(low) & _WORD), values)
    np.copyto(out, values, casting="unsafe")


@lru_cache(maxsize=256)
def _constant(n: int) -> np.ndarray:
    return np.array(n, np.uint64)


_LOWER, _HALF = _constant(_LOW), _constant(32)


def _multiply_high(w: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return ``w * n >> 64`` for ``n <= 2**32``, in place of ``w``."""
    low = np.bitwise_and(w, _LOWER)
    np.multiply(low, n, low)
    np.right_shift(low, _HALF, low)
    np.right_shift(w, _HALF, w)
    np.multiply(w, n, w)
    np.add(w, low, w)
    return np.right_shift(w, _HALF, w)


def multiply_high(words: Rows, n: Any) -> np.ndarray:
    """Return ``(words[0] << 64 | words[1]) * n >> 128``; ``n`` is a number or an array."""
    words, n = np.asarray(words), np.asarray(n, np.uint64)
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


def _deliver(x: np.ndarray, out: np.ndarray) -> None:
    if x is not out:
        np.copyto(out, x, casting="same_kind")


def _rows_of(kind: str, args: tuple[Any, ...]) -> int:
    """Return how many words an index needs."""
    if kind == "integers":
        return 1 + (1 << 32 < int(args[1]) - int(args[0]) < 1 << 64)
    return 1


#: name -> function(rows, out, *args) that fills ``out``, a contiguous tile, from the words of its
#: indices (see :func:`words_of`), or for all but integers from their :func:`fractions`.
DISTRIBUTIONS: dict[str, Callable[..., None]] = {
    "uniform": _uniform,
    "integers": _integers,
}


# One number, as the functions above compute it, step by step


def _word(seed: int, row: int, stream: int) -> int:
    """Return the word of the first index."""
    found: int = _at(seed, row, stream, 0).bit_generator.random_raw()
    return found


def _one_uniform(seed: int, stream: int, low: float, high: float) -> float:
    u: float = _at(seed, 0, stream, 0).random()
    return u if (low, high) == (0, 1) else u * (high - low) + low


def _one_integer(seed: int, stream: int, low: int, high: int) -> int:
    n, word = high - low, _word(seed, 0, stream)
    if n <= 1 << 32:
        return low + (word * n >> 64)
    return low + ((word << 64 | _word(seed, 1, stream)) * n >> 128 if n < 1 << 64 else word)


def one(kind: str, seed: int, stream: int, args: tuple[Any, ...]) -> Any:
    """Return the number of an array without axes as Python's, the same as :func:`fill_all` gives.

    >>> few = np.empty(4)
    >>> fill_all("uniform", 1, 0, (0.0, 1.0), few)
    >>> one("uniform", 1, 0, (0.0, 1.0)) == few[0]
    np.True_
    """
    return (_one_integer if kind == "integers" else _one_uniform)(seed, stream, *args)


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


def places(index_runs: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Yield the indices of runs as :func:`tiles` does, and where their numbers go.

    Raises ValueError unless there are as many indices as places.
    """
    at = 0
    for index in tiles(index_runs):
        here = slice(at, at + index.size)
        at = here.stop
        if at <= size:
            yield index, here
    if at != size:
        raise ValueError(explain("random numbers", f"{at} indices", size, "report this as a bug"))


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

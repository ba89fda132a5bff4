"""One frozen class for each way to split one axis of length ``n`` over ``p`` coordinates.

All questions are answered in closed form from ``(n, p)``; an axis object holds only what its kind
needs (a block size, a tuple of cuts). Coordinates may own nothing. Local indices count an owner's
elements from 0 in the order of their global indices.

To add a kind: write the class, add it to :data:`KINDS` and to ``testing.axis_kinds``.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from distnb.common.errors import LayoutError, explain, quoted
from distnb.geometry.slices import Sections, interval, section

__all__ = [
    "KINDS",
    "Axis",
    "Block",
    "BlockCyclic",
    "Cyclic",
    "Irregular",
    "SlicedBlock",
    "Whole",
    "cut_at",
    "parse_axis",
]


#: With so few coordinates, comparing with all cuts is faster than searching.
_FEW = 8
#: More cuts than these are not spelled out.
_SPELLED_CUTS = 10


@dataclass(frozen=True, slots=True)
class Axis:
    """What every kind of axis answers. ``n``: global length, ``p``: coordinates, ``c``: one."""

    def sections(self, n: int, p: int, c: int) -> Sections:
        """Return the global indices that coordinate ``c`` owns, in local order."""
        lo, hi = self.bounds(n, p, c)
        return interval(lo, hi)

    def bounds(self, n: int, p: int, c: int) -> tuple[int, int]:
        """Return the interval that ``c`` owns (kinds that own one interval only)."""
        raise NotImplementedError

    def size(self, n: int, p: int, c: int) -> int:
        """Return how many indices coordinate ``c`` owns."""
        lo, hi = self.bounds(n, p, c)
        return hi - lo

    def largest(self, n: int, p: int) -> int:
        """Return the greatest number of indices that any coordinate owns."""
        return self.size(n, p, 0)

    def at_most(self, n: int, p: int) -> int:
        """Return a number that ``largest`` does not exceed, sooner."""
        return self.largest(n, p)

    def owner(self, n: int, p: int, i: int) -> int:
        """Return the coordinate that owns global index ``i``."""
        raise NotImplementedError

    def to_local(self, n: int, p: int, i: int) -> int:
        """Return the local index of global index ``i`` on its owner."""
        return i - self.bounds(n, p, self.owner(n, p, i))[0]

    def find(self, n: int, p: int, i: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the owners of many global indices, and the local index of each on its owner."""
        first = np.array([self.bounds(n, p, c)[0] for c in range(p)])
        if p > _FEW:
            owners = np.searchsorted(first, i, "right") - 1
        else:
            owners = np.zeros(i.shape, np.intp)
            for low in first[1:]:
                owners += i >= low
        return owners, i - first.take(owners)

    def run(self, n: int, p: int, i: int) -> int:
        """Return the end of the run of consecutive indices after ``i`` that ``i``'s owner owns."""
        return self.bounds(n, p, self.owner(n, p, i))[1]

    def begin(self, n: int, p: int, i: int) -> int:
        """Return the begin of the run of consecutive indices around ``i`` that its owner owns."""
        return self.bounds(n, p, self.owner(n, p, i))[0]

    def period(self, p: int) -> int:
        """Return the distance after which ownership repeats, or 0 if it never does."""
        return 0

    def stride(self, p: int, distance: int) -> int:
        """Return the local distance of two indices of one owner that are ``distance`` apart.

        They lie in one run, or ``distance`` is a multiple of the period.
        """
        return distance

    def check(self, n: int, p: int) -> None:
        """Raise LayoutError unless the kind can split ``n`` indices over ``p`` coordinates."""

    def spell(self) -> str:
        """Return the kind as the user writes it in ``dist=``."""
        return f"'{type(self).__name__.lower()}'"


@dataclass(frozen=True, slots=True)
class Whole(Axis):
    """Not split: whoever holds the array holds all of the axis."""

    def bounds(self, n: int, p: int, c: int) -> tuple[int, int]:
        return 0, n

    def owner(self, n: int, p: int, i: int) -> int:
        return 0

    def spell(self) -> str:
        return "'*'"


@dataclass(frozen=True, slots=True)
class Block(Axis):
    """One contiguous block each; the first ``n % p`` coordinates own one index more."""

    def bounds(self, n: int, p: int, c: int) -> tuple[int, int]:
        q, r = divmod(n, p)
        return c * q + min(c, r), (c + 1) * q + min(c + 1, r)

    def largest(self, n: int, p: int) -> int:
        return -(-n // p)

    def owner(self, n: int, p: int, i: int) -> int:
        q, r = divmod(n, p)
        longer = r * (q + 1)
        return i // (q + 1) if i < longer else r + (i - longer) // q


@dataclass(frozen=True, slots=True)
class SlicedBlock(Axis):
    """What a slice takes of blocks: index ``i`` lies where ``start + step*i`` of ``of`` would.

    It says in three numbers what would be as many cuts as there are coordinates. If ``step`` is
    negative the coordinates count the blocks from the end, so that indices rise with them.
    """

    of: int
    start: int
    step: int = 1

    def bounds(self, n: int, p: int, c: int) -> tuple[int, int]:
        if self.step > 0:
            lo, hi = _BLOCK.bounds(self.of, p, c)
        else:  # the first index below the end of the block, and below its begin
            hi, lo = (at - 1 for at in _BLOCK.bounds(self.of, p, p - 1 - c))
        return self._from(lo, n), self._from(hi, n)

    def _from(self, at: int, n: int) -> int:
        """Return the first index that lies at ``at`` or after it in the direction of the step."""
        return min(n, max(0, -((self.start - at) // self.step)))

    def owner(self, n: int, p: int, i: int) -> int:
        c = _BLOCK.owner(self.of, p, self.start + self.step * i)
        return c if self.step > 0 else p - 1 - c

    def largest(self, n: int, p: int) -> int:
        if n == 0:
            return 0
        if self.step < 0:  # the same parts, the other way round
            return SlicedBlock(self.of, self.start + self.step * (n - 1), -self.step).largest(n, p)
        most = self.at_most(n, p)
        first = self.owner(n, p, 0)
        # Steps fall alike into every `step`-th block of a length; the first may be cut.
        found = 0
        for begin in (first, max(first, self.of % p)):
            for c in range(begin, min(p, begin + self.step + 1)):
                found = max(found, self.size(n, p, c))
                if found == most:
                    return found
        return found

    def at_most(self, n: int, p: int) -> int:
        return min(n, -(-_BLOCK.largest(self.of, p) // abs(self.step)))

    def check(self, n: int, p: int) -> None:
        low, high = sorted((self.start, self.start + self.step * max(0, n - 1)))
        if low < 0 or self.step == 0 or (n and high >= self.of):
            raise LayoutError(
                explain(
                    "slice of a block axis",
                    self.spell(),
                    f"at least {n} indices within its length",
                    "pass ('block', length, start, step)",
                )
            )

    def spell(self) -> str:
        step = f", {self.step}" if self.step != 1 else ""
        return f"('block', {self.of}, {self.start}{step})"


_BLOCK = Block()


@dataclass(frozen=True, slots=True)
class Irregular(Axis):
    """Contiguous blocks at given cuts: coordinate ``c`` owns ``[cuts[c], cuts[c + 1])``."""

    cuts: tuple[int, ...]

    def bounds(self, n: int, p: int, c: int) -> tuple[int, int]:
        return self.cuts[c], self.cuts[c + 1]

    def largest(self, n: int, p: int) -> int:
        return max(b - a for a, b in pairwise(self.cuts))

    def owner(self, n: int, p: int, i: int) -> int:
        return bisect_right(self.cuts, i) - 1

    def check(self, n: int, p: int) -> None:
        cuts = self.cuts
        ordered = all(a <= b for a, b in pairwise(cuts))
        if len(cuts) != p + 1 or p < 1 or cuts[0] != 0 or cuts[-1] != n or not ordered:
            raise LayoutError(
                explain(
                    "cuts of an irregular axis",
                    cuts,
                    f"{p + 1} numbers that rise from 0 to {n}",
                    "give one cut more than there are parts",
                )
            )

    def spell(self) -> str:
        cuts = self.cuts
        if len(cuts) > _SPELLED_CUTS:
            return f"('irregular', ({cuts[0]}, {cuts[1]}, ..., {cuts[-1]}))"
        return f"('irregular', {cuts})"


@dataclass(frozen=True, slots=True)
class BlockCyclic(Axis):
    """Blocks of ``k`` indices dealt round-robin, as in ScaLAPACK; the last one may be short."""

    k: int

    def sections(self, n: int, p: int, c: int) -> Sections:
        k = self.k
        full, rest = divmod(n, k)
        runs = section(c * k, k, p * k, -((c - full) // p))
        tail = interval(full * k, n) if rest and full % p == c else ()
        return runs + tail

    def size(self, n: int, p: int, c: int) -> int:
        full, rest = divmod(n, self.k)
        return -((c - full) // p) * self.k + (rest if full % p == c else 0)

    def owner(self, n: int, p: int, i: int) -> int:
        return i // self.k % p

    def to_local(self, n: int, p: int, i: int) -> int:
        return i // (p * self.k) * self.k + i % self.k

    def find(self, n: int, p: int, i: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        blocks, within = np.divmod(i, self.k)
        rounds, owners = np.divmod(blocks, p)
        return owners, rounds * self.k + within

    def run(self, n: int, p: int, i: int) -> int:
        return min(n, (i // self.k + 1) * self.k)

    def begin(self, n: int, p: int, i: int) -> int:
        return i // self.k * self.k

    def period(self, p: int) -> int:
        return p * self.k

    def stride(self, p: int, distance: int) -> int:
        return distance if distance % (p * self.k) else distance // p

    def check(self, n: int, p: int) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise LayoutError(
                explain("block size of a cyclic axis", quoted(self.k), "an integer >= 1", "pass k")
            )

    def spell(self) -> str:
        return f"('cyclic', {self.k})"


@dataclass(frozen=True, slots=True)
class Cyclic(BlockCyclic):
    """Every p-th index: block-cyclic with blocks of one."""

    k: int = 1

    def spell(self) -> str:
        return "'cyclic'"


#: The name of each kind in ``dist=``, and whether it takes an argument.
KINDS: dict[str, type[Axis]] = {
    "*": Whole,
    "block": Block,
    "sliced-block": SlicedBlock,
    "cyclic": Cyclic,
    "block-cyclic": BlockCyclic,
    "irregular": Irregular,
}


def cut_at(cuts: tuple[int, ...]) -> Axis:
    """Return the axis with these cuts: in blocks if that is the same.

    >>> cut_at((0, 3, 5)), cut_at((0, 1, 5))
    (Block(), Irregular(cuts=(0, 1, 5)))
    """
    n, p = cuts[-1], len(cuts) - 1
    even = all(Block().bounds(n, p, c)[0] == cuts[c] for c in range(p))
    return Block() if even else Irregular(cuts)


def parse_axis(word: object) -> Axis:
    """Return the axis kind that a user's word means.

    >>> parse_axis("block"), parse_axis(("cyclic", 4)), parse_axis(None)
    (Block(), BlockCyclic(k=4), Whole())
    >>> parse_axis(("block", 9, 1))  # what [1:] takes of an axis of 9 in blocks
    SlicedBlock(of=9, start=1, step=1)
    """
    if isinstance(word, Axis):
        return word
    name, args = (word[0], word[1:]) if isinstance(word, tuple | list) and word else (word, ())
    if name is None:
        name = "*"
    if name == "cyclic" and args and args[0] != 1:
        name = "block-cyclic"
    if name == "block" and args:
        name = "sliced-block"
    try:
        if name == "sliced-block":
            of, start, *step = map(operator.index, args)
            return SlicedBlock(of, start, *step)
        if name in ("irregular", "block-cyclic"):
            (arg,) = args
            if name == "irregular":
                return Irregular(tuple(operator.index(x) for x in arg))
            fits = hasattr(arg, "__index__") and not isinstance(arg, bool)
            return BlockCyclic(operator.index(arg) if fits else arg)
        if (name in ("*", "block") and not args) or (name == "cyclic" and args in ((), (1,), [1])):
            return KINDS[name]()
    except (TypeError, ValueError):
        pass
    raise LayoutError(
        explain(
            "way to split an axis",
            repr(word),
            "'*', 'block', 'cyclic', ('cyclic', k) or ('irregular', cuts)",
            "use one of these for each axis",
        )
    )

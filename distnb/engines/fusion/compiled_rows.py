"""Compiled loops over short rows: their sums, as they are computed, and where their best are.

``((x[:, None] - y) ** 2).sum(axis=-1)`` has many rows of few elements. In tiles NumPy goes through
each of them in two or three calls of its inner loops, which cost more than the elements. Here a row
is summed where it is computed, and no element is stored; in NumPy's order, so that the digits are
the same: up to eight elements one after the other, more of them pairwise, in eight sums that go
side by side. ``argmin`` and ``argmax`` of rows are such loops, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from distnb.engines.fusion.compiled_loops import Body, Compiled, Segment, Source, row_of
from distnb.engines.fusion.machine_code import MachineCode, name_of, raised_flags
from distnb.engines.fusion.reduction_blocks import Combiner
from distnb.engines.fusion.windows import BlockWindow
from distnb.geometry.layout import strides_of

__all__ = ["CompiledSums", "RowSums", "best_of_rows", "source_of", "sums_rows"]

#: Elements of a row: each is a few lines of the loop's text.
_LONGEST = 64
#: Sums side by side, of rows that have as many elements.
_SUMS = 8
#: What NumPy adds the sum of a row to: -0.0 in some releases.
_START = float(np.add.reduce(np.full((2, 2), -0.0), axis=1)[0])


#: Where the best of each row is: the first of equal ones, and the first NaN if there is one.
_BEST = """import numpy as np
from numba import njit


@njit("void(int64, int64, {kind}[::1], int64[::1])", nogil=True, error_model="numpy")
def kernel(rows, n, p, found):
    for i in range(rows):
        begin = np.uint64(i * n)
        best, at, nan = p[begin], 0, False
        for j in range(1, n):
            value = p[begin + np.uint64(j)]
            nan |= value != value
            if value {better} best:
                best, at = value, j
        if nan and best == best:
            at = 0
            while p[begin + np.uint64(at)] == p[begin + np.uint64(at)]:
                at += 1
        found[i] = at
"""
#: Elements from which it is worth to compile that, and dtypes that it is for.
_MANY = 1 << 16
_KINDS = {"int32", "int64", "float32", "float64"}


def best_of_rows(compiler: Any, data: np.ndarray, better: str) -> np.ndarray | None:
    """Return where the best element along the last axis is, if rows are short and a loop is ready.

    Parameters
    ----------
    compiler : Compiler
        Gives the loop.
    data : numpy.ndarray
        The rows.
    better : str
        ``<`` or ``>``.
    """
    kind = data.dtype.name
    short = 0 < data.shape[-1] <= _LONGEST and data.size >= _MANY
    if not short or kind not in _KINDS or not data.flags.c_contiguous:
        return None
    kernel = compiler.get(source_of(_BEST.format(kind=kind, better=better)))
    if kernel is None:
        return None
    found = np.empty(data.shape[:-1], np.int64)
    kernel(found.size, data.shape[-1], data.reshape(-1), found.reshape(-1))
    raised_flags()  # NaN are compared, of which NumPy does not tell
    return found


def source_of(text: str) -> Source:
    """Return a loop, kept under a name that follows from its text."""
    return Source(name_of(text), text)


def sums_rows(combiner: Combiner, segment: Segment, tail: int) -> bool:
    """Tell whether a compiled loop can take in all that a reduction does: sums of short rows."""
    how = combiner.how
    rows = how.first == how.last - 1 == len(how.shape) - 1 > 0
    short = rows and how.shape[-1] <= min(_LONGEST, how.step)
    same = segment.stored == (tail,) and segment.kinds[tail] == combiner.dtype
    return combiner.ufunc is np.add and short and same and combiner.dtype.kind in "if"


class RowSums(Body):
    """Writes the source of a loop that sums rows.

    Parameters
    ----------
    segment : Segment
        What makes the elements.
    inner : dict
        For each array that it reads, the kind of its last stride; and for what takes the sums.
    shape : tuple of int
        The lengths of the axes; the last one is a part of the text.
    """

    def __init__(self, segment: Segment, inner: dict[str, str], shape: Sequence[int]) -> None:
        super().__init__(segment, len(shape), inner, (), -1)
        (self._made,) = segment.stored
        self._length = shape[-1]

    def source(self) -> Source:
        """Return the source."""
        return source_of(self.text())

    def loops(self) -> list[str]:
        """Return loops over the rows."""
        return self.nest(0, {x: f"o{x}" for x in self.inner}, self.element)

    def run(
        self,
        axis: int,
        before: dict[str, str],
        length: str,
        body: Callable[[dict[str, str]], list[str]],
        others: dict[str, str] | None = None,
    ) -> list[str]:
        """Return what sums a row, element by element."""
        target = f"t{self._made}"
        pairs = {
            x: row_of(x, self.inner[x], b, axis, length) for x, b in before.items() if x != target
        }
        at = {x: element for x, (_, element) in pairs.items()} | {str(self._made): "e"}
        lines = [row for row, _ in pairs.values() if row]
        n, pairwise = self._length, self._length >= _SUMS
        for k in range(n):
            whole = pairwise and k < n - n % _SUMS
            into = f"a{k % _SUMS if whole else 0}"
            if pairwise and k == n - n % _SUMS:
                lines.append(_JOINED)
            first = k < (_SUMS if pairwise else 1)
            lines += [f"i{axis} = {k}", *body(at), f"{into} = e" if first else f"{into} += e"]
        if pairwise and n % _SUMS == 0:
            lines.append(_JOINED)
        kind = self.segment.kinds[self._made].name
        return [*lines, f"p{target}[np.uint64({before[target]})] = np.{kind}({_START}) + a0"]


_JOINED = "a0 = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7))"


class CompiledSums(Compiled):
    """A segment on one piece, whose rows are summed into what a combiner has found."""

    def __init__(
        self,
        kernel: MachineCode,
        segment: Segment,
        windows: dict[Any, Any],
        run: Any,
        tail: Combiner,
    ) -> None:
        (made,) = segment.stored
        found = tail.found.reshape(-1)
        place = BlockWindow(tail.found, found, 0, strides_of(tail.found.shape))
        super().__init__(kernel, segment, windows | {("t", made): place}, run, {})
        self.arrays = [*segment.loaded, ("t", made)]

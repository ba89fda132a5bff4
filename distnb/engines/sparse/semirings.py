"""Products of parts in a semiring: compiled loops where much is to be done, else NumPy's functions.

Both add up in the order in which elements are stored, so that they give the same digits. For
ordinary products of vectors, and of two parts without a mask, SciPy's loops are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from distnb.engines.fusion.compiled_rows import source_of
from distnb.engines.fusion.machine_code import raised_flags
from distnb.engines.runtime.exchange import wait_until
from distnb.engines.sparse.parts import multiply, multiply_turned
from distnb.ops.compressed import csr
from distnb.ops.semirings import MONOIDS, MULTIPLIES, Semiring
from distnb.ops.sparse_parts import among, from_keys, keys_of, stacked, strips

__all__ = ["Ring"]

#: A part's elements, indices and pointers.
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]

#: Products of two elements from which a compiled loop is worth having, and worth waiting for.
_MANY, _WAIT = 1 << 16, 1 << 23
#: So many products are made at a time without one.
_CHUNK = 1 << 22

_HEAD = """import numpy as np
from numba import njit

T = np.{kind}


@njit(inline="always")
def mul(x, y):
    {factors}
    return T({multiply})


@njit(inline="always")
def add(s, v):
    return T({add})


@njit("{signature}", nogil=True, error_model="numpy")
"""
#: Rows of a part times a vector, or columns of a dense array.
_ROWS = """def kernel(data, indices, indptr, x, start, out):
    for i in range(len(indptr) - 1):
        s = start
        for p in range(indptr[i], indptr[i + 1]):
            s = add(s, mul(data[p], x[np.uint64(indices[p])]))
        out[i] = s
"""
_ROWS_COLUMNS = """def kernel(data, indices, indptr, x, start, out):
    out[:] = start
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = np.uint64(indices[p])
            for c in range(x.shape[1]):
                out[i, c] = add(out[i, c], mul(data[p], x[j, c]))
"""
#: The transposed part times these.
_COLUMNS = """def kernel(data, indices, indptr, x, start, out):
    out[:] = start
    for i in range(len(indptr) - 1):
        y = x[i]
        for p in range(indptr[i], indptr[i + 1]):
            j = np.uint64(indices[p])
            out[j] = add(out[j], mul(data[p], y))
"""
_COLUMNS_COLUMNS = """def kernel(data, indices, indptr, x, start, out):
    out[:] = start
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = np.uint64(indices[p])
            for c in range(x.shape[1]):
                out[j, c] = add(out[j, c], mul(data[p], x[i, c]))
"""
#: The same of vectors of which only some elements are there.
_ROWS_PRESENT = """def kernel(data, indices, indptr, x, there, start, out):
    for i in range(len(indptr) - 1):
        s = start
        for p in range(indptr[i], indptr[i + 1]):
            j = np.uint64(indices[p])
            if there[j]:
                s = add(s, mul(data[p], x[j]))
        out[i] = s
"""
_COLUMNS_PRESENT = """def kernel(data, indices, indptr, x, there, start, out):
    out[:] = start
    for i in range(len(indptr) - 1):
        if there[i]:
            y = x[i]
            for p in range(indptr[i], indptr[i + 1]):
                j = np.uint64(indices[p])
                out[j] = add(out[j], mul(data[p], y))
"""
#: Columns of which a row's sums may always be an array.
_WIDE = 1 << 20
#: Gustavson's product row by row, of what a mask allows: its places, or all others. ``counts`` gets
#: the lengths of the rows; their elements are stored in a second call, as there is room for them.
_MATRIX = """def kernel(
    ld, li, lp, rd, ri, rp, mi, mp, mark, sums, counts, others, turn, indices, out
):
    rows, done = len(lp) - 1, 0
    for i in range(rows):
        if not others and mp[i] == mp[i + 1]:
            counts[i] = 0
            continue
        named = 2 * (i + turn * rows)
        met = named + 1
        for p in range(mp[i], mp[i + 1]):
            mark[mi[p]] = named
        first = done
        for p in range(lp[i], lp[i + 1]):
            k, a = li[p], ld[p]
            for q in range(rp[k], rp[k + 1]):
                j = ri[q]
                if mark[j] == met:
                    if turn:
                        sums[j] = add(sums[j], mul(a, rd[q]))
                elif (mark[j] == named) != others:
                    mark[j] = met
                    if turn:
                        sums[j] = mul(a, rd[q])
                        indices[done] = j
                    done += 1
        counts[i] = done - first
        if turn:
            for p in range(first, done):
                out[p] = sums[indices[p]]
"""


class Ring:
    """A semiring's products on one engine.

    Parameters
    ----------
    ring : tuple
        The fields of a :class:`~distnb.ops.semirings.Semiring`.
    compiler : Compiler or None
        Gives compiled loops.
    """

    def __init__(self, ring: tuple[str, str, str, bool], compiler: Any) -> None:
        add, by, dtype, flip = ring
        self.semiring = Semiring(add, by, np.dtype(dtype), flip)
        self.dtype = self.semiring.dtype
        self.monoid = MONOIDS[add]
        self.compiler = None if self.dtype.kind == "c" else compiler

    # -- dense ---------------------------------------------------------------------------------

    def rows(
        self, part: Arrays, x: np.ndarray, out: np.ndarray, there: np.ndarray | None = None
    ) -> None:
        """Fill ``out`` with the product of a part (elements, indices, pointers) and ``x``.

        ``there``: which elements of ``x`` take part.
        """
        if there is not None:
            if not self._looped((_ROWS_PRESENT,), part, x, out, there):
                self.rows(_some_of(part, there[part[1]]), x, out)
        elif self.semiring.plain:
            multiply(*part, x, out)
        elif not self._looped((_ROWS, _ROWS_COLUMNS), part, x, out):
            self._at_once(part, x, out)

    def columns(
        self, part: Arrays, x: np.ndarray, out: np.ndarray, there: np.ndarray | None = None
    ) -> None:
        """Fill ``out`` with the product of the transposed part and ``x``.

        ``there``: which elements of ``x`` take part.
        """
        if there is not None:
            if not self._looped((_COLUMNS_PRESENT,), part, x, out, there):
                self.columns(_some_of(part, np.repeat(there, np.diff(part[2]))), x, out)
        elif self.semiring.plain:
            multiply_turned(*part, x, out)
        elif not self._looped((_COLUMNS, _COLUMNS_COLUMNS), part, x, out):
            self._at_once(_turned(part, len(out)), x, out)

    def _at_once(self, part: Arrays, x: np.ndarray, out: np.ndarray) -> None:
        """Make all products, and add up those of each row."""
        data, indices, indptr = part
        out[...] = self.semiring.identity
        full = np.diff(indptr) > 0
        if full.any():
            by = data.reshape(-1, *[1] * (x.ndim - 1))
            out[full] = self._reduced(self.semiring.products(by, x[indices]), indptr[:-1][full])

    def _looped(
        self,
        loops: tuple[str, ...],
        part: Arrays,
        x: np.ndarray,
        out: np.ndarray,
        *more: np.ndarray,
    ) -> bool:
        """Let a compiled loop (for a vector, for columns) fill ``out``, if there is one."""
        x, data = np.ascontiguousarray(x), part[0]
        kind = "T[::1]" if x.ndim == 1 else "T[:, ::1]"
        if self.monoid.ufunc is None:  # it is what comes first: there is nothing to add up
            return False
        given = (*part, x, *map(np.ascontiguousarray, more))
        kernel = self._kernel(loops[x.ndim - 1], data.size * x[:1].size, given, "T", kind)
        if kernel is None:
            return False
        kernel(*map(_open, given), self.semiring.identity, out)
        raised_flags()
        return True

    def add_at(self, out: np.ndarray, seen: np.ndarray, where: Any, some: np.ndarray) -> None:
        """Add to some places of ``out`` what comes there; ``seen`` tells which have something."""
        if self.semiring.plain:
            out[where] += some
            return
        has = seen[where].reshape(-1, *[1] * (some.ndim - 1))
        old = out[where]
        both = old if self.monoid.ufunc is None else self.monoid.ufunc(old, some)
        out[where] = np.where(has, both, some)
        seen[where] = True

    # -- two parts -----------------------------------------------------------------------------

    def matrix(self, left: Any, right: Any, mask: Any, others: bool) -> Any:
        """Return the product of two parts at the places of a mask, or at all others; None: all."""
        if self.semiring.plain and mask is None:
            return left @ right
        if mask is None:
            mask, others = csr(*_nothing(left), (left.shape[0], right.shape[1])), True
        amount = int(np.diff(right.indptr)[left.indices].sum())
        if right.shape[1] > max(_WIDE, 64 * amount):
            return self._by_chunks(left, right, mask, others)
        parts = [x for p in (left, right) for x in (p.data, p.indices, p.indptr)]
        given = [*parts, mask.indices, mask.indptr]
        kind = np.result_type(*[x for i, x in enumerate(given) if i not in (0, 3)])
        given = [x if i in (0, 3) else x.astype(kind, copy=False) for i, x in enumerate(given)]
        mark, counts = np.full(right.shape[1], -1, np.int64), np.zeros(left.shape[0], np.int64)
        sums = np.empty(right.shape[1], self.dtype)
        loop = self._kernel(
            _MATRIX, amount, (*given, mark, sums, counts), "bool_", "int64", "i[::1]", "T[::1]"
        )
        if loop is None:
            return self._by_chunks(left, right, mask, others)
        work = [_open(x) for x in (*given, mark, sums, counts)]
        indices, data = np.empty(0, kind), np.empty(0, self.dtype)
        loop(*work, others, 0, indices, data)
        pointers = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=pointers[1:])
        indices, data = np.empty(pointers[-1], kind), np.empty(pointers[-1], self.dtype)
        loop(*work, others, 1, indices, data)
        raised_flags()
        found = csr(data, indices, pointers, (left.shape[0], right.shape[1]))
        found.has_sorted_indices = False  # they are as they were met
        found.sort_indices()
        return found

    def _by_chunks(self, left: Any, right: Any, mask: Any, others: bool) -> Any:
        """Make all products of some rows, sort them by place, and add up equal places."""
        shape, minor = (left.shape[0], right.shape[1]), np.int64(right.shape[1])
        if len(cut := strips(*shape)) > 1:
            each = [self._by_chunks(left[rows], right, mask[rows], others) for rows in cut]
            return stacked(each, each[0])
        lengths = np.diff(right.indptr).astype(np.int64)[left.indices]
        allowed, rows_of = keys_of(mask), np.repeat(np.arange(shape[0]), np.diff(left.indptr))
        keys, data = [np.empty(0, np.int64)], [np.empty(0, self.dtype)]
        for a, b in pairwise(_cuts(np.concatenate([[0], np.cumsum(lengths)])[left.indptr])):
            some = slice(left.indptr[a], left.indptr[b])
            n = lengths[some]
            at = np.arange(n.sum()) + np.repeat(right.indptr[left.indices[some]] - _before(n), n)
            places = np.repeat(rows_of[some], n) * minor + right.indices[at]
            keep = np.flatnonzero(among(places, allowed) != others)
            keep = keep[np.argsort(places[keep], kind="stable")]
            found, starts = np.unique(places[keep], return_index=True)
            factors = np.repeat(left.data[some], n)[keep], right.data[at][keep]
            keys.append(found)
            data.append(self._reduced(self.semiring.products(*factors), starts))
        return from_keys(np.concatenate(keys), np.concatenate(data), shape, right.indices.dtype)

    def _reduced(self, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Add up runs of values along the first axis, each from its start up to the next one."""
        if not len(starts):
            return np.empty((0, *values.shape[1:]), self.dtype)
        if self.monoid.ufunc is None:
            return values[starts]
        if self.monoid.ufunc is np.add and self.dtype.kind in "fc":
            pointers = np.append(starts, len(values))
            each = np.arange(len(values), dtype=pointers.dtype)
            out = np.empty((len(starts), *values.shape[1:]), self.dtype)
            multiply(np.ones(len(values), self.dtype), each, pointers, values, out)
            return out  # one after the other, where reduceat adds up pairwise
        with np.errstate(all="ignore"):
            found: np.ndarray = self.monoid.ufunc.reduceat(values, starts, axis=0)
        return found.astype(self.dtype, copy=False)

    def _kernel(
        self, loop: str, amount: int, given: Sequence[np.ndarray], *more: str
    ) -> Callable[..., None] | None:
        """Return a compiled loop for so many products, if there is one.

        Its arguments are as ``given``, and ``more``: kinds in which ``T`` is the semiring's dtype,
        and ``i`` that of the indices.
        """
        if self.compiler is None or amount < _MANY:
            return None
        ring, index = self.semiring, _numba(given[1].dtype)
        factors = "a, b = y, x" if ring.flip else "a, b = x, y"
        if ring.multiply != "pair":
            factors = factors.replace("x", "T(x)").replace("y", "T(y)")
        arrays = [_numba(x.dtype) + ("[:, ::1]" if x.ndim == 2 else "[::1]") for x in given]
        rest = [x.replace("T", _numba(self.dtype)).replace("i[", f"{index}[") for x in more]
        head = _HEAD.format(
            kind=_numba(self.dtype),
            factors=factors,
            multiply=MULTIPLIES[ring.multiply].text,
            add=self.monoid.text,
            signature=f"void({', '.join(arrays + rest)})",
        )
        source = source_of(head + loop)
        found: Callable[..., None] | None = self.compiler.get(source)
        if found is None and amount >= _WAIT:
            compiler = self.compiler
            wait_until(lambda: bool(compiler.settled(source)))
            found = compiler.get(source)
        return found


def _numba(dtype: np.dtype) -> str:
    """Return what Numba and NumPy call a dtype."""
    return "bool_" if dtype.kind == "b" else dtype.name


def _open(x: np.ndarray) -> np.ndarray:
    """Return an array that may be written, which no loop here does to what it is given."""
    x = x.view()
    try:
        x.flags.writeable = True
    except ValueError:
        x = x.copy()
    return x


def _some_of(part: Arrays, keep: np.ndarray) -> Arrays:
    """Return a part with some of its elements."""
    data, indices, indptr = part
    before = np.concatenate([[0], np.cumsum(keep)]).astype(indptr.dtype)
    return data[keep], indices[keep], before[indptr]


def _turned(part: Arrays, n: int) -> Arrays:
    """Return the transposed part, of ``n`` rows; each has its elements in the order of the rows."""
    data, indices, indptr = part
    order = np.argsort(indices, kind="stable")
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    pointers = np.concatenate([[0], np.cumsum(np.bincount(indices, minlength=n))])
    return data[order], rows[order], pointers


def _nothing(like: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return elements, indices and pointers of a part without elements."""
    kind = like.indices.dtype
    return np.empty(0, bool), np.empty(0, kind), np.zeros(like.shape[0] + 1, kind)


def _cuts(before: np.ndarray) -> list[int]:
    """Return rows between which no more products are made at a time than fit, or one row's.

    ``before``: how many are made before each row.
    """
    cuts = [0]
    while cuts[-1] < len(before) - 1:
        last = np.searchsorted(before, before[cuts[-1]] + _CHUNK, "right") - 1
        cuts.append(max(int(last), cuts[-1] + 1))
    return cuts


def _before(lengths: np.ndarray) -> np.ndarray:
    """Return how many there are before each."""
    return np.cumsum(lengths) - lengths

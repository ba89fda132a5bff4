"""What tasks returned: read from the engines, and put together where it fits together."""

from __future__ import annotations

import pickle
import sys
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from distnb.client.array.migration import laid
from distnb.client.batching.failures import exception_like, within
from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import record_collective
from distnb.client.session.session import Session
from distnb.client.sparse.commands import made
from distnb.client.sparse.compressed import csc_array, csr_array
from distnb.client.sparse.scipys import scipy_sparse
from distnb.common.config import config
from distnb.common.errors import GatherError, LostArrayError, explain
from distnb.geometry.layout import Ints
from distnb.wire.exceptions import unpacked

__all__ = ["Outcome", "new_report"]

#: Bytes of a rank's report, and more for each of its tasks: what is longer is read in another step.
_REPORT, _MORE = 4096, 64


def new_report(session: Session, tasks: int) -> Array:
    """Return the array in which engines tell what tasks returned."""
    n = 8 + _REPORT + _MORE * -(-tasks // session.size)
    ends = tuple([n * r for r in range(session.size + 1)])
    return _bytes_of(session, ends)


def _bytes_of(session: Session, ends: Ints) -> Any:
    """Return an array of bytes, cut at some places."""
    return create(session, (ends[-1],), np.dtype(np.uint8), laid(ends, 1, 0), ("empty",))


class _Array(NamedTuple):
    """An array that a task returned: on which engine it is, and what it is.

    A sparse one has a format, and so many elements.
    """

    rank: int
    shape: Ints
    dtype: np.dtype
    format: str = ""
    stored: int = 0

    @property
    def lengths(self) -> Ints:
        """The lengths of the arrays that it consists of: the first has its elements."""
        if not self.format:
            return (int(np.prod(self.shape)),)
        return (self.stored, self.stored, self.shape[self.format == "csc"] + 1)

    @property
    def nbytes(self) -> int:
        """The bytes of these; indices come in int64."""
        first, *others = self.lengths
        return first * self.dtype.itemsize + 8 * sum(others)

    def of(self, text: bytes) -> Any:
        """Return the array that consists of these bytes."""
        first, *others = self.lengths
        data = np.frombuffer(text, self.dtype, first).copy()
        if not self.format:
            return data.reshape(self.shape)
        at = np.cumsum([data.nbytes, *[8 * n for n in others]])
        rest = [np.frombuffer(text, np.int64, n, a) for n, a in zip(others, at, strict=False)]
        kind = getattr(scipy_sparse(), f"{self.format}_array")
        return kind((data, *rest), shape=self.shape)


class Outcome:
    """What tasks returned, as far as it is no array, and what they failed with.

    Parameters
    ----------
    report : Array
        What engines told; reading it waits for them.
    homes : tuple of int
        Where the tasks of each engine begin.
    name : str
        The function's.
    """

    def __init__(self, report: Array, homes: Ints, name: str) -> None:
        self.report, self.homes, self.name, self.session = report, homes, name, report.session
        parts = np.split(self._read(report), self.session.size)
        lengths = [int(part[:8].view(np.int64)[0]) for part in parts]
        texts = [part[8 : 8 + n] for part, n in zip(parts, lengths, strict=True)]
        if any(n > text.size for n, text in zip(lengths, texts, strict=True)):
            texts = self._kept(lengths, True)
        self.values: list[Any] = [None] * homes[-1]
        #: Failures: the task, names of classes, message, traceback, what the exception is made of
        #: if it is of an own class; and on which rank that was.
        self.failures: list[tuple[Any, ...]] = []
        printed: list[tuple[int, str, str]] = []
        for rank, text in enumerate(texts):
            told, arrays, failure, said = pickle.loads(text.tobytes())
            for task, value in told:
                self.values[task] = None if value is None else pickle.loads(value)
            for task, shape, dtype, *sparse in arrays:
                self.values[task] = _Array(rank, shape, np.dtype(dtype), *sparse)
            self.failures += [] if failure is None else [(*failure, rank)]
            printed += said
        for _, out, err in sorted(printed):  # as a loop in the notebook would
            sys.stdout.write(out)
            sys.stderr.write(err)

    def _read(self, array: Array) -> np.ndarray:
        """Return an array that engines told in; if it is lost, the error is of the call."""
        try:
            return array.to_numpy()
        except LostArrayError:
            why = array.dbase.lost
            got = f"no results: {why}" if isinstance(why, str) else "no results"
            do = "make anew what it updates, and call it again"
            what = f"foreach ({self.name})"
            raise LostArrayError(explain(what, got, "tasks that end", do)) from None

    def _kept(self, lengths: list[int], is_report: bool) -> list[np.ndarray]:
        """Return what engines kept: their reports, or their arrays."""
        total = sum(lengths)
        if total > config.gather_budget:
            raise GatherError(
                explain(
                    "results of foreach()",
                    f"{total:,} bytes that do not make one array",
                    f"at most {config.gather_budget:,}",
                    "return parts that can be joined, or raise dnb.config.gather_budget",
                )
            )
        ends = (0, *accumulate(lengths))
        out = _bytes_of(self.session, ends)
        self._record("foreach.tell", out, (is_report,))
        return np.split(self._read(out), ends[1:-1])

    def _record(self, op: str, out: Array, args: tuple[Any, ...]) -> None:
        record_collective(op, (out,), (self.report,), args)

    def check(self, parts: list[str], updated: bool) -> None:
        """Raise what a task raised; ``parts`` tells which part of what each task has."""
        if not self.failures:
            return
        task, kinds, message, trace, packed, rank = min(self.failures)
        error = unpacked(packed) or exception_like(kinds, message)
        others = sorted(f[0] for f in self.failures if f[0] != task)
        note = f"raised in task {task} of {self.homes[-1]} of foreach ({self.name}) on rank {rank}"
        note += f", which had {parts[task]}" if parts[task] else ""
        note += f"\ntasks {others} failed, too" if others else ""
        if updated:
            note += (
                "\nwhat other tasks wrote stays written; the part of a task that failed may be "
                "written in part"
            )
        error.add_note(f"{note}\n{within(trace)}traceback of rank {rank}:\n{trace}")
        raise error

    def result(self, axis: int) -> Any:
        """Return one array if tasks returned its parts, None if nothing, else a list."""
        found = self.values
        if all(x is None for x in found):
            return None
        if all(isinstance(x, _Array) for x in found):
            along = min(axis, len(found[0].shape) - 1)
            fits = len({(*x.shape[:along], -1, *x.shape[along + 1 :]) for x in found}) == 1
            if fits and len({x.format > "" for x in found}) == 1:
                return self._joined(along)
        return self._listed()

    def _joined(self, axis: int) -> Any:
        """Return the array of all parts, each on the engine that is home to its task."""
        first = self.values[0]
        places = (0, *accumulate(x.shape[axis] for x in self.values))
        shape = (*first.shape[:axis], places[-1], *first.shape[axis + 1 :])
        dtype = np.result_type(*{x.dtype for x in self.values})
        cuts = tuple([places[h] for h in self.homes])
        owners = np.repeat(np.arange(self.session.size), np.diff(self.homes)).tolist()
        moved = [(t, x.rank) for t, x in enumerate(self.values) if x.rank != owners[t]]
        args = (axis, places, self.homes, tuple(moved))
        if first.format:
            minor = shape[1 - axis]
            op, more = "foreach.join_sparse", (*args, minor, dtype.str)
            extents, lies = (places[-1], minor), laid(cuts, 2, 0)
            found = made(self.session, op, (), (self.report,), more, extents, lies, dtype)
            return (csr_array, csc_array)[axis].of(found)
        out = create(self.session, shape, dtype, laid(cuts, len(shape), axis), ("empty",))
        self._record("foreach.join", out, args)
        return out

    def _listed(self) -> list[Any]:
        """Return what each task returned, in the notebook."""
        arrays = [(t, x) for t, x in enumerate(self.values) if isinstance(x, _Array)]
        if not arrays:
            return self.values
        lengths = [0] * self.session.size
        for _, x in arrays:
            lengths[x.rank] += x.nbytes
        came, at = self._kept(lengths, False), [0] * self.session.size
        for task, x in arrays:
            end = at[x.rank] + x.nbytes
            self.values[task] = x.of(came[x.rank][at[x.rank] : end].tobytes())
            at[x.rank] = end
        return self.values

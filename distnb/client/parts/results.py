"""What tasks returned: read from the engines, and put together where it fits together."""

from __future__ import annotations

import pickle
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from distnb.client.array.migration import laid
from distnb.client.batching.failures import exception_like
from distnb.client.handle.array import Array, create
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.common.errors import GatherError, explain
from distnb.geometry.layout import Ints
from distnb.wire.protocol import Collective

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
    """An array that a task returned: on which engine it is, and what it is."""

    rank: int
    shape: Ints
    dtype: np.dtype


class Outcome:
    """What tasks returned, as far as it is no array, and what they failed with.

    Parameters
    ----------
    report : Array
        What engines told; reading it waits for them.
    homes : tuple of int
        Where the tasks of each engine begin.
    """

    def __init__(self, report: Array, homes: Ints) -> None:
        self.report, self.homes, self.session = report, homes, report.session
        parts = np.split(report.to_numpy(), self.session.size)
        lengths = [int(part[:8].view(np.int64)[0]) for part in parts]
        texts = [part[8 : 8 + n] for part, n in zip(parts, lengths, strict=True)]
        if any(n > text.size for n, text in zip(lengths, texts, strict=True)):
            texts = self._kept(lengths, True)
        self.values: list[Any] = [None] * homes[-1]
        #: Failures: the task, names of classes, message, traceback; and on which rank that was.
        self.failures: list[tuple[Any, ...]] = []
        for rank, text in enumerate(texts):
            told, arrays, failure = pickle.loads(text.tobytes())
            for task, value in told:
                self.values[task] = None if value is None else pickle.loads(value)
            for task, shape, dtype in arrays:
                self.values[task] = _Array(rank, shape, np.dtype(dtype))
            self.failures += [] if failure is None else [(*failure, rank)]

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
        return np.split(out.to_numpy(), ends[1:-1])

    def _record(self, op: str, out: Array, args: tuple[Any, ...]) -> None:
        session, report = self.session, self.report.operand
        session.record(Collective(op, (out.operand,), (report,), args, session.site()))

    def check(self, name: str, parts: list[str], updated: bool) -> None:
        """Raise what a task raised; ``parts`` tells which part of what each task has."""
        if not self.failures:
            return
        task, kinds, message, trace, rank = min(self.failures)
        error = exception_like(kinds, message)
        others = sorted(f[0] for f in self.failures if f[0] != task)
        note = f"raised in task {task} of {self.homes[-1]} of foreach ({name}) on rank {rank}"
        note += f", which had {parts[task]}" if parts[task] else ""
        note += f"\ntasks {others} failed, too" if others else ""
        if updated:
            note += (
                "\nwhat other tasks wrote stays written; the part of a task that failed may be "
                "written in part"
            )
        error.add_note(f"{note}\ntraceback of rank {rank}:\n{trace}")
        raise error

    def result(self, axis: int) -> Any:
        """Return one array if tasks returned its parts, None if nothing, else a list."""
        found = self.values
        if all(x is None for x in found):
            return None
        if all(isinstance(x, _Array) for x in found):
            along = min(axis, len(found[0].shape) - 1)
            if len({(*x.shape[:along], -1, *x.shape[along + 1 :]) for x in found}) == 1:
                return self._joined(along)
        return self._listed()

    def _joined(self, axis: int) -> Any:
        """Return the array of all parts, each on the engine that is home to its task."""
        first = self.values[0]
        places = (0, *accumulate(x.shape[axis] for x in self.values))
        shape = (*first.shape[:axis], places[-1], *first.shape[axis + 1 :])
        dtype = np.result_type(*{x.dtype for x in self.values})
        where = laid(tuple([places[h] for h in self.homes]), len(shape), axis)
        out = create(self.session, shape, dtype, where, ("empty",))
        owners = np.repeat(np.arange(self.session.size), np.diff(self.homes)).tolist()
        moved = [(t, x.rank) for t, x in enumerate(self.values) if x.rank != owners[t]]
        self._record("foreach.join", out, (axis, places, self.homes, tuple(moved)))
        return out

    def _listed(self) -> list[Any]:
        """Return what each task returned, in the notebook."""
        arrays = [(t, x) for t, x in enumerate(self.values) if isinstance(x, _Array)]
        if not arrays:
            return self.values
        size = [int(np.prod(x.shape)) * x.dtype.itemsize for _, x in arrays]
        lengths = [0] * self.session.size
        for (_, x), n in zip(arrays, size, strict=True):
            lengths[x.rank] += n
        came, at = self._kept(lengths, False), [0] * self.session.size
        for (task, x), n in zip(arrays, size, strict=True):
            data = came[x.rank][at[x.rank] : at[x.rank] + n]
            self.values[task] = np.ndarray(x.shape, x.dtype, data.tobytes()).copy()
            at[x.rank] += n
        return self.values

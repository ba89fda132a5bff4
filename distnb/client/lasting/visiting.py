"""Arrays of the sessions that other notebooks have: read by their names, while these go on.

What is read is the list that a session leaves after each cell, and the elements where they lie, so
nobody is asked, and nobody waits (:mod:`distnb.client.recovery.keeping`). That nothing changed
meanwhile is seen afterwards; what a cell that runs may be writing is not read.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from distnb.client.batching.replies import fill_in
from distnb.client.handle.array import hosted
from distnb.client.handle.conversion import in_layout
from distnb.client.lasting.assembled import Parts, Shared, again
from distnb.client.lasting.kept_arrays import Listed, Table, take_up
from distnb.client.record.creation import array
from distnb.client.record.placement import Placement
from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.common.errors import LostArrayError, SessionError, explain
from distnb.common.shared_segments import CELLS, LISTED, WRITTEN
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.regrid import regridded
from distnb.geometry.views import Placed, View
from distnb.wire.encoding import decode
from distnb.wire.protocol import Create

if TYPE_CHECKING:  # few look for others
    from distnb.client.recovery.keeping import Kept

__all__ = ["Other", "Others", "others"]

#: How often it is looked whether an array stands still, and seconds in between.
_LOOKS, _PAUSE = 20, 0.05
#: Bytes that are read at a time: Ctrl-C comes through in between.
_AT_A_TIME = 1 << 25


class _Head(NamedTuple):
    """What the head of a segment says: whether a cell runs, where the list is, what may change."""

    cells: int
    listed: int
    changing: frozenset[int]

    def holds(self, before: _Head, number: int) -> bool:
        """Tell whether what has a number has been as it is since another look."""
        same = (self.cells, self.listed) == (before.cells, before.listed)
        return same and (self.cells % 2 == 1 or number not in self.changing)


class _List(NamedTuple):
    """A list as it was left: bases, names with their views, and what else is told."""

    made: Sequence[Create]
    names: dict[str, Any]
    told: dict[str, Any]
    #: Name -> what is made of several arrays, with places instead of these.
    assembled: dict[str, Parts]

    def places(self, name: str) -> list[tuple[int, View]]:
        """Return the numbers of bases that an array needs, and what it shows of each."""
        if name in self.assembled:
            return [(number, view) for number, view, _ in self.assembled[name].arrays]
        return [self.names[name]]

    def placed(self, number: int, view: View) -> tuple[Placed, np.dtype]:
        """Return where a dense array lies, and its dtype."""
        base = self.made[number]
        return Placed(base.shape, base.layout, view), np.dtype(base.dtype)

    @property
    def all(self) -> tuple[str, ...]:
        """The names of all arrays."""
        return (*self.names, *self.assembled)


class _Memory:
    """The memory of a session, as it is seen through a descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._nbytes = os.fstat(fd).st_size

    def head(self) -> _Head:
        """Return what its head says now."""
        cells, listed = (int(self._numbers(at, 1)[0]) for at in (CELLS, LISTED))
        marks = self._numbers(WRITTEN + 8, int(self._numbers(WRITTEN, 1)[0]))
        return _Head(cells, listed, frozenset([m if m >= 0 else -1 - m for m in marks.tolist()]))

    def list(self, head: _Head) -> _List | None:
        """Return its list; None if there is another one by now."""
        if not head.listed:
            return _List([], {}, {"lost": {}, "fixed": [], "made": {}}, {})
        length = int(self._numbers(head.listed, 1)[0])
        if self.head().listed != head.listed or not 0 < length < self._nbytes:
            return None
        text = self.bytes(head.listed + 8, length).tobytes()
        now = self.head()
        if (now.listed, now.cells) != (head.listed, head.cells):
            return None
        *made, bound, told = decode(text).commands
        assembled = {name: Parts(*parts) for name, *parts in told.args[1]}
        return _List(made, dict(bound.names), json.loads(told.args[0]), assembled)

    def bytes(self, at: int, nbytes: int) -> np.ndarray:
        """Return what lies at a place."""
        found = np.zeros(nbytes, np.uint8)
        done, data = 0, memoryview(cast(Any, found))
        while done < nbytes:
            now = os.preadv(self._fd, [data[done : done + _AT_A_TIME]], at + done)
            if not now:
                break
            done += now
        return found

    def _numbers(self, at: int, count: int) -> np.ndarray:
        return self.bytes(at, 8 * count).view(np.int64)


class Other:
    """A session of another notebook, and its arrays by their names.

    Attributes
    ----------
    pid : int
        The notebook's process; 0 if it has ended, so that :func:`distnb.attach` takes it up.
    engines : int
        How many engines it has.

    Examples
    --------
    >>> import distnb as dnb
    >>> (other,) = dnb.others()  # doctest: +SKIP
    >>> "T" in other, list(other)  # doctest: +SKIP
    (True, ['T'])
    >>> other["T"].mean()  # doctest: +SKIP
    >>> session = other.attach()  # doctest: +SKIP
    """

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self.pid: int = kept.pid
        self.engines: int = kept.facts["engines"]

    def __getitem__(self, name: str) -> Any:
        """Return a copy of an array in the current session, as it is when no cell writes it."""
        session = current.need(None)
        with self._kept.seen() as fd:
            memory = _Memory(fd)
            for _ in range(_LOOKS):
                head = memory.head()
                there = memory.list(head)
                if there is not None:
                    self._check(there, name)
                    numbers = [number for number, _ in there.places(name)]
                    found = [_elements(memory, there.made[number]) for number in numbers]
                    if all(map(partial(memory.head().holds, head), numbers)):
                        return self._array(session, there, name, found)
                time.sleep(_PAUSE)
        do = "read it when the cell there has ended" if self.pid else "take it up: dnb.attach()"
        got = "one that its notebook may be writing"
        what = f"array {name!r} of {self._who}"
        raise SessionError(explain(what, got, "one that stands still", do))

    def attach(self) -> Session:
        """Take the session up, as :func:`distnb.attach` does with the last one.

        Raises
        ------
        EngineError
            If its notebook has not ended.
        """
        return take_up(self._kept)

    def __contains__(self, name: object) -> bool:
        return name in self._ipython_key_completions_()

    def __iter__(self) -> Iterator[str]:
        """Return the names, one after the other."""
        return iter(self._ipython_key_completions_())

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names, to complete them."""
        return [listed.name for listed in self.arrays]

    @property
    def _who(self) -> str:
        return f"process {self.pid}" if self.pid else "a notebook that has ended"

    def _check(self, there: _List, name: str) -> None:
        """Refuse a name of which there is nothing."""
        if name in there.told["lost"]:
            why = f"no content: {there.told['lost'][name]}"
            what = f"array {name!r} of {self._who}"
            raise LostArrayError(explain(what, why, "a good array", "let its notebook make it"))
        if name not in there.all:
            known = ", ".join(there.all) or "none"
            got = f"no array {name!r}"
            raise KeyError(explain(self._who, got, f"one of: {known}", "see .arrays"))

    def _array(
        self, session: Session, there: _List, name: str, elements: Sequence[np.ndarray]
    ) -> Any:
        """Return the array of a name, whose bases have these elements."""
        engines = there.told["engines"]
        placed = [there.placed(*place)[0] for place in there.places(name)]
        arrays = [_copy(session, *each, engines) for each in zip(placed, elements, strict=True)]
        if (parts := there.assembled.get(name)) is None:
            return arrays[0]
        return again(parts._replace(arrays=tuple(arrays)), engines, Shared())

    @property
    def arrays(self) -> Table:
        """Its arrays that have names, as :func:`distnb.arrays` tells of one's own."""
        with self._kept.seen() as fd:
            memory = _Memory(fd)
            while (there := memory.list(memory.head())) is None:
                time.sleep(_PAUSE)
        return Table([self._row(there, name) for name in there.all])

    def _row(self, there: _List, name: str) -> Listed:
        found = [there.placed(*place) for place in there.places(name)]
        nbytes = sum([prod(placed.view.shape) * dtype.itemsize for placed, dtype in found])
        placed, dtype = found[0]
        shape, facts = placed.view.shape, Placement(placed, dtype, self.engines).facts()
        if name in there.assembled:
            shape, facts = there.assembled[name].shape, there.assembled[name].text
        made = there.told["made"].get(name)
        return Listed(name, shape, dtype, nbytes, facts, f"made at {made}" * bool(made))

    def __repr__(self) -> str:
        started = time.strftime("%H:%M", time.localtime(self._kept.facts["started"]))
        lines = repr(self.arrays).splitlines()
        head = f"{self._who}: {self.engines} engine{'s' * (self.engines != 1)}, since {started}"
        return "\n".join([head, *[f"  {line}" for line in lines]])


class Others(tuple[Other, ...]):
    """Sessions of other notebooks; they show themselves as tables."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no other session that is kept"


def others() -> Others:
    """Return the sessions that other notebooks of this user have, to read their arrays by name.

    Those that were started with ``dnb.start(keep=...)``. What is read is a copy in the current
    session, cut as it is there; its notebook goes on meanwhile, and alone writes the array itself.
    An array is as it was when the last cell there ended, or ``session["T"] = T`` was said; one that
    a cell may be writing is not read.

    Returns
    -------
    tuple of Other
        The one that was started last comes last; ``others()[-1]["T"]`` is its array ``T``, and
        ``others()[-1].arrays`` tells what there is. It shows itself as a table.

    Raises
    ------
    SessionError
        If an array is being written by a cell that runs.
    KeyError, LostArrayError
        If there is no array of that name, or its content is lost.

    Examples
    --------
    In one notebook:

    >>> import distnb as dnb
    >>> session = dnb.start(2, keep="1 h")  # doctest: +SKIP
    >>> T = dnb.ones((1000, 1000))  # doctest: +SKIP

    In another one, with engines of its own:

    >>> dnb.others()  # doctest: +SKIP
    process 4711: 2 engines, since 14:05
      T  (1000, 1000) float64, 8 MB, rows in blocks on 2 engines  made at Cell 2 line 1
    >>> dnb.others()[-1]["T"].sum()  # doctest: +SKIP
    1000000.0
    """
    return Others([Other(kept) for kept in current.keeping().found() if kept.pid != os.getpid()])


def _copy(session: Session, placed: Placed, elements: np.ndarray, engines: int) -> Any:
    """Return an array of elements that so many engines have elsewhere."""
    found = hosted(session, elements)
    if not placed.view.is_whole(placed.shape):
        return array(found.alias(placed.view).to_numpy(), session=session)
    return in_layout(found, regridded(placed.layout, placed.shape, engines, session.size))


def _elements(memory: _Memory, base: Create) -> np.ndarray:
    """Return the elements of a base that is listed, from where they lie."""
    shape, dtype, layout = base.shape, np.dtype(base.dtype), base.layout
    how, place, nbytes = base.how
    data = memory.bytes(place, nbytes)
    if how == "data" or layout.here or layout.in_order(shape):
        return np.ndarray(shape, dtype, data)
    found = np.empty(shape, dtype)
    fill_in(found, _parts(data, shape, dtype, layout), Placed.whole(shape, layout))
    return found


def _parts(
    data: np.ndarray, shape: Ints, dtype: np.dtype, layout: Layout
) -> list[np.ndarray | None]:
    """Return the part of each rank, of those that lie one after the other; of copies the first.

    Engines may have the others of it, so that nothing was written there.
    """
    found: list[np.ndarray | None] = []
    seen: set[tuple[int, ...]] = set()
    for rank in range(layout.grid.last + 1):
        local, coords = layout.local_shape(shape, rank), layout.grid.coords(rank)
        split = () if coords is None else tuple([coords[d] for d in layout.dims if d >= 0])
        if local is None or split in seen:
            found.append(None)
            continue
        seen.add(split)
        at = layout.place(shape, rank) * dtype.itemsize
        found.append(np.ndarray(local, dtype, data, at))
    return found

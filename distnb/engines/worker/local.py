"""A distributed array as one engine sees it: what ``%px`` reaches under the array's own name."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from distnb.common.calling import AS_PARTS
from distnb.common.errors import explain
from distnb.engines.runtime.comm import Comm
from distnb.engines.runtime.store import Store
from distnb.geometry.layout import in_notebook
from distnb.geometry.slices import Section
from distnb.geometry.views import Placed
from distnb.plans.transfer import Chunk, Part, part_of, window
from distnb.wire.protocol import InNotebook, Operand

__all__ = ["LocalArray", "as_parts", "follow_cells"]


class LocalArray:
    """One engine's part of a distributed array or view.

    Attributes
    ----------
    local : ndarray
        The elements that lie here. A writable look at the engine's memory where they are one
        strided block on each engine (always so for block layouts), else read-only. What several
        engines of a node share (large replicated arrays) is read-only, too, and what the notebook
        has as a read-only array, or as a view that engines hold a copy of: write into the array
        itself.
    global_slices : tuple
        For each axis, where they are in the whole array: a slice, or an index array.
    local_keys : tuple of ndarray
        The same as index arrays, which together are an index of the whole array.
    layout : str
        The layout of the array's base.
    comm : mpi4py.MPI.Comm or None
        A communicator of the session's engines for code in ``%px``. distnb sends its own messages
        on another one, so none that is forgotten here can meet them.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        operand: Operand | InNotebook,
        comm: Comm,
        sealed: bool = False,
    ) -> None:
        self._name = name
        self._store = store
        self._operand = operand
        self._comm = comm
        self._sealed = sealed

    def is_same(self, other: LocalArray) -> bool:
        """Tell whether this is of the same array as another one."""
        return self._operand == other._operand and self._sealed == other._sealed

    @property
    def _there(self) -> Operand:
        if isinstance(self._operand, InNotebook):
            raise ValueError(
                explain(
                    f"array {self._name}",
                    "one in the notebook",
                    "one on the engines",
                    f"run {self._name} = {self._name}.redistribute() first",
                )
            )
        return self._operand

    @property
    def _placed(self) -> Placed:
        return self._store.placed(self._there)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array."""
        if isinstance(self._operand, InNotebook):
            return self._operand.shape
        return self._operand.view.shape

    @property
    def dtype(self) -> np.dtype:
        """Element type."""
        if isinstance(self._operand, InNotebook):
            return np.dtype(self._operand.dtype)
        return self._store.bases[self._operand.base].dtype

    @property
    def layout(self) -> str:
        """The layout, spelled."""
        if isinstance(self._operand, InNotebook):
            return in_notebook(len(self.shape)).spell()
        return self._placed.layout.spell()

    @property
    def comm(self) -> Any:
        """The MPI communicator for code in ``%px`` (None without MPI)."""
        raw = getattr(self._comm, "raw", None)
        if raw is not None and not raw:
            raise ValueError(
                explain(
                    f"{self._name}.comm",
                    "a communicator that was freed",
                    "the one of the session",
                    "use a duplicate: MPI.COMM_WORLD.Dup() on all engines",
                )
            )
        return raw

    @property
    def _nothing(self) -> tuple[slice, ...]:
        """Where no elements are: none along axes that are split, all along others."""
        split = [m is not None for m in self._placed.maps]
        split[:1] = [split[0] or not any(split)] if split else []
        pairs = zip(split, self.shape, strict=True)
        return tuple(slice(0, 0 if is_split else n) for is_split, n in pairs)

    @property
    def global_slices(self) -> tuple[Any, ...]:
        """Where the local elements are in the whole array, one index for each axis."""
        owned = self._placed.owned(self._store.rank)
        if owned is None:
            return self._nothing
        return tuple(_index(sections) for sections in owned)

    @property
    def local_keys(self) -> tuple[np.ndarray, ...]:
        """The indices of the local elements along each axis: ``full[keys]`` is ``local``."""
        every = [np.arange(n)[at] for n, at in zip(self.shape, self.global_slices, strict=True)]
        return np.ix_(*every)

    def get_local_data(self) -> np.ndarray:
        """Return a copy of the local elements."""
        return self.local.copy()

    def set_local_data(self, data: Any) -> None:
        """Write the local elements."""
        self.local = data

    @property
    def _is_held(self) -> bool:
        """Whether a part of it is to be had here: of what is lost, or in the notebook, none is."""
        if isinstance(self._operand, InNotebook):
            return False
        base = self._store.bases.get(self._there.base)
        return base is not None and not base.lost

    @property
    def writeable(self) -> bool:
        """Whether elements can be assigned to :attr:`local`, if not into what it shows."""
        return not (self._store.get(self._there.base).shared or self._sealed)

    @property
    def local(self) -> np.ndarray:
        """The local elements."""
        base = self._store.get(self._there.base)
        whole, part = self._there.view.is_whole(base.shape), self._part(self._store.rank)
        if part is None or base.block is None:
            return np.empty([at.stop for at in self._nothing], base.dtype)
        if _is_window(part):
            found = _memory(part.chunks[0], base.block)
        elif whole:
            found = base.block.view()
        else:
            found = np.empty(part.shape, base.dtype)
            for chunk in part.chunks:
                _message(chunk, found)[...] = _memory(chunk, base.block)
        # On all engines or on none: code that writes would stop halfway.
        parts = map(self._part, range(self._comm.size))
        looks = whole or all(part is None or _is_window(part) for part in parts)
        found.flags.writeable = looks and self.writeable
        return found

    @local.setter
    def local(self, data: Any) -> None:
        found = self.local
        if not found.flags.writeable and self.writeable:
            self._assign(np.broadcast_to(data, found.shape).astype(found.dtype, order="C"))
        else:
            found[...] = data  # ``A.local += 1`` assigns what it has written already

    def _assign(self, data: np.ndarray) -> None:
        """Write a copy of elements, laid as a message, where they lie in memory."""
        block, part = self._store.get(self._there.base).block, self._part(self._store.rank)
        if part is not None and block is not None:
            for chunk in part.chunks:
                _memory(chunk, block)[...] = _message(chunk, data)

    def _part(self, rank: int) -> Part | None:
        """Return what lies on a rank, None if nothing does."""
        owned = self._placed.owned(rank)
        return None if owned is None else part_of(rank, self._placed, owned)

    def __getitem__(self, key: Any) -> Any:
        raise self._no_part()

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._no_part()

    def _no_part(self) -> Exception:
        """Return what tells that it is no part; raise ValueError if none of it is here."""
        do = f"use {self._name}.local" if self._there else ""
        return TypeError(explain(f"{self._name}[...]", "a distributed array", "its part", do))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the local elements, as NumPy's functions see them."""
        return np.array(self.local, dtype, copy=copy)

    def __repr__(self) -> str:
        rank, size = self._comm.rank, self._comm.size
        if isinstance(self._operand, InNotebook):
            return f"<{self._name}: {self.shape} {self.dtype}, {self.layout}>"
        return (
            f"<local part of {self._name} on rank {rank} of {size}: "
            f"{self.local.shape} of {self.shape} {self.dtype}, {self.layout}>"
        )


def _memory(chunk: Chunk, block: np.ndarray) -> np.ndarray:
    """Return the elements of a chunk in a rank's memory."""
    return window(block, chunk.shape, chunk.memory.offset, chunk.memory.strides)


def _message(chunk: Chunk, elements: np.ndarray) -> np.ndarray:
    """Return the elements of a chunk among all of its part."""
    return window(elements, chunk.shape, chunk.message.offset, chunk.message.strides)


def _is_window(part: Part) -> bool:
    """Tell whether a part is one strided block of its rank's memory."""
    return len(part.chunks) == 1 and part.chunks[0].shape == part.shape


def _index(sections: tuple[Section, ...]) -> Any:
    if len(sections) == 1:
        s = sections[0]
        if s.count == 1:
            return slice(s.start, s.start + s.block)
        if s.block == 1:
            return slice(s.start, s.start + (s.count - 1) * s.period + 1, s.period)
    return np.concatenate(
        [
            (np.arange(s.count)[:, None] * s.period + np.arange(s.block)).reshape(-1) + s.start
            for s in sections
        ]
    )


def follow_cells(shell: Any) -> None:
    """Let arrays be their parts in cells of ``%%distlocal``, which tell so at their end."""
    if _begin not in shell.events.callbacks["pre_run_cell"]:
        shell.events.register("pre_run_cell", _begin)


def _begin(info: Any) -> None:
    """Begin a cell, which runs in an IPython shell."""
    if info.raw_cell.rstrip().endswith(AS_PARTS):
        shell = sys.modules["IPython"].get_ipython()
        as_parts(shell.user_ns, shell)


def as_parts(user: dict[str, Any], shell: Any) -> None:
    """Let arrays of a user namespace that engines hold be their parts, to the end of the cell.

    What a cell binds to a name
    of these is not the array's: it goes with the cell, and the first engine says so.
    """
    kept = {}
    for name, array in list(user.items()):
        if isinstance(array, LocalArray) and array._is_held:
            user[name] = part = array.local
            kept[name] = array, part

    def end(*_: object) -> None:
        shell.events.unregister("post_run_cell", end)
        others = [name for name, (_, part) in kept.items() if user.get(name) is not part]
        user.update({name: array for name, (array, _) in kept.items()})
        if others and not kept[others[0]][0]._comm.rank:
            name = others[0]
            print(
                explain(
                    ", ".join(others),
                    "another value, which goes with the cell",
                    "elements written into the array",
                    f"{name}[...] = writes them; another name keeps the value",
                )
            )

    shell.events.register("post_run_cell", end)

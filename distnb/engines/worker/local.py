"""A distributed array as one engine sees it: what ``%px`` reaches under the array's own name."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.common.errors import explain
from distnb.engines.runtime.comm import Comm
from distnb.engines.runtime.store import Store
from distnb.geometry.layout import in_notebook
from distnb.geometry.slices import Section
from distnb.geometry.views import Placed
from distnb.plans.transfer import part_of, window
from distnb.wire.protocol import InNotebook, Operand

__all__ = ["LocalArray"]


class LocalArray:
    """One engine's part of a distributed array or view.

    Attributes
    ----------
    local : ndarray
        The elements that lie here. A writable look at the engine's memory where they are one
        strided block (always so for block layouts), else a read-only copy. What several engines of
        a node share (large replicated arrays) is read-only, too.
    global_slices : tuple
        For each axis, where they are in the whole array: a slice, or an index array.
    layout : str
        The layout of the array's base.
    comm : mpi4py.MPI.Comm or None
        A communicator of the session's engines for code in ``%px``. distnb sends its own messages
        on another one, so none that is forgotten here can meet them.
    """

    def __init__(self, name: str, store: Store, operand: Operand | InNotebook, comm: Comm) -> None:
        self._name = name
        self._store = store
        self._operand = operand
        self._comm = comm

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
    def global_slices(self) -> tuple[Any, ...]:
        """Where the local elements are in the whole array, one index for each axis."""
        owned = self._placed.owned(self._store.rank)
        if owned is None:
            return tuple(slice(0, 0) for _ in self.shape)
        return tuple(_index(sections) for sections in owned)

    @property
    def local(self) -> np.ndarray:
        """The local elements."""
        base = self._store.get(self._there.base)
        placed, rank = self._placed, self._store.rank
        owned = placed.owned(rank)
        if owned is None or base.block is None:
            return np.empty(tuple(0 for _ in self.shape), base.dtype)
        part = part_of(rank, placed, owned)
        if len(part.chunks) == 1 and part.chunks[0].shape == part.shape:
            chunk = part.chunks[0]
            look = window(base.block, chunk.shape, chunk.memory.offset, chunk.memory.strides)
            look.flags.writeable = not base.shared
            return look
        if self._there.view.is_whole(base.shape):
            look = base.block.view()
            look.flags.writeable = not base.shared
            return look
        found = np.empty(part.shape, base.dtype)
        for chunk in part.chunks:
            to = window(found, chunk.shape, chunk.message.offset, chunk.message.strides)
            to[...] = window(base.block, chunk.shape, chunk.memory.offset, chunk.memory.strides)
        found.flags.writeable = False
        return found

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

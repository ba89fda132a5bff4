"""The owners of memory, on the engines or in the notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distnb.common.errors import LostArrayError, explain
from distnb.geometry.layout import Ints, Layout, in_notebook

if TYPE_CHECKING:
    from distnb.client.session.session import Session

__all__ = ["Base", "lost_error"]


class Base:
    """The owner of memory, on the engines or in the notebook.

    On the engines it is known by its ``handle``; dropping the last reference frees it. In the
    notebook it is an ndarray in C order, ``host``, and ``copy`` may be a base on the engines with
    the same elements, which every engine holds. An element that was read is made on the engines
    when something is done with it there; until then it is ``known``.
    """

    __slots__ = (
        *("__weakref__", "copy", "dtype", "handle", "host", "known", "layout", "lost", "nbytes"),
        *("session", "shape", "since", "site", "turn"),
    )

    def __init__(
        self,
        session: Session,
        shape: Ints,
        dtype: np.dtype,
        layout: Layout,
        need: int | None = None,
    ) -> None:
        self.session = session
        self.nbytes = -1  # nothing to free if making it fails
        self.shape = shape
        self.dtype = dtype
        self.host: np.ndarray | None = None
        self.copy: Base | None = None
        #: The elements, where they are known and engines have nothing of it yet.
        self.known: np.ndarray | None = None
        self.lost = False
        #: The line that made it, as the session numbers them; -1 if that was not noted.
        self.site = -1
        #: Added to the numbers of its handles' specs: another one after each change of layout.
        self.turn = 0
        self.move(layout, need)

    @classmethod
    def here(cls, session: Session, host: np.ndarray) -> Base:
        """Return a base in the notebook; ``host`` is its own from now on, and in C order."""
        base = cls.__new__(cls)
        base.session = session
        base.nbytes = -1
        base.shape = host.shape
        base.dtype = host.dtype
        base.layout = in_notebook(host.ndim)
        base.host = host
        base.copy = base.known = None
        base.site = -1
        base.lost = False
        base.turn = 0
        return base

    @classmethod
    def to_come(cls, session: Session, shape: Ints, dtype: np.dtype, layout: Layout) -> Base:
        """Return a base on the engines that does not count before :meth:`begin`."""
        base = cls.__new__(cls)
        base.session = session
        base.handle = session.new_handle()
        base.nbytes = -1
        base.shape = shape
        base.dtype = dtype
        base.layout = layout
        base.host = base.copy = base.known = None
        base.site = -1
        base.lost = False
        base.turn = 0
        base.since = session.batches + 1
        return base

    def move(self, layout: Layout, need: int | None = None) -> None:
        """Become a base on the engines, to be created there; it takes ``need`` bytes on one."""
        if self.nbytes >= 0:
            self.session.release(self)
        self.handle = self.session.new_handle()
        self.begin(layout, need)

    def begin(self, layout: Layout, need: int | None = None) -> None:
        """Count as a base on the engines from now on."""
        self.nbytes = self.session.budget.reserve(self.shape, self.dtype, layout, need)
        self.layout = layout
        #: No batch before this one has to do with the content.
        self.since = self.session.batches + 1
        self.session.watch(self)

    def about_to_be_written(self) -> None:
        """Let nobody take what was kept of the elements for what they are after this."""
        self.copy = None

    def exchange(self, other: Base) -> None:
        """Take the memory of another base, which has the same elements elsewhere, for one's own."""
        for name in ("handle", "nbytes", "layout", "since"):
            mine, its = getattr(self, name), getattr(other, name)
            setattr(self, name, its)
            setattr(other, name, mine)
        self.session.journal.renamed(other.handle, self.handle)
        self.session.turns += 1
        self.turn = self.session.turns << 32  # above all numbers of specs
        self.session.watch(self)
        self.session.watch(other)

    def __del__(self) -> None:
        if self.nbytes >= 0 and not self.session.closed:
            self.session.release(self)


def lost_error(shape: Ints) -> LostArrayError:
    """Return the error for reading an array whose content is gone."""
    return LostArrayError(
        explain(
            f"array of shape {shape}",
            "no content: a command that writes it failed or was interrupted",
            "a good array",
            "make it again, or assign all of it",
        )
    )

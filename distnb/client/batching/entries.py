"""What is known of each base, where compiled modules find it at once."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from distnb.common.closable import Closable
from distnb.common.interrupts import interrupts
from distnb.geometry.layout import Ints, Layout, in_notebook

if TYPE_CHECKING:
    from weakref import ref

    import numpy as np

__all__ = ["Entry", "Promised", "come", "reached"]


class Promised(Protocol):
    """What finds a layout when somebody asks."""

    def layout(self) -> Layout:
        """Return it."""


class Entry:
    """What each base has: :class:`distnb.client.session.bases.Base` tells what it is."""

    __slots__ = (
        *("__weakref__", "_layout", "apart", "disk", "dtype", "exported", "handle", "host", "kept"),
        *("known", "look", "lost", "memory", "nbytes", "near", "promise", "session", "shape"),
        *("sharing", "since", "site", "turn"),
    )
    #: Its session.
    session: Any
    #: Its number on the engines; 0 as long as they have not heard of it.
    handle: int
    shape: Ints
    dtype: np.dtype
    #: Bytes that count on engines; -1 if there is nothing to free there.
    nbytes: int
    #: The elements of what lives in the notebook, and of what is in reach of it.
    host: np.ndarray | None
    near: np.ndarray | None
    #: Its layout, if it is known yet, and what finds it.
    _layout: Layout | None
    promise: Promised | None
    #: Its memory in the notebook's shared segment, and on disk.
    memory: np.ndarray | None
    disk: np.ndarray | None
    #: Whether its memory is each engine's own.
    apart: bool
    #: Layout, or what else it is of the elements -> base on the engines with that; or a mark.
    kept: dict[Any, Any] | None
    #: Bases whose memory in the notebook is that of this one, looked at in another way.
    sharing: list[ref[Any]] | None
    #: What it is to bases on engines with the same elements in another shape.
    look: Any
    #: Whether others have its memory in the notebook, so that it must stay there.
    exported: bool
    #: The elements, where they are known and engines have nothing of it yet.
    known: np.ndarray | None
    #: Whether its content is lost, or why.
    lost: bool | str
    #: The line that made it, as the session numbers them; -1 if that was not noted.
    site: int
    #: Added to the numbers of its handles' specs: another one after each change of layout.
    turn: int
    #: No batch before this one has to do with the content.
    since: int

    def __del__(self) -> None:
        try:
            if self.nbytes < 0 or self.session is None:  # None: Ctrl-C came before it was made
                return
        except AttributeError:  # so did it where this is not compiled
            return
        came = None
        while True:
            try:
                self.free()
                break
            except BaseException as error:
                if not interrupts(error):
                    raise
                came = error  # Python would drop it here: it comes a moment later
        if came is not None:
            _raise_soon(came)

    def free(self) -> None:
        """Free what engines have of it, as its last reference went."""

    @property
    def layout(self) -> Layout:
        """Its layout, which is found now if it was promised."""
        if self._layout is None:
            promise: Any = self.promise
            self._layout = promise.layout()
        return self._layout

    @layout.setter
    def layout(self, layout: Layout) -> None:
        self._layout = layout


def _raise_soon(error: BaseException) -> None:
    """Let an exception be raised in this thread as soon as the interpreter goes on.

    Python makes it of a class alone, so that is one that knows what it is to say.
    """
    import ctypes  # seldom needed

    kind: Any = type(error)
    args = error.args

    def make(cls: type[BaseException]) -> Any:
        return kind.__new__(cls, *args)

    def begin(again: BaseException) -> None:
        try:
            kind.__init__(again, *args)
        except Exception:  # it wants others, and has made these of them
            again.args = args

    names = {"__new__": make, "__init__": begin, "__module__": kind.__module__}
    wanted = type(kind.__name__, (kind,), names) if args else kind
    raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raised(ctypes.c_ulong(get_ident()), ctypes.py_object(wanted))


def come(base: Entry, session: Closable, shape: Ints, dtype: np.dtype) -> None:
    """Make a new base one that engines have not heard of, and that is nowhere yet."""
    base.session = session
    base.shape = shape
    base.dtype = dtype
    base._layout = base.host = base.near = base.promise = base.memory = base.disk = None
    base.kept = base.sharing = base.look = base.known = None
    base.apart = base.exported = base.lost = False
    base.nbytes = base.site = -1
    base.handle = base.turn = base.since = 0


def reached(
    base: Entry, session: Closable, near: np.ndarray, layout: Layout | Promised | None
) -> None:
    """Make a new base one that is in reach, of which engines have not heard yet.

    Its layout may be promised. If it is that of the notebook, or None, so is the base.
    """
    come(base, session, near.shape, near.dtype)
    base.near = near
    if layout is None:
        base.host, base._layout = near, in_notebook(near.ndim)
    elif not isinstance(layout, Layout):
        base.promise = layout
    else:
        base._layout = layout
        if layout.here:
            base.host = near

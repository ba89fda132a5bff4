"""Rehearsals: what layout a function gives its result, found without engines and elements.

What NumPy did on small arrays in reach is done once more, if somebody asks for the layout of what
came out: by distnb's own function, on arrays of the same layouts, in a session whose commands go
nowhere. So each function has one rule for layouts, and that is its own code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from distnb.client.batching.recorder import Recorder
from distnb.client.handle.array import Array, hosted, is_whole
from distnb.client.handle.fields import is_away
from distnb.client.handle.indexing import view_of
from distnb.client.reach.promised_layouts import DEEPEST, Promise, seen_of, told
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.client.transport.contract import Buffers, Transport
from distnb.common.interrupts import interrupts
from distnb.geometry.layout import Ints, Layout, default_layout
from distnb.geometry.views import follow

__all__ = ["Part", "part", "promise"]

#: Results of which it is kept how they lie, at most.
_MOST = 4096


class Lies(NamedTuple):
    """How a result lies on engines."""

    #: Its shape; None if that depends on elements.
    shape: Ints | None
    #: Its layout, or that of a copy if it is a view.
    layout: Layout
    #: Its axes in the order of its base, and the layout of that; none in C order.
    axes: Ints
    base: Layout


class Part:
    """What a rehearsal needs of an array: of its base layout or promise and shape; view, dtype.

    Without a layout it is at home in the notebook.
    """

    __slots__ = ("dtype", "layout", "shape", "view")
    layout: Any
    shape: Ints
    view: Any
    dtype: np.dtype


def part(x: Array) -> Part:
    """Return the part that an array plays, which other threads may take out of reach."""
    one: Any = x
    found, base = Part(), one._base
    found.dtype = one.dtype
    if one._whole is None and base is not None and base.near is None and base.host is None:
        found.layout, found.shape, found.view = base.promise or base.layout, base.shape, one.dview
    elif is_away(x):
        found.layout, found.shape, found.view = told(x)
    else:
        found.layout, found.shape, found.view = None, one.shape, None
    return found


def promise(
    session: Session,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    shape: Ints,
    index: int,
    axes: Ints = (),
) -> Any:  # a Promise, or a Layout where too many build on each other
    """Return what promises the layout of a result, the ``index``-th if there are several.

    In ``args`` and ``options`` each array is its :class:`Part`. ``shape`` is the result's, and
    ``axes`` are its axes in the order in which they lie, if that is not C's: then the layout is
    that of what lies in C order.
    """
    depth = max(_depth(args), _depth(options)) + 1
    find = partial(_layout, axes=axes) if axes else _layout
    made = Promise(depth, find, (session, function, args, options, shape, index))
    return made if depth <= DEEPEST else made.settled()


def _layout(*what: Any, axes: Ints = ()) -> Layout:
    """Return the layout of a result, whose axes are to lie in an order if some are given."""
    known = _lies(*what)
    if not axes:
        return known.layout
    if known.axes == axes:
        return known.base
    grid, kinds, dims = known.layout.grid, known.layout.axes, known.layout.dims
    return Layout(grid, tuple([kinds[a] for a in axes]), tuple([dims[a] for a in axes]))


def _lies(
    session: Session,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    shape: Ints,
    index: int,
) -> Lies:
    stage: _Stage = session.extensions[_Stage]
    key: Any = (function, _known(args), _known(options), index)
    try:
        found = stage.known.get(key)
    except TypeError:  # nothing that can be looked up
        key, found = None, None
    if found is None:
        found = stage.play(session.size, function, args, options, index)
        if len(stage.known) >= _MOST:
            stage.known.clear()
        if key is not None:
            stage.known[key] = found
    if found.shape == shape:
        return found
    layout = default_layout(shape, session.size)  # it depends on elements
    return Lies(shape, layout, (), layout)


class UnforeseenError(Exception):
    """A function asked for elements in a rehearsal: its result has no layout beforehand."""


class _Nowhere(Transport[None]):
    """The way to engines that are not there."""

    kind = "rehearsal"
    concurrent = False

    def __init__(self, size: int) -> None:
        self.size = size
        self.about = [{"host": "", "memory": 0}] * size

    def submit(self, message: bytes, buffers: Buffers) -> None:
        raise UnforeseenError

    def define(self, number: int, text: bytes) -> None:
        """Keep nothing: nobody calls it."""


class _Stage:
    """The rehearsals of a session, and what was found."""

    def __init__(self) -> None:
        self.known: dict[Any, Lies] = {}
        #: Those in which nothing is played just now: one for each thread at a time.
        self._idle: list[Session] = []

    def play(
        self,
        size: int,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
        index: int,
    ) -> Lies:
        """Return how a result lies, if that does not depend on elements."""
        try:
            session = self._idle.pop()
        except IndexError:
            session = Session(_Nowhere(size))
        try:
            with np.errstate(all="ignore"):
                found = function(*_cast(session, args), **_cast(session, options))
            found = found[index] if isinstance(found, tuple | list) else found
            known = _own(found)
            del found
            recorder: Recorder = session.recorder
            recorder.take()
            self._idle.append(session)
        except Exception as error:
            if interrupts(error):
                raise
            layout = default_layout((), size)
            known = Lies(None, layout, (), layout)
        return known


def _own(x: Array) -> Lies:
    """Return how an array lies."""
    base = x.dbase.layout
    if is_whole(x):
        return Lies(x.shape, base, (), base)
    order = [axis for axis, _, _ in x.dview.dims]
    axes = tuple(sorted(range(x.ndim), key=order.__getitem__))
    turned = x.dview.transpose(axes).is_whole(x.dbase.shape)
    return Lies(x.shape, follow(x.placed, x.session.size)[0], axes if turned else (), base)


def _depth(x: Any) -> int:
    """Return on how many promises those of parts in arguments build, -1 if there is none."""
    kind, found = type(x), -1
    if kind is Part:
        return int(x.layout.depth) if type(x.layout) is Promise else -1
    if kind is tuple or kind is list:
        for item in x:
            found = max(found, _depth(item))
    elif kind is dict and x:
        return _depth(list(x.values()))
    return found


def _cast(session: Session, x: Any) -> Any:
    """Return arguments with an array for each part."""
    if type(x) is Part:
        if x.layout is None:
            return hosted(session, np.zeros(x.shape, x.dtype))
        layout = x.layout.layout() if type(x.layout) is Promise else x.layout
        base = Base(session, x.shape, x.dtype, layout)
        return Array.made(base, view_of(x.view, x.shape))
    if type(x) in (list, tuple):
        return type(x)([_cast(session, item) for item in x])
    return {k: _cast(session, v) for k, v in x.items()} if type(x) is dict else x


def _known(x: Any) -> Any:
    """Return arguments as something to look up; of arrays no elements, but for masks."""
    if type(x) is Part:
        return (None if x.layout is None else seen_of(x.layout, x.shape, x.view), x.shape, x.dtype)
    if type(x) in (list, tuple):
        return tuple([_known(item) for item in x])
    if type(x) is dict:
        return tuple([(k, _known(v)) for k, v in x.items()])
    if type(x) is slice:
        return ("slice", x.start, x.stop, x.step)
    if isinstance(x, np.ndarray):
        return ("ndarray", x.shape, x.dtype, x.tobytes() if x.dtype == bool else None)
    return (type(x), x)

"""What an array shows of itself: its elements as NumPy prints them, if they can be had in time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.array.printing import corners, edges_of, hollow
from distnb.client.batching.replies import fill_in
from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import Array
from distnb.client.handle.glimpse import WAITING, Asked, Glimpse
from distnb.client.record.placement import Placement
from distnb.common.config import config
from distnb.geometry.layout import Ints
from distnb.wire.protocol import Fetch

__all__ = ["Shown", "bundle", "card", "show_later", "shown", "text"]

#: Seconds in which elements come so soon that an array is better shown once, with them.
_SOON = 0.3

#: Lines of elements that fit a screen beside what else is said, those of them that are rows where
#: others are blank, and elements on a line.
_LINES, _ROWS, _ON_LINE = 24, 12, 6


class Shown(NamedTuple):
    """The elements of an array as text, or why there are none.

    ``later`` is for those that are on their way: any thread may call it until it returns them.
    ``scalar`` is what NumPy's scalar shows, of an array without axes.
    """

    values: str
    missing: str = ""
    later: Callable[[], Shown | None] | None = None
    scalar: str = ""


def shown(x: Array, seconds: float | None = None) -> Shown:
    """Return the elements of an array, large ones in short; this raises nothing.

    Engines are waited for at most ``seconds``, by default ``config.show_wait``.
    """
    wait = config.show_wait if seconds is None else seconds
    try:
        return _shown(x, min(wait, config.show_wait))
    except Exception as error:  # whatever is wrong with an array: a repr must not fail
        return Shown("", "content lost" if x.dbase.lost else type(error).__name__)


def _shown(x: Array, seconds: float) -> Shown:
    if not seconds:
        return Shown("", "closed session" if x.session.closed else "")
    if x.session.closed:
        return Shown("", "closed session")
    items = _items(x.shape)
    if items < 0:
        return Shown("", "too many axes to print")
    near = None if x._near is None and x.dbase.near is None else x.near
    if near is None:
        near = x.dbase.known
    if near is not None:
        return _of_elements(edges_of(near, items) if items else near, items)
    look = x.dbase.look
    if look is not None and look.unread:
        return Shown("", "not read yet")
    if x.dbase.lost and look is None:
        held = x.dbase.handle in x.session.unfinished.wanted
        return Shown("", "interrupted, made when it is used" if held else "content lost")
    if x.dbase.disk is not None:  # a look is not to bring it back
        return Shown("", "on disk")
    keys = corners(x.shape, items)
    glimpse: Glimpse = x.session.extensions[Glimpse]
    asked = glimpse.ask(x.session, [partial(_fetch, x, key) for key in keys], seconds)
    if isinstance(asked, str):
        return Shown("", asked)
    parts = [(key, _corner(x, key).placed) for key in keys]
    later = partial(_come, asked, hollow(x.shape, x.dtype, items), parts, items)
    return later() or Shown("", WAITING, later)


def _come(asked: Asked, found: np.ndarray, parts: list[Any], items: int) -> Shown | None:
    """Return the elements that were asked for, or why there are none; None if they may come."""
    if not asked.poll():
        return None
    values = asked.values()
    if isinstance(values, str):
        return Shown("", values)
    for (key, placed), each in zip(parts, values, strict=True):
        part = np.empty(found[key].shape, found.dtype)
        fill_in(part, each, placed)
        found[key] = part
    return _of_elements(found, items)


def _items(shape: Ints) -> int:
    """Return how many elements to show at each end of an axis: 0 for all, -1 if none can be."""
    usual = np.get_printoptions()
    lines = prod(shape[:-1]) * -(-shape[-1] // _ON_LINE) if shape else 1
    if prod(shape) <= usual["threshold"] and lines <= _LINES:
        return 0
    for items in range(max(1, usual["edgeitems"]), 0, -1):
        if prod(min(n, 2 * items) for n in shape[:-1]) <= _ROWS:
            return items
    return 1 if len(shape) <= 8 else -1


def _fetch(x: Array, key: Subscript, slot: int) -> Fetch:
    return Fetch(slot, _corner(x, key).operand, x.session.site())


def _corner(x: Array, key: Subscript) -> Array:
    return x[key] if x.shape else x


def _of_elements(found: np.ndarray, items: int) -> Shown:
    """Return elements as NumPy prints them."""
    if not found.shape:
        return Shown(str(found[()]), scalar=repr(found[()]))
    if items:
        return Shown(np.array2string(found, threshold=0, edgeitems=items))
    return Shown(np.array2string(found, threshold=found.size))


def text(x: Array, layout: Placement, found: Shown) -> str:
    """Return an array as text: elements, then a line of facts; else who holds what of it."""
    if found.scalar and x.single:
        return found.scalar  # in a list or a message, too
    if found.values:
        return f"{found.values}\n{layout.facts()}"
    view = "" if x.dview.is_whole(x.dbase.shape) else f", view of {x.dbase.shape}"
    size = layout.views.size_text(x.nbytes)
    more = f", {found.missing}" if found.missing else ""
    return f"<DistArray {x.shape} {x.dtype}{view}, {x.dbase.layout.spell()}, {size}{more}>"


def card(layout: Placement, found: Shown) -> str:
    """Return an array as a page: elements, facts and who holds what."""
    placed, memory = layout.placed, layout.memory()
    page = layout.views.card(placed, layout.dtype, found.values, found.missing, layout.size, memory)
    return str(page)


def bundle(x: Array, layout: Placement, found: Shown) -> dict[str, str]:
    """Return an array as text and as a page."""
    return {"text/plain": text(x, layout, found), "text/html": card(layout, found)}


class _Late:
    """An output whose elements are on their way."""

    def __init__(self, x: Array, layout: Placement, found: Shown, there: Any) -> None:
        self._there, self._layout, self._later = there, layout, found.later
        # Not the array: its memory is not to be kept for what it shows.
        self._bare, self._single = text(x, layout, Shown("")), x.single
        self._lock = threading.Lock()
        self.done = False

    def poll(self) -> None:
        """Show the elements, if they have come, in place of what the output shows; once."""
        with self._lock:
            if self.done or self._later is None:
                return
            layout = self._layout
            found = self._later()
            if found is None and (layout.session is None or layout.session.closed):
                found = Shown("", "closed session")
            if found is not None:
                self.done = True
                page = {"text/plain": self._text(found), "text/html": card(layout, found)}
                self._there.update(page, raw=True)

    def _text(self, found: Shown) -> str:
        if found.scalar and self._single:
            return found.scalar
        if found.values:
            return f"{found.values}\n{self._layout.facts()}"
        return f"{self._bare[:-1]}, {found.missing}>" if found.missing else self._bare


#: Outputs whose elements have not come yet.
_LATE: list[_Late] = []


def show_later(x: Array, layout: Placement) -> bool:
    """Show an array in a notebook without its elements, and with them as soon as they are there.

    Tell whether that was done: not if they are there soon enough, or there is no notebook, or what
    it shows is taken by others (``%%capture``), who would not get what comes later.
    """
    ipython = sys.modules.get("IPython")
    shell: Any = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return False
    found = shown(x, _SOON)
    if found.later is None or type(shell.display_pub).__name__.startswith("Capturing"):
        return False
    there = sys.modules["IPython.display"].display(
        bundle(x, layout, found), raw=True, display_id=True
    )
    _LATE.append(late := _Late(x, layout, found, there))
    threading.Thread(target=_update, args=(late,), name="distnb-show", daemon=True).start()
    return True


def show_now() -> None:
    """Show elements that have come, at the end of a cell.

    Who runs a whole notebook and saves it takes in what cells show until they end.
    """
    for late in list(_LATE):
        late.poll()


def _update(late: _Late) -> None:
    """Show the elements of an output when they have come."""
    pause = 0.02
    try:
        while not late.done:
            time.sleep(pause)
            pause = min(0.5, 1.2 * pause)
            late.poll()
    finally:
        _LATE.remove(late)

"""The memory of the engines: one array, the others of the session, and the room there was for them.

All is known in the notebook: the bases that are alive, and the memory that each engine's node had
to spare when the session began, shared by the engines of the node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element
from zlib import crc32

import numpy as np

from distnb.common.config import config
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import Placed
from distnb.measure.quantities import percent, size_text
from distnb.plans.traffic import counts
from distnb.widgets.drawing.markup import brief, element, pattern, svg
from distnb.widgets.drawing.text import (
    ROWS,
    grouped,
    numbers,
    shorten,
)

__all__ = ["Memory", "memory_of"]


class Memory(NamedTuple):
    """Bytes on each engine: the base of an array, all other bases, and what they may fill.

    ``room`` is 0 where nobody knows.
    """

    mine: np.ndarray
    others: np.ndarray
    room: np.ndarray

    @property
    def fullest(self) -> int:
        """The engine with the least room left, in proportion; if none is known, with the most."""
        known = bool(self.room.all())
        used = self.mine + self.others
        return int((used / self.room if known else used).argmax())

    def tell(self) -> str:
        """Return what matters, as one sentence."""
        r = self.fullest
        mine, others, room = (int(x[r]) for x in self)
        text = f"memory: engine {r} holds {size_text(mine)} of this base"
        text += f" and {size_text(others)} of other arrays"
        if room:
            share = percent((mine + others) / room)
            text += f", {share} of the {size_text(room)} free at the start"
        return text + f"; freed blocks keep up to {size_text(config.pool_bytes)} more"


def memory_of(placed: Placed, dtype: Any, session: Any) -> Memory | None:
    """Return the memory of a session's engines, seen from one of its arrays."""
    if session.closed:
        return None
    size, spec = session.size, (placed.shape, placed.layout, np.dtype(dtype).itemsize)
    mine, bases = base_bytes(*spec, size), [b for b in session.bases() if b.disk is None]
    others = all_bytes(bases, size)
    if any((b.shape, b.layout, b.dtype.itemsize) == spec for b in bases):  # else it is in reach
        others = others - mine
    return Memory(mine, others, room_of(session.transport.about))


def all_bytes(bases: Iterable[Any], size: int) -> np.ndarray:
    """Return what bases take on each engine."""
    specs = Counter((b.shape, b.layout, b.dtype.itemsize) for b in bases)
    found = np.zeros(size, np.int64)
    for spec, count in specs.items():
        found += base_bytes(*spec, size) * count
    return found


@lru_cache(maxsize=256)
def base_bytes(shape: Ints, layout: Layout, itemsize: int, size: int) -> np.ndarray:
    """Return what a base takes on each engine."""
    return counts(Placed.whole(shape, layout), size) * itemsize


def room_of(about: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return what arrays may fill on each engine: its share of what its node had to spare."""
    hosts = Counter(a["host"] for a in about)
    share = config.memory_share
    return np.array([int(a["memory"] * share) // hosts[a["host"]] for a in about], np.int64)


# -- Bars ------------------------------------------------------------------------------------------

_LEFT, _WIDTH, _PITCH, _THICK = 40, 150, 16, 11


def bars(memory: Memory, head: str, most: int = ROWS) -> str:
    """Return a bar for each engine as SVG: this base, other arrays, and the room if it is near."""
    groups = grouped(range(len(memory.mine)), most)
    shown = [max(ranks, key=(memory.mine + memory.others).__getitem__) for ranks in groups]
    rows = [tuple(int(x[r]) for x in memory) for r in shown]
    used = max(mine + others for mine, others, _ in rows) or 1
    room = max(free for _, _, free in rows)
    near = 0 < room < used * 8  # else the bars would be dots
    full = max(used, room) if near else used
    uid = f"m{crc32(repr((memory, head)).encode()):08x}"
    marks = [
        mark
        for i, (ranks, row) in enumerate(zip(groups, rows, strict=True))
        for mark in _bar(numbers(ranks), row, 18 + _PITCH * i, _WIDTH / full, uid, near)
    ]
    shared = len(groups) < len(memory.mine)
    height = 22 + _PITCH * (len(rows) + shared)
    legend = f"■ this base ▨ other arrays{'  ┆ room' if near else ''}"
    hatch = element("path", d="M0 5L5 0", stroke="currentColor", stroke_width=".7")
    inside = [pattern(uid, 5, hatch), element("text", legend, x=_LEFT, y=11), *marks]
    if shared:
        each = "each bar is the fullest of its engines"
        inside.append(element("text", each, x=_LEFT, y=height - 6))
    title, size = f"Memory of the engines: {head}", (_LEFT + _WIDTH + 90, height)
    return svg(title, memory.tell(), size, inside, fill="currentColor")


def _bar(
    label: str, row: tuple[int, ...], y: int, scale: float, uid: str, limit: bool
) -> Iterator[Element]:
    mine, others, room = row
    a, b = mine * scale, (mine + others) * scale
    text = size_text(mine + others) + (f" {percent((mine + others) / room)}" if room else "")
    yield element("text", shorten(label, 8), x=_LEFT - 5, y=y + 9, text_anchor="end")
    yield element("path", d=_box(_LEFT, y, a), fill="#0072B2")
    frame = {"stroke": "currentColor", "stroke_width": ".7"}
    yield element("path", d=_box(_LEFT + a, y, b - a), fill=f"url(#{uid})", **frame)
    if limit:
        dashes = {"stroke": "currentColor", "stroke_dasharray": "2 2", "stroke_width": 2}
        yield element("path", d=f"M{brief(_LEFT + room * scale)} {y}v{_THICK}", **dashes)
    yield element("text", text, x=brief(_LEFT + max(b, room * scale * limit) + 5), y=y + 9)


def _box(x: float, y: int, width: float) -> str:
    return f"M{brief(x)} {y}h{brief(width)}v{_THICK}h{brief(-width)}z"

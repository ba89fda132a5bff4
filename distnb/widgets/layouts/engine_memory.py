"""The memory of the engines: one array, the others of the session, and the room there was for them.

All is known in the notebook: the bases that are alive, and the memory that each engine's node had
to spare when the session began, shared by the engines of the node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from distnb.common.config import config
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import Placed
from distnb.plans.traffic import held
from distnb.widgets.drawing.text import (
    ROWS,
    brief,
    grouped,
    numbers,
    shorten,
    size_text,
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
            share = 100 * (mine + others) / room
            text += f", {share:.1f} % of the {size_text(room)} free at the start"
        return text + f"; freed blocks keep up to {size_text(config.pool_bytes)} more"


def memory_of(placed: Placed, dtype: Any, session: Any) -> Memory | None:
    """Return the memory of a session's engines, seen from one of its arrays."""
    if session.closed:
        return None
    size = session.size
    mine = base_bytes(placed.shape, placed.layout, np.dtype(dtype).itemsize, size)
    return Memory(mine, all_bytes(session.bases(), size) - mine, room_of(session.transport.about))


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
    return held(Placed.whole(shape, layout), size) * itemsize


def room_of(about: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return what arrays may fill on each engine: its share of what its node had to spare."""
    hosts = Counter(a["host"] for a in about)
    share = config.memory_share
    return np.array([int(a["memory"] * share) // hosts[a["host"]] for a in about], np.int64)


# -- Bars ------------------------------------------------------------------------------------------

_LEFT, _WIDTH, _PITCH = 40, 150, 16


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
    marks = "".join(
        _bar(numbers(ranks), row, 18 + _PITCH * i, _WIDTH / full, uid, near)
        for i, (ranks, row) in enumerate(zip(groups, rows, strict=True))
    )
    each = "each bar is the fullest of its engines" * (len(groups) < len(memory.mine))
    height = 22 + _PITCH * (len(rows) + bool(each))
    note = f'<text x="{_LEFT}" y="{height - 6}">{each}</text>' * bool(each)
    return (
        f'<svg role="img" xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 90}" '
        f'height="{height}" font-family="sans-serif" font-size="10" fill="currentColor">'
        f"<title>Memory of the engines: {escape(head)}</title><desc>{escape(memory.tell())}</desc>"
        f'<pattern id="{uid}" width="5" height="5" patternUnits="userSpaceOnUse">'
        '<path d="M0 5L5 0" stroke="currentColor" stroke-width=".7"/></pattern>'
        f'<text x="{_LEFT}" y="11">■ this base ▨ other arrays{"  ┆ room" if near else ""}'
        f"</text>{marks}{note}</svg>"
    )


def _bar(label: str, row: tuple[int, ...], y: int, scale: float, uid: str, limit: bool) -> str:
    mine, others, room = row
    a, b = mine * scale, (mine + others) * scale
    thick = _PITCH - 5
    text = f"{size_text(mine + others)}" + (
        f" {100 * (mine + others) / room:.0f} %" if room else ""
    )
    end = f'<path d="M{brief(_LEFT + room * scale)} {y}v{thick}" stroke="currentColor" ' * limit
    end += 'stroke-dasharray="2 2" stroke-width="2"/>' * limit
    return (
        f'<text x="{_LEFT - 5}" y="{y + 9}" text-anchor="end">{escape(shorten(label, 8))}</text>'
        f'<path d="M{_LEFT} {y}h{brief(a)}v{thick}h{brief(-a)}z" fill="#0072B2"/>'
        f'<path d="M{brief(_LEFT + a)} {y}h{brief(b - a)}v{thick}h{brief(a - b)}z" '
        f'fill="url(#{uid})" stroke="currentColor" stroke-width=".7"/>{end}'
        f'<text x="{brief(_LEFT + max(b, room * scale * limit) + 5)}" y="{y + 9}">{text}</text>'
    )

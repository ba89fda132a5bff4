"""Temporaries: arrays that come and go within a batch, and that nobody sees.

They may lie anywhere. Engines use that where a group of operations runs in one pass
(:mod:`distnb.engines.fusion.groups`), and the forecast of what is sent knows it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from distnb.geometry.layout import Layout
from distnb.geometry.slices import Sections
from distnb.geometry.views import (
    AxisMap,
    Placed,
    View,
    follow,
)
from distnb.wire.protocol import Apply, Command, Create, Free, bases_of

__all__ = ["Life", "alike", "lives_of", "new_layout"]

#: Of the elements of a block, one in so many may travel so that a temporary need not be stored.
_FEW = 8


class Life(NamedTuple):
    """The positions of the first and the last command of a batch that use a base."""

    first: int
    last: int


def lives_of(commands: Sequence[Command]) -> dict[int, Life]:
    """Return the lives of temporaries that elementwise operations alone use, by their bases."""
    made = {c.base for c in commands if isinstance(c, Create) and c.how == ("empty",)}
    made &= {base for c in commands if isinstance(c, Free) for base in c.bases}
    found: dict[int, Life] = {}
    for position, command in enumerate(commands):
        if isinstance(command, Apply):
            for base in made & bases_of(command):
                found[base] = Life(found.get(base, Life(position, 0)).first, position)
        elif not isinstance(command, Create):
            made -= bases_of(command)
    return {base: life for base, life in found.items() if base in made}


def new_layout(
    lead: Placed,
    written: Mapping[int, View],
    brought: Collection[Placed],
    lives: Mapping[int, Life],
    span: range,
) -> Layout | None:
    """Return the layout with which the results of a pass so far would lie as ``lead`` does.

    None if they must stay where they are, or should, because more than a little of what is
    ``brought`` to them would have to travel.

    Parameters
    ----------
    lead : Placed
        The result of the next operation, which lies elsewhere.
    written : mapping of int to View
        What the pass has written so far, by bases.
    brought : collection of Placed
        What it read.
    lives : mapping of int to Life
        Those of temporaries.
    span : range
        The positions of its commands, with the next one.
    """
    for base, view in written.items():
        life = lives.get(base)
        if life is None or life.first not in span or life.last not in span:
            return None
        if not view.is_whole(lead.view.shape):
            return None
    return _layout_of(lead) if all(_close(x, lead) for x in brought) else None


@lru_cache(maxsize=1024)
def _layout_of(placed: Placed) -> Layout | None:
    """Return the layout of an array that lies as a view does, if there is one."""
    layout, _ = follow(placed, 1, balanced=False)
    shape = placed.view.shape
    return layout if alike(placed, Placed.whole(shape, layout)) else None


@lru_cache(maxsize=4096)
def alike(a: Placed, b: Placed) -> bool:
    """Tell whether every rank holds the same elements of two views."""
    if a.view.shape != b.view.shape:
        return False
    if a.layout.grid != b.layout.grid or a.pinned != b.pinned:
        return False
    return all(
        x is y if x is None or y is None else x.gdim == y.gdim and _same_owners(x, y)
        for x, y in zip(a.maps, b.maps, strict=True)
    )


def _same_owners(x: Any, y: Any) -> bool:
    return x == y or (x.p == y.p and all(x.owned(c) == y.owned(c) for c in range(x.p)))


@lru_cache(maxsize=4096)
def _close(operand: Placed, lead: Placed) -> bool:
    """Tell whether each rank has almost all that it would need of an operand.

    Some coordinates are asked for all, so that it costs the same on any number of ranks.
    """
    layout = operand.layout
    if operand == lead:
        return True
    if layout.grid != lead.layout.grid or operand.pinned.keys() - lead.pinned.keys():
        return False
    if any(lead.pinned.get(g) != c for g, c in operand.pinned.items()):
        return False
    return all(
        y is None if x is None and (y is None or y.gdim in layout.dims) else _near(x, y)
        for x, y in zip(operand.maps, lead.maps, strict=True)
    )


def _near(x: AxisMap | None, y: AxisMap | None) -> bool:
    if x is None:  # each coordinate has all of the axis
        return True
    if y is None or x.gdim != y.gdim or x.p != y.p:
        return False
    return all(_overlap(x.owned(c), y.owned(c)) for c in {0, x.p // 2, x.p - 1})


def _overlap(have: Sections, need: Sections) -> bool:
    """Tell whether ``have`` is all of ``need`` but for a few indices."""
    if have == need or not need:
        return True
    if len(have) != 1 or len(need) != 1 or have[0].count > 1 or need[0].count > 1:
        return False
    (a,), (b,) = have, need
    common = min(a.start + a.block, b.start + b.block) - max(a.start, b.start)
    return _FEW * (b.block - common) <= b.block

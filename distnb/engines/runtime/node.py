"""The ranks of a node, which can read each other's shared segments."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from distnb.common.machine import runnable
from distnb.common.shared_segments import (
    CORE,
    Card,
    Pages,
    SharedSegment,
    card_of,
    map_segment,
    new_segment,
)

__all__ = ["Node", "join"]

#: Tells on which core the thread runs, where the system does.
_here: Callable[[], int] | None = getattr(ctypes.CDLL(None), "sched_getcpu", None)
#: Seconds between two looks for another core: the system may have its reasons.
_PAUSE = 0.05


class Node:
    """The ranks of one node, and their segments.

    Parameters
    ----------
    ranks : frozenset of int
        Those that can read each other's segments, this one included.
    least : int
        Bytes from which messages between them are read in place.
    segment : SharedSegment
        This rank's.
    peers : dict
        The others' segments, mapped.
    """

    def __init__(
        self, ranks: frozenset[int], least: int, segment: SharedSegment, peers: dict[int, Pages]
    ) -> None:
        self.ranks = ranks
        self.least = least
        self.segment = segment
        self._peers = peers
        #: When it may look for another core again.
        self._next = 0.0
        #: On which core each rank ran last, counted from 1: this one, and the others.
        self._core = segment.core
        self._cores = [pages.content[CORE : CORE + 8].cast("q") for pages in peers.values()]

    def block(self, peer: int, offset: int, count: int, dtype: np.dtype) -> np.ndarray:
        """Return a look at a block in the segment of a peer, flat."""
        return np.ndarray((count,), dtype, self._peers[peer].content, offset)

    def spread(self) -> None:
        """Leave this core if others of the node are on it, and fewer on another one.

        Who is woken up begins most often where the one that wakes it runs. Where cores are few, all
        ranks came to be on one, and ran one after the other. Who has moved once stays there, for
        that is where the system wakes it up the next time.
        """
        if _here is None:
            return
        here = _here() + 1
        others = [cores[0] for cores in self._cores]
        if here in others and (now := time.monotonic()) >= self._next:
            self._next = now + _PAUSE
            _move(here, others)
            here = _here() + 1
        self._core[0] = here


def _move(here: int, others: list[int]) -> None:
    """Go to a core on which the fewest others are, if there are fewer than here.

    Not while the machine has other work: where a core is shared with that, all ranks would wait for
    the one there. These ranks and the notebook are no other work.
    """
    allowed = os.sched_getaffinity(0)
    least = min(others.count(core + 1) for core in allowed)
    if others.count(here) > least and runnable() <= max(len(allowed), len(others) + 2):
        with suppress(OSError):  # these cores were just taken from this process
            os.sched_setaffinity(0, {core for core in allowed if others.count(core + 1) == least})
            os.sched_setaffinity(0, allowed)  # where it goes from there is the system's affair


def join(comm: Any, least: int) -> Node | None:
    """Find the ranks of this node and map their segments; collective over ``comm``.

    Returns None where nothing can be shared: on all ranks of a node or on none.
    """
    from mpi4py import MPI

    near = comm.Split_type(MPI.COMM_TYPE_SHARED)
    ranks_here = near.Get_size()
    near.Free()
    segment = new_segment(share=ranks_here) if least and ranks_here > 1 else None
    try:
        cards = comm.allgather(None if segment is None else card_of(segment, least))
        mine = cards[comm.Get_rank()]
        peers = {
            rank: pages
            for rank, card in enumerate(cards)
            if mine is not None and card is not None and card.node == mine.node and card != mine
            if (pages := map_segment(card)) is not None
        }
        reached = comm.allgather(sorted([*peers, comm.Get_rank()]))
    finally:
        if segment is not None:
            segment.close()
    ranks = reached[comm.Get_rank()]
    if (
        segment is None
        or len(ranks) == 1
        or any(reached[r] != ranks for r in _together(cards, mine))
    ):
        return None
    return Node(frozenset(ranks), least, segment, peers)


def _together(cards: list[Card | None], mine: Card | None) -> list[int]:
    return [
        r for r, c in enumerate(cards) if c is not None and mine is not None and c[0] == mine[0]
    ]

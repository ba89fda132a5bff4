"""The ranks of a node, which can read each other's shared segments."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from distnb.common.shared_segments import Card, SharedSegment, card_of, map_segment, new_segment

__all__ = ["Node", "join"]


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
        self, ranks: frozenset[int], least: int, segment: SharedSegment, peers: dict[int, mmap.mmap]
    ) -> None:
        self.ranks = ranks
        self.least = least
        self.segment = segment
        self._peers = peers

    def block(self, peer: int, offset: int, count: int, dtype: np.dtype) -> np.ndarray:
        """Return a look at a block in the segment of a peer, flat."""
        return np.ndarray((count,), dtype, self._peers[peer], offset)


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

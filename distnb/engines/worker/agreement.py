"""How ranks agree on what failed: messages that are polled, for a collective cannot be left."""

from __future__ import annotations

import numpy as np

from distnb.engines.collectives.reductions import Tree
from distnb.engines.runtime.comm import Comm
from distnb.engines.runtime.exchange import Exchange, PeerFailed, wait_until
from distnb.measure.events import Clock

__all__ = ["union"]

#: Ranks that are few enough for each to tell all others.
_FEW = 3


def union(comm: Comm, clock: Clock, number: int, bits: np.ndarray, alike: bool = True) -> None:
    """Make bits the union of all ranks' bits, on every rank.

    Few ranks tell each other at once: one message after another fewer than in a tree, and each rank
    waits for whom it has to. Else bits go up a binomial tree and down again.

    Ranks that need not be ``alike`` may get a message of a command that they have not. They wait
    then as if none had come, until it is known in what they differ, which ``comm`` raises.
    """
    exchange = Exchange(comm, clock, number, [], [])
    try:
        if comm.size <= _FEW:
            _tell_all(exchange, comm, bits)
        else:
            _up_and_down(exchange, comm, bits)
    except PeerFailed:
        if alike:
            raise
        wait_until(lambda: False, comm.check)
    exchange.finish()


def _tell_all(exchange: Exchange, comm: Comm, bits: np.ndarray) -> None:
    mine, other = bits.copy(), np.empty_like(bits)  # what is sent must not change
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    for rank in others:
        exchange.send(rank, 0, mine)
    for rank in others:
        exchange.receive(rank, 0, other)
        np.bitwise_or(bits, other, out=bits)


def _up_and_down(exchange: Exchange, comm: Comm, bits: np.ndarray) -> None:
    tree = Tree(list(range(comm.size)), comm.rank)
    other = np.empty_like(bits)
    for child in tree.children:
        exchange.receive(child, 0, other)
        np.bitwise_or(bits, other, out=bits)
    if tree.parent is not None:
        other[...] = bits  # what is sent must not change
        exchange.send(tree.parent, 0, other)
        exchange.receive(tree.parent, 1, bits)
    for child in tree.children:
        exchange.send(child, 1, bits)

"""Arenas: what is taken does not overlap, and comes back when nobody looks at it any more."""

import gc
import os
import random

import numpy as np
import pytest

from distnb.engines.runtime import shared_segments
from distnb.engines.runtime.shared_segments import Arena, Card
from distnb.engines.runtime.store import Pool, Store
from distnb.geometry.layout import make_layout

GRAIN = 1 << 16
pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memfd_create")


@pytest.fixture
def arena():
    made = Arena(64 * GRAIN)
    yield made
    made.close()


def used(arena):
    """Return the bytes of memory that an arena takes."""
    return os.fstat(arena.fd).st_blocks * 512


def test_parts_do_not_overlap_and_come_back(arena):
    chance = random.Random(1)
    held = {}
    for step in range(400):
        if held and chance.random() < 0.5:
            number, memory = held.popitem()
            assert (memory == number).all()
            del memory
        try:
            memory = arena.take(chance.randrange(1, 9 * GRAIN))
        except MemoryError:
            held.clear()
            continue
        at = arena.offset(memory)
        assert at % GRAIN == 0
        assert at > 0
        assert at + memory.nbytes <= arena.nbytes
        memory[...] = step % 251
        held = {k: v for k, v in held.items() if k != step % 251} | {step % 251: memory}
        del memory
        for number, other in held.items():
            assert (other == number).all()
            del other
    held.clear()
    gc.collect()
    assert arena.take(63 * GRAIN).nbytes == 63 * GRAIN


def test_memory_goes_back_to_the_system(arena):
    before = used(arena)
    memory = arena.take(8 * GRAIN)
    memory[...] = 1
    assert used(arena) == before + 8 * GRAIN
    look = memory[3:5]
    del memory
    assert used(arena) == before + 8 * GRAIN
    assert look.tolist() == [1, 1]
    del look
    assert used(arena) == before


def test_no_more_than_there_is(arena):
    whole = arena.take(63 * GRAIN)
    with pytest.raises(MemoryError, match="no room for 1 bytes"):
        arena.take(1)
    assert arena.offset(whole[-1:]) == arena.nbytes - 1
    assert arena.offset(np.empty(9)) is None


def test_another_process_file_is_refused(arena, tmp_path):
    card = Card(("node", 1), os.getpid(), arena.fd, arena.nbytes, arena.secret)
    pages = shared_segments._map(card)
    arena.take(8)[...] = 7
    assert pages[:16] == arena.secret
    assert shared_segments._map(card._replace(secret=bytes(16))) is None
    assert shared_segments._map(card._replace(fd=9999)) is None
    with open(tmp_path / "file", "wb+") as file:
        file.write(arena.secret)
        file.flush()
        assert shared_segments._map(card._replace(fd=file.fileno())) is None


def test_peers_see_the_same_memory(arena):
    pages = shared_segments._map(
        Card(("node", 1), os.getpid(), arena.fd, arena.nbytes, arena.secret)
    )
    node = shared_segments.Node(frozenset({0, 1}), 1, arena, {1: pages})
    memory = arena.take(80)
    memory.view(float)[...] = np.arange(10.0)
    look = node.block(1, arena.offset(memory), 10, np.dtype(float))
    assert look.tolist() == list(range(10))
    memory.view(float)[3] = -1
    assert look[3] == -1


# Blocks move to the arena


@pytest.fixture
def store(arena):
    made = Store(0, 1 << 20, shared_segments.Node(frozenset({0, 1}), 1, arena, {}))
    yield made
    made.clear()


def add(store, handle=1, n=5000):
    layout = make_layout((n,), 1)
    base = store.add(handle, (n,), np.dtype(float), layout)
    store.provide(base)
    base.block[...] = np.arange(n)
    return base


def test_a_block_moves_when_it_is_asked_for(store):
    base = add(store)
    assert store.place(base, move=False) is None
    place = store.place(base, move=True)
    assert place == store.arena.offset(base.block) == store.place(base, move=False)
    assert (base.block == np.arange(5000.0)).all()
    # Both kinds of memory are used again, the ordinary one first.
    store.free((1,))
    assert store.arena.offset(add(store, 2).block) is None
    assert store.arena.offset(add(store, 3).block) == place
    assert store.pool.held == 0


@pytest.mark.parametrize("look", [lambda x: x, lambda x: x[1:3], lambda x: np.ndarray(3, "f8", x)])
def test_a_block_that_someone_looks_at_stays(store, look):
    base = add(store)
    seen = look(base.block)
    assert store.place(base, move=True) is None
    base.block[1] = -5
    assert -5 in seen
    del seen
    assert store.place(base, move=True) is not None


def test_a_block_that_came_with_a_message_moves_too(store):
    base = add(store, n=4)
    base.memory, base.block = None, np.ndarray(4, float, np.zeros(32, np.uint8))
    seen = base.block[1:]
    assert store.place(base, move=True) is None
    del seen
    assert store.place(base, move=True) is not None


def test_a_full_pool_lets_go_what_was_not_used_for_long():
    pool = Pool(1000)
    for nbytes in (300, 400, 300):
        pool.give(np.empty(nbytes, np.uint8))
    assert pool.held == 1000
    pool.give(pool.take(400))  # used last now
    pool.give(np.empty(500, np.uint8))
    assert pool.held == 900
    assert [len(waiting) for waiting in pool.free.values()] == [0, 1, 1]
    pool.give(np.empty(1001, np.uint8))  # would not fit in any case
    assert pool.held == 900

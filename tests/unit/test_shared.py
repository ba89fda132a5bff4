"""Shared segments: what is taken does not overlap, and comes back when nobody looks at it any more."""

import gc
import os
import random
import threading

import numpy as np
import pytest

from distnb.client.recovery.shared_memory import SharedMemory
from distnb.common import shared_segments
from distnb.common.memory_pool import Pool, size_class
from distnb.common.shared_segments import Card, SharedSegment, file_segment
from distnb.engines.runtime import node
from distnb.engines.runtime.memory import Memory
from distnb.engines.runtime.node import Node
from distnb.engines.runtime.store import Store
from distnb.geometry.layout import make_layout

GRAIN = 1 << 16
pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memfd_create")


@pytest.fixture
def segment():
    made = SharedSegment(64 * GRAIN)
    yield made
    made.close()


def used(segment):
    """Return the bytes of memory that a segment takes."""
    return os.fstat(segment.fd).st_blocks * 512


def test_parts_do_not_overlap_and_come_back(segment):
    chance = random.Random(1)
    held = {}
    for step in range(400):
        if held and chance.random() < 0.5:
            number, memory = held.popitem()
            assert (memory == number).all()
            del memory
        try:
            memory = segment.take(chance.randrange(1, 9 * GRAIN))
        except MemoryError:
            held.clear()
            continue
        at = segment.offset(memory)
        assert at % GRAIN == 0
        assert at > 0
        assert at + memory.nbytes <= segment.nbytes
        memory[...] = step % 251
        held = {k: v for k, v in held.items() if k != step % 251} | {step % 251: memory}
        del memory
        for number, other in held.items():
            assert (other == number).all()
            del other
    held.clear()
    gc.collect()
    assert segment.take(63 * GRAIN).nbytes == 63 * GRAIN


def test_memory_goes_back_to_the_system(segment):
    before = used(segment)
    memory = segment.take(8 * GRAIN)
    memory[...] = 1
    assert used(segment) == before + 8 * GRAIN
    look = memory[3:5]
    del memory
    assert used(segment) == before + 8 * GRAIN
    assert look.tolist() == [1, 1]
    del look
    assert used(segment) == before


def test_what_comes_back_writes_nothing_to_a_disk(tmp_path):
    """Where that is full, who writes through a mapping is ended by a signal."""
    made = file_segment(str(tmp_path))
    made.take(8 * GRAIN)  # which comes back at once
    gc.collect()
    start = made.offset(made.take(1))
    assert start == GRAIN
    assert made.read(0, start) == bytes(start)
    made.close()


def test_no_more_than_there_is(segment):
    whole = segment.take(63 * GRAIN)
    with pytest.raises(MemoryError, match="no room for 1 bytes"):
        segment.take(1)
    assert segment.offset(whole[-1:]) == segment.nbytes - 1
    assert segment.offset(np.empty(9)) is None


@pytest.fixture
def huge():
    """Return how large huge pages are, and a segment of some."""
    nbytes = shared_segments._HUGE
    if not nbytes:
        pytest.skip("this system has no huge pages of a usual size")
    made = SharedSegment(6 * nbytes)
    yield nbytes, made
    made.close()


def test_large_parts_begin_where_a_huge_page_does(huge):
    nbytes, segment = huge
    assert segment._pages.start % nbytes == 0
    small, large, more = segment.take(9), segment.take(nbytes), segment.take(2 * nbytes + 1)
    assert segment.offset(small) == GRAIN
    assert segment.offset(large) == nbytes
    assert segment.offset(more) == 2 * nbytes
    rest = segment.take(2 * nbytes - 2 * GRAIN)  # where it can only begin elsewhere
    assert segment.offset(rest) == 4 * nbytes + GRAIN
    assert segment.offset(segment.take(nbytes - 2 * GRAIN)) == 2 * GRAIN


def test_what_is_there_stays_when_pages_become_huge(huge):
    nbytes, segment = huge
    before = used(segment)
    memory = segment.take(2 * nbytes + GRAIN)
    memory[...] = np.arange(len(memory)) % 251
    for _ in range(2):
        segment.enlarge(memory)
        segment.enlarge(memory[5:9])
        assert used(segment) == before + 2 * nbytes + GRAIN
    pages = shared_segments.map_segment(
        Card(("node", 1), os.getpid(), segment.fd, segment.nbytes, segment.secret)
    )
    at = segment.offset(memory)
    pages.enlarge(at, memory.nbytes)
    seen = np.frombuffer(pages.content, np.uint8, memory.nbytes, at)
    for found in (memory, seen):
        assert (found == np.arange(len(memory)) % 251).all()
    seen[nbytes] = 7
    assert memory[nbytes] == 7
    del memory, found
    assert used(segment) == before


def test_pages_become_huge_before_they_are_written(huge):
    nbytes, segment = huge
    before = used(segment)
    memory = segment.take(2 * nbytes)
    segment.enlarge(memory)
    taken = used(segment) - before
    if taken != 2 * nbytes:
        pytest.skip("the system has no huge pages left, or gives none")
    assert not memory.any()
    segment.empty(memory)
    assert used(segment) == before


def test_a_huge_page_is_asked_for_once_until_memory_goes_back(huge):
    nbytes, segment = huge
    memory, other = segment.take(2 * nbytes), segment.take(nbytes)
    card = Card(("node", 1), os.getpid(), segment.fd, segment.nbytes, segment.secret)
    theirs, at, asked = shared_segments.map_segment(card), segment.offset(memory), []

    class Asked:
        """Notes what the system is asked, of which it is taken that it did so."""

        def madvise(self, what, start, length):
            asked.append((what == shared_segments._MADV_COLLAPSE, length))

    segment._pages._map = theirs._map = Asked()
    for _ in range(3):
        segment.enlarge(memory)
        segment.enlarge(memory[:nbytes])
        theirs.enlarge(at, 2 * nbytes)  # each process has pages of its own
    assert asked == 2 * [(True, 2 * nbytes)]
    segment.enlarge(other)
    segment.empty(other)
    assert asked[2:] == [(True, nbytes), (False, nbytes)]
    segment.enlarge(memory[nbytes:])
    theirs.enlarge(at, nbytes)
    assert asked[4:] == 2 * [(True, nbytes)]


def test_where_there_are_no_huge_pages_memory_is_as_it_was(huge, monkeypatch):
    nbytes, segment = huge
    monkeypatch.setattr(shared_segments, "_MADV_COLLAPSE", -1)  # as on a system before Linux 6.1
    memory = segment.take(nbytes)
    segment.enlarge(memory)
    memory[...] = 3
    segment.enlarge(memory)
    assert (memory == 3).all()
    monkeypatch.setattr(shared_segments, "_HUGE", 0)
    plain = SharedSegment(64 * GRAIN)
    assert plain.offset(plain.take(63 * GRAIN)) == GRAIN
    plain.close()


def test_another_process_file_is_refused(segment, tmp_path):
    card = Card(("node", 1), os.getpid(), segment.fd, segment.nbytes, segment.secret)
    pages = shared_segments.map_segment(card)
    segment.take(8)[...] = 7
    assert pages.content[:16] == segment.secret
    assert shared_segments.map_segment(card._replace(secret=bytes(16))) is None
    assert shared_segments.map_segment(card._replace(fd=9999)) is None
    with open(tmp_path / "file", "wb+") as file:
        file.write(segment.secret)
        file.flush()
        assert shared_segments.map_segment(card._replace(fd=file.fileno())) is None


def test_peers_see_the_same_memory(segment):
    pages = shared_segments.map_segment(
        Card(("node", 1), os.getpid(), segment.fd, segment.nbytes, segment.secret)
    )
    node = Node(frozenset({0, 1}), 1, segment, {1: pages})
    memory = segment.take(80)
    memory.view(float)[...] = np.arange(10.0)
    look = node.block(1, segment.offset(memory), 10, np.dtype(float))
    assert look.tolist() == list(range(10))
    memory.view(float)[3] = -1
    assert look[3] == -1


# Blocks move to the segment


@pytest.fixture
def store(segment):
    made = Store(0, Memory(1 << 20, Node(frozenset({0, 1}), 1, segment, {})))
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
    assert place == store.memory.offset(base.block) == store.place(base, move=False)
    assert (base.block == np.arange(5000.0)).all()
    # Both kinds of memory are used again, the ordinary one first.
    store.free((1,))
    assert store.memory.offset(add(store, 2).block) is None
    assert store.memory.offset(add(store, 3).block) == place
    assert store.memory.pool.held == 0


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
    base.block = np.ndarray(4, float, np.zeros(32, np.uint8))
    seen = base.block[1:]
    assert store.place(base, move=True) is None
    del seen
    assert store.place(base, move=True) is not None


def test_a_full_pool_lets_go_what_was_not_used_for_long():
    pool = Pool(1000)
    sizes = (300, 400, 300)
    taken = [pool.take(n) for n in sizes]
    del taken[:]
    pool.collect()
    assert pool.held == 1000
    pool.take(400)  # used last now
    pool.take(500)
    pool.collect()
    assert pool.held == 900
    assert [len(waiting) for waiting in pool.free.values()] == [0, 1, 1]
    pool.take(1001)  # would not fit in any case
    pool.collect()
    assert pool.held == 900


def test_arrays_that_shrink_have_the_memory_of_those_before():
    pool = Pool(1 << 30)
    places = {pool.take(n).ctypes.data for n in range(10 << 20, 9 << 20, -(1 << 16))}
    assert len(places) <= 3
    for n in (1, 1000, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 123456789):
        assert n <= size_class(n) <= n + n // 8
        assert size_class(size_class(n)) == size_class(n)
        assert len(pool.take(n)) == n


def test_memory_that_is_less_than_twice_as_large_is_taken_rather_than_new_pages():
    """As it is, of what was kept: in a loop of arrays that shrink fast, too."""
    pool = Pool(1 << 30)
    first = pool.take(8 << 20)
    place = first.ctypes.data
    del first
    for n in (7 << 20, 5 << 20, (4 << 20) + 1):
        memory = pool.take(n)
        assert (len(memory), memory.ctypes.data, pool.held) == (n, place, 0)
        del memory
        pool.collect()
        assert pool.held == 8 << 20
    assert pool.take(4 << 20).ctypes.data != place  # half as large
    pool = Pool(1 << 30)
    pool.take(200_000)
    pool.take(150_000)
    assert pool.held == size_class(200_000)  # new pages of so few cost less than what stays unused


def test_a_pool_that_may_keep_less_lets_go():
    pool = Pool(1 << 30)
    pool.take(1 << 20)
    pool.collect()
    assert pool.held == 1 << 20
    pool.keep_at_most(1000)
    assert pool.held == 0


def test_memory_comes_back_when_the_last_view_of_it_is_gone():
    """Also where a cycle keeps it until garbage is collected, and in another thread."""
    pool = Pool(1 << 20)
    memory = pool.take(800)
    place = memory.ctypes.data
    block = np.ndarray((10, 10), float, memory)
    views = [block.T[2:], block.reshape(-1).view("i8"), np.asarray(block[0])]
    del memory, block
    others = []
    while views:
        others.append(pool.take(800))
        assert others[-1].ctypes.data != place
        views.pop()
    pool.collect()
    assert pool.held == 800
    assert pool.take(800).ctypes.data == place
    cycle = [pool.take(999)]
    cycle.append(cycle)
    del cycle
    thread = threading.Thread(target=gc.collect)
    thread.start()
    thread.join()
    pool.collect()
    assert pool.held == 800 + 999


def test_what_engines_were_at_is_had_again_at_once():
    """A loop takes turns in the memory of two arrays, and not of three."""
    memory = SharedMemory(lambda make: [True], threading.Lock(), True)
    assert memory.available()
    try:
        places, before = [], None
        for batch in range(1, 7):
            now = memory.keep(GRAIN, settled=batch - 1)
            places.append(memory.place(now))
            if before is not None:
                memory.hold(before, batch)
            before = now
            del now
        assert len(set(places)) == 2
    finally:
        memory.close()


# The notebook's segment


@pytest.fixture
def laid(store, segment):
    """A store whose rank has mapped the notebook's segment."""
    assert store.memory.attach(shared_segments.card_of(segment))
    return store


def test_a_base_lies_where_the_notebook_says(laid, segment):
    base = add(laid)
    whole = np.ndarray(5000, float, segment.take(40000))
    place = segment.offset(whole)
    assert laid.lay(base, place)
    assert (whole == np.arange(5000.0)).all()
    base.block[3] = -1
    whole[4] = -2
    assert whole[3] == -1
    assert base.block[4] == -2
    assert laid.memory.offset(base.block) == -place
    assert laid.place(base, move=True) == -place  # it stays there
    peers = laid.memory.block(1, -place, 10, np.dtype(float))
    assert peers.tolist() == whole[:10].tolist()


def test_a_base_that_someone_looks_at_is_not_laid(laid, segment):
    base = add(laid)
    seen = base.block[1:3]
    place = segment.offset(np.ndarray(5000, float, segment.take(40000)))
    assert not laid.lay(base, place)
    base.block[1] = -5
    assert seen[0] == -5


def test_who_looks_at_memory_of_bases_that_are_gone(laid, segment):
    base = add(laid)
    memory = segment.take(40000)
    place = segment.offset(memory)
    laid.lay(base, place)
    seen = base.block.reshape(50, 100)[1:, ::2]
    laid.free((1,))
    del base
    assert laid.memory.looked_at((place, 12)) == (place,)
    del seen
    assert laid.memory.looked_at((place,)) == ()


def test_an_array_that_adopts_a_block_of_the_segment_copies_it(laid, segment):
    base, other = add(laid), add(laid, 2)
    memory = segment.take(40000)
    laid.lay(base, segment.offset(memory))
    laid.adopt(other, base)
    laid.free((1,))
    memory[...] = 0
    assert (other.block == np.arange(5000.0)).all()


@pytest.mark.parametrize(
    ("here", "others", "allowed", "busy", "goes"),
    [
        (0, [], {0, 1}, 1, None),
        (0, [1], {0, 1}, 3, None),
        (0, [0], {0, 1}, 3, {1}),
        (0, [0], {0, 1}, 4, None),  # another process has work, too
        (2, [2, 0], {0, 1, 2, 3}, 4, {1, 3}),
        (2, [2, 0], set(range(8)), 8, {1, 3, 4, 5, 6, 7}),
        (0, [0, 1], {0, 1}, 3, None),  # as many on each
        (0, [0, 0, 1], {0, 1}, 5, {1}),
        (0, [0], {0}, 1, None),  # there is no other
        (0, [0], {0, 5}, 1, {5}),
    ],
)
def test_ranks_of_a_node_keep_off_each_others_cores(monkeypatch, here, others, allowed, busy, goes):
    segments = [SharedSegment(1 << 17) for _ in range(len(others) + 1)]
    for segment, core in zip(segments[1:], others, strict=True):
        segment.core[0] = core + 1
    peers = {rank: segment._pages for rank, segment in enumerate(segments) if rank}
    ranks = Node(frozenset(range(len(segments))), 0, segments[0], peers)
    now, asked = [here], []

    def go(_, cores):
        asked.append(cores)
        now[0] = now[0] if now[0] in cores else min(cores)

    monkeypatch.setattr(node, "_here", lambda: now[0])
    monkeypatch.setattr(node, "_PAUSE", 0.0)
    monkeypatch.setattr(node, "runnable", lambda: busy)
    monkeypatch.setattr(node.os, "sched_getaffinity", lambda _: allowed)
    monkeypatch.setattr(node.os, "sched_setaffinity", go)
    for _ in range(2):  # who has moved stays
        ranks.spread()
        assert asked == ([] if goes is None else [goes, allowed])
        assert segments[0].core[0] == now[0] + 1
    for segment in segments:
        segment.close()

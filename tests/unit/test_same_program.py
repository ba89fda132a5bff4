"""What tells whether ranks of SPMD run the same program; tests/mpi has programs that do not."""

import pickle
from functools import partial, reduce
from operator import or_
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb.engines.worker import same_program
from distnb.engines.worker.plan_cache import NormalisedBatch
from distnb.engines.worker.same_program import Told, differ, digits
from distnb.geometry.layout import make_layout
from distnb.geometry.views import View
from distnb.wire.encoding import encode, unpack
from distnb.wire.messages import Batch
from distnb.wire.protocol import Create, Free, Operand, Reduce

NUMBERS = st.integers(0, 2**32 - 1)


SAME = st.builds(lambda n, k: [n] * k, NUMBERS, st.integers(1, 5))


@given(st.lists(NUMBERS, min_size=1, max_size=5) | SAME)
def test_a_union_tells_whether_digests_differ(numbers):
    union = reduce(or_, map(digits, numbers))
    assert differ(union) == (len(set(numbers)) > 1)


def digest(*commands):
    batch = NormalisedBatch(unpack(encode(Batch(1, 0, commands))).normalised)
    return batch.digest, tuple([told.text for told in batch.telling(())()])


def made(base, n, site=0):
    return Create(base, (n,), "<f8", make_layout((n,), 3), ("empty",), site)


def test_a_digest_is_of_the_commands_wherever_deletions_and_lines_are():
    first, second = made(10, 8, site=3), made(11, 9, site=4)
    found = digest(first, second)
    assert found == digest(Free((7,)), first, Free((8, 9)), second)
    assert found == digest(made(20, 8), Free((7,)), made(30, 9))  # other handles
    assert found[1] == ("create (8,)", "create (9,)")
    for other in ((second, first), (first,), (first, made(11, 10)), (first, second, second)):
        assert digest(*other) != found


def test_what_two_commands_do_to_the_same_array_is_not_what_they_do_to_two():
    def reduced(*bases):
        views = [Operand(base, View.whole((8,))) for base in bases]
        return digest(
            made(1, 8),
            made(2, 8),
            *(Reduce("sum", 5 + k, x, (0,), "<f8", 0) for k, x in enumerate(views)),
        )

    assert reduced(1, 1) != reduced(1, 2)
    assert reduced(1, 1)[1] == reduced(1, 2)[1]  # which is not what a person can tell


class Comm:
    """What a rank of two says to the other; messages arrive at once."""

    def __init__(self, rank, boxes):
        self.rank, self.boxes = rank, boxes

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return 2

    def isend(self, place, dest, tag):
        self.boxes[dest].append(place)
        return SimpleNamespace(Test=lambda: True)

    def Iprobe(self, source, tag):
        return bool(self.boxes[self.rank])

    def recv(self, source, tag):
        return self.boxes[self.rank].pop(0)


def told(*texts):
    return tuple([Told(text, "", sum(text.encode())) for text in texts])


@pytest.fixture
def ranks(monkeypatch):
    monkeypatch.setattr(same_program, "_PATIENCE", 0.0)
    boxes = [], []
    return [same_program.SameProgram(Comm(rank, boxes)) for rank in range(2)]


@pytest.mark.parametrize("does_its_part", [True, False])
def test_an_end_is_an_error_where_the_rank_has_not_done_its_part(ranks, does_its_part):
    slow, fast = ranks
    for rank in ranks:
        rank.enter(0, 7)
    if does_its_part:  # what it sent is on its way, though its end may come first
        fast.leave()
    fast.end()
    if does_its_part:
        slow.look()
        slow.leave()
        slow.enter(0, 8)
    for _ in range(2):  # and stays one
        with pytest.raises(KeyboardInterrupt):  # which nothing takes for a command's failure
            slow.look()
        assert isinstance(slow.error, dnb.EngineError)
        assert "the end of the program on rank 1, while rank 0" in str(slow.error)


def test_ranks_at_the_same_wait_and_others_raise(ranks):
    one, other = ranks
    for step in range(3):
        one.enter(0, 7 + step, lambda: told("a", "b"))
        one.look()
        other.enter(0, 7 + step)
        other.look()
        one.look()
    one.enter(1, 3, lambda: told("a", "b"))  # a step ahead, in another epoch
    one.look()
    other.look()
    other.enter(1, 4, lambda: told("a", "c"))
    for rank in (other, one):  # who raises has told where it is
        with pytest.raises(KeyboardInterrupt):
            rank.look()
        assert "got b on rank 0 (a line), c on rank 1" in str(rank.error)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("1", "2.5"), ("add given 1", "add given 2.5")),
        (("", "2"), ("add with arguments of its own", "add given 2")),
        (("1" * 99, "1" * 98 + "2"), ("add with arguments of its own",) * 2),
        (("1", "1"), ("add with arguments of its own",) * 2),
    ],
)
def test_what_commands_are_given_is_told_where_it_is_short(ranks, given, said):
    for rank, number, each in zip(ranks, (3, 4), given, strict=True):
        rank.enter(0, number, partial(tuple, [*told("a"), Told("add", each, number)]))
    ranks[0].look()  # it tells where it is
    for rank in reversed(ranks):
        with pytest.raises(KeyboardInterrupt):
            rank.look()
    expected = f"got {said[0]} on rank 0 (a line), {said[1]} on rank 1 (a line), expected"
    assert expected in str(ranks[0].error)


def test_what_is_told_is_short(ranks):
    """Else it might be under way when the program ends, and MPI wait for it."""
    one, other = ranks
    one.line = lambda: "x" * 10_000
    one.enter(0, 7, lambda: tuple(Told("y" * 1000, "1" * 20, 2**32 - k) for k in range(5000)))
    one.look()
    (place,) = other._comm.boxes[1]
    assert len(pickle.dumps(place)) < 2000


def test_who_never_waits_hears_what_was_said(ranks):
    one, other = ranks
    for step in range(300):
        one.enter(0, step + 1)
        one.look()
        other.enter(0, step + 1)
    assert len(other._comm.boxes[1]) < 256

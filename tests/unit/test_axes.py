"""Every kind of axis deals each index to one coordinate, and answers every question alike."""

import ast
from dataclasses import FrozenInstanceError
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from distnb.common.errors import LayoutError
from distnb.geometry import axes
from distnb.geometry.axes import (
    KINDS,
    Axis,
    Block,
    BlockCyclic,
    Cyclic,
    Irregular,
    SlicedBlock,
    Whole,
    parse_axis,
)
from distnb.testing import axis_kinds, indices_of

BIG = 10**12


def all_cuts(n, p):
    """Enumerate every irregular axis, empty parts included."""
    for inner in combinations_with_replacement(range(n + 1), p - 1):
        yield Irregular((0, *inner, n))


def slices_of_blocks(n):
    """Enumerate slices that begin and end with, in or after some of the blocks."""
    for start, step, after in product((0, 1, 3, 9), (1, 2, 3), (0, 1, 8)):
        yield SlicedBlock(start + step * n + after, start, step)
        yield SlicedBlock(start + step * n + after, start + step * max(0, n - 1), -step)


def cases(n, p):
    """Enumerate the axes of length ``n`` over ``p`` coordinates, irregular ones while few."""
    yield Block()
    yield Cyclic()
    yield from (BlockCyclic(k) for k in range(1, 5))
    if p == 1:
        yield Whole()
    yield from slices_of_blocks(n)
    if n <= 6 and p <= 5:
        yield from all_cuts(n, p)


@st.composite
def split_axes(draw, n_max=200, p_max=12):
    """Draw (axis, n, p)."""
    n, p = draw(st.integers(0, n_max)), draw(st.integers(1, p_max))
    return draw(axis_kinds(n, p)), n, p


# Each law takes one axis; below, each is checked on all small axes and on drawn ones.


def check_passes(axis, n, p):
    axis.check(n, p)


def check_partition(axis, n, p):
    """The coordinates' sections partition [0, n), ascending, that is in local order."""
    owned = [indices_of(axis.sections(n, p, c)) for c in range(p)]
    assert sorted(i for mine in owned for i in mine) == list(range(n))
    assert all(mine == sorted(mine) for mine in owned)


def check_sizes(axis, n, p):
    """A size is the number of indices, and ``largest`` that of the largest part."""
    sizes = [axis.size(n, p, c) for c in range(p)]
    assert sizes == [len(indices_of(axis.sections(n, p, c))) for c in range(p)]
    assert axis.largest(n, p) == max(sizes) <= axis.at_most(n, p)


def check_owners(axis, n, p):
    """The owner of an index is who has it in its sections, ``to_local`` tells at what place."""
    for c in range(p):
        for local, i in enumerate(indices_of(axis.sections(n, p, c))):
            assert axis.owner(n, p, i) == c
            assert axis.to_local(n, p, i) == local


def check_find(axis, n, p):
    """Many indices are found as each is."""
    owners, places = axis.find(n, p, np.arange(n)[::-1])
    assert owners.tolist() == [axis.owner(n, p, i) for i in reversed(range(n))]
    assert places.tolist() == [axis.to_local(n, p, i) for i in reversed(range(n))]


def check_runs(axis, n, p):
    """A run ends where the owner changes (a cyclic axis over one coordinate: with its block)."""
    owners = [axis.owner(n, p, i) for i in range(n)] + [None]
    end = n
    for i in reversed(range(n)):
        end = end if owners[i] == owners[i + 1] else i + 1
        run = axis.run(n, p, i)
        assert run == end or (p == 1 and axis.period(p) and i < run < end), (i, run, end)


def check_period(axis, n, p):
    """Ownership repeats after a period; a kind without one owns one interval a coordinate."""
    period = axis.period(p)
    owners = [axis.owner(n, p, i) for i in range(n)]
    if period:
        assert owners[period:] == owners[: max(0, n - period)]
    else:
        assert owners == sorted(owners)


def check_stride(axis, n, p):
    """Local distances in one run, and over multiples of the period, are what ``stride`` says."""
    period = axis.period(p)
    for i in range(n):
        near = range(i, axis.run(n, p, i))
        far = range(i, n, period) if period else ()
        for j in (*near, *far):
            local = axis.to_local(n, p, j) - axis.to_local(n, p, i)
            assert axis.stride(p, j - i) == local
            assert axis.stride(p, i - j) == -local


LAWS = [
    check_passes,
    check_partition,
    check_sizes,
    check_owners,
    check_find,
    check_runs,
    check_period,
    check_stride,
]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("p", range(1, 8))
def test_law_small(law, p):
    """Every law holds for every axis of up to 20 indices over up to 7 coordinates."""
    for n in range(21):
        for axis in cases(n, p):
            law(axis, n, p)


@given(split_axes())
def test_law(case):
    """Every law holds for drawn axes."""
    for law in LAWS:
        law(*case)


@given(st.data(), st.integers(1, BIG), st.integers(1, 10**5))
def test_long_axes_agree_at_single_indices(data, n, p):
    """On 10**12 indices and 10**5 coordinates, where nothing can be listed."""
    k = data.draw(st.integers(1, 10**6))
    i = data.draw(st.integers(0, n - 1))
    for axis in (Block(), Cyclic(), BlockCyclic(k)):
        c = axis.owner(n, p, i)
        before = [s for s in axis.sections(n, p, c) if s.start <= i]
        local = sum(
            min((i - s.start) // s.period, s.count) * s.block
            + (min((i - s.start) % s.period, s.block) if i < s.start + s.count * s.period else 0)
            for s in before
        )
        assert 0 <= c < p
        assert axis.to_local(n, p, i) == local < axis.size(n, p, c) <= axis.largest(n, p)
        assert i < axis.run(n, p, i) <= n
        assert axis.owner(n, p, axis.run(n, p, i) - 1) == c


# Each kind, by the words of its documentation


@pytest.mark.parametrize("p", range(1, 8))
def test_block_sizes_differ_by_one_at_most_longer_ones_first(p):
    for n in range(25):
        sizes = [Block().size(n, p, c) for c in range(p)]
        assert sizes == [n // p + 1] * (n % p) + [n // p] * (p - n % p)


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 60))
def test_block_cyclic_deals_blocks_in_turn(p, k, n):
    assert [BlockCyclic(k).owner(n, p, i) for i in range(n)] == [i // k % p for i in range(n)]


@given(st.integers(1, 6), st.integers(0, 60))
def test_cyclic_is_block_cyclic_with_blocks_of_one(p, n):
    for c in range(p):
        assert Cyclic().sections(n, p, c) == BlockCyclic(1).sections(n, p, c)


def test_irregular_owns_between_cuts():
    axis = Irregular((0, 0, 3, 3, 5))
    assert [indices_of(axis.sections(5, 4, c)) for c in range(4)] == [[], [0, 1, 2], [], [3, 4]]


@given(st.integers(1, 6), st.integers(0, 20), st.integers(0, 20), st.integers(1, 5))
def test_a_slice_of_blocks_lies_where_the_slice_does(p, n, start, step):
    of = start + step * n
    owners = [Block().owner(of, p, at) for at in range(of)]
    axis = SlicedBlock(of, start, step)
    assert [axis.owner(n, p, i) for i in range(n)] == owners[start::step]
    last = start + step * max(0, n - 1)
    back = SlicedBlock(of, last, -step)
    assert [p - 1 - back.owner(n, p, i) for i in range(n)] == owners[start::step][::-1]


@pytest.mark.parametrize("axis", [SlicedBlock(9, -1), SlicedBlock(9, 0, 0), SlicedBlock(9, 1, 2)])
def test_check_says_what_a_slice_of_blocks_must_be(axis):
    with pytest.raises(LayoutError) as caught:
        axis.check(5, 2)
    assert str(caught.value) == (
        f"slice of a block axis: got {axis.spell()}, expected at least 5 indices within its "
        "length; pass ('block', length, start, step)"
    )


def test_whole_is_all_of_the_axis_for_everyone():
    assert [indices_of(Whole().sections(3, 2, c)) for c in range(2)] == [[0, 1, 2]] * 2


# Every kind is known everywhere


def test_every_kind_has_a_name():
    classes = {each for each in vars(axes).values() if isinstance(each, type)}
    kinds = {each for each in classes if issubclass(each, Axis) and each is not Axis}
    assert set(KINDS.values()) == kinds


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_drawn_by_the_strategy(name):
    p = 1 if KINDS[name] is Whole else 3
    assert type(find(axis_kinds(6, p), lambda axis: type(axis) is KINDS[name])) is KINDS[name]


@pytest.mark.parametrize(
    "axis",
    [
        *(Whole(), Block(), Cyclic(), BlockCyclic(2), Irregular((0, 1))),
        *(SlicedBlock(9, 2), SlicedBlock(9, 2, 3)),
    ],
)
def test_axes_are_values(axis):
    """Axes are equal by content, hashable, frozen, and carry nothing else."""
    again = parse_axis(ast.literal_eval(axis.spell()))
    assert again == axis
    assert hash(again) == hash(axis)
    assert not hasattr(axis, "__dict__")
    with pytest.raises((FrozenInstanceError, TypeError)):
        axis.k = 3


# Words


@given(split_axes(p_max=9))
def test_spell_is_what_the_user_writes(case):
    """A word that an axis spells is parsed to an axis with the same owners."""
    axis, n, p = case
    again = parse_axis(ast.literal_eval(axis.spell()))
    assert again == axis or (axis == BlockCyclic(1) and again == Cyclic())
    assert [again.sections(n, p, c) for c in range(p)] == [axis.sections(n, p, c) for c in range(p)]


def test_many_cuts_are_not_spelled_out():
    assert Irregular(tuple(range(10))).spell() == "('irregular', (0, 1, 2, 3, 4, 5, 6, 7, 8, 9))"
    assert Irregular(tuple(range(11))).spell() == "('irregular', (0, 1, ..., 10))"


WORDS = [
    (None, Whole()),
    ("*", Whole()),
    ("block", Block()),
    (("block",), Block()),
    ("cyclic", Cyclic()),
    (("cyclic",), Cyclic()),
    (("cyclic", 1), Cyclic()),
    (["cyclic", 1], Cyclic()),
    (("cyclic", 4), BlockCyclic(4)),
    (["cyclic", 4], BlockCyclic(4)),
    (("block-cyclic", 4), BlockCyclic(4)),
    (("irregular", (0, 2, 5)), Irregular((0, 2, 5))),
    (("irregular", [0, 2, 5]), Irregular((0, 2, 5))),
    (Block(), Block()),
    (BlockCyclic(3), BlockCyclic(3)),
    (("block", 9, 2), SlicedBlock(9, 2)),
    (["block", 9, 2, 3], SlicedBlock(9, 2, 3)),
]


@pytest.mark.parametrize(("word", "axis"), WORDS)
def test_parse_accepts(word, axis):
    assert parse_axis(word) == axis
    assert type(parse_axis(word)) is type(axis)


@pytest.mark.parametrize(
    "word",
    [
        *("", "Block", "blocks", "irregular", "block-cyclic", "replicated", (), [], 3, 2.5, b"*"),
        *(("block", 2), ("block", 9, 1, 2, 3), ("block", 9, "a"), ("block", 9, 1.5), ("*", 1)),
        *(("cyclic", 2, 3), ("irregular",), ("irregular", 3)),
        *(("irregular", "ab"), ("irregular", (0, None)), ("irregular", (0, 2.7, 5))),
        *(("cyclic", 2, 2), {"cyclic": 2}),
    ],
)
def test_parse_says_what_is_accepted(word):
    with pytest.raises(LayoutError) as caught:
        parse_axis(word)
    assert str(caught.value) == (
        f"way to split an axis: got {word!r}, expected '*', 'block', 'cyclic', ('cyclic', k) or "
        "('irregular', cuts); use one of these for each axis"
    )


@pytest.mark.parametrize("k", [0, -1, 2.0, "2", None, True, (2,)])
def test_check_says_what_a_block_size_must_be(k):
    with pytest.raises(LayoutError) as caught:
        BlockCyclic(k).check(10, 2)
    assert str(caught.value) == (
        f"block size of a cyclic axis: got {k!r}, expected an integer >= 1; pass k"
    )


@pytest.mark.parametrize(
    "cuts", [(), (0,), (0, 5), (0, 1, 2, 5), (1, 2, 5), (0, 2, 4), (0, 6, 5), (0, -1, 5)]
)
def test_check_says_what_cuts_must_be(cuts):
    with pytest.raises(LayoutError) as caught:
        Irregular(cuts).check(5, 2)
    assert str(caught.value) == (
        f"cuts of an irregular axis: got {cuts}, expected 3 numbers that rise from 0 to 5; "
        "give one cut more than there are parts"
    )


@given(st.lists(st.integers(-1, 7), min_size=1, max_size=5), st.integers(0, 6), st.integers(1, 4))
def test_cuts_are_accepted_exactly_if_they_rise_from_zero_to_n(cuts, n, p):
    good = len(cuts) == p + 1 and cuts[0] == 0 and cuts[-1] == n and sorted(cuts) == cuts
    try:
        Irregular(tuple(cuts)).check(n, p)
    except LayoutError:
        assert not good
    else:
        assert good


def test_integers_of_numpy_are_integers():
    """They are made Python's, so that axes spell and compare alike."""
    assert repr(parse_axis(("cyclic", np.int64(4)))) == repr(BlockCyclic(4))
    assert repr(parse_axis(("irregular", np.array([0, 2, 5])))) == repr(Irregular((0, 2, 5)))

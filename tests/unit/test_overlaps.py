"""An axis divided among owners: everything goes to its owner, once, and both ends agree on it."""

from hypothesis import given
from hypothesis import strategies as st

from distnb.geometry.overlaps import (
    Along,
    by_coord,
    divide,
    split,
)
from distnb.geometry.slices import total
from distnb.geometry.views import AxisMap
from distnb.testing import axis_kinds, indices_of
from tests.tiers import examples


@st.composite
def maps(draw, extent):
    """Draw a view of a split axis with so many indices."""
    p = draw(st.integers(2, 6))
    step = draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2, 5]))
    before, after = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    span = abs(step) * (extent - 1) + 1
    n = before + span + after
    start = before if step > 0 else before + span - 1
    return AxisMap(draw(axis_kinds(n, p)), n, p, 0, start, step, extent)


@st.composite
def several(draw, number):
    extent = draw(st.integers(1, 60))
    return [draw(maps(extent)) for _ in range(number)]


def seen_by(m, c):
    """Return an axis as the rank at a coordinate sees it; it may be on no coordinate."""
    return Along(m, c, m.owned(c) if c >= 0 else ())


@examples(200)
@given(st.data(), several(2))
def test_overlaps_cover_sections_each_with_its_owner(data, both):
    mine, other = both
    sections = mine.owned(data.draw(st.integers(0, mine.p - 1)))
    found = divide(sections, seen_by(other, data.draw(st.integers(-1, other.p - 1))))
    assert sorted(i for x in found for i in indices_of([x.section])) == sorted(indices_of(sections))
    for x in found:
        inside = indices_of([x.section])
        assert {other.owner(i) for i in inside} == {x.coord}
        assert set(inside) <= set(indices_of([sections[x.parent]]))
    for _, parts in by_coord(found):
        places = [x.at for x in found if x.section in parts]
        assert places == [total(parts[:i]) for i in range(len(parts))]


@examples(200)
@given(several(2))
def test_sender_and_receiver_find_the_same_sections(both):
    """What c needs of what d has: found by dividing either, whoever looks."""
    needed, held = both
    for c in range(needed.p):
        for d, parts in by_coord(divide(needed.owned(c), seen_by(held, c % held.p))):
            assert dict(by_coord(divide(held.owned(d), seen_by(needed, d % needed.p))))[c] == parts
            assert dict(by_coord(divide(held.owned(d), seen_by(needed, -1), [c])))[c] == parts


@given(several(1))
def test_an_axis_that_is_not_split_has_no_owner(one):
    sections = one[0].owned(0)
    found = divide(sections, Along(None, -1, ()))
    assert [(x.section, x.parent, x.coord) for x in found] == [
        (s, i, -1) for i, s in enumerate(sections)
    ]


@examples(200)
@given(st.data(), several(4))
def test_strips_lie_within_one_share_of_each_operand(data, maps):
    mine, *others = maps
    sections = mine.owned(data.draw(st.integers(0, mine.p - 1)))
    others.append(others[0])
    operands = [seen_by(m, 0) for m in others]
    found = split(sections, operands)
    covered = [i for s in found.intervals for i in indices_of([s.section])]
    assert sorted(covered) == sorted(indices_of(sections))
    for section, overlaps in found.intervals:
        assert all(set(indices_of([section])) <= set(indices_of([x.section])) for x in overlaps)
    for j, operand in enumerate(operands):
        overlaps = divide(sections, operand)
        assert {s.overlaps[j] for s in found.intervals} == set(overlaps)
        assert found.lengths[j] == {c: total(parts) for c, parts in by_coord(overlaps)}

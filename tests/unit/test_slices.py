"""Sections behave as the sets of integers that they stand for."""

from itertools import product

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from distnb.geometry.slices import (
    Section,
    clip,
    elements,
    intersect,
    interval,
    length,
    meetings,
    preimage,
    section,
    total,
)

#: (block, period, count) of every small canonical section.
SMALL = [(block, block, 1) for block in range(1, 6)] + [
    (block, period, count)
    for block in range(1, 4)
    for period in range(block + 1, 7)
    for count in (2, 3, 5)
]
STEPS = [-7, -6, -4, -3, -2, -1, 1, 2, 3, 4, 6, 7]
BIG = 10**12


def members(*sections):
    """Enumerate by hand: not with the functions under test."""
    return [
        s.start + m * s.period + t for s in sections for m in range(s.count) for t in range(s.block)
    ]


def runs(s):
    """Enumerate the runs of a section."""
    return [range(i, i + s.block) for i in range(s.start, s.start + s.count * s.period, s.period)]


def holds(s, i):
    """Tell whether a section of any size holds an index."""
    run, into = divmod(i - s.start, s.period)
    return 0 <= run < s.count and into < s.block


def check(found, wanted):
    """Assert that sections are canonical, disjoint, ordered by first index, and hold a set."""
    assert all(section(*s) == (s,) for s in found)
    assert [s.start for s in found] == sorted(s.start for s in found)
    listed = members(*found)
    assert len(listed) == len(set(listed)), "sections overlap"
    assert set(listed) == wanted


def run_of(s, i):
    """Return the number of the run of a section in which an index lies."""
    run, into = divmod(i - s.start, s.period)
    assert 0 <= run < s.count
    assert into < s.block
    return run


def run_ends(s):
    """Return the first and the last index of the first run of a section, and of its last run."""
    last = s.start + (s.count - 1) * s.period
    return [(s.start, s.start + s.block - 1), (last, last + s.block - 1)]


def within_runs(found, s):
    """Tell whether each run lies in one run of ``s``: all in one, or at multiples of its period.

    Of a section whose period is a multiple of that of ``s`` two runs are enough to tell.
    """
    pairs = [(run_of(s, lo), run_of(s, hi)) for lo, hi in run_ends(found)]
    one_run = len({run for pair in pairs for run in pair}) == 1
    regular = found.count == 1 or found.period % s.period == 0 or one_run
    return regular and all(lo == hi for lo, hi in pairs)


@st.composite
def sections(draw, scale=60):
    """Draw a canonical section; the larger the scale, the longer and the more runs."""
    block = draw(st.integers(1, scale))
    gap = draw(st.one_of(st.just(0), st.integers(1, scale), st.integers(1, 4 * scale)))
    start, count = draw(st.integers(-scale, scale)), draw(st.integers(1, scale // 2))
    return section(start, block, block + gap, count)[0]


# Canonical form


@pytest.mark.parametrize("count", range(-1, 5))
@pytest.mark.parametrize("block", range(-1, 5))
def test_section_is_the_set_it_names_in_canonical_form(block, count):
    for start, period in product((-3, 0, 2), range(max(block, 1), 8)):
        found = section(start, block, period, count)
        check(found, {start + m * period + t for m in range(count) for t in range(block)})
        assert len(found) == (count > 0 and block > 0)


def test_equal_sets_have_equal_sections():
    seen = {}
    for start, (block, gap, count) in product(
        range(3), product(range(1, 5), range(4), range(1, 5))
    ):
        (s,) = section(start, block, block + gap, count)
        key = frozenset(members(s))
        assert seen.setdefault(key, s) == s


@pytest.mark.parametrize("lo", range(-2, 5))
@pytest.mark.parametrize("hi", range(-2, 5))
def test_interval_is_a_range(lo, hi):
    check(interval(lo, hi), set(range(lo, hi)))


@given(st.lists(sections(), max_size=3))
def test_length_total_and_elements_count_and_list_the_indices(several):
    assert list(elements(several)) == members(*several)
    assert [length(s) for s in several] == [len(members(s)) for s in several]
    assert total(several) == len(members(*several))
    assert total(()) == 0


# Clip


def check_clip(s, lo, hi):
    found = clip(s, lo, hi)
    wanted = [i for i in members(s) if lo <= i < hi]
    check(found, set(wanted))
    assert members(*found) == wanted, "not in order"
    assert all(within_runs(f, s) for f in found)
    touched = [len(run & set(wanted)) for run in map(set, runs(s)) if run & set(wanted)]
    cut = sum(n < s.block for n in touched)
    assert len(found) == cut + (cut < len(touched)), "whole runs are one section"


@pytest.mark.parametrize("shape", SMALL)
def test_clip_keeps_what_lies_in_the_range_small(shape):
    s = Section(2, *shape)
    end = s.start + s.period * s.count
    for lo, hi in product(range(end + 2), repeat=2):
        check_clip(s, lo, hi)


@given(sections(), st.integers(-100, 4000), st.integers(-10, 4000))
def test_clip_keeps_what_lies_in_the_range(s, lo, n):
    check_clip(s, lo, lo + n)


# Intersect


def check_intersect(a, b):
    found = intersect(a, b)
    assert found == intersect(b, a)
    check(found, set(members(a)) & set(members(b)))
    assert all(within_runs(f, a) and within_runs(f, b) for f in found)


@pytest.mark.parametrize("shape", SMALL)
def test_intersect_is_that_of_sets_small(shape):
    """Every pair of small sections at every distance at which they can meet."""
    a = Section(0, *shape)
    for other in SMALL:
        reach = other[1] * other[2]
        for start in range(-reach, a.period * a.count + 1, 1 if reach < 12 else 2):
            check_intersect(a, Section(start, *other))


@given(sections(), sections())
@example(Section(0, 1, 2, 30), Section(1, 1, 4, 30))  # never meet
@example(Section(0, 3, 7, 40), Section(1, 2, 5, 40))  # many runs, coprime periods
@example(Section(0, 3, 8, 40), Section(-5, 5, 12, 40))  # a common divisor
def test_intersect_is_that_of_sets(a, b):
    check_intersect(a, b)


@given(sections(20), sections(20), sections(20))
def test_intersect_does_not_depend_on_order(a, b, c):
    assert set(members(*intersect(a, b))) == set(members(*intersect(b, a)))
    left = [p for x in intersect(a, b) for p in intersect(x, c)]
    right = [p for x in intersect(b, c) for p in intersect(a, x)]
    assert set(members(*left)) == set(members(*right))


@given(sections(20), sections(20), st.integers(-BIG, BIG))
def test_intersect_moves_with_its_arguments(a, b, by):
    moved = intersect(a._replace(start=a.start + by), b._replace(start=b.start + by))
    assert moved == tuple(s._replace(start=s.start + by) for s in intersect(a, b))


@given(st.data(), sections(20), sections(20))
def test_intersect_of_long_sections_holds_what_both_hold(data, a, b):
    """On 10**12 runs, where sets cannot be listed: ask for single indices."""
    assume(a.count > 1 and b.count > 1)
    a, b = (s._replace(count=data.draw(st.integers(1, BIG)) + 1) for s in (a, b))
    found = intersect(a, b)
    assert all(within_runs(f, a) and within_runs(f, b) for f in found)
    for s in (a, b, *found):
        near = s.start + data.draw(st.integers(0, s.count - 1)) * s.period
        for i in range(near - 2, near + s.block + 2):
            assert sum(holds(f, i) for f in found) == (holds(a, i) and holds(b, i))


# Meetings of many with many


def all_pairs(a, b):
    return [(i, j, p) for i, x in enumerate(a) for j, y in enumerate(b) for p in intersect(x, y)]


@given(st.lists(sections(20), max_size=5), st.lists(sections(20), max_size=5))
def test_meetings_are_the_intersections_of_all_pairs(a, b):
    assert sorted(meetings(a, b)) == sorted(all_pairs(a, b))


@given(st.data(), st.integers(1, 12), st.integers(1, 4))
def test_meetings_of_sections_that_repeat_alike(data, period, times):
    """What layouts make: disjoint sections of one period, or of multiples of it, and ends."""

    def some():
        cuts = sorted(data.draw(st.sets(st.integers(0, period * times), min_size=2, max_size=6)))
        runs = [(lo, hi - lo) for lo, hi in zip(cuts[::2], cuts[1::2], strict=False)]
        count = data.draw(st.integers(1, 4))
        periodic = [p for lo, n in runs for p in section(lo, n, period * times, count)]
        return [*periodic, *interval(period * times * count, period * times * count + 2)]

    a, b = some(), some()
    assert sorted(meetings(a, b)) == sorted(all_pairs(a, b))


# Preimage


def check_preimage(s, offset, step, n):
    here = set(members(s))
    found = preimage(s, offset, step, n)
    check(found, {i for i in range(n) if offset + step * i in here})
    return found


def maps_into_runs(found, s, offset, step):
    """Tell whether each run maps into one run of ``s``, or steps from one run to another."""
    return step % s.period == 0 or all(
        run_of(s, offset + step * lo) == run_of(s, offset + step * hi)
        for f in found
        for lo, hi in run_ends(f)
    )


def split_over_two(s):
    """Tell whether the gaps are as long as the runs, as in what one of two ranks or more owns."""
    return s.count == 1 or s.period >= 2 * s.block


@pytest.mark.parametrize("shape", SMALL)
@pytest.mark.parametrize("step", STEPS)
def test_preimage_is_that_of_sets_small(shape, step):
    s = Section(1, *shape)
    end = s.start + s.period * s.count
    for offset, n in product(range(-4, end + 4, 1 if end < 14 else 2), (0, 1, 2, 3, 7, 12)):
        found = check_preimage(s, offset, step, n)
        if split_over_two(s):
            assert maps_into_runs(found, s, offset, step)


@given(sections(), st.integers(-100, 2000), st.integers(-70, 70), st.integers(0, 300))
@example(Section(0, 1, 5, 30), 0, 5, 30)  # one index of each run: merged
@example(Section(0, 1, 5, 30), 145, -5, 30)
@example(Section(0, 2, 10, 30), 1, 15, 20)  # hits every third run
@example(Section(0, 6, 14, 30), 3, 4, 100)  # several indices of each run
def test_preimage_is_that_of_sets(s, offset, step, n):
    assume(step)
    found = check_preimage(s, offset, step, n)
    if split_over_two(s):
        assert maps_into_runs(found, s, offset, step)


@given(st.data(), sections(20), st.integers(-100, 100), st.integers(-50, 50))
def test_preimage_under_a_long_view_holds_what_maps_into_the_section(data, s, offset, step):
    """On 10**12 runs and indices, where sets cannot be listed: ask for single indices."""
    assume(step and s.count > 1)
    n = data.draw(st.integers(1, BIG))
    s = s._replace(count=data.draw(st.integers(2, BIG)))
    offset += max(0, -step * n)
    found = preimage(s, offset, step, n)
    wanted = [data.draw(st.integers(0, n - 1)) for _ in range(3)]
    for f in found:
        first = f.start + data.draw(st.integers(0, f.count - 1)) * f.period
        wanted.append(first + data.draw(st.integers(0, f.block - 1)))
        near = range(max(0, first - 2), min(first + f.block + 2, n))
        wanted.extend((*near[:500], *near[-500:]))
    for i in wanted:
        assert sum(holds(f, i) for f in found) == holds(s, offset + step * i)


@given(sections(20), st.integers(-50, 100), st.sampled_from(STEPS), st.data())
def test_preimages_compose(s, offset, step, data):
    """The preimage under a view of a view is the preimage of the preimage."""
    n = data.draw(st.integers(1, 40))
    start, inner = data.draw(st.integers(0, n - 1)), data.draw(st.sampled_from([1, 2, 3, -1, -2]))
    m = data.draw(st.integers(0, len(range(start, n if inner > 0 else -1, inner))))
    at_once = preimage(s, offset + step * start, step * inner, m)
    in_turn = [q for p in preimage(s, offset, step, n) for q in preimage(p, start, inner, m)]
    assert set(members(*at_once)) == set(members(*in_turn))

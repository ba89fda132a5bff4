"""The digits of a reduction do not depend on how many elements are done at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distnb.engines.fusion import reduction_blocks
from distnb.engines.fusion.reduction_blocks import Combiner, Scratch

LENGTHS = st.lists(st.sampled_from([1, 2, 3, 5, 8, 17, 67]), min_size=1, max_size=4)
#: Of few elements: tiles have as few as one.
SHAPES = LENGTHS.filter(lambda shape: np.prod(shape) <= 20_000)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of a few elements, so that there are many of them."""
    monkeypatch.setattr(reduction_blocks, "_ELEMENTS", 24)
    monkeypatch.setattr(reduction_blocks, "_ROWS", 8)
    monkeypatch.setattr(reduction_blocks, "_FEWEST", 2)
    reduction_blocks.reduction_blocks.cache_clear()
    yield
    reduction_blocks.reduction_blocks.cache_clear()


def combine(x, axes, limit, ufunc=np.add, dtype=None):
    """Reduce by tiles of at most ``limit`` elements, each a copy as a tile of a group is."""
    how = reduction_blocks.reduction_blocks(x.shape, axes)
    combiner = Combiner(ufunc, np.dtype(dtype or x.dtype), how, Scratch())
    seen = np.zeros(how.shape, int)
    data = x.reshape(how.shape)
    for tile in reduction_blocks.tiles(how.shape, how.tile(limit)):
        seen[tile] += 1
        combiner.add(tile, data[tile].copy())
    assert (seen == 1).all()
    return combiner.result(tuple(n for d, n in enumerate(x.shape) if d not in axes))


@given(SHAPES, st.data())
def test_tiles_do_not_show(shape, data):
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(sorted).map(tuple))
    dtype = data.draw(st.sampled_from(["f4", "f8", "f2", "c8", "i4", "?"]))
    to = data.draw(st.sampled_from([dtype, "c16"] + (["f8", "i8"] if dtype != "c8" else [])))
    x = np.random.default_rng(3).standard_normal(shape).astype(dtype)
    how = reduction_blocks.reduction_blocks(x.shape, axes)
    if how is None:
        assert all(shape[d] == 1 for d in axes)
        return
    with np.errstate(all="ignore"):
        whole = Combiner(np.add, np.dtype(to), how, Scratch())
        whole.all(x.reshape(how.shape))
        expected = whole.result(tuple(n for d, n in enumerate(shape) if d not in axes))
        limit = data.draw(st.integers(1, 400))
        found = combine(x, axes, limit, dtype=to)
        numpys = x.sum(axes, dtype=to)
    assert found.dtype == numpys.dtype
    assert found.shape == np.shape(numpys)
    assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(found, numpys, **error(dtype, to, x.size))


def error(dtype, to, n):
    to = np.dtype(to)
    if to.kind not in "fc":
        return {"rtol": 0}
    return {"rtol": 1e-5, "atol": 8 * np.finfo(to).eps * n}


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.multiply, np.logical_or, np.fmax])
def test_other_operations(ufunc):
    x = np.where(np.arange(67 * 51) % 7, np.arange(67 * 51) % 5 - 2.0, np.nan).reshape(67, 51)
    dtype = bool if ufunc is np.logical_or else float
    for axes in ((0,), (1,), (0, 1)):
        expected = np.asarray(ufunc.reduce(x, axis=axes))
        for limit in (1, 60, 500, 1 << 20):
            found = combine(x, axes, limit, ufunc, dtype)
            np.testing.assert_array_equal(found, expected)


def test_the_error_is_that_of_pairwise_sums(monkeypatch):
    monkeypatch.undo()
    reduction_blocks.reduction_blocks.cache_clear()
    x = np.full((1 << 9, 1 << 10), 0.1, np.float32)
    exact = np.float64(np.float32(0.1))
    for axes in ((0,), (1,), (0, 1)):
        n = np.prod([x.shape[d] for d in axes])
        ours = np.abs(combine(x, axes, 1 << 15) / n / exact - 1).max()
        numpys = np.abs(x.sum(axes) / n / exact - 1).max()
        assert ours <= max(2 * numpys, 4 * np.finfo("f4").eps)


def test_a_cell_is_never_cut_along_contiguous_elements():
    how = reduction_blocks.reduction_blocks((7, 100), (1,))
    assert how.partial_shape == (7, 5)  # even parts: 20 elements each
    assert [how.tile(limit) for limit in (1, 45, 100, 350)] == [
        (1, 20),
        (1, 40),
        (1, 100),
        (3, 100),
    ]


def test_rows_of_a_cell_may_come_in_parts():
    how = reduction_blocks.reduction_blocks((100, 6), (0,))
    assert how.partial_shape == (13, 6)
    assert [how.tile(limit) for limit in (1, 12, 24, 100)] == [(1, 1), (2, 6), (4, 6), (16, 6)]
    assert reduction_blocks.reduction_blocks((4, 1), (1,)) is None
    assert reduction_blocks.reduction_blocks((0, 4), (0,)) is None

"""Sums in the order of engines, against what all ranks do, one after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distnb.client.reach.engines_order import EnginesOrder, by_rows, of_all, of_view
from distnb.geometry.layout import default_layout, make_layout
from distnb.geometry.views import Placed, View
from distnb.strategies import view_of
from distnb.testing import assert_same_as_numpy
from tests.tiers import examples

#: Lengths beyond those of a block that is reduced at once, and below.
SHAPES = ((1,), (7,), (20_000,), (5, 7), (3, 9000), (9000, 3), (40, 5, 60), (2, 3, 4))
#: Of which engines reduce several blocks, each of contiguous elements.
SEVERAL_BLOCKS = (3, 9000)


def subsets(ndim):
    return [tuple(d for d in range(ndim) if k >> d & 1) for k in range(1, 1 << ndim)]


def elements(shape, dtype="d"):
    return (np.random.default_rng(3).standard_normal(shape) * 1e3).astype(dtype)


def by_ranks(operand, axes, base, size):
    return EnginesOrder("sum", operand, axes, base.dtype, size)(base)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dist", ["block", "one", "window", "cyclic"])
def test_whole_arrays_are_reduced_in_that_order(shape, size, dist):
    """Along any axes: numbers by engines' trees, rows as NumPy has them in another shape."""
    layout = {"block": default_layout, "one": on_one, "window": of_window, "cyclic": dealt}[dist](
        shape, size
    )
    base, operand = elements(shape), Placed.whole(shape, layout)
    if not layout.in_order(shape):
        axes = tuple(range(len(shape)))
        assert of_all("sum", shape, layout, size) is by_rows(shape, layout, axes, size) is None
        return
    for axes in subsets(len(shape)):
        want = by_ranks(operand, axes, base, size)
        found = by_rows(shape, layout, axes, size)
        if found is not None:
            rows, made = found
            assert_same_as_numpy(base.reshape(rows).sum(axis=1).reshape(made), want)
        if len(axes) == len(shape):
            number = of_all("sum", shape, layout, size)
            assert number is not None or shape == SEVERAL_BLOCKS
            if number is not None:
                assert_same_as_numpy(number(base), want[()])
                assert not number.plain or np.add.reduce(base, None) == want


def dealt(shape, size):
    return make_layout(shape, size, "cyclic")


def on_one(shape, size):
    return make_layout(shape, size, ("engine", size - 1))


def of_window(shape, size):
    """The layout of what lies in one block of a longer array."""
    return make_layout(shape, size, (("block", shape[0] * size + 1, 0), *"*" * (len(shape) - 1)))


@examples(200)
@given(st.data(), st.integers(1, 4), st.sampled_from(((6,), (7, 5), (300, 4), (3, 4, 200))))
def test_views_are_reduced_in_that_order(data, size, shape):
    """Windows with steps, at fixed indices and with new axes, along any axes."""
    layout = default_layout(shape, size)
    view = View.whole(shape)
    for d in reversed(range(len(shape))):
        start = data.draw(st.integers(0, shape[d] - 1))
        if data.draw(st.booleans()) and len(view.shape) > 1:
            view = view.fix(d, start)
            continue
        step = data.draw(st.integers(1, 3))
        view = view.take(
            d, start, step, data.draw(st.integers(1, (shape[d] - start - 1) // step + 1))
        )
    if data.draw(st.booleans()):
        view = view.insert(data.draw(st.integers(0, len(view.shape))))
    axes = data.draw(st.sampled_from(subsets(len(view.shape))))
    base, operand = elements(shape, data.draw(st.sampled_from("dfD"))), Placed(shape, layout, view)
    order = of_view("sum", (layout, shape, view), axes, size)
    assert (order is None) == view.is_whole(shape) or not layout.in_order(shape)
    if order is not None:
        assert_same_as_numpy(
            np.asarray(order(view_of(base, view))), by_ranks(operand, axes, base, size)
        )

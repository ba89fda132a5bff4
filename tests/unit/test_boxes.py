"""Boxes, their images in Hermitian arrays, and pack buffers: each element once, each where it belongs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distnb.engines.collectives.packing import PackBuffer
from distnb.geometry.boxes import (
    box_of,
    half_of,
    images,
    is_boxes,
    meet,
    reflected,
    sizes,
    within,
)
from distnb.geometry.layout import make_layout


def whole(shape):
    return tuple((0, n) for n in shape)


def cut(draw, shape):
    """Draw a box in an array of a shape."""
    pairs = (draw(st.tuples(st.integers(0, n - 1), st.integers(1, n))) for n in shape)
    return tuple((min(a, b - 1), max(a + 1, b)) for a, b in pairs)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_halves_of_all_ranks_are_the_half(size):
    for n in (1, 5, 8):
        seen = np.zeros((n, 6), int)
        layout = make_layout((15, 6), size, "block")
        for rank in range(size):
            box = half_of(layout, (n, 6), rank, 0)
            if box is not None:
                seen[within(box, whole(seen.shape))] += 1
        assert (seen == 1).all()


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_ranks_own_about_half_of_what_they_compute(size):
    """And of the conjugates: that is as much as can be had."""
    shape, n = (64,), 33
    layout = make_layout(shape, size, "block")
    for rank in range(size):
        box = half_of(layout, (n,), rank, 0)
        own = box_of(layout, shape, rank)
        found = [meet(part, own) for part in (box, *images(box, shape, 0, ()))]
        held = sum(sizes(part)[0] for part in found if part)
        assert held >= sizes(box)[0] - 2


@pytest.mark.parametrize("others", [(), (0,), (0, 2)])
def test_images_fill_the_other_half_with_conjugates(others):
    for shape in product((1, 2, 5), (1, 2, 3, 6, 7), (1, 4)):
        x = np.random.default_rng(1).random(shape)
        full = np.fft.fftn(x, axes=(*others, 1))
        half = np.fft.rfftn(x, axes=(*others, 1))
        found = np.zeros_like(full)
        for box in product([(0, 1), (1, shape[0])], [(0, 2), (2, half.shape[1])], [(0, shape[2])]):
            box = meet(box, whole(half.shape))
            if box is None:
                continue
            part = half[within(box, whole(half.shape))]
            assert not found[within(box, whole(shape))].any()
            found[within(box, whole(shape))] = part
            for image in images(box, shape, 1, others):
                target = found[within(image, whole(shape))]
                assert not target.any()
                target[...] = part[reflected(image, box, shape, 1, others)].conj()
        np.testing.assert_allclose(found, full, atol=1e-12)


def test_images_of_whole_axes_are_one_box():
    box = ((0, 5), (0, 4))
    assert images(box, (5, 6), 1, (0,), apart=False) == [((0, 5), (4, 6))]
    assert len(images(box, (5, 6), 1, (0,))) == 2


def test_what_is_in_boxes():
    for dist in ("block", ("*", "block"), ("irregular", (0, 3, 5, 8)), ("engine", 2)):
        assert is_boxes(make_layout((8, 8), 3, dist))
    for dist in ("cyclic", ("block", ("cyclic", 2)), "replicated"):
        assert not is_boxes(make_layout((8, 8), 4, dist))


@given(st.data())
def test_pack_buffers_keep_what_is_put_into_them(data):
    shape = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple))
    box = cut(data.draw, tuple(n + 2 for n in shape))
    x = np.random.default_rng(1).random([n + 2 for n in shape])
    values = x[within(box, whole(x.shape))]
    buffer = PackBuffer(box, np.zeros(values.size), data.draw(st.integers(1, 9)))
    middle = data.draw(st.integers(*box[-1]))
    for span in ((box[-1][0], middle), (middle, box[-1][1])):
        part = (*box[:-1], span)
        if span[0] < span[1]:
            buffer.put(part, values[within(part, box)])
    inner = cut(data.draw, sizes(box))
    region = tuple((first + a, first + b) for (a, b), (first, _) in zip(inner, box, strict=True))
    into = np.zeros(sizes(region))
    buffer.get(region, into)
    np.testing.assert_array_equal(into, values[within(region, box)])
    for strip, part in buffer.regions():
        np.testing.assert_array_equal(part, values[within(strip, box)])

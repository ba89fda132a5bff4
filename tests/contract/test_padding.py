"""Padding agrees with NumPy in every mode, over layouts; trimming as well."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree, numbered, same

DISTS = [None, ("cyclic", "block")]
MODES = {
    "constant": ({}, {"constant_values": 7}, {"constant_values": ((1, 2), (3, 4))}),
    "edge": ({},),
    "wrap": ({},),
    "reflect": ({}, {"reflect_type": "odd"}),
    "symmetric": ({}, {"reflect_type": "odd"}),
    "linear_ramp": ({}, {"end_values": ((9, 1.5), (2, 40))}),
    "maximum": ({}, {"stat_length": 2}),
    "minimum": ({}, {"stat_length": ((1, 3), (2, 9))}),
    "mean": ({}, {"stat_length": 2}),
}


@pytest.mark.cases(len(MODES))
@pytest.mark.parametrize("dist", DISTS, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_modes(session, books, mode, dist):
    for dtype in (np.float32, np.int16):
        x = numbered((5, 3), dtype) ** 2 % 17
        a = dnb.array(x, dist=dist)
        for options in MODES[mode]:
            for width in ((2, 0), ((1, 2), (17, 9))):
                books.add(
                    np.pad(a, width, mode, **options),
                    np.pad(x, width, mode, **options),
                    (width, options),
                    1e-6 if mode == "mean" else 0.0,
                )


@pytest.mark.parametrize("mode", MODES)
def test_other_shapes(session, mode):
    for shape in ((6,), (1, 4), (2, 1, 3), (), (0, 2)):
        x = numbered(shape)
        a = dnb.array(x)
        for width in (3, 0):
            agree(lambda w=width: np.pad(x, w, mode), lambda w=width: np.pad(a, w, mode), 1e-12)
    x = numbered((4, 4)).astype(np.float32)[::2, ::-1]
    agree(lambda: np.pad(x, 2, mode), lambda: np.pad(dnb.array(x), 2, mode), 1e-5)


def test_arguments(session):
    x = numbered((4, 3))
    a = dnb.array(x)
    for width, mode, options in (
        *((-1, "edge", {}), (1.5, "edge", {}), (1, "none", {}), (1, "edge", {"stat_length": 1})),
        *((((1, 2, 3),), "edge", {}), (1, "maximum", {"stat_length": 0})),
        *(({0: 1, -1: (2, 3)}, "constant", {}), (np.array([2, 1]), "empty", {"x": 1})),
    ):
        agree(
            lambda w=width, m=mode, o=options: np.pad(x, w, m, **o),
            lambda w=width, m=mode, o=options: np.pad(a, w, m, **o),
        )
    assert dnb.pad(a, 2, "empty").shape == (8, 7)
    same(dnb.pad(a, 2, "empty")[2:-2, 2:-2], x)


@pytest.mark.parametrize("dist", [None, ("*", "block"), "cyclic"])
def test_a_function_fills_margins(session, dist):
    def fill(vector, widths, axis, options):
        vector[: widths[0]] = vector[widths[0] :].sum() + axis
        if widths[1]:
            vector[-widths[1] :] = options.get("last", -1)

    x = numbered((5, 4))
    a = dnb.array(x, dist=dist)
    for width, options in ((1, {}), (((2, 1), (0, 3)), {"last": 9})):
        same(dnb.pad(a, width, fill, **options), np.pad(x, width, fill, **options))
    same(dnb.pad(a[0], 2, fill), np.pad(x[0], 2, fill))


def test_trim_zeros(session):
    for data in ([0, 0, 1, 0, 2, 0], [0, 0], [], [3, 1], [0.0, np.nan, 0]):
        x = np.array(data)
        a = dnb.array(x)
        for trim in ("fb", "F", "b", "x"):
            agree(lambda t=trim: np.trim_zeros(x, t), lambda t=trim: np.trim_zeros(a, t))
    x = np.zeros((5, 6), int)
    x[1:3, 2:4] = [[1, 0], [0, 2]]
    a = dnb.array(x)
    for axis in (None, 0, -1, (0, 1), 2):
        agree(lambda d=axis: np.trim_zeros(x, axis=d), lambda d=axis: np.trim_zeros(a, axis=d))
    view = dnb.trim_zeros(a)
    view[...] = 5
    assert int((a == 5).sum()) == 4

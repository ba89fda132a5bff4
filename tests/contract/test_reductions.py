"""Reductions agree with NumPy: integers exactly, floats to a few roundings of the sum."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.ops import table
from tests.contract.support import (
    DTYPES,
    agree,
    numbered,
    outcome,
    pair,
    public,
    same,
    setting,
    special,
    thin,
)
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "four", "cutoff", "unfused", "compiled", "reach")

NAMES = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var", "std"]
POSITIONS = ["argmin", "argmax"]
EXACT = ["min", "max", "any", "all", "argmin", "argmax", "count_nonzero"]
AXES = [None, 0, 1, 2, -1, (0, 1), (0, 2), (2, 1), (0, 1, 2), ()]
DISTS = [
    None,
    "cyclic",
    ("*", "block", "cyclic"),
    ("block", "*", ("cyclic", 2)),
    "replicated",
    ("engine", 0),
]


def rtol(name, dtype):
    """Return the allowed error; sums are of numbers of one sign."""
    dtype = np.dtype(dtype)
    return 0.0 if name in EXACT or dtype.kind not in "fc" else 32 * np.finfo(dtype).eps


def positive(shape, dtype):
    """Return data whose sums and products neither cancel nor overflow a float."""
    n = int(np.prod(shape))
    flat = np.arange(n) * 7919 % 31 / 16 + 0.5
    if np.dtype(dtype).kind in "biu":
        return (
            (np.arange(n) * 7919 % 23 % (2 if np.dtype(dtype) == bool else 23))
            .astype(dtype)
            .reshape(shape)
        )
    if np.dtype(dtype).kind == "c":
        return (flat * (1 + 0.25j)).astype(dtype).reshape(shape)
    return flat.astype(dtype).reshape(shape)


# -- the table ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_axes(books, dist):
    first = DISTS.index(dist) % 2
    for dtype in ("i4", "f8", "c16", "?")[first::2]:
        x = positive((4, 3, 5), dtype)
        a = dnb.array(x, dist=dist)
        for name, axis, keep in thin(itertools.product(NAMES, AXES, (False, True))):
            f, options = getattr(np, name), {"axis": axis, "keepdims": keep}
            books.compare(
                (name, dtype, options),
                lambda f=f, x=x, o=options: f(x, **o),
                lambda f=f, a=a, o=options: f(a, **o),
                rtol(name, "f8"),
            )


def test_dtypes(books):
    """Every reduction of every dtype, also as method and as function of the namespace."""
    for dtype in DTYPES:
        x = positive((3, 4), dtype)
        a = dnb.array(x, dist="cyclic")
        for name in thin([*NAMES, "count_nonzero"], 3):
            f, g = getattr(np, name), getattr(dnb, name)
            error = rtol(name, np.asarray(f(x)).dtype)
            for axis in (None, 1):
                for ours in (f, g):
                    books.compare(
                        (name, dtype, axis),
                        lambda f=f, x=x, axis=axis: f(x, axis),
                        lambda f=ours, a=a, axis=axis: f(a, axis),
                        error,
                    )
            if name != "count_nonzero":
                books.compare((name, dtype), getattr(x, name), getattr(a, name), error)


def test_special_values(books):
    """Infinities, NaN, and the largest integers, which wrap around."""
    for dtype in DTYPES:
        x = special(dtype, 12).reshape(3, 4)
        a = dnb.array(x, dist=("cyclic", "*"))
        names = EXACT if x.dtype.kind in "fc" else ["sum", "prod", *EXACT]
        for name, axis in thin(itertools.product(names, (None, 0, 1))):
            f = getattr(np, name)
            books.compare(
                (name, dtype, axis),
                lambda f=f, x=x, axis=axis: f(x, axis=axis),
                lambda f=f, a=a, axis=axis: f(a, axis=axis),
            )


def test_ufunc_reduce(books):
    """``ufunc.reduce`` for all ufuncs of the table; its default axis is 0."""
    some = [{}, {"axis": 1}, {"axis": None}, {"axis": 0, "keepdims": True}, {"axis": (1, 0)}]
    for name, row in table.UFUNC_REDUCTIONS.items():
        f = getattr(np, name)
        assert row.ufunc is f
        for dtype in ("?", "u1", "i8", "f4", "f8"):
            x = positive((5, 4), dtype)
            x = (x % 5).astype(dtype) if name == "lcm" and dtype != "?" else x  # must not overflow
            a = dnb.array(x, dist=("block", "cyclic"))
            for options in thin(some, 2):
                books.compare(
                    (name, dtype, options),
                    lambda f=f, o=options, x=x: f.reduce(x, **o),
                    lambda f=f, o=options, a=a: f.reduce(a, **o),
                    rtol(name, "f4"),
                )
    same(np.subtract.reduce(dnb.arange(6.0)), np.subtract.reduce(np.arange(6.0)))


# -- ties and NaN ------------------------------------------------------------------------------


@pytest.mark.parametrize("dist", ["block", "cyclic", ("cyclic", 2), "replicated"], ids=str)
def test_ties_and_nans(books, dist):
    """The first of equal elements wins, and the first NaN beats everything."""
    some = [
        np.array([3.0, 1, 1, 3, 3, 1, 3]),
        np.zeros(9),
        np.array([1.0, np.nan, 3, np.nan, 0]),
        np.array([2, 1j, 1 - 1j, complex(np.nan, 1), 2]),
        np.array([2, 2 + 1j, 2 + 1j, 2]),
        np.array([-0.0, 0.0, -0.0]),
        np.array([np.inf, np.inf, -np.inf, -np.inf]),
        np.array([True, False, True, False]),
        np.array([5, 7, 7, 5], np.uint8),
    ]
    for x in some:
        a = dnb.array(x, dist=dist)
        for y, b in ((x, a), (x[::-1], a[::-1]), (x[1:4], a[1:4])):
            for f in (np.argmin, np.argmax, np.min, np.max):
                books.compare((f, y), lambda f=f, y=y: f(y), lambda f=f, b=b: f(b))
    grid = np.array([[1.0, 2, 1], [2, 2, 2], [1, np.nan, 1]])
    for y in (grid, grid.T, grid[::-1, ::-1], grid[:2]):
        b = dnb.array(y, dist=dist)
        for f, axis in itertools.product((np.argmin, np.argmax), (None, 0, 1)):
            for z, c in ((y, b), (y.T, b.T)):
                books.compare(
                    (f, z, axis),
                    lambda f=f, z=z, axis=axis: f(z, axis),
                    lambda f=f, c=c, axis=axis: f(c, axis),
                )


# -- empty -------------------------------------------------------------------------------------


def test_empty_arrays(books):
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 3)):
        x, a = np.zeros(shape), dnb.zeros(shape)
        for name in [*NAMES, "count_nonzero"]:
            f = getattr(np, name)
            for axis in (None, *range(len(shape))):
                books.compare(
                    (name, shape, axis),
                    lambda f=f, x=x, axis=axis: np.asarray(f(x, axis=axis)),
                    lambda f=f, a=a, axis=axis: f(a, axis=axis),
                )
    agree(lambda: np.max(np.zeros(0), initial=3.0), lambda: np.max(dnb.zeros(0), initial=3.0))
    agree(lambda: np.max(np.zeros((0, 2)), 1), lambda: np.max(dnb.zeros((0, 2)), 1))


def test_words_are_no_axes(session):
    for word in ("rows", b"rows"):
        with pytest.raises(TypeError, match=f"^axis: got {word!r}, expected an integer"):
            dnb.ones((3, 4)).mean(axis=word)


def test_scalars(books):
    x, a = np.array(2.5), dnb.array(2.5)
    for name in NAMES:
        f = getattr(np, name)
        for axis in (None, (), 0, -1):
            books.compare(
                (name, axis),
                lambda f=f, axis=axis: f(x, axis=axis),
                lambda f=f, axis=axis: f(a, axis=axis),
            )


@pytest.mark.parametrize("place", ["engines", "auto"])
def test_views_of_scalars_with_more_axes(session, place):
    """A base of no axes has no first one, of which parts would be laid out."""
    with setting(place=place):
        for number in (dnb.array(2.5), dnb.full(3, 2.5, dist="block").max()):
            for shape, axis in (((1,), 0), ((2, 3), None), ((2, 3), 0)):
                wide, numpys = dnb.broadcast_to(number, shape), np.broadcast_to(2.5, shape)
                for name in ("sum", "prod", "mean", "var", "max", "argmin"):
                    reduced = getattr(np, name)
                    same(reduced(wide, axis=axis), reduced(numpys, axis=axis))
        assert dnb.array(2.5).ravel().sum() == dnb.array(2.5).reshape(1, 1).sum() == 2.5


# -- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std"])
def test_dtype(books, name):
    f = getattr(np, name)
    for dtype in ("?", "i1", "i8", "u2", "f4", "f8", "c8"):
        x = positive((4, 5), dtype)
        a = dnb.array(x)
        for to in ("i8", "u1", "f4", "f8", "c16", "?", "U3"):
            if name in ("mean", "var", "std") and to in ("i8", "u1", "?"):
                continue  # what NumPy does with these is nothing to imitate
            books.compare(
                (dtype, to),
                lambda x=x, to=to: f(x, axis=0, dtype=to),
                lambda a=a, to=to: f(a, axis=0, dtype=to),
                32 * np.finfo("f4").eps,
            )


def test_out(books):
    x = positive((4, 5), "f8")
    a = dnb.array(x, dist="cyclic")
    kinds = ("f8", "f4", "i8", "i4", "c16", "?")
    outputs = [((5,), {"axis": 0}), ((4, 1), {"axis": 1, "keepdims": True}), ((), {})]
    outputs.append(((3,), {"axis": 0}))  # a wrong one
    for name in NAMES:
        f = getattr(np, name)
        for kind, (shape, options) in thin(itertools.product(kinds, outputs)):
            target = np.zeros(shape, kind)
            ours = dnb.zeros(shape, kind, dist="cyclic" if shape else None)
            error = outcome(lambda: f(x, out=target, **options))[1]
            found, other = outcome(lambda: f(a, out=ours, **options))
            label = f"{name} into {kind} {shape} {options}"
            if error is None:
                assert other is None, (label, other)
                assert found is ours, label
                books.add(ours, target, label, rtol(name, kind))
            else:
                # Of two errors NumPy may find the other one first.
                types = (TypeError, ValueError) if shape == (3,) else public(error)
                assert isinstance(other, types), (label, other, error)
    plain = np.zeros(5)
    assert np.sum(a, axis=0, out=plain) is plain
    np.testing.assert_array_equal(plain, np.sum(x, axis=0))


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max"])
def test_initial(books, name):
    f = getattr(np, name)
    for dtype in ("i4", "f8", "u1", "?"):
        x = positive((3, 4), dtype)
        a = dnb.array(x, dist="cyclic")
        some = ({}, {"axis": 1}, {"axis": 0, "keepdims": True})
        for initial, options in thin(itertools.product((0, 5, -1, 2.5, 300), some), 7):
            books.compare(
                (dtype, initial, options),
                lambda x=x, i=initial, o=options: f(x, initial=i, **o),
                lambda a=a, i=initial, o=options: f(a, initial=i, **o),
                rtol(name, "f8"),
            )


@pytest.mark.parametrize("name", [n for n in NAMES if n not in POSITIONS])
def test_where(books, name):
    f = getattr(np, name)
    for dtype in ("i4", "f8", "c8"):
        x = positive((4, 5), dtype)
        a = dnb.array(x, dist=("block", "cyclic"))
        for mask in (x.real > 0.9, (np.arange(5) % 2 == 0), np.ones((4, 1), bool), False):
            some = [{}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"initial": 2}]
            for options in thin(some, 3):
                if "initial" in options and name not in ("sum", "prod", "min", "max"):
                    continue
                ours = dnb.array(mask) if isinstance(mask, np.ndarray) else mask
                books.compare(
                    (dtype, mask, options),
                    lambda x=x, o=options, m=mask: np.asarray(f(x, where=m, **o)),
                    lambda a=a, o=options, m=ours: f(a, where=m, **o),
                    rtol(name, "f4" if dtype == "c8" else "f8"),
                )


@pytest.mark.parametrize("dtype", "i4 u8 f2 f4 f8 c8 c16 ?".split())
def test_means(books, dtype):
    x = positive((5, 4), dtype)
    for dist in (None, "cyclic", ("*", "block")):
        a = dnb.array(x, dist=dist)
        for axis, ddof, keep in thin(itertools.product((None, 0, 1), (0, 1, 5), (False, True))):
            options = {"axis": axis, "ddof": ddof, "keepdims": keep}
            for f in (np.var, np.std):
                books.compare(
                    (f, options),
                    lambda f=f, o=options: f(x, **o),
                    lambda f=f, a=a, o=options: f(a, **o),
                    64 * np.finfo(dtype if np.dtype(dtype).kind in "fc" else "f8").eps,
                )


@pytest.mark.usefixtures("session")
def test_wrong_arguments():
    x = np.arange(12.0).reshape(3, 4)
    a = dnb.array(x)
    for options in (
        {"axis": 2},
        {"axis": -3},
        {"axis": (0, 0)},
        {"axis": (0, 2)},
        {"axis": "x"},
        {"axis": 1.0},
        {"dtype": "nonsense"},
        {"where": np.ones((2, 2), bool)},
        {"where": x},
        {"where": np.ones((2, 3, 4), bool)},
        {"magic": 1},
    ):
        for name in ("sum", "min", "mean", "any", "std"):
            f = getattr(np, name)
            ours = {k: dnb.array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
            agree(lambda f=f, o=options: f(x, **o), lambda f=f, o=ours: f(a, **o))
    for f in (np.argmin, np.argmax):
        for axis in (2, (0, 1), "x"):
            agree(lambda f=f, axis=axis: f(x, axis), lambda f=f, axis=axis: f(a, axis))


def test_positions_of_complex_numbers_warn_of_nothing(session):
    x = dnb.array([1j, complex(0, np.nan), 2], dist="block")
    with np.errstate(invalid="raise"):
        assert int(x.argmax()) == int(x[::-1].argmin()) == 1


# -- layouts -----------------------------------------------------------------------------------


@given(st.data())
@examples(80)
def test_layouts_and_views(session, data):
    """Any view of any layout, any axes."""
    shape = data.draw(testing.shapes())
    dtype = data.draw(st.sampled_from(["i8", "f8", "u1", "?", "f4"]))
    x, a, *_ = pair(data.draw, shape, session.size, dtype)
    name = data.draw(st.sampled_from(["sum", "min", "max", "any", "argmin", "argmax", "mean"]))
    axes = st.none() | (st.integers(0, len(shape) - 1) if shape else st.none())
    if name not in POSITIONS:
        axes |= st.lists(
            st.integers(0, max(0, len(shape) - 1)), unique=True, max_size=len(shape)
        ).map(tuple)
    axis, keep = data.draw(axes), data.draw(st.booleans())
    f = getattr(np, name)
    agree(
        lambda: f(x, axis=axis, keepdims=keep),
        lambda: f(a, axis=axis, keepdims=keep),
        rtol(name, "f8" if dtype != "f4" else "f4"),
    )


@given(st.data())
@examples(30)
def test_results_are_operands(session, data):
    """A result meets its array again, wherever both are."""
    shape = data.draw(testing.shapes(max_dims=3).filter(len))
    x, a, *_ = pair(data.draw, shape, session.size, "i8")
    axis = data.draw(st.integers(0, len(shape) - 1))
    same(a - a.sum(axis=axis, keepdims=True), x - x.sum(axis=axis, keepdims=True))
    same((a + a.sum()).sum(axis), np.asarray((x + x.sum()).sum(axis)))
    y, b = x.sum(axis), a.sum(axis)
    b += 1
    same(b, np.asarray(y + 1))


@pytest.mark.usefixtures("session")
def test_large_float_sums_are_accurate():
    x = np.full(100_000, 0.1, np.float32)
    a = dnb.array(x)
    assert abs(float(a.sum()) - 10_000) < 0.01
    same(numbered_total(), np.asarray(numbered((317, 129)).sum()))


def numbered_total():
    return dnb.array(numbered((317, 129))).sum()


def test_what_is_combined_with_nothing_is_what_it_starts_with(session):
    """Not with what was in the memory before, such as NaN."""
    for shape, axis in (((0,), None), ((0, 3), 0), ((2, 0, 3), (1, 2)), ((3, 0), 0)):
        spoiled = [dnb.full(n, np.nan) for n in (1, 2, 3)]
        del spoiled
        x = np.zeros(shape)
        for name, start in (("max", 3.0), ("min", -1), ("sum", 2), ("prod", 5)):
            for keepdims in (False, True):
                options = {"axis": axis, "initial": start, "keepdims": keepdims}
                f = getattr(np, name)
                same(f(dnb.array(x), **options), f(x, **options))


def test_positions_of_many_columns(session):
    """Of more than 8,192 in a line of their own: NumPy's unravel_index of such a column errs."""
    x = (np.arange(9 * 9000) * 23 % 251).reshape(9, 9000)
    a = dnb.array(x, dist="block")
    for view, turned in ((a[:, :, None], x[:, :, None]), (a[:, ::-1, None], x[:, ::-1, None])):
        same(view.argmax(axis=0), np.ascontiguousarray(turned).argmax(axis=0))
        same(view.argmin(axis=0), np.ascontiguousarray(turned).argmin(axis=0))

"""Rules of the array API standard besides values of elements: dtypes, orders, shapes, exceptions.

What the standard leaves open is compared with NumPy where that matters, or left out. Where NumPy
deviates, distnb does what NumPy does (DEVIATIONS).
"""

import inspect
import itertools
import math
import operator

import array_api_strict as strict
import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree, no_warnings, outcome

pytestmark = pytest.mark.ways("cutoff")

NAN, INF = math.nan, math.inf
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
REAL, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
ALL = ["bool", *SIGNED, *UNSIGNED, *REAL, *COMPLEX]


def exactly(found, expected):
    """Compare elements with the signs of zeros."""
    found, expected = np.asarray(found), np.asarray(expected)
    np.testing.assert_array_equal(found, expected, strict=False)
    for part in (np.real, np.imag):
        zeros = part(expected) == 0
        np.testing.assert_array_equal(
            np.signbit(part(found)[zeros]), np.signbit(part(expected)[zeros])
        )


#: What NumPy and distnb do, and what the standard says.
DEVIATIONS = {
    "a sum starts at 0": (lambda xp: xp.sum(xp.asarray([-0.0, -0.0])), 0.0, -0.0),
    "an initial 0 is not added": (
        lambda xp: xp.cumulative_sum(xp.asarray([-0.0]), include_initial=True)[1],
        -0.0,
        0.0,
    ),
    "more correction than elements": (
        lambda xp: xp.var(xp.asarray([1.0, 3.0]), correction=2),
        INF,
        NAN,
    ),
    "Python's complex(nan)": (lambda xp: complex(xp.asarray(NAN)).imag, 0.0, NAN),
    "tuples for lists": (lambda xp: type(xp.meshgrid(xp.arange(2), xp.arange(2))), tuple, list),
    "also here": (lambda xp: type(xp.broadcast_arrays(xp.arange(2))), tuple, list),
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_deviations(session, name):
    call, ours, standards = DEVIATIONS[name]
    for xp in (np, dnb):
        with no_warnings():
            found = call(xp)
            found = found if isinstance(found, type) else float(found)
        assert repr(found) == repr(ours) != repr(standards)


# -- reductions and running results: each row is a case, split along either axis -------------------

ROWS = [
    [1.0, 2.0, 4.0, 8.0],
    [NAN, 1.0, 2.0, 3.0],
    [1.0, 2.0, 3.0, NAN],
    [INF, 1.0, 2.0, NAN],
    [INF, 1.0, 2.0, 3.0],
    [-INF, 1.0, -2.0, 3.0],
    [INF, -INF, 1.0, 1.0],
    [-0.0, -0.0, -0.0, -0.0],
    [-0.0, -0.0, 0.0, -0.0],
    [0.0, INF, 1.0, 1.0],
    [-1.0, 0.0, 2.0, 1.0],
]

REDUCED = {
    "max": [8, NAN, NAN, NAN, INF, 3, INF, None, None, INF, 2],
    "min": [1, NAN, NAN, NAN, 1, -INF, -INF, None, None, 0.0, -1],
    "mean": [3.75, NAN, NAN, NAN, INF, -INF, NAN, None, None, INF, 0.5],
    "sum": [15, NAN, NAN, NAN, INF, -INF, NAN, None, 0.0, INF, 2],
    "prod": [64, NAN, NAN, NAN, INF, INF, -INF, 0.0, -0.0, NAN, -0.0],
    "std": [math.sqrt(7.1875), NAN, NAN, NAN, NAN, NAN, NAN, 0.0, 0.0, NAN, math.sqrt(1.25)],
    "var": [7.1875, NAN, NAN, NAN, NAN, NAN, NAN, 0.0, 0.0, NAN, 1.25],
    "all": [True] * 7 + [False] * 4,
    "any": [True] * 7 + [False] * 2 + [True] * 2,
    "count_nonzero": [4] * 7 + [0, 0, 3, 3],
}


@pytest.mark.parametrize("name", REDUCED)
def test_reductions(session, name):
    """NaN counts as true; zeros of either sign are zero; which of them is larger is left open."""
    for dtype, dist in itertools.product(REAL, (("block", "*"), ("*", "block"))):
        x = dnb.asarray(np.array(ROWS, dtype), dist=dist)
        with no_warnings():
            found = getattr(dnb, name)(x, axis=1).to_numpy()
        for one, expected, row in zip(found, REDUCED[name], ROWS, strict=True):
            if expected is not None:
                rounded = np.asarray(expected, found.dtype) if found.dtype.kind == "f" else expected
                assert np.isclose(one, rounded, rtol=1e-6, atol=0, equal_nan=True), (row, one)
                assert expected != 0 or np.signbit(one) == np.signbit(expected), (row, one)


EMPTY = {"sum": 0, "prod": 1, "mean": NAN, "std": NAN, "var": NAN, "all": True, "any": False}


@pytest.mark.parametrize("name", EMPTY)
def test_reductions_of_nothing(session, name):
    with no_warnings():
        f = getattr(dnb, name)
        exactly(np.asarray(f(dnb.zeros(0))), EMPTY[name])
        exactly(f(dnb.zeros((0, 3)), axis=0).to_numpy(), [EMPTY[name]] * 3)
        assert f(dnb.zeros((0, 3)), axis=1, keepdims=True).shape == (0, 1)
    for extreme in (dnb.max, dnb.min, dnb.argmax, dnb.argmin):
        with pytest.raises(ValueError, match="(empty|zero-size)"):
            extreme(dnb.zeros(0))


@pytest.mark.parametrize("correction", [0, 1, 1.5])
def test_corrections(session, correction):
    x, expected = dnb.asarray([1.0, 3.0]), 2 / (2 - correction)
    found = dnb.stack([dnb.var(x, correction=correction), dnb.std(x, correction=correction)])
    np.testing.assert_allclose(found.to_numpy(), [expected, math.sqrt(expected)])


def test_truth_of_complex_numbers(session):
    x = dnb.asarray([1j, complex(NAN, 0), complex(0, INF), complex(0, -0.0), complex(-0.0, 0)])
    assert dnb.astype(x, dnb.bool).to_numpy().tolist() == [True] * 3 + [False] * 2
    assert bool(dnb.all(x[:3]))
    assert not bool(dnb.any(x[3:]))
    assert int(dnb.count_nonzero(x)) == 3


def test_running_results(session):
    """They are sums and products one after another."""
    with no_warnings():
        for row in ROWS:
            x = dnb.asarray(row, dist="block")
            exactly(dnb.cumulative_sum(x).to_numpy(), list(itertools.accumulate(row)))
            products = list(itertools.accumulate(row, operator.mul))
            exactly(dnb.cumulative_prod(x).to_numpy(), products)
    for f, first in ((dnb.cumulative_sum, 0), (dnb.cumulative_prod, 1)):
        exactly(f(dnb.zeros(0), include_initial=True).to_numpy(), [first])
        assert f(dnb.zeros((0, 2)), axis=0, include_initial=True).shape == (1, 2)


# -- dtypes ----------------------------------------------------------------------------------------


def promoted(a, b):
    """Return the dtype of the standard's tables, or None where they have none."""
    for family in (SIGNED, UNSIGNED, [*REAL]):
        if a in family and b in family:
            return max(a, b, key=family.index)
    if a in REAL + COMPLEX and b in REAL + COMPLEX:
        wide = "float64" in (a, b) or "complex128" in (a, b)
        return "complex128" if wide else "complex64"
    if {a[:3], b[:3]} == {"int", "uin"}:
        signed, unsigned = (a, b) if a in SIGNED else (b, a)
        place = max(SIGNED.index(signed), UNSIGNED.index(unsigned) + 1)
        return SIGNED[place] if place < 4 else None
    return a if a == b else None


@pytest.mark.parametrize("a", ALL)
def test_promotion(session, a):
    x = dnb.ones(2, dtype=a)
    for b in ALL:
        expected = promoted(a, b)
        if expected is None:
            continue
        y = dnb.ones(2, dtype=b)
        found = [dnb.result_type(x, y), dnb.result_type(a, b), dnb.concat([x, y]).dtype]
        found += [dnb.where(dnb.asarray([True, False]), x, y).dtype]
        found += [(x + y).dtype if a != "bool" else (x & y).dtype]
        assert {str(d) for d in found} == {expected}
        assert (x == y).dtype == bool
        assert dnb.can_cast(getattr(dnb, b), getattr(dnb, a)) == (expected == a)


@pytest.mark.parametrize("dtype", ALL)
def test_python_numbers_are_weak(session, dtype):
    x = dnb.ones(2, dtype=dtype)
    kind = x.dtype.kind
    numbers = {"b": [True], "i": [3], "u": [3], "f": [3, 2.5], "c": [3, 2.5, 1j]}[kind]
    for number in numbers:
        assert dnb.result_type(x, number) == dtype
        for found in (dnb.where(dnb.asarray([True, False]), x, number), dnb.clip(x, None, number)):
            if kind != "b":
                assert found.dtype == dtype
        found = (x & number, number | x) if kind == "b" else (x + number, number * x, x - number)
        assert {str(y.dtype) for y in found} == {dtype}
    if kind == "f":
        assert (x * 1j).dtype == ("complex64" if dtype == "float32" else "complex128")
    if kind in "iu":
        for number in (np.iinfo(dtype).max + 1, np.iinfo(dtype).min - 1):
            with pytest.raises(OverflowError):
                x + number


IN_PLACE = [getattr(operator, f"i{n}") for n in "add sub mul floordiv mod pow".split()]


@pytest.mark.parametrize("f", IN_PLACE, ids=lambda f: f.__name__)
def test_in_place_keeps_dtype_and_shape(session, f):
    """An operand of another kind raises, and leaves the array as it was."""
    for a, b in (("int8", "int64"), ("int64", "int8"), ("float32", "float64"), ("float64", "int8")):
        x = dnb.full(5, 3, dtype=a)
        y = f(x, dnb.full(5, 2, dtype=b))
        assert y is x
        assert str(x.dtype) == a
    complexes = [("float64", "complex64")] if f in IN_PLACE[:3] else []
    for a, b in (("int8", "float32"), ("uint8", "int8"), ("bool", "float64"), *complexes):
        x = dnb.ones(5, dtype=a)
        before = x.to_numpy()
        _, error = outcome(lambda x=x, b=b: f(x, dnb.ones(5, dtype=b)))
        assert isinstance(error, TypeError), (a, b, error)
        np.testing.assert_array_equal(x.to_numpy(), before)
    for shape in ((3, 5), (4,)):
        with pytest.raises(ValueError, match="broadcast"):
            f(dnb.ones(5), dnb.ones(shape))
    assert f(dnb.ones((3, 5)), dnb.ones(5)).shape == (3, 5)
    assert f(dnb.ones(5, dtype="float32"), 2.0).dtype == np.float32
    _, error = outcome(lambda: f(dnb.ones(5, dtype="int8"), 1.5))
    assert isinstance(error, TypeError)


def test_division_in_place_needs_floats(session):
    for dtype in ("int8", "uint64", "bool"):
        with pytest.raises(TypeError):
            operator.itruediv(dnb.ones(3, dtype=dtype), 2)


def test_astype(session):
    x = dnb.asarray([1.5, -1.5, -0.0, NAN])
    assert dnb.astype(x, dnb.bool).to_numpy().tolist() == [True, True, False, True]
    exactly(dnb.astype(x[:3], dnb.int8).to_numpy(), [1, -1, 0])  # towards zero
    exactly(dnb.astype(x, dnb.float32, device="cpu").to_numpy(), [1.5, -1.5, -0.0, NAN])
    exactly(dnb.astype(dnb.asarray([True, False]), dnb.complex64).to_numpy(), [1, 0])
    with pytest.raises(ValueError, match="device"):
        dnb.astype(x, dnb.float32, device="gpu")


KINDS = {
    "bool": ["bool"],
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind):
    info = dnb.__array_namespace_info__()
    assert sorted(info.dtypes(kind=kind)) == sorted(KINDS[kind])
    for name in ALL:
        dtype = getattr(dnb, name)
        assert dnb.isdtype(dtype, kind) == (name in KINDS[kind])
        assert dnb.isdtype(dtype, (kind, dnb.bool)) == (name in KINDS[kind] or name == "bool")
        assert dnb.isdtype(dtype, dtype)
        assert not dnb.isdtype(dtype, ())


def test_inspection():
    info = dnb.__array_namespace_info__()
    assert set(info.dtypes(kind=("bool", "real floating"), device="cpu")) == {"bool", *REAL}
    defaults = {"real floating": "float64", "complex floating": "complex128"}
    defaults |= {"integral": "int64", "indexing": "int64"}
    assert {k: str(v) for k, v in info.default_dtypes(device="cpu").items()} == defaults
    assert set(info.capabilities()) == {
        *("boolean indexing", "data-dependent shapes", "max dimensions")
    }
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="floating")
    for call in (info.dtypes, info.default_dtypes):
        with pytest.raises(ValueError, match="[Dd]evice"):
            call(device="gpu")


# -- orders, positions, distinct elements ------------------------------------------------------------

TIES = [3.0, NAN, -0.0, 0.0, INF, -INF, 1.0, NAN, 0.0, -0.0, 1.0, 3.0]
ASCENDING = [5, 2, 3, 8, 9, 6, 10, 0, 11, 4, 1, 7]
DESCENDING = [1, 7, 4, 0, 11, 6, 10, 2, 3, 8, 9, 5]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("descending", [False, True])
def test_orders(session, dtype, descending):
    """Equal elements stay in order, zeros of both signs among them."""
    x = dnb.asarray(TIES, dtype=dtype)
    order = DESCENDING if descending else ASCENDING
    assert dnb.argsort(x, descending=descending).to_numpy().tolist() == order
    found = dnb.sort(x, descending=descending, stable=True)
    exactly(found.to_numpy(), x.to_numpy()[order])
    # As NumPy's, sort is not stable if nothing is said; only zeros can tell.
    np.testing.assert_array_equal(
        dnb.sort(x, descending=descending).to_numpy(), x.to_numpy()[order]
    )


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "complex128"])
def test_argsort_is_stable(session, dtype):
    """If nothing is said; on the engines and in the notebook."""
    values = (np.arange(600) * 7 % 5).astype(dtype)
    for descending in (False, True):
        keys = values.real.astype(int) * (-1 if descending else 1)
        found = dnb.argsort(dnb.asarray(values), descending=descending)
        np.testing.assert_array_equal(found.to_numpy(), np.argsort(keys, kind="stable"))
    rows = values.reshape(3, 200)
    found = dnb.asarray(rows).argsort(axis=1)
    np.testing.assert_array_equal(found.to_numpy(), np.argsort(rows, axis=1, kind="stable"))


def test_unique(session):
    """Each NaN is an element of its own, zeros are one."""
    x = dnb.asarray([[NAN, 0.0, -0.0], [1.0, NAN, INF], [-INF, 1.0, NAN]])
    found = dnb.unique_all(x)
    assert [str(y.dtype) for y in found] == ["float64", "int64", "int64", "int64"]
    np.testing.assert_array_equal(found.values.to_numpy(), [-INF, 0, 1, INF, NAN, NAN, NAN])
    assert found.counts.to_numpy().tolist() == [1, 2, 2, 1, 1, 1, 1]
    assert found.indices.to_numpy().tolist() == [6, 1, 3, 5, 0, 4, 8]
    assert found.inverse_indices.to_numpy().tolist() == [[4, 1, 1], [2, 5, 3], [0, 2, 6]]
    for part, name in ((dnb.unique_counts, "counts"), (dnb.unique_inverse, "inverse_indices")):
        values, other = part(x)
        np.testing.assert_array_equal(values.to_numpy(), found.values.to_numpy())
        np.testing.assert_array_equal(other.to_numpy(), getattr(found, name).to_numpy())
    np.testing.assert_array_equal(dnb.unique_values(x).to_numpy(), found.values.to_numpy())
    z = dnb.asarray([complex(NAN, 1), complex(NAN, 1), complex(1, NAN), -0j, 0j, 1j])
    assert sorted(dnb.unique_counts(z).counts.to_numpy().tolist()) == [1, 1, 1, 1, 2]
    for shape in ((0, 3), ()):
        shapes = [y.shape for y in dnb.unique_all(dnb.zeros(shape))]
        n = math.prod(shape)
        assert shapes == [(n,), (n,), shape, (n,)]


def test_nonzero(session):
    x = dnb.asarray([[0.0, -0.0, NAN], [INF, 0.0, -1.0]])
    found = dnb.nonzero(x)
    assert isinstance(found, tuple)
    assert [y.to_numpy().tolist() for y in found] == [[0, 1, 1], [2, 0, 2]]
    assert dnb.nonzero(dnb.zeros((0, 2)))[1].shape == (0,)
    with pytest.raises(ValueError, match="0d"):
        dnb.nonzero(dnb.asarray(1))


def test_extremes_by_position(session):
    """The first of equal ones; NaN is both the largest and the smallest."""
    x = dnb.asarray([[1.0, 2.0, 2.0, 1.0], [0.0, -0.0, 0.0, -0.0], [1.0, NAN, INF, NAN]])
    for dist in (("block", "*"), ("*", "cyclic")):
        y = x.redistribute(dist)
        assert dnb.argmax(y, axis=1).to_numpy().tolist() == [1, 0, 1]
        assert dnb.argmin(y, axis=1).to_numpy().tolist() == [0, 0, 1]


def test_searchsorted(session):
    x, v = dnb.asarray([-1.0, 0.0, 0.0, 2.0]), dnb.asarray([[-0.0, 0.0], [INF, -INF], [2.0, 1.0]])
    for side, expected in (("left", [[1, 1], [4, 0], [3, 3]]), ("right", [[3, 3], [4, 0], [4, 3]])):
        found = dnb.searchsorted(x, v, side=side)
        assert found.to_numpy().tolist() == expected
        assert found.dtype == np.int64
        assert dnb.searchsorted(dnb.zeros(0), v, side=side).to_numpy().tolist() == [[0, 0]] * 3
        assert dnb.searchsorted(x, dnb.zeros((0, 2)), side=side).shape == (0, 2)
    unsorted, sorter = dnb.asarray([3, 1, 2]), dnb.asarray([1, 2, 0])
    found = dnb.searchsorted(unsorted, dnb.asarray([2, 3, 0]), sorter=sorter)
    assert found.to_numpy().tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match="side"):
        dnb.searchsorted(x, v, side="middle")


def test_repeat_and_take(session):
    x = dnb.reshape(dnb.arange(6), (2, 3))
    assert dnb.repeat(x, 0).shape == (0,)
    none = dnb.repeat(dnb.zeros(0), dnb.zeros(0, dtype=dnb.int64))
    assert none.shape == (0,)
    found = dnb.repeat(x, dnb.asarray([2, 0, 1]), axis=1)
    assert found.to_numpy().tolist() == [[0, 0, 2], [3, 3, 5]]
    found = dnb.take(x, dnb.asarray([-1, 0, -1]), axis=1)
    assert found.to_numpy().tolist() == [[2, 0, 2], [5, 3, 5]]
    assert dnb.take(x, dnb.zeros(0, dtype=dnb.int64), axis=0).shape == (0, 3)
    for call in (
        lambda: dnb.repeat(x, -1),
        lambda: dnb.repeat(x, dnb.asarray([1, 2, 3, 4]), axis=1),
        lambda: dnb.take(x, dnb.asarray([0]), axis=2),
        lambda: dnb.take(x, dnb.asarray([3]), axis=1).to_numpy(),
        lambda: dnb.take(x, dnb.asarray([-4]), axis=1).to_numpy(),
        lambda: dnb.take_along_axis(x, dnb.asarray([[3], [0]])).to_numpy(),
    ):
        with pytest.raises((ValueError, IndexError)):
            call()


# -- arrays as Python objects -------------------------------------------------------------------------


def test_indices_out_of_range(session):
    x = dnb.reshape(dnb.arange(6), (2, 3))
    for key in (2, -3, (0, 3), (0, -4), (0, 0, 0), (..., ...), 1.0, "a", slice(None, None, "a")):
        agree(lambda k=key: np.ones((2, 3))[k], lambda k=key: x[k])
    for key in (dnb.asarray([2]), (0, dnb.asarray([-4])), dnb.asarray([True])):
        with pytest.raises(IndexError):
            x[key].to_numpy()
    with pytest.raises(IndexError):
        x[2, 0] = 1
    assert x[5:9, ::-1].shape == (0, 3)


NUMBERS = [2, 2.5, -0.0, NAN, INF, 1j, complex(0, NAN), True]


@pytest.mark.parametrize(
    "call", [bool, int, float, complex, operator.index], ids=lambda f: f.__name__
)
def test_conversions(session, call):
    """Of arrays without axes; others raise, as NumPy's do."""
    for value in (*NUMBERS, [1, 2], [], [[3.0]]):
        x = np.asarray(value)
        expected, error = outcome(lambda x=x: call(x))
        found, other = outcome(lambda x=x: call(dnb.asarray(x)))
        assert type(error) is type(other), value
        assert repr(found) == repr(expected)
    errors = {
        int: {INF: OverflowError, NAN: ValueError, 1j: TypeError},
        float: {1j: TypeError},
        operator.index: {2.5: TypeError, 1j: TypeError},
    }
    for value, error in errors.get(call, {}).items():
        with pytest.raises(error):
            call(dnb.asarray(value))


def test_python_protocols(session):
    x = dnb.asarray([10, 20])
    assert [(e.shape, e.dtype, int(e)) for e in x] == [((), x.dtype, 10), ((), x.dtype, 20)]
    assert type(x.size) is int
    assert all(type(n) is int for n in x.shape)
    assert list(range(dnb.asarray(2))) == [0, 1]
    with pytest.raises(TypeError):
        hash(x)
    for version in ("2021.12", "2022.12", "2023.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is dnb


def methods():
    own = vars(type(strict.asarray(1)))
    names = (n for n, f in own.items() if inspect.isfunction(f))
    return [n for n in names if n.startswith("__") or n == "to_device"]


@pytest.mark.parametrize("name", methods())
def test_methods(name):
    """Each method of the standard's arrays is there, and takes what it takes there."""
    own = {"__new__", "__array__", "__init__", "__buffer__", "__hash__", "__str__", "__repr__"}
    if name in own or not hasattr(np.ndarray, name):
        return
    wanted = inspect.signature(getattr(strict.asarray(1), name)).parameters
    found = inspect.signature(getattr(dnb.DistArray, name)).parameters
    for parameter in wanted.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert parameter.name in found
    assert len(found) > len([p for p in wanted.values() if p.kind is not p.KEYWORD_ONLY])


# -- exchange and copies --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stream": None, "max_version": None, "dl_device": None, "copy": None},
        {"max_version": (1, 0)},
        {"max_version": (0, 8)},
        {"dl_device": (1, 0)},
        {"copy": True},
    ],
)
def test_export(session, options):
    capsule = dnb.arange(4.0).__dlpack__(**options)
    assert ("versioned" in str(capsule)) == (options.get("max_version") == (1, 0))


def test_exchange(session):
    x = dnb.arange(4.0)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    if x.here is None:
        with pytest.raises(BufferError, match="copy=False"):
            x.__dlpack__(copy=False)
    else:
        near = np.from_dlpack(x, copy=False)
        x[1] = 5
        x += dnb.ones(4, dist="block")  # which is brought to it
        assert near.tolist() == [1, 6, 3, 4]
        near[:] = np.arange(4.0)
        assert (dnb.zeros(4, dist="block") + x).to_numpy().tolist() == [0, 1, 2, 3]
    assert dnb.from_dlpack(x, copy=False) is x
    copied = dnb.from_dlpack(x, copy=True)
    copied[0] = 9.0
    assert float(x[0]) == 0.0
    assert dnb.from_dlpack(strict.arange(3), device="cpu").to_numpy().tolist() == [0, 1, 2]
    np.testing.assert_array_equal(np.asarray(strict.from_dlpack(x)._array), np.arange(4.0))
    with pytest.raises(ValueError, match="device"):
        dnb.from_dlpack(x, device="gpu")
    with pytest.raises(AttributeError):
        dnb.from_dlpack([1, 2])
    assert x.to_device("cpu", stream=None) is x
    with pytest.raises(ValueError, match="device"):
        x.to_device("gpu")


def test_copies(session):
    """What asarray makes of anything but a DistArray is a copy, whatever is asked."""
    numpys = np.arange(3.0)
    for options in ({}, {"copy": True}, {"copy": None, "device": "cpu"}):
        x = dnb.asarray(numpys, **options)
        numpys[0] += 1.0
        assert float(x[0]) == numpys[0] - 1.0
    for given in (numpys, [1, 2], 2.5, memoryview(b"ab")):
        with pytest.raises(ValueError, match="copy"):
            dnb.asarray(given, copy=False)
    buffered = dnb.asarray(memoryview(b"ab"))
    assert (str(buffered.dtype), buffered.to_numpy().tolist()) == ("uint8", [97, 98])
    x = dnb.asarray([1.0])
    assert dnb.asarray(x, dtype=dnb.float64, copy=False) is x
    y = dnb.asarray(x, copy=True)
    y[0] = 5.0
    assert float(x[0]) == 1.0


# -- linear algebra and Fourier transforms: dtypes and shapes, which the notebook knows --------------

MATRICES = """cholesky det diagonal eigh eigvalsh inv matrix_norm matrix_rank matrix_transpose pinv qr
    slogdet svd svdvals trace vector_norm""".split()
TRANSFORMS = {
    "complex": "fft ifft fftn ifftn irfft irfftn hfft fftshift ifftshift".split(),
    "float": "rfft rfftn ihfft fftshift ifftshift".split(),
}


def specs(found):
    """Return dtypes and shapes of what a call returns, and the names of its parts."""
    if isinstance(found, tuple):
        return getattr(found, "_fields", None), [specs(part) for part in found]
    return str(found.dtype).rpartition(".")[-1], found.shape


@pytest.mark.parametrize("dtype", REAL + COMPLEX)
def test_specs_of_extensions(session, dtype):
    for shape in ((2, 3, 3), (0, 3, 3)):
        x = np.broadcast_to(np.eye(3, dtype=dtype) * 2, shape).copy()
        ours, strictly = dnb.asarray(x), strict.asarray(x)
        for name in MATRICES:
            expected = specs(getattr(strict.linalg, name)(strictly))
            assert specs(getattr(dnb.linalg, name)(ours)) == expected, (name, shape)
        for name in TRANSFORMS[dtype.rstrip("0123456789")]:
            if shape[0]:
                expected = specs(getattr(strict.fft, name)(strictly))
                assert specs(getattr(dnb.fft, name)(ours)) == expected, (name, shape)

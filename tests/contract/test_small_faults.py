"""What small steps on arrays in reach did wrong once, or must not do: each a kind, not a case."""

import operator
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import distnb as dnb
from distnb.engines.fusion.compiler import short_turns
from tests.contract.support import numbered, outcome, same, setting

pytestmark = [pytest.mark.ways("one", "four", "started"), pytest.mark.usefixtures("notebook")]

DISTS = [None, "block", "cyclic"]


def reached(data, dist):
    x = dnb.array(np.array(data), dist=dist)
    abs(x[(0,) * x.ndim]).item()
    return x


@pytest.mark.parametrize("dist", DISTS)
@pytest.mark.parametrize("op", ["sum", "prod", "mean", "nansum"])
def test_results_with_their_axes_can_be_written(op, dist):
    for dtype in "fdD":
        data = numbered((2, 3)).astype(dtype) + 1
        found = []
        for xp, x in ((np, data), (dnb, reached(data, dist))):
            h = getattr(xp, op)(x, keepdims=True)
            h += 1
            k = h.copy()
            h[0] = 2
            h.reshape(-1)[0] *= 4
            found += [h, k]
        same(found[2], found[0])
        np.testing.assert_allclose(found[3].to_numpy(), found[1], rtol=1e-6)


def test_nothing_is_put_into_an_empty_array():
    """NumPy says so before it looks whether there is anything to put."""
    for cutoff in (0, 1 << 16):
        with setting(cutoff=cutoff):
            for values in ([], [1.0], dnb.zeros((3, 0))):
                with pytest.raises(IndexError, match="empty array"):
                    dnb.put(dnb.zeros((3, 0)), [-1], values)
            assert dnb.put(dnb.zeros((3, 0)), [], [1.0]) is None


def test_results_of_no_axes_can_be_read():
    with setting(cutoff=0):
        a = dnb.array(np.array(2.0))
        assert a.tolist() == 2.0
        assert dnb.average(a, keepdims=True).tolist() == 2.0
        assert dnb.sum(a, keepdims=True).tolist() == 2.0
        assert float(dnb.nanvar(a)) == 0.0


@pytest.mark.parametrize("dist", DISTS)
def test_what_was_stored_when_an_error_came_is_stored_once(dist):
    def run(xp, make):
        x, found = make([np.nan, 1.5, 2.5]), []
        i = x.view("i8")
        j, v = make([1, 2, 0]), make([np.nan, 0.0, 1.0])
        f = make([1.0, 2.0]).astype("f4")
        with np.errstate(invalid="raise", over="raise"):
            for write in (
                lambda: operator.setitem(i, ..., x),
                lambda: operator.setitem(j, j, v),
                lambda: operator.setitem(f, slice(None), make([1e300, 3.0])),
            ):
                try:
                    write()
                except FloatingPointError as error:
                    found.append(str(error))
        return found, i.tolist(), f.tolist()

    assert run(dnb, lambda data: reached(data, dist)) == run(np, np.array)


@pytest.mark.parametrize("dist", DISTS)
def test_what_a_users_function_raises_of_floating_point_errors_comes_once(dist):
    def run(make):
        found = []
        for step in (
            lambda x, y: x / y,
            lambda x, y: np.sqrt(-x),
            lambda x, y: (x + 1e308) @ (x + 1e308),
            lambda x, y: np.float64(1) / y,
            lambda x, y: operator.setitem(x.astype("f4"), slice(None), x + 1e300),
        ):
            calls = []

            def once(kind, flag, calls=calls):
                calls.append(kind)
                if len(calls) == 1:
                    raise KeyError(kind)

            x, y = make([1.0, 2.0]), make([0.0, 1.0])
            with np.errstate(all="call", call=once):
                try:
                    step(x, y)
                except KeyError as error:
                    calls.append(error.args)
            found.append(calls)
        return found

    assert run(lambda data: reached(data, dist)) == run(np.array)


@np.errstate(all="warn")
def test_warnings_are_told_of_once_and_never_at_a_line_of_ours():
    x, y = reached([0.0, 1.0], None), reached([0.0, 0.0], None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.filterwarnings("error", message="invalid.*")
        with pytest.raises(RuntimeWarning, match="invalid"):
            x / y
    assert len(found) <= 1
    big = reached([1e200, 1e300], None)
    for step in (
        lambda: np.multiply.outer(big, big),
        lambda: dnb.linalg.norm(reached([1e300, 1e300], "block")),
        lambda: dnb.vdot(big, big),
        lambda: big**3,
    ):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            step()
        assert all("distnb" not in w.filename.replace(__file__, "") for w in found)


def test_an_output_is_given_as_numpy_wants_it():
    x, y, z = (reached([1.0, 5.0, 3.0], dist) for dist in (None, "block", "block"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.maximum(x, y, out=z) is z
        assert np.minimum(x, 2.0, out=x) is x
        same(np.min(y, where=y > 2, initial=4.0), np.float64(3.0))
    same(z, np.array([1.0, 5.0, 3.0]))
    same(x, np.array([1.0, 2.0, 2.0]))


class Three:
    """Something that may be another number later."""

    value = 3

    def __index__(self):
        return self.value


@pytest.mark.parametrize("dist", DISTS)
def test_a_view_is_of_what_its_index_was(dist):
    for make in (lambda: np.array(3), lambda: dnb.array(3), Three):
        x, k = reached(np.arange(10.0), dist), make()
        v = x[:k]
        w = x[k:][1:]
        if isinstance(k, Three):
            k.value = 7
        else:
            k[...] = 7
        with setting(place="engines"):
            same(v * 2, np.arange(3.0) * 2)
            same(w * 2, np.arange(4.0, 10) * 2)


@pytest.mark.parametrize("dist", DISTS)
def test_layouts_that_build_on_each_other_in_a_long_loop(dist):
    x, data = reached(np.arange(8.0), dist), np.arange(8.0)
    order = dnb.array([1, 2, 3, 4, 5, 6, 7, 0])
    for _ in range(40):
        x = dnb.roll(x, 1)
        x = dnb.concatenate([x[1:], x[:1]])[order]
        data = np.roll(data, 1)
        data = np.concatenate([data[1:], data[:1]])[order.to_numpy()]
    same(x, data)


def test_sums_of_rows_of_what_has_strides():
    with setting(cutoff=0):
        c = dnb.arange(120.0).reshape(3, 8, 5)
        v = c[1:, :, 1:4].reshape(-1, 3)[::-3, 1:]
        w = np.arange(120.0).reshape(3, 8, 5)[1:, :, 1:4].reshape(-1, 3)[::-3, 1:]
        assert [float(r.sum()) for r in v] == [float(r.sum()) for r in w]


def test_turns_of_threads_are_what_they_were():
    before = sys.getswitchinterval()
    with short_turns():
        with short_turns():
            assert sys.getswitchinterval() < before
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before


@pytest.mark.parametrize("dist", DISTS)
@pytest.mark.parametrize("key", [slice(None), 1, [0, 2]], ids=str)
@pytest.mark.parametrize(
    "value",
    [None, Fraction(1, 4), Decimal("1.5"), np.array(7, object), np.str_("2"), {1}],
    ids=repr,
)
def test_what_numpy_stores_of_objects(dist, key, value):
    for dtype in (float, complex, int, bool):
        x, data = reached(np.arange(3).astype(dtype), dist), np.arange(3).astype(dtype)
        raised = []
        for target in (x, data):
            try:
                target[key] = value
                raised.append(None)
            except (TypeError, ValueError) as error:
                raised.append(type(error))
        assert raised[0] == raised[1]
        same(x, data)


@pytest.mark.parametrize("dist", DISTS)
def test_arguments_of_reductions(dist):
    x, data = reached(np.arange(6.0).reshape(2, 3), dist), np.arange(6.0).reshape(2, 3)
    for op in ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax"):
        for args, options in [
            ((), {}),
            ((1,), {}),
            ((), {"axis": 0}),
            ((-1,), {"keepdims": True}),
            ((None,), {"keepdims": False}),
            ((), {"axis": 1, "keepdims": True}),
        ]:
            same(getattr(x, op)(*args, **options), getattr(data, op)(*args, **options))
        for args, options in [((0,), {"axis": 1}), ((), {"axes": 0}), ((2,), {}), (("a",), {})]:
            for target in (x, data):
                with pytest.raises((TypeError, ValueError)):
                    getattr(target, op)(*args, **options)


@pytest.mark.parametrize("dist", DISTS)
def test_segments_of_one_element_keep_it(dist):
    """Reductions begin with the identity where all of an axis is one segment, and nowhere else."""
    for data in (np.arange(6.0) - 3, np.array([-3.0]), np.array([[-3.0, -0.0], [1, -2]])):
        x = reached(data, dist)
        for starts in ([0], [0, len(data) - 1], [len(data) - 1, 0, 0]):
            same(np.hypot.reduceat(x, starts), np.hypot.reduceat(data, starts))
        for run in (np.hypot.reduce, np.logaddexp.reduce, np.logaddexp2.reduce):
            for found, wanted in ((run(x), run(data)), (run(x[:1]), run(data[:1]))):
                np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-15)
                assert not np.signbit(np.asarray(found)[wanted == 0]).any()


@np.errstate(all="ignore")
@pytest.mark.parametrize("dist", DISTS)
def test_means_of_what_a_mask_leaves_warn_where_that_is_nothing(dist):
    found = []
    for x in (np.arange(6.0).reshape(2, 3), reached(np.arange(6.0).reshape(2, 3), dist)):
        for step in (
            lambda x: np.mean(x, axis=0, where=x > 4),
            lambda x: np.var(x, axis=0, where=x > 4),
            lambda x: np.std(x, axis=1, where=x > 1, ddof=1),
            lambda x: np.mean(x, axis=1, where=x > -1),
            lambda x: np.var(x, ddof=6),
            lambda x: np.mean(x[:0]),
        ):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                value = np.asarray(step(x)).tolist()
            found.append((str(value), {str(w.message) for w in told}))
    assert found[:6] == found[6:]


@pytest.mark.parametrize("dist", DISTS)
def test_bytes_are_those_of_memory(dist):
    for data in (np.arange(3), np.array([[1.5]]), np.array([1, 2], "u1"), np.ones((2, 3), "F")):
        assert bytes(reached(data, dist)) == bytes(data)
        assert int.from_bytes(reached(data, dist)) == int.from_bytes(data.tobytes())
    assert bytes(dnb.array(3)) == bytes(np.array(3))


ALONG = [
    lambda xp, f, a, out: f.reduce(a, 0, None, out),
    lambda xp, f, a, out: f.reduce(a, axis=0, out=(out,), initial=2),
    lambda xp, f, a, out: f.reduce(a, 1, dtype=float),
    lambda xp, f, a, out: f.accumulate(a, 1, None, a),
    lambda xp, f, a, out: f.accumulate(a, 0),
    lambda xp, f, a, out: f.reduce([a[0], a[1]]),
    lambda xp, f, a, out: f.accumulate((a[0], a[1]), axis=1),
    lambda xp, f, a, out: f.at(a, ([1, 1, 0], [0, 0, 2]), out),
    lambda xp, f, a, out: f.at(a, 0, 2),
    lambda xp, f, a, out: f.reduce(a, 0, None, out, axis=0),
    lambda xp, f, a, out: f.reduce(a, 3, None, out),
    lambda xp, f, a, out: f.reduce(a, 1, None, out),
    lambda xp, f, a, out: f.at(a, 9, 1),
]


@pytest.mark.cases(8)
@pytest.mark.parametrize("dist", [None, "block"])
@pytest.mark.parametrize("step", ALONG)
def test_methods_of_ufuncs_write_where_numpys_do(step, dist):
    for ufunc in (np.add, np.maximum, np.logical_or, np.subtract):
        for dtype in "diD":
            data = numbered((2, 3)).astype(dtype)
            into = np.ones(3, dtype)
            a, out = reached(data, dist), reached(into, dist)
            expected, refused = outcome(lambda: step(np, ufunc, data, into))
            found, raised = outcome(lambda: step(dnb, getattr(dnb, ufunc.__name__), a, out))
            assert (raised is None) == (refused is None), (raised, refused)
            same(a, data)
            same(out, into)
            assert (found is out) == (expected is into)
            assert (found is a) == (expected is data)
            if expected is not None:
                same(found, expected)


@pytest.mark.parametrize("dist", DISTS)
def test_nan_to_num_writes_into_its_argument(dist):
    for dtype in "fdFD":
        data = np.array([[1, np.nan, np.inf], [-np.inf, 0, 2]]).astype(dtype)
        x = reached(data, dist)
        view, shown = x[:, 1:], data[:, 1:]
        assert dnb.nan_to_num(view, copy=False, nan=7.0, posinf=3.0) is view
        np.nan_to_num(shown, copy=False, nan=7.0, posinf=3.0)
        same(x, data)


def test_results_that_numpy_shares_with_operands_are_views():
    """And no others: ``split`` has views of an array, ``nonzero`` a matrix of its own."""
    a = dnb.arange(12.0)
    for part in dnb.split(a, 3):
        part += 1
    assert a.sum() == 78
    rows, columns = dnb.nonzero(dnb.array([[0, 1], [2, 0]]))
    rows += 5
    assert columns.tolist() == [1, 0]
    x, y = dnb.meshgrid(a, a[:2], copy=False)
    a[0] = 40
    assert (x[0, 0], y[0, 0], y.shape) == (40, 40, (2, 12))
    assert dnb.squeeze(a[None, :2, None]).shape == (2,)
    assert dnb.squeeze(a[:1]).shape == ()
    with setting(cutoff=1 << 16):
        i, j = dnb.fromfunction(lambda *each: each, (2, 3), dtype=int)
    assert i.base is j.base is not None
    i += 5
    same(i, np.indices((2, 3))[0] + 5)
    same(j, np.indices((2, 3))[1])


@pytest.mark.parametrize("kind", ["normal", "standard_normal", "gamma", "poisson", "exponential"])
def test_few_numbers_are_the_first_of_many(kind):
    args = (3.0, 2.0) if kind in ("normal", "gamma") else () if kind[0] == "s" else (3.0,)
    few, many = (getattr(dnb.random.default_rng(8), kind)(*args, n) for n in (5, 2000))
    assert few.tolist() == many[:5].tolist()
    assert getattr(dnb.random.default_rng(8), kind)(*args) == many[0]


@pytest.mark.parametrize("dist", ["block", "cyclic"])
def test_reductions_into_an_output_in_reach_ask_no_engine(session, dist):
    """And they are those without: in the dtype of both, in the order of engines."""
    for op, dtype, kind in (("sum", "f8", "f8"), ("sum", "f4", "f8"), ("prod", "i4", "f8"),
                            ("max", "f8", "f8"), ("sum", "f8", "i8"), ("any", "f8", "f8")):  # fmt: skip
        data = (numbered((6, 5)) / 7).astype(dtype)
        x, out = reached(data, dist), reached(np.ones(5, kind), dist)
        # NumPy combines elements in the dtype of both; an output of integers takes what comes of it
        both = {} if op in ("max", "any") else {"dtype": np.result_type(dtype, kind)}
        usual = getattr(x, op)(axis=0, **both)
        session.flush()
        before = session.recorder.recorded
        assert getattr(dnb, op)(x, axis=0, out=out) is out
        assert session.recorder.recorded == before
        same(out, usual.to_numpy().astype(kind))


@pytest.mark.parametrize("place", ["notebook", "engines"])
@pytest.mark.parametrize("op", ["subtract", "maximum", "logaddexp", "add"])
def test_an_output_of_another_dtype_holds_what_a_reduction_begins_with(op, place):
    """As NumPy: what is first is cast to its dtype, and what comes of it at the end."""
    ufunc = getattr(np, op)
    for dtype, kind in (("f8", "i8"), ("i8", "u1"), ("f8", "f4")):
        data = (numbered((5, 4)) * 37.4 - 290.7).astype(dtype)
        for options in ({"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": 0, "initial": 300.7}):
            shape = ufunc.reduce(data, axis=options["axis"], keepdims="keepdims" in options).shape
            expected = np.zeros(shape, kind)
            with np.errstate(all="ignore"):
                ufunc.reduce(data, out=expected, **options)
                with setting(place=place):
                    x, out = dnb.array(data, dist="block"), dnb.array(np.zeros(shape, kind))
                    assert ufunc.reduce(x, out=out, **options) is out
                    same(out, expected)


@pytest.mark.parametrize("op", ["subtract", "hypot", "less"])
def test_reductions_into_an_output_look_at_axes_before_loops(op):
    for dtype in "?D":
        data, into = np.ones((2, 3), dtype), np.ones(3, dtype)
        for method, args in (("reduce", (2,)), ("reduceat", ([0], 2)), ("accumulate", (2,))):
            run = getattr(getattr(np, op), method)
            x, out = dnb.array(data, dist="block"), dnb.array(into)
            refused = outcome(lambda run=run, args=args: run(data, *args, out=into))[1]
            raised = outcome(lambda run=run, args=args: run(x, *args, out=out))[1]
            assert type(raised) is type(refused) is np.exceptions.AxisError

"""Who computes, engines or the notebook on the same memory, changes no bit, dtype, layout or alias."""

import functools
import gc
import itertools
import operator
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.lib.stride_tricks import sliding_window_view as windows_of

import distnb as dnb
from distnb.client.array import distarray
from distnb.client.handle import array
from distnb.client.linalg import factorizations, products
from distnb.client.math import composed, ufuncs
from distnb.client.reach import admission, pace, small_steps, whole_functions
from distnb.client.recovery import shared_memory
from distnb.client.session import large_steps
from distnb.ops import table
from distnb.testing import assert_same_as_numpy
from tests.contract.support import alike, numbered, same, setting

pytestmark = [pytest.mark.ways("one", "four", "started"), pytest.mark.usefixtures("notebook")]


def views(a):
    """Return views of an array, by name."""
    found = {"all": a, "later": a[1:], "back": a[::-1], "second": a[::2], "turned": a.T}
    if a.ndim > 1:
        found |= {"row": a[1], "column": a[:, 1], "middle": a[..., 1:3], "rows": a[1:3]}
    return found


SHAPES = [(7,), (40000,), (300, 31), (3, 20000), (3, 4, 5)]
DISTS = [None, "cyclic", "replicated", ("engine", 0)]

STEPS = {
    "x + 2": lambda x: x + 2.5,
    "1 / x": lambda x: 1 / x,
    "x * x": lambda x: x * x,
    "x > 0": lambda x: x > 0,
    "sqrt": np.sqrt,
    "maximum": lambda x: np.maximum(x, 0.25),
    "where": lambda x: np.where(x > 0, x, 0.5),
    "sum": lambda x: x.sum(),
    "sums": lambda x: x.sum(axis=0),
    "products": lambda x: np.prod(x, axis=-1, keepdims=True),
    "max": lambda x: x.max(axis=-1),
    "any": lambda x: np.any(x > 1, axis=0),
    "argmax": lambda x: x.argmax(),
    "mean": lambda x: x.mean(),
    "std": lambda x: np.std(x, axis=0),
    "chain": lambda x: ((x + 1) * 2 - x).sum(axis=0),
    "copy": lambda x: x.copy(),
    "one of NumPy's": lambda x: np.full(1, 2.5) * x,
    "row of NumPy's": lambda x: x - np.arange(1.0, 1 + x.shape[-1]),
}


def facts_of(y):
    """Return what must not depend on who computed a result; scalars lie nowhere."""
    spelled = y.copy().layout.base.spell() if y.shape else ""
    return spelled, y.shape, y.dtype, np.asarray(y).tobytes()


@pytest.mark.cases(5)
@pytest.mark.parametrize("dist", DISTS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_are_those_of_engines(shape, dist):
    x = np.random.default_rng(len(shape)).standard_normal(shape)
    found = {}
    for place in ("engines", "notebook"):
        with setting(place=place), np.errstate(all="ignore"):
            a = dnb.array(x, dist=dist)
            for (name, view), (what, step) in (
                (v, s) for v in views(a).items() for s in STEPS.items()
            ):
                facts = facts_of(step(view))
                assert found.setdefault((name, what), facts) == facts, (name, what, place)


FUNCTIONS = {
    "concatenate": lambda x: np.concatenate([x, x * 2, x]),
    "stack": lambda x: np.stack((x, x), axis=-1),
    "append": lambda x: np.append(x, [1.0, 2.0]),
    "roll": lambda x: np.roll(x, 2, axis=0),
    "take": lambda x: np.take(x, [1, 0, 1], axis=0),
    "take along": lambda x: np.take_along_axis(x, np.argsort(x, axis=-1), axis=-1),
    "index": lambda x: x[[2, 0, 1, 2]],
    "index and slice": lambda x: x[..., [1, 0]],
    "insert": lambda x: np.insert(x, 1, 7.0, axis=0),
    "delete": lambda x: np.delete(x, 1, axis=0),
    "sort": lambda x: np.sort(x, axis=0),
    "argsort": lambda x: np.argsort(x),
    "partition": lambda x: np.sort(np.partition(x, (1, -1), axis=0)[1:], axis=0),
    "argpartition": lambda x: np.sort(np.argpartition(row(x) * 2, -2)[-2:]),
    "searchsorted": lambda x: np.searchsorted([0.0, 0.5], x),
    "diff": lambda x: np.diff(x, axis=0),
    "gradient": lambda x: np.gradient(x, axis=0),
    "median": lambda x: np.median(x, axis=0),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "tile": lambda x: np.tile(x, 3),
    "pad": lambda x: np.pad(x, 1),
    "outer": lambda x: np.outer(x, x),
    "interp": lambda x: np.interp(x.ravel(), [-1.0, 0.0, 2.0], [3.0, 4.0, 9.0]),
    "isin": lambda x: np.isin((x * 4).astype(int), [0, 1]),
    "whole sums": lambda x: np.cumsum((x * 9).astype(int), axis=0),
    "count_nonzero": lambda x: np.count_nonzero(x > 0, axis=0, keepdims=True),
    "norm": lambda x: np.linalg.norm(x.ravel()),
    "norms of rows": lambda x: np.linalg.norm(x, axis=-1),
    "norm of a matrix": lambda x: np.linalg.norm(x.reshape(len(x), -1)),
    "clip": lambda x: np.clip(x, -0.5, x.max()),
    "round": lambda x: np.round(x, 1),
    "angle": np.angle,
    "sinc": np.sinc,
    "fftshift": np.fft.fftshift,
    "block": lambda x: np.block([[x], [x]]),
    "nanmax": lambda x: np.nanmax(np.where(x > 1, np.nan, x), axis=0),
    "ptp": lambda x: np.ptp(x, axis=-1),
    "prod": lambda x: np.prod(x, axis=0),
    "nancumsum": lambda x: np.nancumsum(x, axis=0),
    "mean": lambda x: np.mean(x, axis=0),
    "var": lambda x: x.var(ddof=1),
    "percentile": lambda x: np.percentile(x, [10, 90], axis=0),
    "argmin": lambda x: np.argmin(x, axis=-1),
    "histogram": lambda x: np.histogram(x, 5)[1],
    "fft": lambda x: np.fft.fft(x, axis=0),
    "minus": lambda x: -x,
    "abs of turned": lambda x: abs(x.T),
    "swapped": lambda x: x.swapaxes(0, -1) * 2,
    "turned twice": lambda x: np.transpose(x.T)[1:] + 1,
    "convolve": lambda x: np.convolve(x.ravel(), [0.3, 1.1, -0.7]),
    "convolve same": lambda x: np.convolve(x.ravel(), np.arange(1.0, 6.0) / 3, "same"),
    "correlate": lambda x: np.correlate(x.ravel()[1:], [0.1, 0.7]),
    "broadcast": lambda x: x[:1] * x + x[..., :1],
    "new axis": lambda x: x[:, None] * 2,
    "numpy's index": lambda x: x[np.int64(2)] + x[np.int32(-1), ...],
    "out": lambda x: dnb.multiply(x, 0.1, out=x.copy()),
    "at": lambda x: written(x, lambda y: np.add.at(y, [1, 0, 1, 1], 0.1)),
    "at values": lambda x: written(x, lambda y: np.subtract.at(y, [1, 0, 1], x[:3] / 3)),
    "array of rows": lambda x: dnb.array([x[0], x[1]]),
    "fft of a row": lambda x: np.fft.rfft(row(x) * 1.1),
    "short fft": lambda x: np.fft.ifft(row(x), 3, norm="ortho"),
    "nanquantile": lambda x: np.nanquantile(np.where(x > 1, np.nan, x), 0.3, axis=0),
    "quantile": lambda x: np.quantile(x, [0.2, 0.9], method="hazen"),
    "nanmedian": lambda x: np.nanmedian(x, axis=-1),
    "nanargmax": lambda x: np.nanargmax(x, axis=0),
    "cross": lambda x: np.cross(
        x[..., :3] if x.shape[-1] > 3 else x[:1, None] * [1, 2, 3], [0.5, 1, 2]
    ),
    "nanmin": lambda x: np.nanmin(np.where(x > 1, np.nan, x)),
    "running sums": lambda x: np.cumsum(x, axis=-1),
    "running sums of all": lambda x: np.cumsum(x),
    "running products": lambda x: (x * 1.5).cumprod(axis=0),
    "running maxima": lambda x: np.maximum.accumulate(x),
    "running maxima along rows": lambda x: np.maximum.accumulate(x * 2, axis=-1),
    "whole running sums": lambda x: np.add.accumulate((x * 9).astype("i4")),
    "like": lambda x: np.zeros_like(x) + np.ones_like(x * 2),
    "like, empty": lambda x: written(np.empty_like(x), lambda y: y.fill(3.5)),
    "running sums of a row": lambda x: np.cumsum(row(x)),
    "running minima": lambda x: np.minimum.accumulate(row(x), axis=-1),
    "deviation of a row": lambda x: row(x).std(),
    "mean of what a row comes to": lambda x: (row(x) * 0.1 + 1).mean(),
    "means of rows": lambda x: (x * 0.1).astype("f").mean(axis=-1, keepdims=True),
    "means of complex columns": lambda x: (x * 1j + 0.1).mean(axis=(0,)),
    "no mean": lambda x: x[:3].mean(axis=()),
    "variance of a column": lambda x: x[..., :2].var(axis=0, ddof=1),
    "norm of a column": lambda x: np.linalg.norm(x[..., -1]),
    "outer minimum": lambda x: np.minimum.outer(row(x), row(x)),
    "last maximum": lambda x: row(x)[::-1].argmax(axis=0),
    "fft along all axes": np.fft.fftn,
    "inverse fft of real elements": lambda x: np.fft.ifftn(x, norm="forward"),
    "half of an fft": lambda x: np.fft.rfftn(x * 1.1),
    "odd fft from half": lambda x: np.fft.irfft(np.fft.rfft(x, axis=0), 2 * len(x) - 1, axis=0),
    "window": lambda x: x[2:4] * 2,
    "window of a window": lambda x: x[1:6][1:4:2] * 0.1,
    "window across parts": lambda x: x[1:-1] + x[2:],
    "window backwards": lambda x: x[4:1:-1] * 2,
    "sums of a window": lambda x: (x[2:4] * x[1:3]).sum(axis=0),
    "sum of a window": lambda x: x[2:5, ...].sum(),
    "rows of a window": lambda x: (x[2:5, ..., None] * [0.1, 0.2]).sum(axis=-1),
    "running sums of a window": lambda x: np.cumsum(x[2:4], axis=0),
    "window, taken": lambda x: np.take(x[2:4], [1, 0, 1], axis=0),
    "nanmean": lambda x: np.nanmean(x.astype("f"), axis=0),
    "nanmean of all": lambda x: (
        np.nanmean(x, keepdims=True) + np.nanmean(np.where(x > 1, np.nan, x))
    ),
    "taken of all": lambda x: np.take(x, dnb.array([[1, -2], [0, 3]])),
    "taken along rows": lambda x: x.take([0, 0], axis=-1),
    "put": lambda x: written(x, lambda y: np.put(y, dnb.array([3, -1, 3]), x.ravel()[:2])),
    "eigenvalues": lambda x: np.linalg.eigvals(np.outer(row(x), x.ravel()[: row(x).size])),
    "beside a vector": lambda x: x * np.arange(1.0, x.shape[-1] + 1) + dnb.ones(x.shape[-1]),
}


def row(x):
    return x[1] if x.ndim > 1 else x[1:6]


def written(x, write):
    y = x.copy()
    write(y)
    return y


@pytest.mark.cases(3)
@pytest.mark.parametrize("dist", DISTS, ids=str)
@pytest.mark.parametrize("shape", [(7,), (12, 5), (5, 4, 3)], ids=str)
def test_functions_give_what_engines_give(shape, dist):
    x = np.random.default_rng(len(shape)).standard_normal(shape)
    found = {}
    for place in ("engines", "notebook"):
        with setting(place=place):
            a = dnb.array(x, dist=dist)
            for name, view in (("all", a), ("back", a[::-1]), ("later", a[1:])):
                for what, function in FUNCTIONS.items():
                    facts = facts_of(function(view))
                    assert found.setdefault((name, what), facts) == facts, (name, what, place)


def test_large_arrays_are_given_by_name(session):
    """As any argument; here it is the notebook that does it."""
    a = numbered((3, 200_000))[:, ::-1].copy()
    with setting(cutoff=1 << 10, place="notebook"):
        x = dnb.array(a, dist="block")
        for function in (np.sort, np.median, np.argsort, np.diff):
            same(function(a=x, axis=1), function(a=a, axis=1))


def test_few_elements_are_taken_of_and_put_into_large_arrays_at_once(session):
    """As in a loop: engines are asked for none of them."""
    a = numbered((1200, 900))
    with setting(cutoff=1 << 10):
        x, at = dnb.array(a, dist="block"), dnb.array([5, 1_079_999, -3])
        session.flush()
        assert x[0, 0].item() == at[0].item() - 4
        before = session.batches
        for k in range(4):
            same(np.take(x, at + k - 3), np.take(a, np.array([5, 1_079_999, -3]) + k - 3))
            same(x.take([k, -k], axis=1)[:3], a.take([k, -k], axis=1)[:3])
            same(np.take(a=x, indices=[k, 7]), np.take(a=a, indices=[k, 7]))
            np.put(x, at, [k, 0.5])
            np.put(a, [5, 1_079_999, -3], [k, 0.5])
        assert session.batches == before
        same(x, a)
        with pytest.raises(IndexError, match="out of bounds"):
            np.put(x, [a.size], 1)


def test_few_elements_are_looked_up_in_large_arrays_at_once(session, monkeypatch):
    """Whoever's large steps are: what counts is what is touched, if nothing is cast."""
    a = numbered((1_000_000,))
    monkeypatch.setattr(pace.Paces, "is_small", lambda self, session, nbytes: nbytes < 1 << 20)
    with setting(cutoff=1 << 10):
        x, few = dnb.array(a, dist="block"), dnb.array([3.5, -1, 1e9], dist="block")
        session.flush()
        before = session.batches
        for k in range(4):
            same(np.searchsorted(x, k), np.searchsorted(a, k))
            same(x.searchsorted([k, 7.0], side="right"), a.searchsorted([k, 7.0], side="right"))
            same(np.searchsorted(v=few, a=x), np.searchsorted(a, [3.5, -1, 1e9]))
            same(np.searchsorted(a[:9], few), np.searchsorted(a[:9], [3.5, -1, 1e9]))
        assert session.batches == before
        same(np.searchsorted(x, a), np.searchsorted(a, a))
        assert session.batches > before


def test_large_products_are_the_notebooks_if_blas_has_all_cores_there(session, monkeypatch):
    """Else they are the engines', which have more."""
    a = numbered((1100, 1100)) % 7
    with setting(cutoff=1 << 10):
        x = dnb.array(a, dist="block")
        session.flush()
        for threads, sent in ((0, True), (64, False)):
            monkeypatch.setattr(products, "blas_threads", lambda n=threads: n)
            y = x @ x
            assert (y.near is None) == sent
            same(y, a @ a)


def test_diagonals_are_filled_alike():
    for shape, value, wrap in (((6, 6), 0.5, False), ((9, 3), 2.0, True), ((3, 3, 3), 1.0, False)):
        x = numbered(shape)
        np.fill_diagonal(x, value, wrap)
        for place in ("engines", "notebook"):
            with setting(place=place):
                a = dnb.array(numbered(shape), dist="block")
                dnb.fill_diagonal(a, value, wrap)
                same(a, x)


def test_assignments_by_index_are_those_of_numpy():
    x = numbered((50, 40))
    a, rng = dnb.array(x, dist="block"), np.random.default_rng(3)
    for k in range(60):
        i, j = rng.integers(0, 50, 7), rng.integers(-40, 40, 7)
        for y in (x, a):
            y[i] = k
            y[i, j] = np.arange(7.0)
            y[y > 40] = -1
            y[:, j] += 0.5
        with setting(place="engines" if k % 20 == 0 else "auto"):
            same(a[i, j], x[i, j])
    same(a, x)


def test_an_array_comes_and_goes(session):
    x, a = numbered((600, 500)), dnb.array(numbered((600, 500)), dist="block")
    with setting(place="engines"):
        a *= 2
    for i in range(1, 40):
        a[i] = a[i - 1] * 0.5 + a[i]  # here, when engines have done the product
    with setting(place="engines"):
        b = a + a[::-1]
    a[3] = -1.0
    session.flush()
    a[:, 2] += 7
    assert a.dbase.near is not None
    with setting(place="engines"):
        c = a - b
    x *= 2
    for i in range(1, 40):
        x[i] = x[i - 1] * 0.5 + x[i]
    y = x + x[::-1]
    x[3] = -1.0
    x[:, 2] += 7
    same(b, y)
    same(c, x - y)
    same(a, x)


def test_views_see_each_other():
    x, a = numbered((40, 30)), dnb.array(numbered((40, 30)), dist="block")
    rows, columns, turned = a[4:8], a[:, 3], a.T
    float(a[0, 0])
    rows[...] = 1
    with setting(place="engines"):
        columns += 2
    turned[5] = a[:, 3]
    x[4:8] = 1
    x[:, 3] += 2
    x.T[5] = x[:, 3]
    for mine, numpys in ((a, x), (rows, x[4:8]), (columns, x[:, 3]), (turned, x.T)):
        same(mine, numpys)


def test_memory_is_not_given_away_too_soon():
    """The notebook writes at once; what engines were asked before must not see it."""
    n = 1 << 17
    for k in range(20):
        a = dnb.full(n, float(k), dist="block")
        with setting(place="engines"):
            b = a * 2 + 1
        del a
        c = dnb.array(np.full(n, -1.0), dist="block")
        same(b[::1000], np.full(n, 2.0 * k + 1)[::1000])
        same(c[::1000], np.full(n, -1.0)[::1000])


def test_small_steps_leave_memory_flat(session):
    a = dnb.array(numbered((200, 300)), dist="block")
    float(a[0, 0])

    def steps():
        for i in range(300):
            a[i % 200] = a[(i + 1) % 200] * 0.5 + a[0]
            float(a[i % 7].sum())
        big = [a + 1.0 for _ in range(20)]
        return len(big)

    steps()
    session.flush()
    gc.collect()
    pool = session.memory._pool
    pool.collect()
    before = len(session.handles), pool.held, pool.segment.used
    for _ in range(5):
        steps()
    session.flush()
    gc.collect()
    pool.collect()
    assert (len(session.handles), pool.held, pool.segment.used) <= before


def test_promises_do_not_pile_up():
    """A layout may follow from that of an operand, and so on: not without end."""
    a = dnb.array(numbered((30, 20)), dist="block")
    b = dnb.array(numbered((20,)), dist="block")
    float(a[0, 0] + b[0])
    total = b * 0
    for i in range(30):
        total = total + a[i]
    assert getattr(total.dbase.promise, "depth", 0) <= 16
    same(total, numbered((30, 20)).sum(axis=0))
    assert total.layout.elements()


def test_an_error_leaves_the_array_as_it_was():
    a = dnb.array(numbered((20, 30)), dist="block")
    x = numbered((20, 30))
    float(a[0, 0])
    for wrong, kind in (
        (lambda: operator.setitem(a, 3, np.ones(7)), ValueError),
        (lambda: operator.setitem(a, (3, 40), 1), IndexError),
        (lambda: a[1] + dnb.ones(7), ValueError),
        (lambda: operator.setitem(a, 3, "x"), ValueError),
        (lambda: operator.setitem(a, 3, object()), TypeError),
        (lambda: np.add(a[0], a[1], out=dnb.zeros(3)), ValueError),
        (lambda: a.sum(axis=5), ValueError),
        (lambda: a[2] @ a[:, 2], ValueError),
    ):
        with pytest.raises(kind):
            wrong()
        same(a, x)


def test_what_numpy_has_as_a_scalar_is_not_written(session):
    with setting(place="engines"):
        one = dnb.array(numbered((40, 50)), dist="block").sum()
    expected = numbered((40, 50)).sum()
    with setting(place="notebook"):
        assert one + 1 == expected + 1  # now it is in reach
        for key in (..., (), None):
            with pytest.raises(TypeError, match="does not support item assignment"):
                one[key] = 5
    assert float(one) == expected


def test_what_is_read_only_stays_as_it_is():
    a = dnb.array(numbered((6, 5)), dist="block")
    float(a[0, 0])
    wide = dnb.broadcast_to(a[0], (3, 5))
    for write in (
        lambda: operator.setitem(wide, 0, 1),
        lambda: operator.iadd(wide, 1),
        lambda: np.add(wide, 1, out=wide),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    same(a, numbered((6, 5)))


def test_floating_point_warnings_name_the_line():
    a = dnb.array([1.0, 0.0, -1.0], dist="block")
    float(a[0])
    with pytest.warns(RuntimeWarning, match="divide by zero") as found:
        1 / a
    assert found[0].filename == __file__
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid"):
        np.sqrt(a)


WARNING_STEPS = {
    "x / y": lambda x, y: x / y,
    "1.0 / y": lambda x, y: 1.0 / y,
    "np.float64(1) / y": lambda x, y: np.float64(1) / y,
    "np.divide": lambda x, y: np.divide(x, y),
    "dnb.log": lambda x, y: dnb.log(y),
    "y ** -1": lambda x, y: y**-1,
    "@": lambda x, y: (x + 1e308) @ (x + 1e308),
    "sum": lambda x, y: np.add.reduce(x + 1e308),
    "stored": lambda x, y: x.astype(np.int32).__setitem__(slice(None), x / 1e-30),
    "dot": lambda x, y: np.dot(x + 1e308, x + 1e308),
}


@pytest.mark.parametrize("name", WARNING_STEPS)
@pytest.mark.parametrize("dist", [None, "block"])
def test_warnings_are_those_of_numpy_at_the_users_line(name, dist):
    step, told = WARNING_STEPS[name], []
    for make in (np.array, functools.partial(dnb.array, dist=dist)):
        x, y = make([1.0, 2.0, 3.0, 4.0]), make([0.0, 1.0, 0.0, 1.0])
        float(x[0] + y[0])
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            step(x, y)
        told.append([(w.category, str(w.message), w.filename, w.lineno) for w in found])
        for how in ({"divide": "raise", "over": "raise", "invalid": "raise"}, {"all": "ignore"}):
            with np.errstate(**how):
                try:
                    told[-1].append(step(x, y) is None)
                except FloatingPointError as error:
                    told[-1].append(str(error))
    assert told[0] == told[1]


def test_what_was_written_when_an_error_came_is_written_once():
    def refuse(kind, flag):
        raise ValueError(kind)

    found = []
    for make in (np.array, dnb.array):
        for error, how in (
            (FloatingPointError, {"over": "raise"}),
            (ValueError, {"over": "call", "call": refuse}),
        ):
            x, y = make([1.0, 1e308]), make([2.0, 1e308])
            with np.errstate(**how), pytest.raises(error):
                x += y
            found.append(x.tolist())
        x = make([1.0, 1e308])
        with warnings.catch_warnings(), pytest.raises(RuntimeWarning):
            warnings.simplefilter("error")
            x *= 3.0
        found.append(x.tolist())
    assert found[: len(found) // 2] == found[len(found) // 2 :]


@pytest.mark.parametrize("dist", [None, "block"])
def test_views_of_views_of_views(dist):
    data = np.arange(4.0 * 5 * 6).reshape(4, 5, 6)
    x = dnb.array(data, dist=dist)
    float(x[0, 0, 0])
    steps = [
        lambda a: a[1:],
        lambda a: a.T,
        lambda a: a[::-1, None],
        lambda a: a[..., 1:],
        lambda a: a[2:, 0],
        lambda a: a.transpose(1, 0, 2),
        lambda a: a[::2],
        lambda a: a[0, :, 1],
    ]
    ours, theirs = [x], [data]
    for n, step in enumerate(steps):
        ours.append(step(ours[-1]))
        theirs.append(step(theirs[-1]))
        ours[-1][...] = n
        theirs[-1][...] = n
        assert ours[-1].base is x
    with setting(place="engines"):  # which takes the views as they were told of
        for mine, its in zip(ours, theirs, strict=True):
            same(mine + 0, its)
    for mine, its in zip(ours, theirs, strict=True):
        same(mine, its)


BLOCKS = [(1,), (200,), (4097,), (12289,), (200, 200), (7, 600), (65, 65, 65), (4097, 3)]


@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("shape", BLOCKS)
def test_all_elements_are_combined_in_the_order_of_engines(shape, op):
    rng = np.random.default_rng(len(shape))
    for dtype in "efdFD":
        data = 1 + 0.01 * rng.standard_normal(shape)
        data = (data + 0.01j * rng.standard_normal(shape) if dtype in "FD" else data).astype(dtype)
        found = []
        for place in ("engines", "auto"):
            with setting(place=place):
                x = dnb.array(data, dist="block")
                abs(x[(0,) * x.ndim]).item()
                whole = (x, x * 1)
                every = tuple(range(x.ndim))
                found += [getattr(y, op)(axis=a) for y in whole for a in (None, every)]
                found.append(np.mean(whole[1]) if op == "sum" else found[0])
        assert len({np.asarray(f).tobytes() for f in found[:4] + found[5:9]}) == 1
        assert np.asarray(found[4]).tobytes() == np.asarray(found[9]).tobytes()


def test_masks_and_indices_store_as_numpys():
    for dist in (None, "block"):
        for value in (2.5, np.float32(7), True, 3, np.arange(3.0)):
            data = np.arange(10.0)
            x = dnb.array(data, dist=dist)
            float(x[0])
            mask, at = data % 4 == 1, np.array([8, 2, 8])
            x[dnb.array(mask, dist=dist)] = value if np.ndim(value) == 0 else dnb.array(value)
            data[mask] = value
            x[dnb.array(at)] = value if np.ndim(value) == 0 else dnb.array(value)
            data[at] = value
            same(x, data)
        for bad, error in (([3, 99], IndexError), ([0.5], IndexError), ([True], IndexError)):
            with pytest.raises(error):
                x[dnb.array(bad)] = 1
        same(x, data)


def test_without_a_segment(session, monkeypatch):
    """Where the system gives none, or engines are elsewhere, all works as it did."""
    monkeypatch.setattr(shared_memory, "new_segment", lambda more: None)
    with dnb.inprocess(2) as other:
        a = dnb.array(numbered((40, 30)), dist="block")
        x = numbered((40, 30))
        for i in range(1, 40):
            a[i] = a[i - 1] * 0.5
            x[i] = x[i - 1] * 0.5
        same(a, x)
        assert not other.memory.possible
        assert float(a[3, 4]) == x[3, 4]


def test_small_steps_do_not_wait_for_large_ones(session):
    """They are recorded while engines are busy, until several came one after the other."""
    begin_anew(session)
    a = dnb.array(numbered((1000, 700)), dist="block")
    with setting(place="engines"):
        for _ in range(3):
            a = a * 1.5
    batches, done = session.batches, session.connection.settled
    a[0] = 1.0
    assert (session.batches, session.connection.settled) == (batches, done) or session.quiet()
    for _ in range(pace._PATIENCE):
        a[1] = 2.0
    assert a.dbase.near is not None


POINTS = {
    "points": lambda i, mask: (i, i),
    "two rows": lambda i, mask: (slice(5, 7), i),
    "a mask": lambda i, mask: (3, mask),
    "crossed": lambda i, mask: np.ix_(i[:30], i[:20]),
    "behind all": lambda i, mask: (..., i[:2]),
}


@pytest.mark.parametrize("key", POINTS.values(), ids=POINTS)
def test_few_elements_of_a_large_array_take_no_batch(session, key):
    """What counts is what an index takes, not the rows that it is in."""
    x = numbered((1200, 1200))
    a = dnb.array(x, dist="block")
    a[0, 0] = 0.0
    x[0, 0] = 0.0
    at = key(np.arange(1, 1200), x[3] % 5 == 0)
    session.flush()
    before = session.connection.batches
    for _ in range(3):
        a[at] = a[at] + 1
        x[at] = x[at] + 1
        np.add.at(a, at, 2)
        np.add.at(x, at, 2)
    assert session.connection.batches == before
    same(a, x)


CALLED = {
    "rows": lambda x: np.apply_along_axis(np.sum, 1, x[:40]),
    "columns": lambda x: np.apply_along_axis(lambda c: np.outer(c, c)[:2], 0, x[3:6, ::2]),
    "turned": lambda x: np.apply_along_axis(np.sort, 0, x.T[:, 5:8]),
    "elements": lambda x: dnb.vectorize(lambda n: n % 3)(x[::100, 3]),
    "two": lambda x: dnb.vectorize(lambda m, n: (m + n, int(m)))(x[2:4, :5], x[7, :5])[1],
    "in their order": lambda x: dnb.vectorize(abs)(x.T[:4, :3]),
    "one": lambda x: dnb.vectorize(abs)(x[2, 3, None][0]),
}


@pytest.mark.cases(5)
@pytest.mark.parametrize("dist", DISTS[:3], ids=str)
@pytest.mark.parametrize("name", CALLED)
def test_a_function_that_is_brief_takes_no_batch(session, monkeypatch, name, dist):
    """And its results lie as those of engines, which are asked where it takes its time."""
    a = numbered((600, 50))
    with setting(cutoff=1 << 10):
        x = dnb.array(a, dist=dist)
        session.flush()
        assert x[0, 0].item() == a[0, 0]
        found = []
        for seconds in (np.inf, -1.0):
            monkeypatch.setattr(admission, "_BRIEF", seconds)
            session.flush()
            before = session.batches
            y = CALLED[name](x)
            found.append(facts_of(y))
            assert np.isfinite(seconds) or session.batches == before
            same(y, CALLED[name](a))
            y[...] = 1  # it is its own
        assert found[0] == found[1]
        same(x, a)


@pytest.mark.parametrize("seconds", [np.inf, -1.0])
def test_slices_cannot_be_written_whoever_calls_the_function(session, monkeypatch, seconds):
    """Else it would depend on time whether an array changes; what is broadcast is NumPy's matter."""
    monkeypatch.setattr(admission, "_BRIEF", seconds)
    a = numbered((600, 50))
    part = lambda v: v[:1] if v[0] > a[3, 0] else v  # noqa: E731
    with setting(cutoff=1 << 10):
        x = dnb.array(a, dist="block")
        assert x[0, 0].item() == a[0, 0]
        with pytest.raises(ValueError, match="read-only"):
            dnb.apply_along_axis(lambda v: v.fill(0) or 1, 1, x[:9]).to_numpy()
        same(dnb.apply_along_axis(part, 1, x[:9]), np.apply_along_axis(part, 1, a[:9]))
        with pytest.raises(
            ValueError, match=r"^function of apply_along_axis\(\): got shape \(2,\)"
        ):
            dnb.apply_along_axis(lambda v: v[: 3 if v[0] < a[3, 0] else 2], 1, x[:9]).to_numpy()
        same(x, a)


@given(hnp.array_shapes(max_dims=4, max_side=4), st.data())
def test_an_index_takes_no_more_than_is_counted(shape, data):
    x = np.zeros(shape)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    key = key if isinstance(key, tuple) else (key,)
    n = st.integers(1, 3)
    for i, k in enumerate(key):
        if type(k) is int and data.draw(st.booleans()):
            many = data.draw(hnp.arrays(int, st.tuples(n) | st.tuples(n, n), elements=st.just(k)))
            key = (*key[:i], many, *key[i + 1 :])
    mask = data.draw(hnp.arrays(bool, shape[: data.draw(st.integers(1, len(shape)))]))
    for at in (key, (mask,), (mask, ...)):
        try:
            taken = x[at]
        except IndexError:  # arrays that do not broadcast
            continue
        assert whole_functions._picked(x, at) >= taken.nbytes


def test_an_interrupt_leaves_no_warning_behind():
    """What went wrong in a step that was interrupted is not told of the next one."""

    def interrupted(x):
        np.divide(x, 0.0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small_steps.done(interrupted, (np.ones(3),))
    a = dnb.ones(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(a + a, np.full(3, 2.0))


@pytest.mark.parametrize("dist", ["block", "cyclic"])
@pytest.mark.parametrize("shape", [(50,), (2,), (7, 30), (3, 4, 5)])
def test_running_results_have_the_bits_of_engines(shape, dist):
    data = np.random.default_rng(0).standard_normal(shape).astype("f4")
    for axis, n in enumerate(shape):
        for ufunc, key in ((np.add, ...), (np.multiply, (slice(None, None, -1),)), (np.fmax, ...)):
            both = []
            for place in ("notebook", "engines"):
                with setting(place=place):
                    x = dnb.asarray(data, dist=dist)[key]
                    running, some = ufunc.accumulate(x, axis), [0, n // 2, n - 1, 0]
                    found = [running, ufunc.reduceat(x, some, axis), running.astype("f8")]
                    both.append([(y.to_numpy().tobytes(), y.placed.layout) for y in found])
            assert both[0] == both[1]


TOGETHER = {
    "two looks": (lambda v, a, b: a * b),
    "an array and a look": (lambda v, a, b: v[:4] + a[1]),
    "a look and an array": (lambda v, a, b: a[0] + v[4:8]),
    "into a look": (lambda v, a, b: np.add(v[:4], a[1], out=b[0])),
    "into an array": (lambda v, a, b: np.add(a[1], 0.5, out=v[:4])),
    "in place": (lambda v, a, b: v[:4].__iadd__(b[1])),
}


@pytest.mark.parametrize("know", [True, False])
@pytest.mark.parametrize("name", TOGETHER)
def test_a_family_leaves_together(name, know):
    data = np.arange(12.0)
    ours = [dnb.array(data, dist="block")]
    numpys = [data.copy()]
    for v in (ours, numpys):
        v += [v[0].reshape(3, 4), v[0].reshape(3, 4)]
    if know:
        with setting(place="engines"):
            for x in ours:
                (x * 1).to_numpy()  # engines have each of them
    with setting(place="notebook"):
        for v, a, b in (ours, numpys):
            v[0], a[1, 1], b[2, 3] = 100, 200, 300
    with setting(place="engines"):
        found, expected = TOGETHER[name](*ours), TOGETHER[name](*numpys)
        same(found, expected)
        for x, y in zip(ours, numpys, strict=True):
            same(x, y)


def test_what_is_just_leaving_is_not_done(session, monkeypatch):
    """The idle timer sends while the notebook goes on: by itself it looks as if nothing waited."""
    connection = session.connection
    x = dnb.zeros(9, dist="block")
    session.flush()
    leaving, released = threading.Event(), threading.Event()
    submit = connection._transport.submit

    def slow(*args):
        leaving.set()
        assert released.wait(60)
        return submit(*args)

    with setting(place="engines"):
        x += 1
        monkeypatch.setattr(connection._transport, "submit", slow)
        timer = threading.Thread(target=session.send)
        timer.start()
        assert leaving.wait(60)
        assert session.connection.settled < session.batches
        found = []
        asks = threading.Thread(target=lambda: found.append((session.quiet(), released.is_set())))
        asks.start()
        asks.join(0.05)
        released.set()
        timer.join(60)
        asks.join(60)
    assert found[0] != (True, False)
    monkeypatch.undo()
    same(x, np.ones(9))


MADE = {
    "joined": lambda x: np.concatenate([x, x]),
    "interpolated": lambda x: np.interp(x, [0.0, 1.0], [2.0, 5.0]),
    "in another shape": lambda x: np.roll(x, 3).reshape(100, -1),
}


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", MADE)
def test_what_numpy_made_is_put_where_engines_find_it(session, monkeypatch, name, fails):
    """It is not sent, and stays as it is where engines cannot have it."""
    data = np.random.default_rng(5).random(30000)
    x = dnb.array(data, dist="block")
    assert x.dbase.near is not None
    found, expected = MADE[name](x), MADE[name](data)
    assert found.dbase.memory is None
    record = array.record_creation

    def refused(*args, **options):
        raise MemoryError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(array, "parts_of", refused)
        if fails:
            patched.setattr(array, "record_creation", refused)
            with pytest.raises(MemoryError, match="no room"):
                array.leave(found.dbase)
            patched.setattr(array, "record_creation", record)
            found[...] = found + 1.0
            expected += 1.0
        array.leave(found.dbase)
    assert found.dbase.near is None
    with setting(place="engines"):
        same(found * 2, expected * 2)
        found += 1
    same(found, expected + 1)


WRITTEN = {
    "roll": lambda x: np.roll(x, 3, 0),
    "gradient": lambda x: np.gradient(x, axis=0),
    "shifted": lambda x: np.fft.fftshift(x, axes=0),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", WRITTEN)
def test_results_that_engines_write_have_no_place_before_they_are_sent(
    session, monkeypatch, name, turned
):
    """A loop far ahead of the engines would take one for each, though most are gone by then."""
    run = (lambda x: WRITTEN[name](x.T).T) if turned else WRITTEN[name]
    data = np.random.default_rng(6).random((500, 400))
    with setting(place="engines"):
        x = dnb.array(data, dist="block") + 0.0
        session.flush()
    taken, keep = [], session.memory.keep

    def counted(nbytes, settled):
        taken.append(nbytes)
        return keep(nbytes, settled)

    expected = run(data)
    # Engines are to write, although the notebook could have the memory for it.
    monkeypatch.setattr(pace.Paces, "is_small", lambda *args: False)
    monkeypatch.setattr(session.memory, "keep", counted)
    with session.recorder.lock:  # the idle timer sends nothing meanwhile
        found = run(x)
        assert not taken
        assert found.dbase.near is None
    monkeypatch.undo()
    same(found, expected)


def at_home(test):
    """Let arrays of a test live in the notebook."""

    @functools.wraps(test)
    def run(**fixtures):
        with setting(cutoff=1 << 16, place="auto"):
            test(**fixtures)

    return run


@at_home
def test_methods_of_small_arrays_are_numpys():
    x = np.random.default_rng(5).standard_normal((4, 6))
    for a in (dnb.array(x), dnb.array(x.ravel())):
        own = np.asarray(a)
        for name, args in {
            "mean": ((0,), (None, "f4"), (0, None, None, True)),
            "std": ((), (0, None, None, 1)),
            "var": ((), (-1,)),
            "argmax": ((), (0,)),
            "cumsum": ((), (0,), (-1, "f4")),
            "clip": ((0.1, 0.5), (None, 0.2)),
            "round": ((), (2,)),
            "argsort": ((), (0,)),
            "searchsorted": ((0.3,),) if a.ndim == 1 else (),
            "repeat": ((2,), (2, 0)),
            "take": (([1, 0],), ([0], 0)),
            "dot": ((np.ones(own.shape[-1]),), (2.0,)),
        }.items():
            for chosen in args:
                found, wanted = getattr(a, name)(*chosen), getattr(own, name)(*chosen)
                assert np.asarray(found).tobytes() == wanted.tobytes(), (name, chosen)
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), (name, chosen)


@at_home
def test_lists_and_indices_of_several_arrays_take_the_short_way(monkeypatch):
    for name in ("get_advanced", "put_advanced", "assign"):
        monkeypatch.delattr(distarray, name)
    at, mask, turned = np.array([2, 0]), np.array([True, False, True, True]), numbered((4, 5)).T
    for data in (numbered((4, 5)), turned[:4], np.arange(20).reshape(4, 5, 1)):
        x = dnb.array(data)
        x = x if data.flags.c_contiguous else dnb.array(data.T).T
        for key in ([1, 3], [], (at, at), (slice(None), at), ([0, 1], -1), (mask, 0), at, (2, at)):
            ours = tuple(dnb.array(k) if k is at else k for k in key) if type(key) is tuple else key
            found, wanted = x[ours], data[key]
            same(found, wanted)
            assert found.strides == wanted.strides or not found.size
            x[ours] = data[key] = 7
            found[...] = 9
            same(x, data)
            x[ours] += 0 * wanted.astype(int) + 1
            data[key] += 1
        for row, value in ((1, [3.5]), (slice(0, 2), (2,)), ([2, 0], [[True]][0]), (..., [np.pi])):
            x[row] = data[row] = value
            same(x, data)
        for bad in ([9], [1.5], (at, [0, 1, 2])):
            with pytest.raises((IndexError, NameError)):
                x[bad]


@at_home
def test_results_of_small_functions_are_their_own():
    a = dnb.arange(6)
    for found in (a.round(), a.clip(0, 9), a.take(range(6)), a.repeat(1), a.cumsum(), a.dot(1)):
        found[0] = 99
        assert a[0] == 0
    out = dnb.zeros(())
    assert a.mean(None, None, out) is out
    assert float(out) == 2.5
    total = dnb.zeros(6, dtype=int)
    assert a.cumsum(out=total) is total
    assert np.add.accumulate(a, out=total) is total
    assert total.tolist() == [0, 1, 3, 6, 10, 15]


@at_home
def test_outputs_of_small_functions_are_written_by_numpy(monkeypatch):
    for room in (distarray, ufuncs):
        monkeypatch.delattr(room, "elementwise")
    calls = [
        lambda x, y, out: np.clip(x, 2, 7, out=out),
        lambda x, y, out: np.clip(x, y, 9, out),
        lambda x, y, out: x.clip(2, 7, out=out),
        lambda x, y, out: np.divide(x, y, out=out, where=y > 4),
        lambda x, y, out: np.sqrt(x, out=out, where=False),
        lambda x, y, out: np.add(x, 1, out, where=(x < 5)[0]),
        lambda x, y, out: np.cumsum(x, 0, None, out),
        lambda x, y, out: np.round(x / 7, 1, out=out),
        lambda x, y, out: np.take(x, [2, 0, 1], axis=0, out=out),
    ]
    for call, third in itertools.product(calls, (0, 1, 2)):
        data = [numbered((3, 4)), numbered((3, 4))[::-1].copy(), np.full((3, 4), 0.5)]
        arrays = [dnb.array(x) for x in data]
        assert call(*arrays[:2], arrays[third]) is arrays[third]
        call(*data[:2], data[third])
        for found, wanted in zip(arrays, data, strict=True):
            same(found, wanted)
    fixed = dnb.ones(3)
    fixed.flags.writeable = False
    with pytest.raises((ValueError, NameError)):
        np.clip(dnb.ones(3), 2, 3, out=fixed)
    same(fixed, np.ones(3))


@at_home
def test_matrices_and_numbers_at_home_are_mended_by_numpy(monkeypatch):
    monkeypatch.delattr(factorizations, "svd")
    monkeypatch.delattr(composed, "_make_finite")
    x = numbered((5, 3))
    a = dnb.array(x)
    same(np.linalg.pinv(a), np.linalg.pinv(x))
    same(np.linalg.matrix_rank(a, hermitian=False), np.linalg.matrix_rank(x))
    x[1, :2] = a[1, :2] = np.nan, np.inf
    same(np.nan_to_num(a, nan=2.0), np.nan_to_num(x, nan=2.0))
    assert np.nan_to_num(a, copy=False) is a
    same(a, np.nan_to_num(x))


@at_home
def test_small_functions_warn_as_numpy_does():
    big = dnb.array([1e308, 1e308, 1e308])
    for run in (lambda: big.cumsum(), lambda: np.add.accumulate(big), lambda: big.mean()):
        with pytest.warns(RuntimeWarning, match="overflow"):
            run()
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
        np.multiply.outer(big, big)
    with pytest.warns(RuntimeWarning, match="rtol or atol"):
        np.allclose(big, big, atol=np.nan)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        big.mean()
    both = np.frompyfunc(lambda x, y: x + y, 2, 1)
    assert list(both.accumulate(dnb.arange(3))) == [0, 1, 3]


@at_home
def test_products_of_long_vectors_are_numpys_numbers():
    v = dnb.arange(3000.0) / 7
    own = np.asarray(v)
    assert np.dot(v, v) == v.dot(v) == np.dot(own, own)


def test_what_meets_an_array_at_home_comes_in_reach(session):
    a, b = numbered((40, 300)), numbered((300,))
    with setting(cutoff=1 << 20):
        x, y = dnb.array(a, dist="block"), dnb.array(b)
        z = x + 1  # engines are busy with it
        for _ in range(8):
            same(x[3] * y, a[3] * b)
        before = session.batches
        for i in range(8):
            same(x[i] * y, a[i] * b)
            z[i] += y
            np.subtract(z[i], y, out=z[i])
        assert session.batches == before
        same(z, a + 1)
        column = dnb.array(numbered((30_000, 1)))
        wide = dnb.array(b, dist="block")
        session.send()
        same(column * wide, numbered((30_000, 1)) * b)  # large: it stays with engines
        assert wide.near is None


@pytest.mark.parametrize("what", ["rows @ vector", "vector @ rows", "columns", "matrices", "stack"])
def test_products_are_done_where_both_operands_are(session, what):
    """Of matrices that are large for a small step, too; layouts are those of engines."""
    a, v = numbered((900, 700)) / 7, numbered((700,)) / 3
    found = {}
    for place in ("engines", "auto"):
        with setting(place=place, cutoff=1 << 16):
            x, y = dnb.array(a, dist="block"), dnb.array(v)
            session.flush()
            run = {
                "rows @ vector": lambda x=x, y=y: x @ y,
                "vector @ rows": lambda x=x: x[:, 5] @ x,
                "columns": lambda x=x, y=y: x[:, 1:] @ y[1:],
                "matrices": lambda x=x: x[:600] @ x[300:].T,
                "stack": lambda x=x: x.reshape(3, 300, 700) @ x[:4].T,
            }[what]
            first = run()
            before = session.batches
            second = run()
            assert place == "engines" or session.batches == before
            np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
            found[place] = second.copy().layout.base.spell(), second.dtype, np.asarray(second)
    assert found["auto"][:2] == found["engines"][:2]
    np.testing.assert_allclose(found["auto"][2], found["engines"][2], rtol=1e-12)


def begin_anew(session):
    """Forget which way was best for the steps of other tests; return what finds it."""
    session.extensions[pace.Paces].__init__()
    session.large, session.small_steps = large_steps.LargeSteps(), 0
    return session.extensions[pace.Paces]


@pytest.fixture
def clock(monkeypatch):
    """Let time pass when the test says so."""
    time = SimpleNamespace(now=0.0)
    for module in (pace, large_steps):
        monkeypatch.setattr(module, "perf_counter", lambda: time.now)
    return time


@pytest.mark.parametrize("best", [pace.WAIT, pace.RECORD, pace.NOTEBOOK])
def test_what_goes_to_and_fro_is_done_in_the_quickest_way(session, clock, best):
    """Where small steps wait for large ones, ways are tried, and the best once more later."""
    a = numbered((1000, 800))
    x, found, ways = dnb.array(a, dist="block"), begin_anew(session), []

    def turn():
        nonlocal x, a
        x, a = x * 1.5, a * 1.5
        x[0], a[0] = 2.0, 2.0
        assert float(x[1, 1]) == a[1, 1]
        a /= 1.5
        x /= 1.5
        clock.now += 0.01 if found.now.way == best else 0.02
        ways.append(found.now.way)

    for _ in range(200):
        turn()
    assert ways[100:].count(best) > 40
    assert {*ways} == {pace.WAIT, pace.RECORD, pace.NOTEBOOK}
    same(x, a)
    if best == pace.NOTEBOOK:
        while not (ways[-1] == found.now.way == best):
            turn()
        before = session.batches
        x, a = x * 2.0, a * 2.0
        x[3], a[3] = 5.0, 5.0
        assert session.batches == before
        same(x, a)


def test_steps_between_masks_are_done_in_the_notebook(session, clock):
    """Where engines would be waited for at each mask: steps up to eight times as large as others."""
    a = numbered((1500, 2000))
    x, found, counts = dnb.array(a, dist="block"), begin_anew(session), []
    session.flush()

    def turn(k):
        nonlocal x, a
        before, way = session.batches, found.now.way
        x[x < k] += 1.0
        a[a < k] += 1.0
        x, a = x + 0.5, a + 0.5
        clock.now += 0.01 if found.now.way == pace.NOTEBOOK else 0.02
        if way == found.now.way == pace.NOTEBOOK:
            counts.append(session.batches - before)

    for k in range(40):
        turn(float(100 * k))
    longest = max(len([*same]) for done, same in itertools.groupby(counts) if done == 0)
    assert longest >= 8, counts
    same(x, a)


def test_a_mask_is_counted_once_until_it_is_written(session):
    a = numbered((3000,))
    with setting(place="engines"):
        x, seen = dnb.array(a, dist="block"), []
        mask = x > 100
        session.flush()
        add = session.recorder.add
        session.recorder.add = lambda *c: (seen.extend(c), add(*c))[1]
        try:
            for _ in range(3):
                same(x[mask], a[a > 100])
            x[mask] = x[mask] + 1
            counts = [c for c in seen if getattr(c, "op", "") == "count"]
            assert len(counts) <= 1
            mask[:500] = False
            known = np.asarray(mask)
            same(x[mask], np.where(a > 100, a + 1, a)[known])
        finally:
            session.recorder.add = add


def test_numpys_scalars_and_arrays_are_operands_of_small_steps(session):
    a = numbered((30, 20))
    x = dnb.array(a, dist="block")
    session.flush()
    assert float(x[0, 0]) == a[0, 0]
    before = session.batches
    same(np.float64(3) <= x, np.float64(3) <= a)
    same(np.array(2.5) * x, np.array(2.5) * a)
    same(a - x, a - a)
    same(x + a.astype("f4"), a + a.astype("f4"))
    same(np.maximum(x, a[::-1]), np.maximum(a, a[::-1]))
    assert (a < x).copy().layout.base.spell() == x.copy().layout.base.spell()
    assert session.batches == before
    same(np.ones((2, 30, 20)) * x, np.ones((2, 30, 20)) * a)


def test_what_cannot_lie_in_the_segment_is_fetched_when_it_was_wanted_often(session):
    """Steps on columns of an array that is cut along them do not wait for engines each time."""
    if not session.memory.possible:
        pytest.skip("nothing is in reach here")
    n = 400  # 1.28 MB: fetched after twenty steps
    data = numbered((n, n)).astype(float)
    with setting(cutoff=0, place="auto", flush_idle=60):
        x = dnb.array(data.T.copy(), dist=("*", "block")) if session.size > 1 else dnb.array(data.T)
        y, expected = dnb.zeros_like(x), np.zeros((n, n))
        session.flush()
        before = session.batches
        for j in range(1, n):
            y[:, j] = 0.5 * x[:, j] + 0.25 * y[:, j - 1]
            expected[:, j] = 0.5 * data.T[:, j] + 0.25 * expected[:, j - 1]
        same(y, expected)
        assert session.batches - before < 40  # it was one for each step


def test_what_users_of_engines_look_at_is_not_fetched(session, monkeypatch):
    """Only that: other arrays come in reach as ever, and what was shown is the one that is there."""
    if not session.memory.possible or session.size == 1 or session.transport.rank is not None:
        pytest.skip("nothing is in reach here, or all is in the segment")
    monkeypatch.setattr(session.memory, "seen", set())
    with setting(cutoff=0, place="auto", flush_idle=60):
        shown, other = (dnb.array(numbered((64, 64)), dist=("*", "block")) for _ in range(2))
        session.bind([("shown", shown.operand)])
        for _ in range(40):
            shown[:, 1] += 1
            other[:, 1] += 1
        session.flush()
        assert shown.dbase.near is None
        assert other.dbase.near is not None
        same(shown, other)


@pytest.mark.parametrize("dist", DISTS, ids=str)
@pytest.mark.parametrize(
    "shape",
    [
        (4, 3, 3, 8),
        (7, 5),
        (5, 1, 6),
        (1, 6, 4),
        (2, 70),
        (3, 65, 2),
        (6, 4097),
        (2, 2, 1),
        (9, 64),
    ],
    ids=str,
)
def test_sums_along_axes_have_the_bits_of_engines(session, shape, dist):
    rng = np.random.default_rng(5)
    for dtype in "fdD":
        data = (rng.random(shape) * 10.0 ** rng.integers(-6, 6, shape)).astype(dtype)
        x = dnb.array(data, dist=dist)
        for n in range(1, len(shape)):
            for axes in itertools.combinations(range(len(shape)), n):
                for op in ("sum", "prod"):
                    with setting(place="engines"):
                        expected = getattr(x, op)(axis=axes)
                        bits = expected.to_numpy()
                    x[(0,) * x.ndim]
                    found = getattr(x, op)(axis=axes)
                    assert found.shape == expected.shape
                    assert found.dtype == expected.dtype
                    assert found.to_numpy().tobytes() == bits.tobytes()
                    if isinstance(found, dnb.DistArray):
                        assert found.layout == expected.layout


def drawn_view(rng, shape):
    """Return an index of slices, most of them forward, and of a few numbers and new axes."""
    key = []
    for n in shape:
        start, stop = sorted(rng.integers(0, n + 1, 2))
        step = int(rng.choice([1, 1, 2, 3]))
        key += [np.newaxis] * (rng.random() < 0.1)
        key.append(int(start) if start < stop and rng.random() < 0.2 else slice(start, stop, step))
        if type(key[-1]) is slice and rng.random() < 0.1:
            key[-1] = slice(None, None, -1)
    return tuple(key)


@pytest.mark.parametrize("dist", DISTS, ids=str)
@pytest.mark.parametrize("op", ["sum", "prod"])
def test_sums_of_views_have_the_bits_of_engines(session, dist, op):
    rng = np.random.default_rng(11)
    a = (rng.random((41, 30, 4)) * 10.0 ** rng.integers(-6, 6, (41, 30, 4))).astype("f")
    a = a if op == "sum" else np.exp(1j * a)
    x = dnb.array(a, dist=dist)
    x[0, 0, 0]  # engines map it
    for _ in range(150):
        key, made = drawn_view(rng, a.shape), bool(rng.random() < 0.5)
        ndim, keepdims = a[key].ndim, bool(rng.random() < 0.3)
        axis = None if not ndim or rng.random() < 0.4 else int(rng.integers(ndim))
        axis = axis if rng.random() < 0.8 else tuple(range(-1, -1 - ndim, -1))
        found = []
        for place in ("engines", "auto"):
            with setting(place=place):
                view = x[key] + 1 if made else x[key]
                found.append(getattr(view, op)(axis=axis, keepdims=keepdims))
        same(found[1], np.asarray(found[0]))
        assert np.asarray(found[1]).tobytes() == np.asarray(found[0]).tobytes()
        if isinstance(found[1], dnb.DistArray):
            assert found[1].layout == found[0].layout
            assert found[1].flags.c_contiguous == found[0].flags.c_contiguous
        else:
            assert not np.shape(found[0])


def test_variances_of_pieces(session):
    a = numbered((40, 30)) % 7
    x = dnb.array(a, dist="block")
    x[0, 0]
    for key in np.s_[3], np.s_[:, 4], np.s_[3:20, 2:9], np.s_[::-2, ::3]:
        for axis in (None, 0, -1):
            for options in ({}, {"ddof": 1}, {"ddof": 2.5}, {"ddof": np.array([1])}, {"ddof": 100}):
                with warnings.catch_warnings(record=True) as ours:
                    warnings.simplefilter("always")
                    found = np.std(x[key], axis=axis, **options)
                with warnings.catch_warnings(record=True) as theirs:
                    warnings.simplefilter("always")
                    expected = np.std(a[key], axis=axis, **options)
                alike(np.asarray(found), expected, 1e-12)
                assert len(ours) == len(theirs)
    with pytest.raises(TypeError):
        np.std(x[3:9], axis=True)


@pytest.mark.parametrize("how", [((3, 4), (80, 8)), ((51, 10), (8, 8)), ((5,), (88,))], ids=repr)
def test_strides_that_are_given_alias_as_numpys(session, how):
    a = np.arange(60.0).reshape(6, 10)
    for cutoff in (0, 1 << 16):
        with setting(cutoff=cutoff):
            both = [(a.copy(), np), (dnb.array(a), dnb)]
            views = [xp.lib.stride_tricks.as_strided(x, *how, writeable=False) for x, xp in both]
            for x, _ in both:
                x[1:, ::3] *= 2.0
            same(views[1], views[0])
            same(views[1][::-1] + 1, views[0][::-1] + 1)
            assert views[1].strides == views[0].strides
            assert views[1].base is both[1][0]
            with pytest.raises(ValueError, match="read-only"):
                views[1][...] = 3


def test_few_distinct_floats_and_their_places_take_no_batch(session):
    a = np.round(numbered((300, 300)) / 7000)
    a[:, ::9] = np.nan
    for place in ("engines", "auto"):
        with setting(place=place, cutoff=1 << 10, flush_idle=60):
            x = dnb.array(a, dist="block")
            for key in (3, np.s_[:, 5], np.s_[:7, 2:9]):
                for more in ({"return_inverse": True}, {"return_index": True, "equal_nan": False}):
                    before = session.batches
                    found = np.unique(x[key], **more)
                    assert place == "engines" or session.batches == before
                    for ours, numpys in zip(found, np.unique(a[key], **more), strict=True):
                        same(ours, numpys)


@pytest.mark.parametrize("key", [3, np.s_[:, 5], np.s_[:7, 2:9]], ids=repr)
def test_few_slices_of_a_large_array_change_places_without_a_batch(session, key):
    """Row by row, a table was shuffled at 10 ms a row and more."""
    a, found = np.arange(90_000.0).reshape(300, 300), []
    for place in ("engines", "auto"):
        with setting(place=place, cutoff=1 << 16, flush_idle=60):
            x, rng = dnb.array(a, dist="block"), dnb.random.default_rng(3)
            before = session.batches
            order = rng.permutation(x[key], axis=-1)
            rng.shuffle(x[key], axis=-1)
            assert place == "engines" or session.batches == before
            found.append((x.to_numpy(), order.to_numpy(), order.placed, order.strides))
    (b, order, *lies), (c, other, *there) = found
    np.testing.assert_array_equal(b, c)
    np.testing.assert_array_equal(order, other)
    assert lies == there
    assert (b[key] != a[key]).any()
    np.testing.assert_array_equal(np.sort(b[key]), a[key])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["f8", "i8"])
@pytest.mark.parametrize("text", ["ij,j->i", "ij,kj->", "ij,ij->ji", "...j,kj", "...ab,...ab->..."])
def test_einsum_of_operands_in_reach_takes_no_batch(session, text, dtype):
    a, b = (numbered(s).astype(dtype) for s in ((60, 7), (7,) if text == "ij,j->i" else (60, 7)))
    found = {}
    for place in ("engines", "auto"):
        with setting(place=place, flush_idle=60):
            x, y = dnb.array(a, dist="block"), dnb.array(b, dist="block")
            before = session.batches
            made = np.einsum(text, x, y)
            assert place == "engines" or session.batches == before
            same(made, np.einsum(text, a, b))
            found[place] = made.copy().layout.base.spell() if made.shape else dnb.isscalar(made)
            with pytest.raises(ValueError, match=r"^Number of einsum subscripts"):
                np.einsum("ij", x, y)
    assert found["auto"] == found["engines"]


def test_integers_and_floats_are_summed_as_engines_do(session):
    """Also where only what is not distributed is of floats."""
    whole = np.arange(6000) % 7
    w = np.random.default_rng(4).standard_normal(6000)
    calls = {
        "average": lambda x: np.average(x, weights=w),
        "convolve": lambda x: np.convolve(x, list(w[:50]), "valid"),
        "start": lambda x: np.sum(x, initial=0.1),
    }
    for name, call in calls.items():
        found = []
        for place in ("engines", "auto"):
            with setting(place=place):
                found.append(np.asarray(call(dnb.array(whole, dist="block"))).tobytes())
        assert found[0] == found[1], name


FACTORED = {
    "solve": lambda a, b: np.linalg.solve(a, b),
    "solve one": lambda a, b: np.linalg.solve(a, b[:, 0]),
    "solve stack": lambda a, b: np.linalg.solve(a[None] * np.array([[[1.0]], [[2.0]]]), b),
    "inv": lambda a, b: np.linalg.inv(a),
    "det": lambda a, b: np.linalg.det(a / 9),
    "slogdet": lambda a, b: np.linalg.slogdet(a)[1],
    "cholesky": lambda a, b: np.linalg.cholesky(a + a.T + 300 * np.eye(40)),
    "eigh": lambda a, b: np.linalg.eigh(a + a.T)[0],
    "eigvalsh": lambda a, b: np.linalg.eigvalsh(a + a.T),
    "svdvals": lambda a, b: np.linalg.svdvals(a),
}


@pytest.mark.parametrize("what", FACTORED)
def test_small_factorizations_take_no_batch(session, what):
    a, b = numbered((40, 40)) % 7 + 9 * np.eye(40), numbered((40, 3))
    found = {}
    for place in ("engines", "auto"):
        with setting(place=place, flush_idle=60):
            x, y = dnb.array(a, dist="block"), dnb.array(b)
            session.flush()
            session.small_steps = 0  # after several of them engines are waited for
            before = session.batches
            made = FACTORED[what](x, y)
            assert place == "engines" or session.batches == before
            np.testing.assert_allclose(np.asarray(made), FACTORED[what](a, b), rtol=1e-9)
            found[place] = made.copy().layout.base.spell() if np.ndim(made) else dnb.isscalar(made)
            with pytest.raises(np.linalg.LinAlgError):
                np.asarray(np.linalg.inv(dnb.zeros((3, 3), dist="block")))
    assert found["auto"] == found["engines"]


WINDOWS = [
    (slice(None), slice(2, 5), None, slice(7, 1, -2)),
    (slice(1, 6), 3),
    (slice(4, 4), slice(None), 5),
    (slice(5, 2, -1), slice(3, 6), slice(1, 9, 3)),
    (2, slice(1, -1), slice(-4, None)),
    (..., slice(1, 3)),
]


@pytest.mark.parametrize("dist", ["block", ("*", "block"), ("cyclic", "*", "block"), "replicated"])
def test_windows_lie_as_on_engines(dist):
    a = numbered((8, 9, 10))
    found = {}
    for place in ("engines", "auto"):
        with setting(place=place, cutoff=0):
            x = dnb.array(a, dist=dist)
            results = [(x[key] + 1, x[key].sum(axis=0)) for key in WINDOWS]
            found[place] = [r.copy().layout.base.spell() for pair in results for r in pair]
            for key, (more, total) in zip(WINDOWS, results, strict=True):
                same(more, a[key] + 1)
                same(total, a[key].sum(axis=0))
    assert found["auto"] == found["engines"]


def test_a_loop_over_windows_finds_one_layout():
    with setting(cutoff=0):
        x = dnb.array(numbered((8, 40, 40)), dist="block")
        for i in range(30):
            (x[:, i : i + 3, i : i + 4] * 2.0).sum(axis=(1, 2)).copy().layout  # noqa: B018
            if i == 1:
                before = table.kept_layout.cache_info().misses
        assert table.kept_layout.cache_info().misses == before


def test_rows_of_a_new_array_are_used_without_a_batch(session):
    with setting(cutoff=1 << 10, flush_idle=60):
        dnb.zeros((60, 40))  # the first one asks engines to map the segment
        before = session.batches
        x, y = dnb.zeros((50, 40)), dnb.empty((500, 2000))
        y[...] = 1.0
        for i in range(1, 50):
            x[i] = x[i - 1] + y[i, :40]
        if x.near is not None:  # else there is no segment, and engines filled it
            assert session.batches == before
        same(x, np.repeat(np.arange(50.0)[:, None], 40, axis=1))
        assert x.layout == dnb.zeros((50, 40), dist="block").layout


@pytest.mark.parametrize("other", [(), (1,), (4,), (3, 1), (1, 1)], ids=str)
def test_numpys_arrays_that_are_repeated_need_no_engine(session, other):
    with setting(cutoff=0):
        a = dnb.array(numbered((3, 4)), dist="block")
        first = float(a[0, 0])
        before = session.recorded
        found = [np.ones(other) + a, dnb.where(a > first, a, np.ones(other)), a * np.ones(other)]
        assert session.recorded == before
        assert {x.shape for x in found} == {(3, 4)}


def test_what_windows_come_to_is_found_without_making_them(session):
    """Of many bytes, too: engines would first make all windows of what the notebook looks at."""
    a = np.random.default_rng(4).standard_normal(60_000)
    found = {}
    for place in ("engines", "auto"):
        with setting(place=place):
            x = dnb.array(a, dist="block") * 1.0
            session.flush()
            before, windows = session.recorded, windows_of(x, 64)
            found[place] = [windows.max(-1), windows.mean(1), windows.sum(-1), windows @ x[:64]]
            if place == "auto":
                assert session.recorded - before <= 2 * session.size  # it came in reach
    rows = windows_of(a, 64)
    wanted = [rows.max(-1), rows.mean(1), rows.sum(-1), rows @ a[:64]]
    for one, other, numpys in zip(*found.values(), wanted, strict=True):
        np.testing.assert_allclose(other.to_numpy(), numpys, 1e-9, 1e-12)
        if one is not found["engines"][3]:
            np.testing.assert_array_equal(one.to_numpy(), other.to_numpy())


#: Of an array with two axes, of which engines have what they would copy first, and what not.
DEALT = (
    np.s_[:],
    np.s_[3],
    np.s_[:, 5],
    np.s_[2:20:3, 4:30],
    np.s_[::-1],
    np.s_[:, ::-1],
    np.s_[7:8, 1:40],
    np.s_[:, None, 7],
)
DEALERS = ("cyclic", ("*", "cyclic"), ("cyclic", "cyclic"), ("block", ("cyclic", 3)))


@pytest.mark.cases(4)
@pytest.mark.parametrize("dtype", list("efdFDi"))
@pytest.mark.parametrize("dist", [*DEALERS, (("cyclic", 5), "*"), (("cyclic", 4), "block")])
def test_what_is_dealt_is_reduced_in_reach_as_on_engines(session, dist, dtype):
    """To the last bit, of windows of any steps; and no window takes a command."""
    a = (numbered((24, 41)) / 7 * (1 if dtype in "efdi" else 1 + 1j / 3)).astype(dtype)
    found = {}
    for place in ("engines", "notebook"):
        with setting(place=place, cutoff=0):
            x = dnb.array(a, dist=dist)
            x.sum(), x.sum()  # it comes in reach
            before = session.recorded
            views = [x[key] for key in DEALT]
            sums = [v.sum(axis=axis) for v in views for axis in (None, 0, -1)]
            sums += [v.sum(dtype=kind) for v in views for kind in ("F", "complex128", complex)]
            sums += [np.add.reduce(x, dtype="c16"), np.nansum(x, dtype="c16"), x.prod(0, "c16")]
            found[place] = sums + [v.mean(axis=0) for v in views]
            if place == "notebook" and session.memory.possible:
                assert session.recorded == before
    for one, other in zip(*found.values(), strict=True):
        assert_same_as_numpy(np.asarray(one), np.asarray(other))
        assert not other.ndim or one.layout.base.spell() == other.layout.base.spell()


def test_loops_over_windows_of_what_is_dealt_take_no_commands(session):
    """Of an array that only engines have made: it comes in reach when it is wanted."""
    with setting(place="auto", cutoff=0):
        x = dnb.array(numbered((6000,)), dist="cyclic")
        for _ in range(20):
            x[10:90:7].sum()
        before = session.recorded
        found = [x[k * 10 : k * 10 + 80 : 7].sum() for k in range(300)]
        if session.memory.possible and x.near is not None:
            assert session.recorded == before
    want = [numbered((6000,))[k * 10 : k * 10 + 80 : 7].sum() for k in range(300)]
    np.testing.assert_allclose(found, want, 1e-12)


@pytest.mark.cases(5)
@pytest.mark.parametrize("code", ["x[::2] = three", "x & 1.5", "n += 1.5", "m - m", "-m"])
def test_what_numpy_refuses_is_told_once(session, code):
    """Who reads two tracebacks looks for two mistakes."""
    x = dnb.ones((300, 20), session=session)
    names = {"x": x, "n": x.astype(int), "m": x > 0, "three": np.ones(3)}
    with pytest.raises((TypeError, ValueError)) as caught:
        exec(code, names)
    error = caught.value
    assert error.__context__ is None or error.__suppress_context__

"""A reduction of what is only made for it runs in the same pass, with the same digits."""

from inspect import currentframe

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.engines.fusion import loops, reduction_blocks
from tests.contract.support import no_warnings, on_engines, setting
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "unfused", "compiled")

EXPRESSIONS = {
    "multiply": lambda x, a, b: a * b,
    "distance": lambda x, a, b: abs(a - b),
    "square": lambda x, a, b: (a - b) ** 2,
    "row": lambda x, a, b: a * b[:1] + 1,
    "column": lambda x, a, b: a - b[..., -1:],
    "choice": lambda x, a, b: x.where(a < b, a, 0),
    "compare": lambda x, a, b: a > b,
    "cast": lambda x, a, b: (a + b).astype("f4"),
    "halo": lambda x, a, b: a[1:] - b[:-1],
    "transposed": lambda x, a, b: a.T + 0.5,
    "outer": lambda x, a, b: a[:, None] * b[None],
}
REDUCTIONS = {
    "sum": lambda x, t, axis: x.sum(t, axis=axis),
    "keepdims": lambda x, t, axis: x.sum(t, axis=axis, keepdims=True),
    "wider": lambda x, t, axis: x.sum(t, axis=axis, dtype="f8"),
    "max": lambda x, t, axis: x.max(t, axis=axis),
    "any": lambda x, t, axis: x.any(t, axis=axis),
    "mean": lambda x, t, axis: x.mean(t, axis=axis),
    "var": lambda x, t, axis: x.var(t, axis=axis),
    "where": lambda x, t, axis: x.sum(t, axis=axis, where=t > 0.5),
    "initial": lambda x, t, axis: x.max(t, axis=axis, initial=0),
    "twice": lambda x, t, axis: x.sum(t, axis=axis) + x.max(t, axis=axis),
    "position": lambda x, t, axis: x.argmax(t, axis=axis),
}


def forget(session):
    """Let engines plan anew, with the sizes of now."""
    for f in (loops.group_plan, reduction_blocks.reduction_blocks):
        f.cache_clear()
    on_engines(session, "setattr(worker, 'plans', type(worker.plans)())")


@pytest.fixture(params=[False, True], ids=["small cells", "as they are"], autouse=True)
def sizes(request, session, monkeypatch):
    """Cells and tiles of a few elements (in engines of this process), so that there are many."""
    if not request.param:
        monkeypatch.setattr(loops, "TILE", 20)
        monkeypatch.setattr(reduction_blocks, "_ELEMENTS", 8)
        monkeypatch.setattr(reduction_blocks, "_ROWS", 4)
        monkeypatch.setattr(reduction_blocks, "_FEWEST", 2)
    forget(session)
    yield
    forget(session)


@pytest.fixture
def whole_batches():
    """No timer cuts a batch between an operation and its reduction."""
    with setting(flush_idle=3.0):
        yield


def evaluate(data, x, a, b):
    """Return the results of an expression and reductions that are the same for all ``data``."""
    made, reduced, axis = data
    return REDUCTIONS[reduced](x, EXPRESSIONS[made](x, a, b), axis)


@given(st.data())
@examples(60)
def test_tails_are_as_reductions_of_what_is_stored(session, data):
    ndim = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.integers(2, 11)) for _ in range(ndim))
    dtype = data.draw(st.sampled_from(["f8", "f8", "f4", "i4", "c16"]))
    made = data.draw(st.sampled_from([n for n in EXPRESSIONS if dtype != "c16" or n != "cast"]))
    reduced = data.draw(st.sampled_from(list(REDUCTIONS)))
    if dtype == "c16" and reduced == "wider":
        reduced = "sum"
    axes = st.none() | st.integers(-ndim, ndim - 1)
    if reduced != "position" and ndim > 1:
        axes |= st.permutations(range(ndim)).map(lambda p: tuple(p[:2]))
    what = made, reduced, data.draw(axes)
    dist = data.draw(testing.layouts(shape, session.size))
    other = data.draw(st.sampled_from([dist, dist, None]))
    rng = np.random.default_rng(1)
    x, y = ((rng.standard_normal(shape) * 8).astype(dtype) for _ in range(2))
    with no_warnings():
        expected = np.asarray(evaluate(what, np, x, y))
        a, b = dnb.array(x, dist=dist), dnb.array(y, dist=other)
        found = [one(what, a, b, fuse, cut=False) for fuse in (1, 0)]
        found.append(one(what, a, b, 1, cut=True))
    for values in found:
        assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
        assert values.tobytes() == found[0].tobytes()
    error = 1e-4 if np.finfo(np.result_type(values, "f4")).bits == 32 else 1e-11
    np.testing.assert_allclose(values, expected, rtol=error, atol=error * 64)


def one(what, a, b, fuse, cut):
    """Return values; ``cut`` ends the batch before the reduction, so that it reads what is stored."""
    made, reduced, axis = what
    with setting(fuse=fuse, flush_idle=3.0):
        t = EXPRESSIONS[made](dnb, a, b)
        if cut:
            a.session.flush()
        found = REDUCTIONS[reduced](dnb, t, axis)
        del t
        return np.asarray(found)


def sizes_in_pool(session):
    return on_engines(session, "sorted(worker.store.memory.pool.free)")


@pytest.mark.usefixtures("engines_only", "whole_batches")
def test_what_is_reduced_is_not_stored(session):
    a = dnb.ones((session.size * 11, 5021), dist="block")
    session.flush()
    before = sizes_in_pool(session)
    with setting(fuse=1):
        total = float((a + a).sum())  # not in an assert, which would keep what it looks at
        largest = float(abs(a - 3).max())
        squares = np.asarray(((a + 1) ** 2).sum(axis=1))
    assert sizes_in_pool(session) == before
    expected = session.size * 11 * 5021 * 2.0
    assert total == expected
    assert largest == 2
    assert squares.tolist() == [4 * 5021.0] * len(a)
    t = a + a
    assert float(t.sum()) == expected  # it is needed later: so it is stored
    np.testing.assert_array_equal(np.asarray(t[0]), np.full(5021, 2.0))


@pytest.mark.usefixtures("session")
def test_what_is_read_again_is_stored():
    x, y = np.arange(24.0).reshape(6, 4), np.ones((6, 4))
    a, b = dnb.array(x), dnb.array(y)
    t = a * b
    s = t.sum(axis=0)
    u = t + s
    del t
    np.testing.assert_array_equal(np.asarray(u), x + x.sum(axis=0))
    t = a - b
    found = [t.sum(), t.max(), t[1:].sum(), t.T.sum(axis=0)]
    del t
    expected = [(x - y).sum(), (x - y).max(), (x - y)[1:].sum(), (x - y).T.sum(axis=0)]
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(f), e)


@pytest.mark.usefixtures("engines_only", "whole_batches")
def test_warnings_come_from_the_line_of_the_reduction(session):
    a = dnb.full((session.size * 3, 4), 1e308, dist="block")
    session.flush()
    t = a * 1.0
    total = t.sum()
    line = currentframe().f_lineno - 1
    del t
    with pytest.warns(RuntimeWarning, match="overflow encountered in reduce") as told:
        found = float(total)
    assert [(w.filename, w.lineno) for w in told] == [(__file__, line)]
    assert np.isinf(found)

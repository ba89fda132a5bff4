"""Ufuncs of some last axes: as in NumPy, whatever is cut, and called with parts."""

import tracemalloc

import numpy as np
import pytest
from numpy._core import _umath_tests
from numpy.linalg import _umath_linalg

import distnb as dnb
from distnb.client.math import stacks
from tests.contract.support import measured, numbered, same

pytestmark = pytest.mark.filterwarnings("ignore")
LAYOUTS = [("block", "*"), ("*", "block"), ("cyclic", "*"), ("block", "block"), "replicated", None]
running = _umath_tests.cumsum  # (i)->(i)
inner = _umath_tests.inner1d  # (i),(i)->()
times = _umath_tests.matrix_multiply  # (m,n),(n,p)->(m,p)
determinant = _umath_linalg.slogdet  # (m,m)->(),()


def check(function, *arrays):
    """Compare a function of distributed arrays with the same of NumPy's: results, or errors."""
    plain = [x.to_numpy() if isinstance(x, dnb.DistArray) else x for x in arrays]
    want = function(*plain)
    got = function(*arrays)
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for one, other in pairs:
        assert isinstance(one, dnb.DistArray)
        same(one, np.asarray(other), 1e-13)


@pytest.mark.cases(3)
@pytest.mark.parametrize("dist", LAYOUTS, ids=str)
def test_parts_and_whole_axes(session, dist):
    x = dnb.array(numbered((7, 5)), dist=dist)
    row = dnb.array(numbered(5), dist="block")
    for y in (x, x.T, x[::-2, 1:], x.astype("f4"), x.astype(int), row):
        check(running, y)
    check(lambda a: running(a, axis=0), x)
    check(lambda a: running(a, axis=-1), x)
    check(lambda a: inner(a, row.to_numpy()), x)
    check(inner, x, row)
    check(inner, row, row)
    check(lambda a: inner(a, a, axis=0), x)
    check(times, x, x.T)
    check(times, x, dnb.array(numbered((3, 5, 2))))
    check(times, x, np.ones((2, 3, 5, 1)))


def test_stacks_of_many_axes(session):
    a = dnb.array(numbered((4, 3, 2, 5)), dist=("*", "block", "*", "*"))
    check(times, a, dnb.array(numbered((3, 5, 1)), dist="block"))
    check(times, a, dnb.array(numbered((4, 1, 5, 2)), dist="block"))
    check(running, a)
    check(lambda x: running(x, axis=1), a)
    check(determinant, a[..., :2] + 3)
    check(determinant, a[0, 0, :, :2])
    for shape in ((0, 5), (5, 0), (1, 5), (1, 1)):
        check(running, dnb.array(np.ones(shape), dist="block"))


@pytest.mark.ways("started")
def test_options_of_generalized_ufuncs(session):
    a = dnb.array(numbered((4, 3, 2, 5)), dist=("*", "block", "*", "*"))
    b = dnb.array(numbered((2, 5)), dist="block")
    check(lambda x, y: inner(x, y, axis=-1, keepdims=True), a, b)
    check(lambda x: inner(x, x, axes=[0, 0], keepdims=True), a)
    check(lambda x: inner(x, x, axes=[0, 0, 1], keepdims=True), a)
    check(lambda x: running(x, axes=[1, -1]), a)
    check(lambda x, y: times(x, y, axes=[(-2, -1), (1, 0), (0, 1)]), a, b)
    check(lambda x, y: times(x, y, axes=[(-2, -1), (1, 0), (-1, 0)]), a, b)
    check(lambda x: determinant(x, axes=[(1, 0), (), ()]), a[:2, :2] + 3)
    check(lambda x, y: inner(x, y, dtype="l", casting="unsafe"), a, b)
    check(lambda x, y: inner(x, y, signature="ll->l", casting="unsafe"), a, b)
    for x, y in ((a, b.T), (a[0, 0, 0], b.T), (b, b[0]), (b[0], b[1]), (b[0], 0 * a[0, 0].T)):
        check(_umath_tests.matmul, x, y)


def test_what_comes_of_it_is_found_out_without_elements(session):
    x = dnb.zeros(300_000, dist="block")
    tracemalloc.start()
    try:
        made = stacks._asked(stacks._Called(running, {}, [1, 1]), [x])
        assert tracemalloc.get_traced_memory()[1] < x.nbytes / 10
    finally:
        tracemalloc.stop()
    assert made == [((300_000,), np.dtype(float))]


def test_outputs_of_generalized_ufuncs(session):
    x = dnb.array(numbered((6, 5)), dist=("*", "block"))
    for like in (np.zeros((6, 5)), dnb.zeros((6, 5), dist="block")):
        out = like
        assert running(x, out=out, axis=0) is out
        same(dnb.asarray(out), running(x.to_numpy(), axis=0))
        assert running(out, out=out) is out
        same(dnb.asarray(out), running(running(x.to_numpy(), axis=0)))
    every, want = dnb.zeros((2, 6)), np.zeros((2, 6))
    assert inner(x, x, every) is every
    same(every, inner(x.to_numpy(), x.to_numpy(), want))
    sign, log = dnb.zeros(3), None
    square = dnb.array(numbered((3, 2, 2)), dist="block") + 1
    found = determinant(square, out=(sign, log))
    assert found[0] is sign
    same(sign, determinant(square.to_numpy())[0])
    same(found[1], determinant(square.to_numpy())[1])
    view = dnb.zeros((5, 6), dist="block")
    times(x, x.T[:, :2], view[:2].T)
    same(view[:2], times(x.to_numpy(), x.to_numpy().T[:, :2]).T)


def test_numbers_have_the_dtype_that_numpy_gives_them(session):
    x = dnb.array(numbered((7, 5), "f4"), dist="block")
    check(lambda a: inner(a[:, :1], np.ones(1)), x)
    with pytest.raises(ValueError, match="enough dimensions"):
        inner(x, 2.0)


@pytest.mark.tier("test-all")  # each engine compiles it
def test_numbas(session):
    numba = pytest.importorskip("numba")

    @numba.guvectorize(["void(f8[:], f8, f8[:], i8[:])"], "(n),()->(),()")
    def above(x, least, total, count):
        total[0], count[0] = 0.0, 0
        for one in x:
            if one > least:
                total[0] += one
                count[0] += 1

    x = dnb.array(numbered((7, 5)), dist="block")
    check(above, x, 3.0)
    check(above, x[0], dnb.array(numbered((4, 1))))
    with pytest.raises(ValueError, match="broadcast"):
        above(x, dnb.ones(3))


def test_where_results_lie_and_what_is_sent(session, engines_only):
    x = dnb.array(numbered((40, 5)), dist=("block", "*"))
    session.flush()
    with measured(session) as found:
        y = running(x)
        session.flush()
    assert session.size == 1 or y.layout == x.layout
    (op,) = [op for op in found[0].ops if op.op.startswith("map_stacks")]
    assert sum(rank.bytes for op in found[0].ops for rank in op.ranks) == 0
    assert "test_stacks.py" in op.line


def test_what_does_not_fit(session):
    x = dnb.array(numbered((7, 5)), dist="block")
    with pytest.raises(ValueError, match="mismatch"):
        times(x, dnb.ones((4, 2)))
    with pytest.raises(ValueError, match="enough dimensions"):
        times(x[0], x)
    with pytest.raises(ValueError, match="broadcast"):
        inner(x, dnb.ones((3, 5)))
    with pytest.raises(ValueError, match="shape|broadcast"):
        running(x, out=dnb.empty((7, 4)))
    with pytest.raises(TypeError, match="same_kind"):
        running(x, out=dnb.empty((7, 5), dtype=int))
    for options in ({"keepdims": True}, {"where": True}, {"axis": 0, "axes": [0, 0]}, {"axes": 0}):
        with pytest.raises(TypeError):
            running(x, **options)
    with pytest.raises(TypeError, match="keepdims.*boolean"):
        inner(x, x, keepdims=1)
    with pytest.raises(np.exceptions.AxisError, match="axes item"):
        times(x, x.T, axes=[0, (0, 1), (0, 1)])
    for entry in (None, [0, 1], 0.0):
        with pytest.raises(TypeError, match="should be a tuple"):
            times(x, x.T, axes=[entry, (0, 1), (0, 1)])
        with pytest.raises(TypeError, match="should be a tuple"):
            dnb.matmul(x, x.T, axes=[entry, (0, 1), (0, 1)])
    for call in (times, dnb.matmul):
        with pytest.raises(TypeError, match="keepdims"):
            call(x, x.T, keepdims=False)
    with pytest.raises(ValueError, match="all inputs and outputs"):
        running(x, axes=[0])
    with pytest.raises(TypeError, match="single shared core dimension"):
        times(x, x, axis=0)
    with pytest.raises(TypeError, match="not supported for the input types|No matching|no loop"):
        running(x.astype(complex))  # cumsum has loops of reals
    with pytest.raises(RuntimeError, match="How unexpected"):
        np.asarray(_umath_tests.always_error_gufunc(x, dnb.ones(7)))
    with pytest.raises(np.exceptions.AxisError):
        running(x, axis=2)

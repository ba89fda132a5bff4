"""Arguments and outputs as NumPy takes or refuses them, and what it warns of.

Each case is an expression, or statements that leave an array ``r``; see ``test_numpy_letter``.
"""

import pickle
import warnings

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import distnb as dnb
from tests.contract.support import agree
from tests.contract.test_numpy_letter import Read, read, run

CASES = {
    "copy": (
        "xp.array([1, 2, 3], copy='always')",
        "xp.asarray(A([1, 2]), copy='a')",
        "xp.array(A([1, 2]), copy=np._CopyMode.NEVER)",
        "xp.array(A([1, 2]), copy=np._CopyMode.IF_NEEDED)",
        "xp.array([1, 2], copy=0)",
        "xp.array(A([[1, 2, 4], [3, 4, 5]]).T, copy=False, order='C')",
        "xp.array(A([[1, 2, 4], [3, 4, 5]]), copy=False, order='F')",
        "xp.array(A([[1, 2, 4], [3, 4, 5]]).T, copy=False, order='F')",
        "xp.array(A([1, 2, 4]), copy=False, order='F')",
    ),
    "limits": (
        "xp.arange(start=4)",
        "xp.arange()",
        "xp.arange(stop=4)",
        "xp.arange(4, None)",
        "xp.arange([], 1, 2)",
        "xp.arange(0, [None, []], 2)",
        "xp.clip(A([1, 2, 3]))",
        "xp.clip(A([1, 2, 3]), a_max=2)",
        "xp.clip(A([1, 2, 3]), None, 2)",
        "xp.clip(A([1, 2, 3]), min=2)",
        "xp.clip(A([1, 2, 3]), 2, 3, max=3)",
        "A([1, 2, 3]).clip(2)",
        "A([1, 2, 3]).clip(max=2)",
        "xp.isin(A([1, 2]), A([1.0]), kind='table')",
        "xp.isin(A([1, 2]), A([1]), kind='table')",
        "xp.take(A([[1]]), [0], False)",
        "A([[1, 2], [3, 4]]).partition(1, axis=None)",
    ),
    "truth values as axes": (
        "xp.concatenate([A([[1]])] * 2, axis=True)",
        "xp.squeeze(A([[1]]), axis=True)",
        "xp.repeat(A([[1]]), 2, axis=True)",
        "xp.mean(A([[1]]), axis=True)",
        "xp.std(A([[1]]), axis=True)",
        "xp.transpose(A([[1, 2]]), (True, False))",
        "xp.argsort(A([[2, 1]]), axis=True)",
        "xp.sort(A([[2, 1]]), axis=True)",
        "xp.stack([A([2, 1])] * 2, axis=True)",
        "xp.median(A([[2, 1]]), axis=True)",
        "xp.diff(A([[2, 1]]), axis=True)",
    ),
    "indices": (
        "A([[[5]]])[0.0:, 0.0]",
        "A([[1, 2], [3, 4]]).flat[A([1.0, 2.0])]",
        "xp.ones((1,) * 33).flat",
        "xp.ones((1,) * 34 + (2,)) + 1",
        "xp.ones((1,) * 40) * xp.ones((1,) * 34)",
        "(x := A(5), xp.put(x, 0, 7), x)[2]",
        "(x := A(5), x.put([0, -1], [3, 4]), x)[2]",
        "(x := A(5), xp.put(x, 9, 7, mode='clip'), x)[2]",
        "xp.put(A(5), 1, 7)",
        "len(xp.ones((1,) * 32).flat)",
        "xp.where(A([True]), 1, 2)",
    ),
    "outputs": (
        "xp.dot(A(np.ones((8, 4))), A(np.ones((4, 3))), A(np.ones((8, 3))))",
        "xp.dot(A(np.ones((8, 4))), A(np.ones((4, 3))), A(np.ones((3, 8))).T)",
        "xp.dot(A(np.ones((8, 4))), A(np.ones((4, 3))), A(np.ones((8, 6)))[:, :3])",
        "xp.dot(A(np.ones((8, 4))), A(np.ones((4, 3))), A(np.ones((8, 3), 'f')))",
        "xp.dot(A([1.5, 2]), 2, A([0, 0]))",
        "xp.dot(A([1.5, 2]), A([1.5, 2]), out=np.zeros((), int))",
        "xp.matmul(A(np.ones((8, 4))), A(np.ones((4, 3))), out=A(np.ones((8, 3), int)))",
        "xp.matmul(A(np.ones((8, 4))), A(np.ones((4, 3))), out=A(np.ones((8, 3), 'D')))",
        "xp.matmul(A(np.ones((2, 4))), A(np.ones((4, 3))), out=A(np.ones((5, 2, 3))))",
        "xp.matmul(A(np.ones((2, 4))), A(np.ones((4, 3))), out=A(np.ones((5, 2, 1))))",
        "xp.matvec(A([[1.5, 2]]), A([1.5, 2]), out=A([0]))",
        "xp.vecdot(A([[0, 1, 2]]), A([[0, 1, 2]]), out=A(np.zeros((5, 4, 3))))",
        "xp.vecdot(A([[0, 1, 2]] * 2), A([[0, 1, 2]]), out=A(np.zeros(())))",
        "xp.vecmat(A([1.5, 2]), A([[1.5], [2]]), out=A(np.zeros((3, 1))))",
        "xp.einsum('i,i->i', A([1.5, 2]), A([1.5, 2]), out=A([0, 0]))",
        "xp.einsum('i,i->i', A([1.5, 2]), A([1.5, 2]), out=A([0, 0]), casting='unsafe')",
        "xp.einsum('i->i', A([1, 2]), order='W')",
        "xp.outer(A([1.5, 2]), A([1.5, 2]), out=A(np.zeros((2, 2), int)))",
        "xp.outer(A([1.5, 2]), A([1.5, 2]), out=A(np.zeros((2, 2), 'f')))",
        "xp.quantile(A([1.5, 2]), 0.3, out=A(0))",
        "xp.quantile(A([1.5, 2, 4]), [0.3], out=A([0]))",
        "xp.quantile(A([1.5, 2, 4]), [0.3], out=A([0]), method='lower')",
        "xp.percentile(A([1.5, 2, 4]), [30], out=A(np.zeros(1, 'f')))",
    ),
    "scalars": (
        "xp.ldexp(2.0, 5)",
        "xp.add(2.0, np.float32(3))",
        "xp.add(np.float32(3), 2.0)",
        "xp.power(np.int8(3), 2)",
        "xp.multiply(2, 3.5)",
        "xp.maximum(True, 2)",
    ),
    "functions": (
        "xp.vectorize(lambda x: x[::-1], signature='(n)->(n)')(A([[1, 2, 3], [4, 5, 6]]))",
        "xp.vectorize(lambda x, y: (x @ y, 1), signature='(n),(n)->(),()')(A([[1, 2]]), A([3, 4]))",
        "xp.vectorize(lambda x: x, signature='()->()', otypes='i')(A(np.zeros((0, 5))))",
        "xp.vectorize(lambda x: x, signature='()->()')(A(np.zeros((0, 5))))",
        "xp.pad(A([[1, 2], [3, 4]]), 1, lambda v, w, a, k: v.__setitem__(0, v[1] + a + w[0]))",
        "xp.pad(A([1, 2]), (2, 1), lambda v, w, a, k: v.__setitem__(-1, k['last']), last=7)",
        "xp.pad(A(np.zeros((0, 2))), 0, lambda v, w, a, k: None)",
    ),
    "dtypes of outputs": (
        "xp.prod(A([2**40, 2**40]), out=A(0.0))",
        "xp.sum(A([2**62, 2**62, 2**62]), out=A(0.0))",
        "xp.sum(A([200, 100], 'B'), out=A(0, 'B'))",
        "xp.sum(A([1.5, 2.5]), out=A(0))",
        "xp.max(A([1, 2]), out=A(0.0), initial=2.5)",
        "xp.any(A([1, 2]), out=A(0))",
        "xp.nansum(A([2**62] * 3), out=A(0.0))",
        "xp.nanprod(A([2**40] * 3), out=A(0.0))",
        "np.hypot.reduce(A([3, 4], 'B'), out=A(0, 'd'))",
        "np.multiply.reduce(A([2**40] * 3), out=np.zeros((), 'd'))",
        "xp.trace(A([[2**62, 1], [1, 2**62]]), out=A(0.0))",
        "xp.einsum('i,i->', A([2**40, 2]), A([2**40, 2]), out=A(0.0))",
        "np.maximum.reduce(A([1.5, 2]), dtype='i')",
        "np.minimum.reduce(A([[1.5, 2]]), axis=(), dtype='f')",
        "np.logical_or.reduce(A([1.5, 2]), dtype=bool)",
    ),
    "weak": (
        "xp.append(A(1, 'F'), 0.5)",
        "xp.append(A([1], 'f'), 0.5)",
        "xp.concatenate([A([1], 'f'), 0.5], axis=None)",
        "xp.concatenate([A([1], 'f'), 0.5, 2], axis=None, dtype='d')",
        "xp.hstack([A([1], 'f'), 0.5])",
    ),
    "axes": tuple(
        f"xp.vecdot(A(np.arange(27.0).reshape(3, 3, 3)), A(np.ones((3, 1, 3))), axes={axes})"
        for axes in (
            "[0, 2], keepdims=True",
            "[0, 0], keepdims=False",
            "[0, 2, 2], keepdims=True",
            "[(-1,), (-1,), ()]",
        )
    ),
    "views": (
        "(A([[1 + 1j, 2], [3, 4j]]) * A([[1.0, 2], [3, 4]])).real.sum(axis=0)",
        "xp.linalg.norm(A(np.arange(12.0).reshape(3, 1, 4) + 1j), axis=(0, 1))",
    ),
    "masks": (
        "xp.logaddexp.reduce(A([[1, 2], [3, 4]], 'B'), initial=0, where=A([[True, False]] * 2))",
        "xp.logaddexp2.reduce(A([True, False]), initial=-1, where=False)",
        "A(2.0).sum(where=False)",
        "xp.where(np.array(False), A(2.0).sum(), 3)",
        "xp.max(A(2.0), where=False, initial=7)",
        "xp.maximum.reduce(A([1, 2]), axis=1, where=A([True, False]))",
    ),
}


@pytest.mark.parametrize("code", [code for group in CASES.values() for code in group])
def test_as_numpy(session, code):
    agree(lambda: read(run(code, np)), lambda: Read(run(code, dnb)), 1e-3)


#: Statements that NumPy refuses, or that leave ``r``.
WRITES = (
    "r = A([1, 2, 3]); del r[0]",
    "r = A([1, 2, 3]); del r.flat[0]",
    "r = A([1, 2, 3]).sum(); r[...] = 7",
    "r = A([1, 2, 3])[0]; r[()] = 7",
    "r = A([[1, 2, 3]] * 5); r.partition(1)",
    "r = A([1.5, 2]); r.flat[::2] = [1j]",
    "r = A([1, 2], 'B'); r.flat[::2] = [-4.0]",
    "r = A([1, 2], 'B'); r.flat[::2] = -4",
    "r = A([1, 2], 'B'); r.flat[::2] = np.array([-4])",
    "r = A([1, 2], 'B'); r.flat = [1.5, 3]",
)


@pytest.mark.parametrize("code", WRITES)
def test_writes_as_numpy(session, code):
    agree(lambda: run(code, np, True), lambda: dnb.array(run(code, dnb, True)))


#: What NumPy warns of by itself, whatever elements there are, or does not.
TOLD = (
    "xp.isclose(A([1, 2, 3]), A([1, 2, 3]), atol=INF, rtol=NAN)",
    "xp.isclose(A([1, INF]), A([1, INF]), atol=1, rtol=INF)",
    "xp.allclose(A([1, 2, 3]), A([1, 2, 3]), atol=1, rtol=NAN)",
    "xp.isclose(A([1, 2, 3]), A([1, 2, 3]))",
    "xp.histogram(A([True, True, False]), 2)",
    "xp.histogram_bin_edges(A([True, False]), 2)",
    "xp.add(A([1, 2]), 2, where=A([True, True]))",
    "xp.add(A([1, 2]), 2, where=A([True, True]), out=None)",
    "xp.add(A([1, 2]), 2, where=True)",
)


@pytest.mark.parametrize("code", TOLD)
def test_warnings_as_numpy(session, code):
    def told(xp):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            read(run(code, xp))
        return sorted((w.category.__name__, w.filename == "<string>") for w in found)

    assert [kind for kind, _ in told(dnb)] == [kind for kind, _ in told(np)]


@pytest.mark.parametrize("dtype", "efdFD")
@pytest.mark.parametrize("n", [0, 1, 7, 150])
def test_sums_of_negative_zeros_that_begin_with_one_are_one(session, dtype, n):
    kind = np.dtype(dtype).type
    zero = kind(complex(-0.0, -0.0)) if dtype in "FD" else kind(-0.0)
    x = np.array([zero] * n, dtype)
    for first in (zero, kind(0.0)):
        found, wanted = dnb.sum(dnb.array(x), initial=first), np.sum(x, initial=first)
        found = np.asarray(found)
        for part in ("real", "imag"):
            assert np.signbit(getattr(found, part)) == np.signbit(getattr(wanted, part))


@pytest.mark.parametrize(
    "code",
    [
        "polyadd(np.poly1d([1, 2]), A([1, 2]))",
        "polysub(A([1, 2]), np.poly1d([1, 2]))",
        "polymul(A([1, 2]), np.poly1d([1, 2]))",
        "polyval(A([1, 2]), np.poly1d([1, 2]))",
        "polyder(np.poly1d([1, 2]))",
        "polyint(np.poly1d([1, 2]))",
        "polydiv(np.poly1d([1, 2]), A([1, 2]))[0]",
    ],
)
def test_polynomials_that_are_objects_make_one(session, code):
    found, wanted = run(f"xp.{code}", dnb), run(f"xp.{code}", np)
    assert type(found) is type(wanted) is np.poly1d
    assert found == wanted


def test_views_in_pieces_are_pickled_whole(session):
    x = np.arange(24).reshape(2, 3, 4)
    a = dnb.array(x)
    pairs = [(a, x, True), (a[:, :2], x[:, :2], False), (a.T, x.T, True)]
    pairs.append((a.transpose(1, 0, 2), x.transpose(1, 0, 2), True))
    for made, wanted, apart in pairs:
        buffers = []
        text = pickle.dumps(made, protocol=5, buffer_callback=buffers.append)
        assert bool(buffers) == apart
        assert pickle.loads(text, buffers=buffers).to_numpy().tolist() == wanted.tolist()


#: What NumPy computes in wider dtypes, floors, or refuses.
LETTER = """
np.subtract.reduceat(A(np.array([-128, 127, 5], "i1")), [0, 2], out=Z(2, int))
np.add.reduceat(A(np.full(4, 1e38, "f4")), [0], out=Z(1))
np.var(A(np.array([1.1, 2.7, 3e30], "f4")), mean=A(np.array([1e30])))
A(np.array([1.1, 2.7, 3e30], "f4")).std(mean=A(np.array([1e30])))
np.var(A([1.0, 2, 4]), mean=A([1j]))
np.var(A([1, 2, 4]), mean=2.5)
np.var(A([True, False]), mean=A([0.5]))
np.triu(A(np.ones((3, 3))), 0.5)
np.tril(A(np.ones((3, 4))), -0.5)
xp.tri(3, 4, 1.5)
np.split(A([0, 1, 2]), A(np.array(2)))
np.nanquantile(A([1.0, 2, 5]), 0.5, method="inverted_cdf", weights=A([1.0, np.nan, 1]))
np.nanquantile(A([1.0, 2, 5]), 0.5, method="inverted_cdf", weights=A([0.0, 0, 0]))
np.nanquantile(A([1.0, np.nan, 5]), 0.5, method="inverted_cdf", weights=A([1.0, 1, 2]))
np.apply_along_axis(lambda r: r[r > 1], 1, A([[1.0, 1], [2, 2], [0, 5]]))
np.apply_along_axis(lambda r: r[r > 9], 1, A([[1.0, 1], [2, 2], [0, 5]]))
np.cov(A(np.zeros((0, 3))), A([1.0, 2, 3]))
np.linalg.multi_dot([A([[1j]]), A([[1.0]])], out=Z((1, 1)))
np.hypot.reduce(A([[1.0, 2], [3, 4]]), where=A([[True, False], [True, False]]), initial=-1.0)
np.hypot.reduce(A([[1.0, 2], [3, 4]]), axis=None, where=np.zeros((2, 2), bool), initial=-1.0)
np.subtract.reduce(A([1.0, 2]), where=A([1, 0]))
np.divide.reduce(A([1.0, 2]), where=A([1, 0]), initial=1)
np.divide.reduce(A([1.0, 2]), where=[1, 0], initial=1)
np.unwrap(A(np.array([0, 200, 10], "u1")), period=100)
np.unwrap(A(np.array([0, 200, 10], "i8")), period=101)
np.tensordot(A([[1.0]]), A([[1.0]]), 3)
np.tensordot(A([[1.0]]), A([[1.0]]), ([0, 1], [0]))
np.einsum(A([[1.0]]), A([[1.0]]))
np.einsum(A([[1.0]]), 5)
np.einsum(A([[1.0]]))
np.fft.fft(A(np.array([1, 2, 4], "f")), out=Z(3, complex))
np.fft.rfft(A(np.array([1, 2, 4], "e")), out=Z(2, complex))
np.fft.ifftn(A(np.array([[1, 2, 4]], "F")), norm="forward", out=Z((1, 3), complex))
np.fft.fft(A([1.0, 2, 4]), out=Z(3, "F"))
(lambda x: W(x.reshape(-1, 4), 4, axis=1)[1:].T)(A(np.arange(24)))
(lambda x: W(x.reshape(-1, 4), 4, axis=1)[::2].reshape(-1, 2))(A(np.arange(24)))
(lambda x: W(x.view("i4"), 4)[1:][0])(A(np.arange(24)))
np.einsum("a...->a", A(np.ones((6, 4))))
np.einsum("...,...->", A(np.ones(4)), A(np.ones(4)))
np.einsum("a...->a", A(np.ones(6)))
A(np.ones((6, 4)))[np.zeros((0, 4), bool)]
A(np.ones((6, 4)))[np.zeros((0, 3), bool)]
A(np.ones((6, 4)))[:, np.zeros(0, bool)]
A(np.ones(6))[A(np.zeros(0, bool))]
A(np.ones(6)).__setitem__(np.zeros(0, bool), 5)
A(np.ones(6)).__setitem__(np.zeros(0, bool), [1, 2, 3])
xp.take(A(np.zeros((3, 0, 0))), [1, 2], axis=-1)
xp.take(A(np.zeros((0, 0))), [1, 2], axis=0, mode="clip")
xp.take(A(np.zeros((0, 0))), [1, 2], axis=0)
A(np.zeros((0, 3))).take([5], axis=1)
A(np.zeros((0, 3))).take(A(np.array([[1, 2]])), axis=1)
A(np.zeros((3, 0))).take([5], axis=0)
A(np.zeros((3, 0))).take([5], axis=0, mode="wrap")
A(np.zeros((3, 0))).take([5], axis=1)
A(np.zeros((0, 3))).take([1], axis=1, mode="foo")
xp.broadcast_to(A(np.zeros(3)), (2, 3)).__setitem__(7, 1)
xp.broadcast_to(A(np.zeros(3)), (2, 3)).__setitem__((0, 1, 2), 1)
A(np.zeros((5, 2), int)).imag.__setitem__((0, 7), 1)
A(np.zeros(3)).__setitem__([7], 1j)
A(np.zeros(3, "i4")).__setitem__([7], float("nan"))
A(np.zeros(3, "i1")).__setitem__([7], 300)
A(np.zeros(3)).__setitem__(([1], [2]), 1j)
xp.choose(A(np.zeros(3)), [np.zeros(2), np.zeros(3)])
"""


@pytest.mark.cases(20)
@pytest.mark.parametrize("code", LETTER.strip().splitlines())
def test_arguments_are_taken_to_the_letter(session, code):
    def run(xp, make):
        names = {"np": np, "xp": xp, "A": make, "Z": xp.zeros, "W": sliding_window_view}
        return eval(code, names)

    agree(lambda: run(np, np.array), lambda: run(dnb, dnb.array), 1e-12)


def test_a_view_as_ndarray_is_a_view(session):
    a = dnb.array([[1, 2], [3, 4]])
    for view in (a.view(dnb.ndarray), a.view(type=np.ndarray), a.view(dnb.DistArray)):
        view[0, 0] += 7
    assert a.to_numpy().tolist() == [[22, 2], [3, 4]]
    for x in (a, dnb.ones((2, 2), int, dist="block")):
        with pytest.raises(ValueError, match="ndarray"):
            x.view(type=int)


def test_edges_of_bins_are_compared_in_their_own_dtype(session):
    x, limits = np.array([1.0], "e"), np.array([1 + np.finfo("f").eps, 2], "f")
    for a in (dnb.array(x), x):
        assert np.asarray(dnb.histogram(a, bins=1, range=limits)[0]).tolist() == [0]


def test_integers_with_fields_are_refused(session):
    with pytest.raises(TypeError, match="dtype"):
        dnb.zeros(4, np.dtype(("i4", [("a", "<i2"), ("b", "<i2")])))

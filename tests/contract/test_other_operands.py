"""Operands of other libraries, and of users' classes, take part as they do with NumPy."""

import array
import operator
from collections import deque

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import same, setting

pytestmark = pytest.mark.usefixtures("session")


class Given:
    """What NumPy makes an array of."""

    def __init__(self, xp):
        self.xp = xp

    def __array__(self, dtype=None, copy=None):
        return self.xp.array([1, 2, 3], dtype=dtype)


class Own:
    """What has operations of its own."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return ufunc.__name__


@pytest.mark.parametrize("xp", [np, dnb], ids=["numpy", "distnb"])
def test_what_becomes_an_array(xp):
    x = Given(xp)
    same(dnb.asarray(x), np.array([1, 2, 3]))
    same(dnb.sum(x), np.sum(Given(np)))
    same(dnb.dot(x, x), np.array(14))
    if xp is np:
        same(dnb.sqrt(x), np.sqrt(x))
        same(dnb.maximum(x, 2), np.maximum(x, 2))
        same(dnb.arange(3) + x, np.arange(3) + x)
        same(dnb.subtract(x, dnb.ones(3)), np.subtract(x, np.ones(3)))


def test_operands_with_operations_of_their_own():
    assert dnb.sqrt(Own()) == "sqrt"
    assert dnb.add(dnb.arange(2), Own()) == "add"
    assert dnb.arange(2) + Own() == "add"
    for bad in ("a", None, {}, object()):
        with pytest.raises(TypeError):
            dnb.sqrt(bad)


def test_outputs_and_masks_with_operations_of_their_own():
    for xp in (np, dnb):
        x, own = xp.arange(3.0), Own()
        for found in (
            xp.add(x, 1, out=own),
            xp.add(x, 1, out=(own,)),
            xp.add(x, 1, where=own),
            xp.add.reduce(x, out=own),
            xp.add.reduce(x, where=own),
            xp.add.at(x, [1], own),
        ):
            assert found == "add"
        assert x.tolist() == [0, 1, 2]


class Items:
    """A sequence by its methods alone."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i >= 3:
            raise IndexError
        return i


@pytest.mark.parametrize(
    "make", [Items, lambda: deque(range(3)), lambda: array.array("q", [0, 1, 2])]
)
def test_sequences(make):
    for step in (
        lambda x, s: x + s,
        lambda x, s: s * x,
        lambda x, s: x < s,
        lambda x, s: x @ s,
        lambda x, s: x[s],
        lambda x, s: x[s] + (x.__setitem__(s, 7) or x),
    ):
        found, expected = step(dnb.arange(3.0), make()), step(np.arange(3.0), make())
        same(found, np.asarray(expected))


def test_text_is_refused_as_by_numpy():
    for step in (lambda x: x < "a", lambda x: x + "a", lambda x: np.less(x, "a")):
        with pytest.raises(np._core._exceptions.UFuncTypeError):
            step(dnb.arange(3.0))
    with pytest.raises(np._core._exceptions.UFuncTypeError):
        dnb.less(dnb.arange(3.0), "a")
    assert not (dnb.arange(3.0) == "a").any()


def test_tables():
    pd = pytest.importorskip("pandas")
    column = pd.Series([1.0, 4.0])
    pd.testing.assert_series_equal(dnb.sqrt(column), np.sqrt(column))
    pd.testing.assert_series_equal(dnb.add(column, 1), np.add(column, 1))
    table = pd.DataFrame({"a": [0.0]})
    pd.testing.assert_frame_equal(dnb.exp(table), np.exp(table))
    same(dnb.vectorize(lambda x: x + 1)(column), np.array([2.0, 5.0]))
    dnb.add(dnb.ones(2), 1, out=column)
    assert list(column) == [2, 2]


def test_sparse_arrays_of_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    a = sparse.csr_array(np.diag([4.0, 9.0]))
    assert (dnb.sqrt(a) != np.sqrt(a)).nnz == 0
    assert np.array_equal(dnb.ones(2) @ a, np.ones(2) @ a)
    x = dnb.ones((2, 2))
    x @= a
    assert np.array_equal(x, np.ones((2, 2)) @ a)
    x = dnb.ones((2, 2))
    with pytest.raises(ValueError, match="sequence"):
        x[:] = a


class Wrapped:
    """What makes its own of results, by NumPy's protocol for classes without ``__array_ufunc__``."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __array_wrap__(self, found, context=None, return_scalar=False):
        return type(self)(found)


class First(Wrapped):
    __array_priority__ = 2000.0


class Derived(np.ndarray):
    pass


@pytest.mark.parametrize("own", [Wrapped, First, lambda x: np.array(x).view(Derived)])
def test_results_are_made_by_the_class_of_an_operand(own):
    for xp in (np, dnb):
        x, y = xp.arange(1.0, 4), own([1.0, 2, 3])
        for found, wanted in (
            (xp.add(x, y), [2, 4, 6]),
            (np.multiply(y, x), [1, 4, 9]),
            (xp.sqrt(y), [1, 2**0.5, 3**0.5]),
            (xp.divmod(y, x)[0], [1, 1, 1]),
            (xp.add.accumulate(y), [1, 3, 6]),
        ):
            assert type(found) is type(y)
            np.testing.assert_allclose(np.asarray(found), wanted)
        x += np.asarray(y)
        x = np.add(x, y, out=x)
        assert type(x) is type(xp.ones(3))
        found = xp.vectorize(lambda a, b: a - b, "d")(x, y)
        assert np.array_equal(np.asarray(found), [2, 4, 6])


def test_what_their_classes_make_is_made_within_the_budget():
    x, masked = dnb.ones((9, 9), dist="block"), np.ma.ones((9, 9))
    matrix = np.ones((9, 9)).view(np.matrix)
    steps = (lambda: x + masked, lambda: masked + x, lambda: np.add(x, masked), lambda: x @ matrix)
    with setting(gather_budget=100):
        for step in steps:
            with pytest.raises(dnb.GatherError, match="gather_budget"):
                step()
    assert all(type(step()) in (np.ma.MaskedArray, np.matrix) for step in steps)


def test_what_a_mask_hides_is_no_number():
    masked = np.ma.array([1.0, 2, 3], mask=[0, 1, 0])
    x, data = dnb.arange(3.0), np.arange(3.0)
    for step in (
        lambda x: x + masked,
        lambda x: masked * x,
        lambda x: np.subtract(x, masked),
        lambda x: x / masked,
        lambda x: x == masked,
        lambda x: x.mean() - masked,
    ):
        found, wanted = step(x), step(data)
        assert type(found) is type(wanted)
        assert np.array_equal(found.mask, wanted.mask)
        assert np.array_equal(found.filled(7), wanted.filled(7))
    for refused in (dnb.sum, dnb.asarray, dnb.array, dnb.median, lambda m: dnb.dot(x, m)):
        with pytest.raises(TypeError, match="filled"):
            refused(masked)
    for refused in (dnb.vectorize(abs), lambda m: dnb.array_equal(m, m)):
        with pytest.raises(TypeError, match="filled"):
            refused(masked)
    same(dnb.sum(masked[::2]), np.sum(masked[::2]))
    x[:] = masked
    data[:] = masked
    same(x, data)


def test_views_of_their_classes_are_of_the_memory_or_read_only():
    for dist in (None, "block"):
        x = dnb.array([2.0, 1.0, 2.0], dist=dist)
        assert np.ma.unique(x).tolist() == [1, 2]
        assert np.ma.isin(x, [1.0]).tolist() == [False, True, False]
        view = x.view(np.ma.MaskedArray)
        assert type(view) is np.ma.MaskedArray
        if view.flags.writeable:
            view[0] = 7
        np.testing.assert_array_equal(x.to_numpy(), view.data)
        assert x.view("i8", np.ma.MaskedArray).dtype == np.int64


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_products_of_matrices_are_those_of_their_class():
    m, data = np.matrix([[1.0, 2], [3, 4]]), np.arange(4.0).reshape(2, 2)
    x = dnb.array(data)
    for step in (
        lambda x: x * m,
        lambda x: m * x,
        lambda x: x @ m,
        lambda x: m @ x,
        lambda x: x + m,
    ):
        found, wanted = step(x), step(data)
        assert type(found) is np.matrix
        assert np.array_equal(found, wanted)
    assert np.array_equal(dnb.arange(2) * m, np.arange(2) * m)


def test_shapes_that_are_arrays():
    for shape in (dnb.array([2, 3]), np.array([2, 3])):
        x = dnb.arange(6)
        same(x.reshape(shape), np.arange(6).reshape(2, 3))
        same(dnb.reshape(x, shape), np.arange(6).reshape(2, 3))
        same(dnb.resize(x, shape), np.arange(6).reshape(2, 3))
        x.shape = shape
        assert x.shape == (2, 3)
        y = dnb.arange(6)
        y.resize(shape)
        same(y, np.arange(6).reshape(2, 3))


def test_iterators_go_as_elements_lie():
    a, x = np.arange(24).reshape(2, 3, 4), dnb.arange(24).reshape(2, 3, 4)
    for view in (
        lambda v: v.T,
        lambda v: v[:, ::-1],
        lambda v: v.transpose(2, 0, 1)[::-1, :, ::2],
        lambda v: v[1, :, None, ::-1],
    ):
        expected = np.nditer(view(a), flags=["multi_index"])
        found = dnb.nditer(view(x), flags=["multi_index"])
        for value in expected:
            assert (int(next(found)), found.multi_index) == (int(value), expected.multi_index)
    assert [int(v) for v in dnb.nditer(x.T, order="C")] == [
        int(v) for v in np.nditer(a.T, order="C")
    ]


def test_norms_by_singular_values_and_lengths_of_transforms():
    a = np.random.default_rng(5).random((5, 4))
    x = dnb.array(a)
    for ord in (-2, 2, "nuc"):
        for keepdims in (False, True):
            found = dnb.linalg.norm(x, ord, keepdims=keepdims)
            same(found, np.linalg.norm(a, ord, keepdims=keepdims), rtol=1e-12)
    same(dnb.fft.irfft(dnb.ones(3), n=dnb.array(4)), np.fft.irfft(np.ones(3), n=4), rtol=1e-12)


@pytest.mark.parametrize("tell", ["array_equal", "array_equiv"])
def test_text_and_objects_are_compared_as_by_numpy(tell):
    others = [None, ["a", "b", "c"], [[1], [1, 2]], "abc", {}, np.array([0, 1, 2], object)]
    for other in [*others, np.array(["2020", "2021"], "M8[Y]"), [0, 1, 1 << 70]]:
        for given in (other, np.arange(3), ["a", "b", "c"], None):
            expected = getattr(np, tell)(given, other)
            assert getattr(dnb, tell)(given, other) is expected
            if given is not other and isinstance(given, np.ndarray):
                assert getattr(dnb, tell)(dnb.arange(3), other) is expected


class NumpysAlone:
    """What takes operators over, and knows no arrays but NumPy's: as those of JAX and PyTorch."""

    __array_priority__ = 100

    def __array__(self, dtype=None, copy=None):
        return np.array([2.0, 1.0, 0.0])

    def _answer(self, other):
        return ("own", other.tolist()) if type(other) is np.ndarray else NotImplemented

    def __rmul__(self, other):
        return self if isinstance(other, np.generic) else NotImplemented

    __add__ = __radd__ = __rpow__ = __eq__ = __ge__ = __rmatmul__ = _answer
    __hash__ = None


def test_operators_left_to_what_knows_numpys_arrays_alone():
    for step in (
        lambda x, y: x + y,
        lambda x, y: y + x,
        lambda x, y: x**y,
        lambda x, y: x == y,
        lambda x, y: y == x,
        lambda x, y: x <= y,
        lambda x, y: x @ y,
        lambda x, y: operator.iadd(x, y),
    ):
        found = [step(xp.arange(3.0), NumpysAlone()) for xp in (np, dnb)]
        assert found[0] == found[1] == ("own", [0, 1, 2])
    with setting(cutoff=0, place="engines"):  # elements of NumPy's are NumPy's scalars
        assert type(dnb.arange(3.0)[1] * NumpysAlone()) is NumpysAlone
    with pytest.raises(TypeError):
        dnb.arange(3.0) * NumpysAlone()
    with setting(gather_budget=100), pytest.raises(dnb.GatherError):
        dnb.ones(99, dist="block") + NumpysAlone()

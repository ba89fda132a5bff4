"""Scalars and arrays of no axes: each where NumPy has it, and what becomes of them."""

import copy
import pickle
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree, same, setting

pytestmark = pytest.mark.ways("one", "cutoff", "reach", "auto")

#: Code in ``xp``, NumPy or distnb, a vector ``x``, a matrix ``m``, a number ``s``, complex ``z``.
CODE = (
    "xp.linalg.norm(x)|xp.linalg.norm(x, 1)|xp.linalg.norm(m, 2)|xp.linalg.norm(m, 'nuc')|"
    "xp.linalg.norm(m, axis=(0, 1))|xp.linalg.det(m)|xp.linalg.slogdet(m)|xp.linalg.cond(m)|"
    "xp.linalg.cond(m, 1)|xp.linalg.matrix_rank(m)|xp.vdot(x, x)|xp.inner(x, x)|xp.vdot(s, s)|"
    "xp.tensordot(x, x, 1)|xp.tensordot(m, m)|xp.einsum('i,i', x, x)|xp.trace(m)|x @ x|"
    "xp.searchsorted(x, 2)|x.searchsorted(2)|xp.searchsorted([1, 20], s)|xp.digitize(2, x)|"
    "xp.interp(2, x, x)|xp.interp(s, [0, 20], [0, 1])|xp.interp(xp.array(2.0), x, x)|"
    "xp.ravel_multi_index((1, 1), (2, 2))|xp.nan_to_num(s)|xp.nan_to_num(xp.array(1.0))|"
    "xp.nan_to_num(z[0])|xp.round(s, 1)|xp.round(x[1])|xp.around(x.mean())|x.mean().round(2)|"
    "xp.real(z[0])|xp.imag(z[0])|xp.real(s)|z.sum().real|xp.real(z.sum())|xp.real(xp.array(1j))|"
    "xp.iscomplex(s)|xp.isreal(z[0])|xp.isposinf(s)|xp.squeeze(s)|xp.squeeze(xp.ones((1, 1)))|"
    "xp.ptp(x)|xp.corrcoef(x)|xp.cov(x)|xp.emath.sqrt(-s)|xp.emath.log(s)|xp.abs(z[0])|xp.conj(z[0])|xp.floor(s)|xp.fix(s)|"
    "xp.where(s > 1, s, 0)|xp.where(True, 1, 2)|xp.select([s > 1], [s])|xp.i0(s)|xp.isin(s, x)|"
    "xp.apply_along_axis(sum, 0, x)|xp.array(s)|xp.copy(s)|s.copy()|s.astype(int)|s.T|xp.array(4j).imag|"
    "s.transpose()|s.real|s.conj()|s.round()|s.clip(0, 1)|s.sum()|np.float64(2) + xp.array(1)|"
    "xp.array(4.0) + 1|-xp.array(4.0)|xp.array(4.0).copy()|xp.array(4.0).T|xp.array(4.0)[()]|"
    "xp.array(4.0)[...]|xp.median(x)|xp.average(x, weights=x)|xp.polyval([1, 2], s)|s.view()|s.view('i8')|"
    "z[1].view()"
).split("|")


def is_scalar(x):
    return isinstance(x, np.generic | float | int) or (x.ndim == 0 and getattr(x, "single", False))


@pytest.fixture(params=["block", None])
def given(session, request):
    """Yield the names of NumPy's code, and those of distnb's with arrays on engines or not."""
    x, m = np.arange(1.0, 5), np.array([[2.0, 1], [1, 3]])
    both = {"x": x, "m": m, "z": x * 1j}
    ours = {name: dnb.array(a, dist=request.param) for name, a in both.items()}
    return (
        {"np": np, "xp": np, **both, "s": x.sum()},
        {"np": np, "xp": dnb, **ours, "s": ours["x"].sum()},
    )


@pytest.mark.parametrize("place", ["auto", "engines"])
def test_results_of_no_axes_are_what_they_are_in_numpy(given, place):
    with setting(place=place):
        for code in CODE:
            expected, found = (eval(code, dict(names)) for names in given)
            pairs = (
                zip(expected, found, strict=True) if code[10:13] == "slo" else [(expected, found)]
            )
            for wanted, got in pairs:
                assert is_scalar(got) == isinstance(wanted, np.generic), code
                assert np.asarray(got).dtype == wanted.dtype, code


def test_a_number_kept_under_another_name_stays_as_it_is(given):
    """Were it an array, ``+=`` would write into both."""
    for code in ("xp.linalg.norm(x)", "xp.round(s, 1)", "xp.vdot(x, x)", "s.copy()"):
        expected, found = (eval(code, dict(names)) for names in given)
        kept = found
        found += 1
        np.testing.assert_allclose(float(kept), expected)
        assert hash(kept) == hash(float(kept))


#: What makes an array of a number ``s``.
ARRAYS = (
    "xp.reshape(s, (1,))|s.reshape(1, 1)|xp.ravel(s)|s.ravel()|s[None]|s[..., None]|s[...]|s.flat|"
    "xp.expand_dims(s, 0)|xp.atleast_1d(s)|xp.atleast_2d(s.T)|xp.array(s, copy=None, ndmin=1)|"
    "xp.asarray(s)[None]|xp.ascontiguousarray(s)|s.flatten()|xp.split(xp.atleast_1d(s), 1)[0]|"
    "xp.atleast_1d(s.view())|xp.atleast_1d(s.real)|xp.atleast_1d(xp.squeeze(s))"
).split("|")


@pytest.mark.parametrize("place", ["auto", "engines"])
def test_an_array_of_a_number_is_no_view_of_it(given, place):
    """Numbers do not change, so that all names of one may have it."""
    with setting(place=place):
        for code in ARRAYS:
            for names in given:
                s = names["x"].sum()
                made = eval(code, names | {"s": s})
                made[...] = 99
                assert float(s) == 10, code
                assert float(made[(0,) * getattr(made, "ndim", 1)]) == 99, code


@pytest.mark.parametrize(
    "code",
    [
        "xp.add(s, 1, out=s)",
        "xp.copyto(s, 4)",
        "xp.place(s, s > 0, 1)",
        "xp.putmask(s, s > 0, 1)",
        "xp.add.at(s, (), 1)",
        "s.__setitem__(..., 1)",
        "s.view('i8').__setitem__(..., 1)",
        *[f"setattr(s, {name!r}, 1)" for name in ("real", "imag", "flat", "shape", "dtype")],
    ],
)
def test_functions_that_write_take_no_scalars(given, code):
    for names in given:
        with pytest.raises((TypeError, AttributeError)):
            eval(code, dict(names))
        assert float(names["s"]) == 10.0


def test_bytes_of_a_scalar_are_a_scalar_of_their_own(given):
    s = given[1]["s"]
    found = kept = s.view("i8")
    found += 1
    assert (float(s), int(kept)) == (10.0, np.float64(10).view("i8"))


#: What takes a number ``s``, 10.0, or ``k``, 3, where it is no array.
PARAMETERS = (
    "xp.histogram(x, 3, (0, s))[1] * 2|xp.histogram_bin_edges(x, 3, (0, s))|xp.fft.fftfreq(k)|"
    "xp.fft.rfftfreq(k, s)|xp.histogram2d(x, x, bins=k)[0]|xp.histogramdd([x, x], bins=[k, 2])[0]|"
    "xp.histogramdd([x, x], bins=k, range=((0, s), (0, s)))[0]|xp.fft.fftshift(m, axes=k - 2)|"
    "xp.fft.ifftshift(m, axes=(k - 3,))|xp.sort(xp.random.permutation(k))|k.numerator|k.denominator|"
    "xp.lib.stride_tricks.as_strided(x, (2, 2), xp.array([8, 8]))|isinstance(k, xp.ndarray)|"
    "isinstance(x, xp.ndarray)|xp.random.default_rng([1, k]).permutation(1)|"
    "xp.random.default_rng(xp.array([1, 2])).permutation(1)|xp.random.seed(xp.array([1, 2]))|"
    "xp.mgrid[s - 10:5]|xp.mgrid[0:1:5j * k]|xp.mgrid[0:1:5j, 0:2:z[3]]|xp.ogrid[0:k, 0:s:2][1]|"
    "xp.r_[0:1:z[3], k:5]|xp.mgrid[0:5, 1:4:z[3].astype('c8')]|xp.einsum(m, [0, k - 2], [1])|"
    "xp.fft.ifft2(m, s=(k, 2)).real * 9 // 1|xp.max(x.astype('i1'), initial=k)|"
    "xp.roll(m, (1, 1), axis=((k - 2).astype('u8'), 0))|xp.trace(m, (k - 2).astype('u1'))|"
    "xp.diagonal(m, k.astype('u8') - np.uint64(2))|xp.array2string(x, edgeitems=(k - 2).astype('u8'), threshold=2)|"
    "xp.searchsorted(x, 2.0, sorter=(0, 1, 2, 3))|xp.linalg.norm(x.astype('f4'), np.float64(3)).astype('f2')"
).split("|")


@pytest.mark.parametrize("place", ["auto", "engines"])
def test_scalars_are_numbers_wherever_one_is_asked_for(given, place):
    with setting(place=place):
        for code in PARAMETERS:
            want, found = (eval(code, names | {"k": (names["x"] < 4).sum() * 1}) for names in given)
            np.testing.assert_array_equal(np.asarray(found), want, err_msg=code, strict=True)


def test_the_imaginary_part_of_an_array_of_no_axes_is_written(session):
    z = dnb.array(4j)
    part = z.imag
    part += 1
    assert complex(z) == 5j


def test_copies_and_pickles_of_scalars_are_scalars(given):
    s = given[1]["s"]
    for found in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert is_scalar(found)
        assert hash(found) == hash(10.0)
    one = dnb.array(s)
    one += 1
    assert (float(one), float(s)) == (11.0, 10.0)


def test_scalars_look_as_numpys(given, session):
    names = given[1]
    shown = [names["s"], names["x"][1], (names["x"] > 1).any(), names["z"].sum()]
    if session.transport.rank is not None:
        pytest.skip("ranks do not show elements unless all of them are asked to")
    with setting(show_wait=60):
        assert repr(shown) == "[np.float64(10.0), np.float64(2.0), np.True_, np.complex128(10j)]"
        assert repr(dnb.array(2.5)).startswith("2.5\n")
    assert [dnb.isscalar(x) for x in (names["s"], names["x"], dnb.array(2.5), 3)] == [1, 0, 0, 1]


def test_the_dtype_is_set(session):
    def changed(xp, dtype, part=slice(None)):
        x = xp.array(np.arange(6, dtype="i4").reshape(2, 3))
        view = x[part]
        view.dtype = dtype
        view[..., 0] = 9
        return view, x

    for dtype in ("i4", "f4", "i2", "i8", "u1"):
        agree(lambda d=dtype: changed(np, d), lambda d=dtype: changed(dnb, d))
    agree(
        lambda: changed(np, "i2", (slice(None), slice(0, 2))),
        lambda: changed(dnb, "i2", (slice(None), slice(0, 2))),
    )
    agree(lambda: changed(np, "i2", 1), lambda: changed(dnb, "i2", 1))
    total = dnb.arange(3, dist="block").sum()
    with pytest.raises(AttributeError):
        total.dtype = "f8"


def test_reshaped_views_do_not_own_their_elements(session):
    x = dnb.arange(12)
    for view in (x.reshape(3, 4), x[2:], x.reshape(3, 4).T, x.ravel()):
        assert (view.base is x, view.flags.owndata) == (view is not x, view is x)
    assert x.flags.owndata
    assert x.copy().flags.owndata


def test_least_squares_count_in_numpys_integers(session):
    a = np.arange(12.0).reshape(4, 3) ** 2
    rank = dnb.linalg.lstsq(dnb.array(a, dist="block"), dnb.ones(4))[2]
    assert type(rank) is type(np.linalg.lstsq(a, np.ones(4))[2])


def test_what_numpy_deprecates(session):
    x = dnb.arange(3.0, dist="block")
    with pytest.warns(DeprecationWarning, match="row_stack"):
        same(dnb.row_stack([x, x]), np.vstack([np.arange(3.0)] * 2))
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        for function in (dnb.maximum, dnb.minimum):
            with pytest.warns(DeprecationWarning, match="2 positional"):
                function(x, 1, dnb.zeros(3))


def test_negative_powers_of_integers_are_refused_at_the_line(session):
    for kind, power in (("i8", -1), ("?", -2), ("i1", np.int64(-3))):
        x = dnb.array(np.array([1, 0, 1], kind), dist="block")
        with pytest.raises(ValueError, match="negative integer powers"):
            x**power
        with pytest.raises(ValueError, match="negative integer powers"):
            x **= power
        assert x.tolist() == [1, 0, 1]
        agree(
            lambda k=kind, p=power: np.ones(0, k) ** p, lambda k=kind, p=power: dnb.ones(0, k) ** p
        )
    same(dnb.array([2.0, 4], dist="block") ** -1, np.array([0.5, 0.25]))


class Late:
    """What takes operators over by its priority, as NumPy's arrays leave them to it."""

    __array_priority__ = 20

    def __add__(self, other):
        return "add"

    def __radd__(self, other):
        return "radd"

    def __rsub__(self, other):
        return "rsub"

    def __rmatmul__(self, other):
        return "rmatmul"


def test_operators_are_left_to_what_has_a_priority(given):
    for names in given:
        for array in (names["x"], names["s"]):
            assert (array + Late(), Late() + array, array - Late()) == ("radd", "add", "rsub")
            with pytest.raises(TypeError):
                array * Late()
        assert names["x"] @ Late() == "rmatmul"


class Wrapped(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of somebody else's, by NumPy's protocol alone."""

    def __init__(self, array):
        self.array = array

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        inputs = [x.array if isinstance(x, Wrapped) else x for x in inputs]
        return Wrapped(getattr(ufunc, method)(*inputs, **options))


def test_methods_of_ufuncs_are_left_to_others(given):
    for code in (
        "xp.add.reduce(W(x))",
        "xp.multiply.outer(x, W(x))",
        "xp.add.accumulate(W(x))",
        "W(x) + x",
        "x < W(x)",
        "xp.sin(W(x)) - x",
    ):
        expected, found = (eval(code, {**names, "W": Wrapped}).array for names in given)
        same(found, expected)


BESIDE = (
    "timedelta(1) * s|s * timedelta(1)|timedelta(3) / s|timedelta(3) // n|timedelta(1) * n|"
    "Fraction(1, 2) * s|s * Fraction(1, 2)|n - Fraction(1, 2)|Fraction(1, 2) < s|s == Fraction(10)|"
    "Decimal(1) + n|n * Decimal(2)|n > Decimal(1)|s == Decimal(10)|Decimal(1) + s|s + {}|s == {}|s < {}"
).split("|")


def test_scalars_beside_pythons_objects_are_numpys(session):
    for each in BESIDE:
        names = {"timedelta": timedelta, "Fraction": Fraction, "Decimal": Decimal}
        found, want = (
            outcome_of(each, names | {"s": xp.arange(4.0).max() * 3 + 1, "n": xp.arange(4)[3]})
            for xp in (dnb, np)
        )
        assert (type(found), found) == (type(want), want), each


def test_what_is_asked_of_scalars_as_arrays_can_be_written(session):
    for xp in (np, dnb):
        a = -xp.ones(9)
        for s in (a.max(), a[3]):
            for made in (xp.asarray(s), xp.asarray(s, dtype="f4"), xp.array(s, copy=None)):
                other = made
                made += 1
                made[made == 0] = 5
                assert (float(other), float(s)) == (5, -1)
            with pytest.raises(ValueError, match="copy"):
                xp.array(s, copy=False)
    s = dnb.ones(3, dist="block").max()
    if isinstance(s, dnb.DistArray):  # programs of the array API standard write so
        s[s > 0] = 7
        assert float(s) == 7


def outcome_of(code, names):
    """Return what code gives, or the type of its exception."""
    try:
        return eval(code, names)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("place", ["auto", "engines"])
def test_numbers_that_do_not_fit_are_refused(session, place):
    """As NumPy's scalars are: where arrays are cast they would be other numbers."""
    with setting(place=place):
        for xp in (np, dnb):
            big, minus = xp.arange(301).max(), -xp.ones(3, int).max()
            for code in ("z[1] = big", "z[:] = big", "z.fill(big)", "z.flat[1] = big"):
                z = xp.zeros(3, "i1")
                with pytest.raises((OverflowError, ValueError)):
                    exec(code)
                assert z.tolist() == [0, 0, 0], code
            z = xp.zeros(3, "i1")
            z[1] = minus
            assert z.tolist() == [0, -1, 0]
            with pytest.raises(OverflowError):
                xp.max(z, initial=big)
            with pytest.raises(TypeError, match="not iterable"):
                print(2 in minus)

"""Elementwise operations agree with NumPy: value, dtype, shape, or type of exception."""

import io
import itertools
import operator
from inspect import currentframe

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.ops import table
from distnb.ops.fast import FAST
from tests.contract.support import (
    DTYPES,
    INTEGERS,
    agree,
    numbered,
    operands,
    outcome,
    pair,
    public,
    same,
    special,
    take,
    thin,
)
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "cutoff", "unfused", "compiled", "reach")

N = 13
ROWS = [row for row in table.ELEMENTWISE.values() if getattr(np, row.name, None) is row.run]
UFUNCS = {row.name: row.run for row in ROWS if isinstance(row.run, np.ufunc)}
UNARY = sorted(name for name, f in UFUNCS.items() if f.nin == 1)
BINARY = sorted(name for name, f in UFUNCS.items() if f.nin == 2)

#: Functions for which NumPy itself may give another last bit in another place of memory.
TRANSCENDENTAL = set(
    """arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt cos cosh exp exp2 expm1 hypot log
    log10 log1p log2 logaddexp logaddexp2 power pow float_power sin sinh tan tanh""".split()
)

#: Integer exponents that NumPy refuses only when it sees the values.
VALUES = {"power": lambda x: np.abs(x) % 5 if x.dtype.kind in "iu" else x}
VALUES["left_shift"] = VALUES["right_shift"] = lambda x: abs(x) % 8 if x.dtype.kind in "iu" else x


def ulps(name, dtype=np.float64):
    """Return the relative error that is allowed."""
    return 8 * np.finfo(dtype).eps if name in TRANSCENDENTAL else 0.0


def inputs(name, dtypes):
    """Return NumPy's inputs of a ufunc: special values, in another order for each input."""
    found = [np.roll(special(d, N), 4 * i) for i, d in enumerate(dtypes)]
    if len(found) == 2 and name in VALUES:
        found[1] = VALUES[name](found[1]).astype(dtypes[1])
    return found


def compare(books, name, numpys, ours, **options):
    """Run a ufunc on both; note the results, or compare the exceptions."""
    f = UFUNCS[name]
    label = f"{name}({', '.join(str(getattr(x, 'dtype', x)) for x in numpys)}) {options or ''}"
    books.compare(
        label, lambda: f(*numpys, **options), lambda: f(*ours, **options), ulps(name, np.float32)
    )


@pytest.fixture
def columns(session):
    """Return the distributed twin of an input, made once."""
    made = {}

    def twin(x):
        key = x.dtype.str, x.tobytes()
        if key not in made:
            made[key] = dnb.array(x)
        return made[key]

    return twin


# -- the table ---------------------------------------------------------------------------------


def test_unary(books, columns):
    for name, d in thin(itertools.product(UNARY, DTYPES), least=3):
        x = inputs(name, [d])
        compare(books, name, x, [columns(v) for v in x])


def test_binary(books, columns):
    for name, *dtypes in thin(itertools.product(BINARY, DTYPES, DTYPES)):
        x = inputs(name, dtypes)
        compare(books, name, x, [columns(v) for v in x])


PYTHON_SCALARS = [True, 0, 2, 3, 300, -1, 2**40, 2**70, 0.5, -0.0, float("nan"), 1 + 2j]
NUMPY_SCALARS = [
    np.bool_(True),
    np.int8(3),
    np.uint64(5),
    np.int64(-2),
    np.float32(0.1),
    np.float64(0.1),
    np.complex64(1j),
]


def allowed(name, scalar, position, dtype):
    """Tell whether the operation depends on the dtypes alone (see VALUES)."""
    if name == "power" and position == 1 and not isinstance(scalar, complex | np.complexfloating):
        return scalar >= 0 or dtype.kind in "fc"
    if name == "power" and position == 0:
        return True
    return True


@pytest.mark.cases(6)
@pytest.mark.parametrize("scalars", [PYTHON_SCALARS, NUMPY_SCALARS], ids=["python", "numpy"])
def test_scalars(books, columns, scalars):
    for name, d in thin(itertools.product(BINARY, DTYPES)):
        x = VALUES.get(name, np.abs)(special(d, N)).astype(d)
        y = columns(x)
        for i, scalar in enumerate(scalars):
            if (i + len(name)) % 2:
                if allowed(name, scalar, 1, d):
                    compare(books, name, [x, scalar], [y, scalar])
            else:
                compare(books, name, [scalar, x], [scalar, y])


def test_operators(books):
    """Python's operators, with an ndarray or a scalar on either side, and in place."""
    names = "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor lt le gt ge eq ne"
    for d in ("?", "i4", "u1", "f4", "f8", "c16"):
        x, y = np.roll(special(d, N), 1), special(d, N)
        a = dnb.array(x)
        for name in names.split():
            f = getattr(operator, name)
            other = VALUES.get({"pow": "power", "lshift": "left_shift"}.get(name, name), abs)(y)
            other = other.astype(d)
            b = dnb.array(other, dist="cyclic")
            for left, right in ((a, b), (a, other), (x, b)):
                books.compare(
                    (name, d),
                    lambda f=f, x=x, y=other: f(x, y),
                    lambda f=f, left=left, right=right: f(left, right),
                    ulps(name, np.float32),
                )
        for name in ("neg", "pos", "abs", "invert"):
            f = getattr(operator, name)
            books.compare((name, d), lambda f=f, x=x: f(x), lambda f=f, a=a: f(a))


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(
    "name",
    "iadd isub imul itruediv ifloordiv imod ipow ilshift irshift iand ior ixor".split(),
)
def test_in_place_operators(name):
    f = getattr(operator, name)
    for d, other in [
        ("f8", "f8"),
        ("f4", "f8"),
        ("i4", "i4"),
        ("i4", "f8"),
        ("u1", "i8"),
        ("?", "?"),
    ]:
        x, y = np.abs(numbered(7, d)), np.abs(numbered(7, other)) % 4 + (other != "?")
        y = y.astype(other)
        a, b = dnb.array(x), dnb.array(y, dist="cyclic")
        before = a
        expected, error = outcome(lambda f=f, x=x, y=y: f(x, y))
        actual, ours = outcome(lambda f=f, a=a, b=b: f(a, b))
        if error is not None:
            assert isinstance(ours, public(error)), (name, d, other, ours, error)
            same(a, x)
        else:
            assert ours is None, (name, d, other, ours)
            assert actual is before
            same(a, expected)


@pytest.mark.usefixtures("session")
def test_in_place_with_scalars():
    x = np.arange(9, dtype=np.int16)
    a = dnb.array(x)
    x += 3
    a += 3
    x *= np.int8(2)
    a *= np.int8(2)
    x //= 4
    a //= 4
    same(a, x)
    agree(lambda: operator.iadd(x, 0.5), lambda: operator.iadd(a, 0.5))
    agree(lambda: operator.iadd(x, 1 << 20), lambda: operator.iadd(a, 1 << 20))
    same(a, x)


# -- options of ufuncs -------------------------------------------------------------------------


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("a", "? i1 u4 i8 f4 f8 c16".split())
@pytest.mark.parametrize("out", "? i1 i8 f4 f8 c8".split())
def test_out(a, out):
    x = numbered((5, 4), a)
    for casting in (None, "unsafe", "safe", "no"):
        options = {} if casting is None else {"casting": casting}
        target, ours = np.zeros((5, 4), out), dnb.zeros((5, 4), out, dist="cyclic")
        agree(
            lambda t=target, o=options: np.add(x, x, out=t, **o),
            lambda t=ours, o=options: np.add(dnb.array(x), x, out=t, **o),
        )
        same(ours, target)


@pytest.mark.parametrize("dtype", "? i2 i8 f4 f8 c8".split())
def test_dtype_and_casting(books, dtype):
    for a in ("?", "i1", "i8", "u8", "f4", "f8", "c16"):
        x = numbered(6, a)
        y = dnb.array(x)
        for name in ("add", "multiply", "true_divide", "sqrt", "less", "isfinite", "logical_or"):
            f = getattr(np, name)
            for casting in ("same_kind", "unsafe", "safe"):
                books.compare(
                    (name, a, casting),
                    lambda f=f, x=x, c=casting: f(*[x] * f.nin, dtype=dtype, casting=c),
                    lambda f=f, y=y, c=casting: f(*[y] * f.nin, dtype=dtype, casting=c),
                )


@pytest.mark.usefixtures("session")
def test_unknown_options():
    x = np.arange(4.0)
    y = dnb.array(x)
    agree(lambda: np.add(x, x, casting="magic"), lambda: np.add(y, y, casting="magic"))
    agree(lambda: np.add(x, x, dtype="nonsense"), lambda: np.add(y, y, dtype="nonsense"))
    agree(lambda: np.add(x, x, magic=1), lambda: np.add(y, y, magic=1))
    agree(lambda: np.add(x), lambda: np.add(y))
    agree(lambda: np.add(x, x, x, x), lambda: np.add(y, y, y, y))
    agree(lambda: np.add(x, "a"), lambda: np.add(y, "a"))
    agree(lambda: x + None, lambda: y + None)
    with pytest.raises(TypeError, match="expected one that distnb offers"):
        np.datetime_as_string(y)


@pytest.mark.usefixtures("session")
def test_several_outputs():
    x = np.array([-7.5, 0.0, 2.25, 9.0, np.inf, np.nan])
    y = np.array([2.0, 3.0, -1.5, 4.0, 2.0, 1.0])
    a, b = dnb.array(x), dnb.array(y, dist="cyclic")
    for numpys, ours in (
        (lambda: np.divmod(x, y), lambda: np.divmod(a, b)),
        (lambda: divmod(x, 2), lambda: divmod(a, 2)),
        (lambda: divmod(9.0, y), lambda: divmod(9.0, b)),
        (lambda: np.modf(x), lambda: np.modf(a)),
        (lambda: np.frexp(x), lambda: np.frexp(a)),
    ):
        agree(numpys, ours)


@pytest.mark.usefixtures("session")
def test_several_outputs_given():
    """Given outputs may lie anywhere, and one may be left out."""
    x, y = np.arange(12.0).reshape(3, 4), np.array(2.5)
    a, b = dnb.array(x), dnb.array(y)
    for dists in (("block", "cyclic"), ("replicated", None), (("engine", 0), ("*", "block"))):
        targets = [np.zeros((3, 4)), np.zeros((3, 4))]
        ours = [dnb.zeros((3, 4), dist=d) for d in dists]
        np.divmod(x, y, out=tuple(targets))
        found = np.divmod(a, b, out=tuple(ours))
        assert found[0] is ours[0]
        assert found[1] is ours[1]
        for mine, wanted in zip(ours, targets, strict=True):
            same(mine, wanted)
        np.divmod(y, x + 1, out=tuple(targets), where=x > 4)
        np.divmod(b, a + 1, out=tuple(ours), where=a > 4)
        for mine, wanted in zip(ours, targets, strict=True):
            same(mine, wanted)
    target, mine = np.zeros((3, 4)), dnb.zeros((3, 4), dist="cyclic")
    expected = np.divmod(x, y, out=(None, target))
    found = np.divmod(a, b, out=(None, mine))
    same(found[0], expected[0])
    same(mine, target)


@pytest.mark.usefixtures("session")
def test_out_that_is_also_an_input():
    x = np.arange(12.0).reshape(3, 4)
    for dist in (None, "cyclic", ("*", "block"), "replicated"):
        y, a = x.copy(), dnb.array(x, dist=dist)
        np.add(y, y[::-1], out=y)
        np.add(a, a[::-1], out=a)
        same(a, y)
        np.multiply(y[:, ::-1], y, out=y[:, ::-1])
        np.multiply(a[:, ::-1], a, out=a[:, ::-1])
        same(a, y)
        np.divmod(y, 3, out=(y[::-1], y[::-1].copy()))
        np.divmod(a, 3, out=(a[::-1], a[::-1].copy()))
        same(a, y)


@pytest.mark.parametrize("dist", [None, "block"])
def test_where_what_is_cast_overlaps(session, dist):
    """NumPy writes memory that it has not filled to where the mask is false."""
    x = dnb.arange(200.0, dist=dist)
    np.less(x[:-1], x[1:], out=x[1:], where=x[:-1] > 90, casting="unsafe")
    same(x, np.where(np.arange(200.0) > 91, 1.0, np.arange(200.0)))


@pytest.mark.usefixtures("session")
def test_where():
    x, y = numbered((4, 5)), numbered((4, 5), first=100)
    for mask in (x % 3 == 0, (x % 2 == 0)[0], np.array(False), np.zeros((4, 1), bool)):
        for dist in (None, "cyclic", ("*", "block")):
            target, ours = np.full((4, 5), -1.0), dnb.full((4, 5), -1.0, dist=dist)
            expected = np.subtract(x, y, out=target, where=mask)
            found = np.subtract(dnb.array(x), dnb.array(y), out=ours, where=dnb.array(mask))
            assert found is ours
            same(ours, expected)
            ours[...] = -1.0
            np.subtract(dnb.array(x), y, out=ours, where=mask)
            same(ours, expected)
    agree(
        lambda: np.add(x, y, out=x.copy(), where=False),
        lambda: np.add(dnb.array(x), y, out=dnb.array(x), where=False),
    )
    agree(
        lambda: np.add(x, y, out=x.copy(), where=x),
        lambda: np.add(dnb.array(x), y, out=dnb.array(x), where=dnb.array(x)),
    )
    # Without an output the mask also takes part in broadcasting.
    assert np.sqrt(dnb.arange(3.0), where=np.ones((2, 3), bool)).shape == (2, 3)


@pytest.mark.usefixtures("session")
def test_wrong_outputs():
    x = np.arange(4.0)
    y = dnb.array(x)
    cases = [
        (lambda: np.add(x, x, out=np.zeros(3)), lambda: np.add(y, y, out=dnb.zeros(3))),
        (lambda: np.add(x, x, out=np.zeros(())), lambda: np.add(y, y, out=dnb.zeros(()))),
        (lambda: np.add(x[:1], 1, out=np.zeros(4)), lambda: np.add(y[:1], 1, out=dnb.zeros(4))),
        (lambda: np.add(x, x, out=np.zeros((2, 4))), lambda: np.add(y, y, out=dnb.zeros((2, 4)))),
        (
            lambda: np.add(x, x, out=(np.zeros(4),) * 2),
            lambda: np.add(y, y, out=(dnb.zeros(4),) * 2),
        ),
        (lambda: np.add(x, x, out=[1]), lambda: np.add(y, y, out=[1])),
        (lambda: np.modf(x, out=np.zeros(4)), lambda: np.modf(y, out=dnb.zeros(4))),
        (
            lambda: np.add(x, x, out=np.broadcast_to(np.zeros(1), 4)),
            lambda: np.add(y, y, out=np.broadcast_to(dnb.zeros(1), 4)),
        ),
    ]
    for numpys, ours in cases:
        agree(numpys, ours)


# -- values that only engines see --------------------------------------------------------------


@pytest.mark.usefixtures("engines_only")
@pytest.mark.usefixtures("engines_only")
def test_errors_of_values(session):
    """What depends on values raises at the read, with NumPy's type; then all goes on."""
    x = dnb.arange(6)
    y = dnb.arange(6) ** (x - 3)
    with pytest.raises(ValueError, match="Integers to negative integer powers") as caught:
        y.to_numpy()
    notes = "\n".join(caught.value.__notes__)
    assert "'power'" in notes
    assert "test_elementwise.py" in notes
    with pytest.raises(dnb.LostArrayError, match="array of shape"):
        y.to_numpy()
    with pytest.raises(dnb.LostArrayError):
        y + 1
    same(x, np.arange(6))
    y[...] = 7
    same(y, np.full(6, 7))
    session.flush()


@pytest.mark.usefixtures("session", "engines_only")
def test_warnings():
    """Floating point warnings come with the line that asked for the operation."""
    x = dnb.array([1.0, 0.0, -1.0, 4.0, 5.0])
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide") as found:
        (1 / x).to_numpy()
    line = currentframe().f_lineno - 1
    assert [(w.filename, w.lineno) for w in found] == [(__file__, line)]
    with pytest.warns(RuntimeWarning, match="invalid.* in sqrt"):
        np.sqrt(x).to_numpy()


@pytest.mark.ways("four", "spmd")
@pytest.mark.usefixtures("engines_only")
def test_error_states(session, recwarn):
    """np.errstate is obeyed as it was where the operation was asked for."""
    x = dnb.array([1.0, 0.0, -1.0, 4.0, 1e-300])
    with np.errstate(divide="ignore"):
        y = 1 / x
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
            1 / x
        with pytest.raises(FloatingPointError, match="invalid value encountered in sqrt"):
            dnb.sqrt(x)
        with pytest.raises(FloatingPointError, match="underflow encountered in multiply"):
            x * 1e-300
        same(x + 1, x.to_numpy() + 1)
    told = []
    with np.errstate(invalid="call", divide="ignore", call=lambda *error: told.append(error)):
        dnb.log(x)
    assert told == [("invalid value", 8)]
    log = io.StringIO()
    with np.errstate(over="log", call=log):
        dnb.exp(1e300 * x)
    assert log.getvalue().startswith("Warning: overflow encountered in exp")
    for how in ("call", "log"):
        with np.errstate(over=how, call=None), pytest.raises(NameError, match="for overflow"):
            dnb.exp(1e300 * x)
    with np.errstate(divide="ignore"):
        same(y, 1 / np.array([1.0, 0.0, -1.0, 4.0, 1e-300]))
    assert not recwarn.list


@pytest.mark.usefixtures("session")
def test_plain_outputs():
    """Results are read into NumPy's arrays that are given as outputs."""
    x, mask = np.arange(4.0), np.array([True, False, True, True])
    y = dnb.array(x)
    cases = [
        lambda a, o: np.add(a, a, out=o),
        lambda a, o: np.multiply(a, 3, out=o, where=mask),
        lambda a, o: np.modf(a, out=(o, None))[1],
        lambda a, o: o.__iadd__(a),
        lambda a, o: np.add.reduce(np.stack([a, a]), 0, out=o),
        lambda a, o: np.cumsum(a, out=o),
        lambda a, o: np.add(a, 1j, out=o),
        lambda a, o: np.add(a[:3], 1, out=o),
    ]
    for case in cases:
        outs = [np.ones(4), np.ones(4)]
        found, error = outcome(lambda: case(x, outs[0]))
        ours, other = outcome(lambda: case(y, outs[1]))
        assert type(error) is type(other) or isinstance(other, public(error))
        np.testing.assert_array_equal(found, ours)
        np.testing.assert_array_equal(*outs)


@pytest.mark.ways("four")
@pytest.mark.usefixtures("session")
def test_reduce_of_all():
    """Every ufunc of two arguments reduces, in order."""
    x = np.array([[8.0, 2.0, 3.0], [9.0, 4.0, 7.0], [64.0, 2.0, 1.0], [5.0, 6.0, 7.0]])
    y = dnb.array(x, dist="block")
    options = ({}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)})
    more = ({"initial": 3.0}, {"dtype": np.float32})
    for name in ("subtract", "divide", "power", "hypot", "logaddexp", "arctan2", "equal"):
        for asked in (*options, *more):
            run = getattr(np, name).reduce
            with np.errstate(all="ignore"):
                agree(lambda: run(x, **asked), lambda: run(y, **asked), ulps(name))
    masked = {"where": x[0] > 2, "initial": 1.0}
    for name in ("hypot", "subtract", "arctan2"):
        run = getattr(np, name).reduce
        agree(lambda run=run: run(x, **masked), lambda run=run: run(y, **masked), 1e-15)


# -- shapes ------------------------------------------------------------------------------------


def test_broadcasting(books):
    shapes = [(), (1,), (4,), (3, 1), (1, 4), (3, 4), (2, 1, 4), (0,), (3, 0), (2, 3, 1), (5,)]
    for one, two in itertools.product(shapes, shapes):
        x, y = numbered(one), numbered(two, np.float32)
        a, b = dnb.array(x), dnb.array(y, dist="cyclic" if two else None)
        books.compare((one, two), lambda x=x, y=y: x * y, lambda a=a, b=b: a * b)


def test_either_side(books):
    """Data that is no DistArray may be on either side, in operators and in functions."""
    x = numbered((6, 5))
    a = dnb.array(x, dist="cyclic")
    others = [x[::-1], x[0], x[:, :1], np.float32(3), np.array(3), 2, 2.5, [1, 2, 3, 4, 5], x > 3]
    for y in others:
        for f in (np.subtract, np.arctan2, np.maximum, operator.sub):
            rtol = ulps(f.__name__)
            books.compare(f, lambda f=f, y=y: f(x, y), lambda f=f, y=y: f(a, y), rtol)
            books.compare(f, lambda f=f, y=y: f(y, x), lambda f=f, y=y: f(y, a), rtol)


def test_namespace(books):
    """Every elementwise function of the namespace is NumPy's, and takes plain data, too."""
    for name in UNARY + BINARY:
        f = UFUNCS[name]
        function = getattr(dnb, name)
        x = inputs(name, [np.dtype("f8" if f.types[-1][0] in "edfgFDG?" else "i4")] * f.nin)
        books.compare(name, lambda f=f, x=x: f(*x), lambda f=function, x=x: f(*x), ulps(name))
    same(dnb.add([1, 2], 3), np.array([4, 5]))


@pytest.mark.usefixtures("session")
def test_functions_that_are_no_ufuncs():
    x = np.array([-2.5, -0.4, 0.5, 1.5, 2.5, np.nan, np.inf])
    z = x[:5] + 1j * x[:5][::-1]
    a, c = dnb.array(x), dnb.array(z)
    i, j = np.arange(7), dnb.arange(7)
    b, m = x > 0, dnb.array(x > 0)
    y = x[::-1]
    w = dnb.array(x, dist="cyclic")[::-1]
    cases = [
        (lambda: np.where(b, x, y), lambda: np.where(m, a, w)),
        (lambda: np.where(b, x, 1), lambda: np.where(m, a, 1)),
        (lambda: np.where(b, 2, i), lambda: np.where(m, 2, j)),
        (lambda: np.where(b, 1.0, 0), lambda: np.where(m, 1.0, 0)),
        (lambda: np.where(i, i, y), lambda: np.where(j, j, w)),
        (lambda: np.where(b[:1], np.float32(2), i), lambda: np.where(m[:1], np.float32(2), j)),
        (lambda: np.clip(x, -1, 1), lambda: np.clip(a, -1, 1)),
        (lambda: np.clip(x, None, 1), lambda: np.clip(a, None, 1)),
        (lambda: np.clip(x, 0, None), lambda: np.clip(a, 0, None)),
        (lambda: np.clip(x, y, 2), lambda: np.clip(a, w, 2)),
        (lambda: np.clip(i, 2, 4), lambda: np.clip(j, 2, 4)),
        (lambda: np.clip(i, 0.5, 4), lambda: np.clip(j, 0.5, 4)),
        (lambda: x.clip(-1, 1), lambda: a.clip(-1, 1)),
        (lambda: x.clip(min=0), lambda: a.clip(min=0)),
        (lambda: np.round(x), lambda: np.round(a)),
        (lambda: np.round(x * 1.23456, 2), lambda: np.round(a * 1.23456, 2)),
        (lambda: np.round(i * 37, -2), lambda: np.round(j * 37, -2)),
        (lambda: (x * 3.3).round(1), lambda: (a * 3.3).round(1)),
        (lambda: np.round(z * 1.3, 1), lambda: np.round(c * 1.3, 1)),
        (lambda: np.around(x, 1), lambda: np.around(a, 1)),
        (lambda: np.real(z), lambda: np.real(c)),
        (lambda: np.imag(z), lambda: np.imag(c)),
        (lambda: np.real(x), lambda: np.real(a)),
        (lambda: np.imag(x), lambda: np.imag(a)),
        (lambda: z.real, lambda: c.real),
        (lambda: z.imag, lambda: c.imag),
        (lambda: i.imag, lambda: j.imag),
        (lambda: z.conj(), lambda: c.conj()),
        (lambda: np.conj(i), lambda: np.conj(j)),
        (
            lambda: x.astype("i4", casting="unsafe")[:5],
            lambda: a.astype("i4", casting="unsafe")[:5],
        ),
        (lambda: x.astype("f4"), lambda: a.astype("f4")),
        (lambda: z.astype("f4"), lambda: c.astype("f4")),
        (lambda: x.astype("i4", casting="safe"), lambda: a.astype("i4", casting="safe")),
        (lambda: i.astype(bool), lambda: j.astype(bool)),
        (lambda: np.allclose(x, y), lambda: np.allclose(a, w)),
        (lambda: np.allclose(i, i + 1e-9), lambda: np.allclose(j, j + 1e-9)),
        (lambda: np.allclose(x, x, equal_nan=True), lambda: np.allclose(a, a, equal_nan=True)),
        (lambda: np.array_equal(i, i), lambda: np.array_equal(j, j)),
        (lambda: np.array_equal(x, x), lambda: np.array_equal(a, a)),
        (
            lambda: np.array_equal(x, x, equal_nan=True),
            lambda: np.array_equal(a, a, equal_nan=True),
        ),
        (lambda: np.array_equal(x, x[:3]), lambda: np.array_equal(a, a[:3])),
        (lambda: np.copy(x), lambda: np.copy(a)),
        (lambda: np.shape(z), lambda: np.shape(c)),
        (lambda: np.ndim(z), lambda: np.ndim(c)),
        (lambda: np.size(z), lambda: np.size(c)),
        (lambda: np.size(z, 0), lambda: np.size(c, 0)),
        (lambda: np.iscomplexobj(z), lambda: np.iscomplexobj(c)),
        (lambda: np.isrealobj(z), lambda: np.isrealobj(c)),
        (lambda: np.result_type(i, np.float32), lambda: np.result_type(j, np.float32)),
        (lambda: np.result_type(i, 2.5), lambda: np.result_type(j, 2.5)),
    ]
    for n, (numpys, ours) in enumerate(cases):
        try:
            agree(numpys, ours)
        except AssertionError as error:
            error.add_note(f"case {n}")
            raise


@pytest.mark.usefixtures("session")
def test_copyto():
    x, y = np.arange(6), np.arange(6) * 1.5
    for source, casting, where in (
        (x[::-1].copy(), "same_kind", True),
        (y, "same_kind", True),
        (y, "unsafe", True),
        (3, "same_kind", True),
        (x, "same_kind", x > 2),
        (x[:1], "same_kind", True),
        (2.5, "same_kind", True),
        (2.5, "unsafe", True),
        (np.float64(2.5), "same_kind", True),
        (np.int8(2), "same_kind", True),
        (1 << 20, "same_kind", True),
        (x, "same_kind", y),
        (x, "same_kind", x[:4] > 1),
        (x[:4], "same_kind", True),
        (300, "same_kind", x % 2 == 0),
    ):
        target, ours = np.zeros(6, np.int16), dnb.zeros(6, np.int16, dist="cyclic")
        agree(
            lambda t=target, s=source, c=casting, w=where: np.copyto(t, s, casting=c, where=w),
            lambda t=ours, s=source, c=casting, w=where: np.copyto(
                t, dnb.array(s) if isinstance(s, np.ndarray) else s, casting=c, where=w
            ),
        )
        same(ours, target)


@pytest.mark.usefixtures("session")
def test_float16():
    """Half precision works, too."""
    x = np.array([0, -0.0, 1, 1.5, -2.25, 1e-7, 65504, np.inf, -np.inf, np.nan, 3, 5, 7], "f2")
    a = dnb.array(x)
    for f in (np.sqrt, np.negative, np.isnan, np.spacing):
        agree(lambda f=f: f(x), lambda f=f: f(a))
    agree(lambda: x + x[::-1], lambda: a + a[::-1])
    agree(lambda: x * 2, lambda: a * 2)
    agree(lambda: x + np.float32(1), lambda: a + np.float32(1))
    for d in INTEGERS:
        agree(lambda d=d: x + np.ones(N, d), lambda d=d: a + np.ones(N, d))


# -- layouts and views -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "c8"])
def test_negative_from_strides_to_strides(session, dtype):
    """NumPy's own loop takes wrong elements from some strides to others."""
    x = numbered((24, 40)).astype(dtype)
    a, mask = dnb.array(x), x.T.real % 3 == 0
    for step in (4, 8, -8):
        for view in (np.s_[:, ::step], np.s_[::2, ::step]):
            n, m = x[view], a[view]
            same(-m.T, -n.T)
            found = dnb.zeros((2 * n.shape[0], 3 * n.shape[1]), dtype)
            np.negative(m, out=found[::2, ::3])
            same(found[::2, ::3], -n)
            some = mask.T[view]
            np.negative(n.copy(), out=(expected := np.zeros_like(n)), where=some)
            found[...] = 0
            np.negative(m, out=found[1::2, ::3], where=some)
            same(found[1::2, ::3], expected)


@given(st.data())
@examples(60)
def test_layouts_and_views(session, data):
    """An operation on views of any layouts gives NumPy's result, and so does writing it to one."""
    shape = data.draw(testing.shapes())
    arrays = [
        pair(data.draw, shape, session.size, dtype="f8")
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    numpys, ours = [a[0] for a in arrays], [a[1] for a in arrays]
    f = {1: lambda x: -x, 2: lambda x, y: x - 3 * y, 3: lambda x, y, z: x - y * z}[len(arrays)]
    same(f(*ours), f(*numpys))
    target, mine, base, whole = pair(data.draw, shape, session.size, dtype="f4", broadcast=False)
    last = numpys[-1], ours[-1]
    np.subtract(numpys[0], last[0], out=target, casting="unsafe")
    np.subtract(ours[0], last[1], out=mine, casting="unsafe")
    same(whole, base)


@given(st.data())
@examples(40)
def test_broadcast_layouts(session, data):
    """Operands of different shapes meet by broadcasting, whatever their layouts."""
    shape = data.draw(testing.shapes(max_dims=3))
    pairs = []
    for _ in range(2):
        own = [n if data.draw(st.integers(0, 3)) else 1 for n in shape]
        own = tuple(own[data.draw(st.integers(0, len(own))) :])
        pairs.append(pair(data.draw, own, session.size, dtype="i8"))
    (x, a, *_), (y, b, *_) = pairs
    same(a * 3 - b, x * 3 - y)
    mask, m, *_ = pair(data.draw, np.broadcast_shapes(x.shape, y.shape), session.size, dtype="?")
    same(np.where(m, a, b), np.where(mask, x, y))


@given(st.data())
@examples(30)
def test_overlapping_outputs(session, data):
    """Input and output may be any two views of one base."""
    base, dist, view = data.draw(
        operands(data.draw(testing.shapes(max_dims=2)), session.size, "i8", broadcast=False)
    )
    target, ours = take(base, view), take(dist, view)
    orders = [slice(None, None, data.draw(st.sampled_from([1, -1]))) for _ in target.shape]
    x, a = target[(*orders, ...)], ours[(*orders, ...)]
    if x.ndim == 2 and x.shape[0] == x.shape[1] and data.draw(st.booleans()):
        x, a = x.T, a.T
    np.add(target, 2 * x, out=target)
    np.add(ours, 2 * a, out=ours)
    same(dist, base)
    np.subtract(x, target, out=target)
    np.subtract(a, ours, out=ours)
    same(dist, base)


@pytest.mark.skipif(FAST["exp"][1] is np.exp, reason="NumPy's own are all there is")
@pytest.mark.parametrize("n", [N, 700_000])
@pytest.mark.parametrize("name", FAST)
def test_functions_by_vectors_are_numpys_to_four_ulp(session, monkeypatch, name, n):
    """The same digits wherever they are computed, and whoever calls them."""
    monkeypatch.setattr(dnb.config, "math", "fast")
    x = np.linspace(0.05, 0.95, n)
    a = dnb.asarray(x)
    row, run = FAST[name]
    expected, out = run(x), dnb.empty(n)
    np.testing.assert_array_max_ulp(expected, getattr(np, name)(x), 6)  # both may be off
    for found in (
        getattr(np, name)(a),
        getattr(dnb, name)(a),
        getattr(np, name)(a, out=out),
        getattr(dnb, name)(a, out=dnb.empty(n)),
        getattr(dnb, name)(a[::-1])[::-1],
        getattr(dnb, name)(a, where=a > 0.5, out=dnb.zeros(n)) + 0.0,
    ):
        close = np.array(found)
        close[close == 0] = expected[close == 0]
        np.testing.assert_array_equal(close, expected)
    same(getattr(np, name)(dnb.asarray(x[:5].astype("f2"))), getattr(np, name)(x[:5].astype("f2")))

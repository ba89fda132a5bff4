"""The array API standard, run: each function does on engines what array_api_strict does.

That library is the standard's reference: NumPy's results, with the standard's rules for dtypes and
arguments. Every function of the namespace and of its extensions has a line here at least.
"""

import operator

import array_api_strict as strict
import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import thin

#: Every function, in every tier: they are quick.
pytestmark = [pytest.mark.ways("cutoff"), pytest.mark.cases(300)]

strict.set_array_api_strict_flags(api_version="2024.12")

BOOL = ("bool",)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*INTEGERS, *REAL, *COMPLEX)
ORDERED = (*INTEGERS, *REAL)
ALL = (*BOOL, *NUMBERS)

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, np.inf, -np.inf, np.nan, 100.0]


def values(dtype, turn=0):
    """Return special values of a dtype, in another order for each turn."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        found = np.array([True, False, False, True] * 3)
    elif kind in "iu":
        limits = np.iinfo(dtype)
        found = np.array([0, 1, 2, 3, 5, 7, 100, limits.max, limits.min, 11, 4, 6], dtype)
    elif kind == "f":
        found = np.array(SPECIAL, dtype)
    else:
        found = np.array([complex(re, im) for re, im in zip(SPECIAL, SPECIAL[::-1])], dtype)  # noqa: B905
    return np.roll(found, 5 * turn).reshape(3, 4)


def plain(dtype, shape=(3, 4), start=1):
    """Return small numbers of a dtype."""
    n = int(np.prod(shape))
    found = np.arange(start, start + n) % 7 + (np.arange(n) % 3) * (np.dtype(dtype).kind != "b")
    return found.astype(dtype).reshape(shape)


def compare(expected, actual, rtol):
    """Compare results, which may be tuples, arrays or plain objects."""
    if isinstance(expected, tuple | list):
        assert len(expected) == len(actual)
        assert getattr(expected, "_fields", None) == getattr(actual, "_fields", None)
        for e, a in zip(expected, actual, strict=True):
            compare(e, a, rtol)
    elif hasattr(expected, "__array_namespace__"):
        if isinstance(actual, np.generic):  # an element in reach
            actual = dnb.asarray(actual)
        assert isinstance(actual, dnb.DistArray), type(actual)
        e = np.asarray(expected._array)
        assert (str(actual.dtype), actual.shape) == (str(e.dtype), e.shape)
        np.testing.assert_allclose(actual.to_numpy(), e, rtol, rtol, equal_nan=True)
        if not rtol and e.dtype.kind in "f":
            np.testing.assert_array_equal(
                np.signbit(actual.to_numpy()[e == 0]), np.signbit(e[e == 0])
            )
    else:
        assert actual == expected
        assert type(actual) is type(expected)


def run(call, *arrays, rtol=0.0):
    with np.errstate(all="ignore"):
        expected = call(strict, *(strict.asarray(a.copy()) for a in arrays))
        actual = call(dnb, *(dnb.asarray(a.copy()) for a in arrays))
        compare(expected, actual, rtol)


# -- elementwise ---------------------------------------------------------------------------------

ONE = {
    "abs": NUMBERS,
    "bitwise_invert": (*BOOL, *INTEGERS),
    "ceil": ORDERED,
    "floor": ORDERED,
    "trunc": ORDERED,
    "round": NUMBERS,
    "conj": COMPLEX,
    "imag": COMPLEX,
    "real": COMPLEX,
    "isfinite": NUMBERS,
    "isinf": NUMBERS,
    "isnan": NUMBERS,
    "logical_not": BOOL,
    "negative": (*INTEGERS[:4], *REAL, *COMPLEX),
    "positive": NUMBERS,
    "reciprocal": (*REAL, *COMPLEX),
    "sign": (*ORDERED, *COMPLEX),
    "signbit": REAL,
    "square": NUMBERS,
    **dict.fromkeys(
        "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 sin sinh sqrt tan "
        "tanh".split(),
        (*REAL, *COMPLEX),
    ),
}
TWO = {
    **dict.fromkeys("add subtract multiply".split(), NUMBERS),
    **dict.fromkeys("equal not_equal".split(), ALL),
    **dict.fromkeys("greater greater_equal less less_equal maximum minimum".split(), ORDERED),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor".split(), (*BOOL, *INTEGERS)),
    **dict.fromkeys("logical_and logical_or logical_xor".split(), BOOL),
    **dict.fromkeys("atan2 copysign hypot logaddexp nextafter".split(), REAL),
    "divide": (*REAL, *COMPLEX),
    "floor_divide": ORDERED,
    "remainder": ORDERED,
    "pow": (*REAL,),
}
OPERATORS = {
    **dict.fromkeys("add sub mul".split(), NUMBERS),
    **dict.fromkeys("eq ne".split(), ALL),
    **dict.fromkeys("lt le gt ge floordiv mod".split(), ORDERED),
    **dict.fromkeys("and_ or_ xor".split(), (*BOOL, *INTEGERS)),
    "truediv": (*REAL, *COMPLEX),
    "pow": REAL,
}


@pytest.mark.parametrize("name", ONE)
def test_one_operand(session, name):
    for dtype in thin(ONE[name][::-1]):
        x = plain(dtype) if (name, np.dtype(dtype).kind) == ("sign", "c") else values(dtype)
        run(lambda xp, x: getattr(xp, name)(x), x, rtol=1e-6 if "64" in dtype else 1e-5)


@pytest.mark.parametrize("name", TWO)
def test_two_operands(session, name):
    """Of arrays, which broadcast, and of an array and a Python number on either side."""
    f = operator.attrgetter(name)
    for dtype in thin(TWO[name][::-1]):
        x, y = values(dtype), values(dtype, 1)
        run(lambda xp, x, y: f(xp)(x, y), x, y)
        run(lambda xp, x, y: f(xp)(x, y[0, :]), x, y)
        number = {"b": True, "i": 3, "u": 3, "f": 2.0, "c": 1j}[np.dtype(dtype).kind]
        run(lambda xp, x, n=number: (f(xp)(x, n), f(xp)(n, x)), x)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(session, name):
    f = getattr(operator, name)
    for dtype in thin(OPERATORS[name][::-1]):
        x, y = values(dtype), values(dtype, 1)
        number = {"b": True, "i": 3, "u": 3, "f": 2.0, "c": 1j}[np.dtype(dtype).kind]
        run(lambda xp, x, y: f(x, y), x, y)
        run(lambda xp, x, n=number: (f(x, n), f(n, x)), x)
        in_place = getattr(operator, f"i{name.rstrip('_')}", None)
        if in_place is not None:
            run(lambda xp, x, y, g=in_place: (g(x, y), x), x, y)
            run(lambda xp, x, g=in_place, n=number: (g(x, n), x), x)


def test_mixed_dtypes(session):
    for pair in (
        ("int8", "int32"),
        ("uint8", "int16"),
        ("float32", "complex128"),
        ("uint32", "int8"),
    ):
        x, y = plain(pair[0]), plain(pair[1])
        run(lambda xp, x, y: (x + y, xp.multiply(y, x), x == y), x, y)


def test_shifts_and_unary_operators(session):
    for dtype in thin(INTEGERS):
        x, y = plain(dtype), plain(dtype, start=0) % 5
        run(lambda xp, x, y: (x << y, x >> y, xp.bitwise_left_shift(x, y)), x, y)
        run(lambda xp, x, y: (xp.bitwise_right_shift(x, y), ~x, +x, abs(x), x << 1, 2 >> y), x, y)
    run(lambda xp, x: (-x, +x, abs(x)), values("float64"))
    run(lambda xp, x: ~x, values("bool"))


def test_clip(session):
    for dtype in thin(ORDERED):
        x = plain(dtype)
        run(
            lambda xp, x: (
                xp.clip(x),
                xp.clip(x, 2),
                xp.clip(x, None, 4),
                xp.clip(x, min=2, max=4),
            ),
            x,
        )
        run(lambda xp, x: xp.clip(x, x[0, :], 5), x)
    run(
        lambda xp, x: xp.clip(x, min=-1.0, max=xp.asarray(2.0, dtype=xp.float64)), values("float64")
    )


# -- everything else: a line or more each ----------------------------------------------------------

F, N, C = plain("float64"), plain("int64"), plain("complex128")
SQUARE = plain("float64", (4, 4)) + 5 * np.eye(4)
HERMITIAN = SQUARE + SQUARE.T
LINE = plain("float64", (12,))
STACK = np.stack([SQUARE, 2 * SQUARE, SQUARE.T])

CASES = {
    # creation
    "arange": lambda xp, f: (xp.arange(7), xp.arange(1.0, 4.0, 0.5), xp.arange(5, -5, step=-3, dtype=xp.int16)),
    "asarray": lambda xp, f: (xp.asarray([[1, 2], [3, 4]]), xp.asarray(2.5), xp.asarray(f, dtype=xp.float32), xp.asarray(True)),
    "asarray of scalars": lambda xp, f: (xp.asarray([1j, 2]), xp.asarray([True, False]), xp.asarray([1, 2.5])),
    "empty": lambda xp, f: xp.zeros_like(xp.empty((2, 3), dtype=xp.int8)),
    "empty_like": lambda xp, f: xp.zeros_like(xp.empty_like(f)),
    "eye": lambda xp, f: (xp.eye(3), xp.eye(3, 4, k=1), xp.eye(3, 2, k=-1, dtype=xp.int8)),
    "full": lambda xp, f: (xp.full((2, 3), 5), xp.full(4, 2.5), xp.full((), True), xp.full(3, 1j), xp.full(2, 1, dtype=xp.uint8)),
    "full_like": lambda xp, f: (xp.full_like(f, 3), xp.full_like(f, 3, dtype=xp.int8)),
    "linspace": lambda xp, f: (xp.linspace(0, 1, 5), xp.linspace(0, 3, num=6, endpoint=False), xp.linspace(1, 2, 3, dtype=xp.float32)),
    "meshgrid": lambda xp, f: (xp.meshgrid(f[0, :], f[:, 0]), xp.meshgrid(f[0, :], f[:, 0], indexing="ij")),
    "ones": lambda xp, f: (xp.ones(3), xp.ones((2, 3), dtype=xp.bool), xp.ones_like(f), xp.ones_like(f, dtype=xp.int8)),
    "ones_like": lambda xp, f: xp.ones_like(f),
    "tril": lambda xp, f: (xp.tril(f), xp.tril(f, k=1), xp.tril(f, k=-2)),
    "triu": lambda xp, f: (xp.triu(f), xp.triu(f, k=1), xp.triu(f, k=-2)),
    "zeros": lambda xp, f: (xp.zeros(()), xp.zeros((0, 3)), xp.zeros(4, dtype=xp.complex64)),
    "zeros_like": lambda xp, f: xp.zeros_like(f, dtype=xp.bool),
    # dtypes
    "astype": lambda xp, f: (xp.astype(f, xp.float32), xp.astype(f, xp.int16), xp.astype(f, xp.complex64), xp.astype(f, xp.bool)),
    "broadcast_arrays": lambda xp, f: xp.broadcast_arrays(f, f[0, :], f[:, :1]),
    "broadcast_to": lambda xp, f: xp.broadcast_to(f, (2, 3, 4)),
    "can_cast": lambda xp, f: (xp.can_cast(f, xp.complex128), xp.can_cast(f, xp.float32), xp.can_cast(xp.int8, xp.int16)),
    "isdtype": lambda xp, f: tuple(xp.isdtype(f.dtype, k) for k in ("bool", "integral", "real floating", "numeric", ("bool", "complex floating"))),
    "finfo": lambda xp, f: (float(xp.finfo(f.dtype).eps), float(xp.finfo(xp.float32).max), xp.finfo(xp.complex64).bits, float(xp.finfo(f).min)),
    "iinfo": lambda xp, f: (int(xp.iinfo(xp.int8).max), int(xp.iinfo(xp.uint16).bits), int(xp.iinfo(xp.int32).min)),
    "result_type": lambda xp, f: (str(xp.result_type(f, xp.complex64)) != "", xp.zeros(1, dtype=xp.result_type(f, xp.complex64))),
    "from_dlpack": lambda xp, f: xp.from_dlpack(xp.asarray([1.0, 2.0])),
    # linear algebra of the namespace
    "matmul": lambda xp, f: (xp.matmul(f, f.T), f @ xp.matrix_transpose(f), f @ f[0, :], f[:, 0] @ f),
    "matrix_transpose": lambda xp, f: (xp.matrix_transpose(f), f.mT),
    "tensordot": lambda xp, f: (xp.tensordot(f, f.T, axes=1), xp.tensordot(f, f), xp.tensordot(f, f, axes=((0,), (0,))), xp.tensordot(f, f, axes=0)),
    "vecdot": lambda xp, f: (xp.vecdot(f, f), xp.vecdot(f, f, axis=-2), xp.vecdot(f, f[0, :])),
    # manipulation
    "concat": lambda xp, f: (xp.concat([f, f]), xp.concat([f, f[:, :1]], axis=1), xp.concat((f, f), axis=None), xp.concat([f, f], axis=-1)),
    "expand_dims": lambda xp, f: (xp.expand_dims(f, axis=0), xp.expand_dims(f, axis=1), xp.expand_dims(f, axis=-1)),
    "flip": lambda xp, f: (xp.flip(f), xp.flip(f, axis=0), xp.flip(f, axis=(0, 1))),
    "moveaxis": lambda xp, f: xp.moveaxis(xp.reshape(f, (3, 2, 2)), (0, 1), (-1, 0)),
    "permute_dims": lambda xp, f: xp.permute_dims(xp.reshape(f, (3, 2, 2)), (2, 0, 1)),
    "repeat": lambda xp, f: (xp.repeat(f, 2), xp.repeat(f, 3, axis=1), xp.repeat(f, xp.asarray([1, 0, 2]), axis=0)),
    "reshape": lambda xp, f: (xp.reshape(f, (4, 3)), xp.reshape(f, (-1,)), xp.reshape(f, (2, -1, 3)), xp.reshape(f, (12,), copy=True)),
    "roll": lambda xp, f: (xp.roll(f, 5), xp.roll(f, -1, axis=0), xp.roll(f, (1, 2), axis=(0, 1))),
    "squeeze": lambda xp, f: (xp.squeeze(f[:, :1], axis=1), xp.squeeze(f[:1, :1], axis=(0, 1)), xp.squeeze(f[:1, :], 0)),
    "stack": lambda xp, f: (xp.stack([f, f + 1]), xp.stack((f, f), axis=-1)),
    "tile": lambda xp, f: (xp.tile(f, (2, 3)), xp.tile(f, (2,)), xp.tile(f, (2, 1, 1))),
    "unstack": lambda xp, f: (xp.unstack(f), xp.unstack(f, axis=-1)),
    # searching
    "argmax": lambda xp, f: (xp.argmax(f), xp.argmax(f, axis=0), xp.argmax(f, axis=1, keepdims=True)),
    "argmin": lambda xp, f: (xp.argmin(f), xp.argmin(f, axis=0), xp.argmin(f, axis=-1, keepdims=True)),
    "count_nonzero": lambda xp, f: (xp.count_nonzero(f - 1), xp.count_nonzero(f - 1, axis=0), xp.count_nonzero(f, axis=(0, 1), keepdims=True)),
    "nonzero": lambda xp, f: (xp.nonzero(f - 1), xp.nonzero(f > 3), xp.nonzero(f[0, :])),
    "searchsorted": lambda xp, f: (xp.searchsorted(xp.asarray([1.0, 3.0, 5.0]), f), xp.searchsorted(xp.asarray([1.0, 3.0, 5.0]), f, side="right"), xp.searchsorted(f[0, :], f[1, :], sorter=xp.argsort(f[0, :]))),
    "where": lambda xp, f: (xp.where(f > 3, f, -f), xp.where(f > 3, f, 0.5), xp.where(f > 3, 1.0, f[:1, :])),
    # sets
    "unique_all": lambda xp, f: xp.unique_all(f),
    "unique_counts": lambda xp, f: xp.unique_counts(f),
    "unique_inverse": lambda xp, f: xp.unique_inverse(f),
    "unique_values": lambda xp, f: xp.sort(xp.unique_values(f)),  # in any order
    # sorting
    "argsort": lambda xp, f: (xp.argsort(f), xp.argsort(f, axis=0), xp.argsort(f, descending=True), xp.argsort(f, axis=0, descending=True, stable=True)),
    "sort": lambda xp, f: (xp.sort(f), xp.sort(f, axis=0), xp.sort(f, descending=True), xp.sort(f, axis=0, stable=False)),
    # statistics
    "cumulative_prod": lambda xp, f: (xp.cumulative_prod(f, axis=0), xp.cumulative_prod(f[0, :]), xp.cumulative_prod(f, axis=1, include_initial=True)),
    "cumulative_sum": lambda xp, f: (xp.cumulative_sum(f, axis=0), xp.cumulative_sum(f[0, :], dtype=xp.float32), xp.cumulative_sum(f, axis=1, include_initial=True)),
    "max": lambda xp, f: (xp.max(f), xp.max(f, axis=0), xp.max(f, axis=(0, 1), keepdims=True)),
    "mean": lambda xp, f: (xp.mean(f), xp.mean(f, axis=1), xp.mean(f, axis=0, keepdims=True)),
    "min": lambda xp, f: (xp.min(f), xp.min(f, axis=0), xp.min(f, axis=-1, keepdims=True)),
    "prod": lambda xp, f: (xp.prod(f), xp.prod(f, axis=0), xp.prod(f, dtype=xp.float32, keepdims=True)),
    "std": lambda xp, f: (xp.std(f), xp.std(f, axis=0, correction=1), xp.std(f, keepdims=True)),
    "sum": lambda xp, f: (xp.sum(f), xp.sum(f, axis=0), xp.sum(f, dtype=xp.float32), xp.sum(f, axis=(0, 1), keepdims=True)),
    "var": lambda xp, f: (xp.var(f), xp.var(f, axis=0, correction=1.0), xp.var(f, axis=1, keepdims=True)),
    # utilities
    "all": lambda xp, f: (xp.all(f), xp.all(f > 1, axis=0), xp.all(f > 1, axis=(0, 1), keepdims=True)),
    "any": lambda xp, f: (xp.any(f), xp.any(f > 5, axis=0), xp.any(f > 9, keepdims=True)),
    "diff": lambda xp, f: (xp.diff(f), xp.diff(f, axis=0, n=2), xp.diff(f, prepend=f[:, :1], append=f)),
    "take": lambda xp, f: (xp.take(f, xp.asarray([2, 0]), axis=0), xp.take(f[0, :], xp.asarray([1, 1, 3])), xp.take(f, xp.asarray([-1]), axis=1)),
    "take_along_axis": lambda xp, f: (xp.take_along_axis(f, xp.argsort(f, axis=0), axis=0), xp.take_along_axis(f, xp.argsort(f, axis=-1))),
}  # fmt: skip


NAMES = [n for n in CASES if hasattr(dnb, n.split()[0])]


@pytest.mark.parametrize("name", NAMES)
def test_functions(session, name):
    run(CASES[name], F, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "can_cast"])
def test_functions_of_other_dtypes(session, name):
    """What the standard allows; it leaves casts between kinds to libraries."""
    for dtype in thin(("int64", "float32", "bool", "uint8", "complex128"), 3):
        x = plain(dtype)
        try:
            CASES[name](strict, strict.asarray(x))
        except (TypeError, ValueError, OverflowError):
            continue
        run(CASES[name], x, rtol=1e-5)


def test_every_function_has_a_case():
    special = {"clip", "bitwise_left_shift", "bitwise_right_shift", "isin"}  # that one is newer
    done = {n.split()[0] for n in CASES} | set(ONE) | set(TWO) | special
    public = {n for n in dir(strict) if callable(getattr(strict, n)) and n[0] == n[0].lower()}
    types = {str(d) for d in ALL} | {n for n in public if "flags" in n or n.startswith("_")}
    assert public - types - done <= {"broadcast_shapes"}


@pytest.mark.parametrize("dtype", ALL)
def test_dtypes_of_reductions(session, dtype):
    x = plain(dtype)
    if dtype != "bool":
        run(lambda xp, x: (xp.sum(x), xp.prod(x[0, :]), xp.cumulative_sum(x, axis=0)), x, rtol=1e-5)
    if np.dtype(dtype).kind in "iuf":
        run(
            lambda xp, x: (xp.max(x), xp.min(x, axis=0), xp.argmax(x), xp.sort(x), xp.argsort(x)), x
        )
    run(lambda xp, x: (xp.any(x), xp.all(x, axis=0), xp.flip(x)), x)


LINALG = {
    "cholesky": (lambda la, a: (la.cholesky(a), la.cholesky(a, upper=True)), HERMITIAN + 20 * np.eye(4)),
    "cross": (lambda la, a: (la.cross(a[:, :3], a[:, 1:]), la.cross(a[:3, :], a[1:, :], axis=-2)), SQUARE),
    "det": (lambda la, a: la.det(a), STACK),
    "diagonal": (lambda la, a: (la.diagonal(a), la.diagonal(a, offset=1)), STACK),
    "eigvalsh": (lambda la, a: la.eigvalsh(a), HERMITIAN),
    "inv": (lambda la, a: la.inv(a), STACK),
    "matmul": (lambda la, a: la.matmul(a, a), STACK),
    "matrix_norm": (lambda la, a: tuple(la.matrix_norm(a, ord=o) for o in ("fro", "nuc", 1, -1, 2, -2, float("inf"))), STACK),
    "matrix_power": (lambda la, a: (la.matrix_power(a, 3), la.matrix_power(a, 0), la.matrix_power(a, -1)), SQUARE / 10),
    "matrix_rank": (lambda la, a: (la.matrix_rank(a), la.matrix_rank(a, rtol=0.5)), STACK),
    "matrix_transpose": (lambda la, a: la.matrix_transpose(a), STACK),
    "outer": (lambda la, a: la.outer(a, a), LINE),
    "pinv": (lambda la, a: la.pinv(a), SQUARE[:, :3]),
    "slogdet": (lambda la, a: la.slogdet(a), STACK),
    "solve": (lambda la, a: (la.solve(a, a[:, :2]), la.solve(a, a[:, 0])), SQUARE),
    "svdvals": (lambda la, a: la.svdvals(a), STACK),
    "tensordot": (lambda la, a: la.tensordot(a, a, axes=1), SQUARE),
    "trace": (lambda la, a: (la.trace(a), la.trace(a, offset=1)), STACK),
    "vecdot": (lambda la, a: la.vecdot(a, a), STACK),
    "vector_norm": (lambda la, a: tuple(la.vector_norm(a, ord=o) for o in (0, 1, 2, 3, float("inf"), -float("inf"))) + (la.vector_norm(a, axis=0, keepdims=True), la.vector_norm(a, axis=(0, 1))), STACK),
}  # fmt: skip


@pytest.mark.parametrize("name", LINALG)
def test_linalg(session, name):
    call, a = LINALG[name]
    run(lambda xp, a: call(xp.linalg, a), a, rtol=1e-9)


def test_linalg_factors(session):
    """Factors are determined up to signs, so they are multiplied again."""
    q, r = dnb.linalg.qr(dnb.asarray(SQUARE))
    np.testing.assert_allclose((q @ r).to_numpy(), SQUARE, atol=1e-12)
    assert dnb.linalg.qr(dnb.asarray(SQUARE[:, :2]), mode="complete").Q.shape == (4, 4)
    u, s, vh = dnb.linalg.svd(dnb.asarray(SQUARE[:, :3]), full_matrices=False)
    np.testing.assert_allclose(((u * s) @ vh).to_numpy(), SQUARE[:, :3], atol=1e-12)
    assert dnb.linalg.svd(dnb.asarray(SQUARE[:, :3])).U.shape == (4, 4)
    w, v = dnb.linalg.eigh(dnb.asarray(HERMITIAN))
    np.testing.assert_allclose(((v * w) @ v.T).to_numpy(), HERMITIAN, atol=1e-11)


def test_every_function_of_linalg_has_a_case():
    assert set(strict.linalg.__all__) - set(LINALG) <= {"qr", "svd", "eigh"}


FFT = {
    **{n: (lambda f, a, n=n: (getattr(f, n)(a), getattr(f, n)(a, n=3, axis=0, norm="ortho")), C) for n in ("fft", "ifft", "irfft", "hfft")},
    **{n: (lambda f, a, n=n: (getattr(f, n)(a), getattr(f, n)(a, n=3, axis=0, norm="ortho")), F) for n in ("rfft", "ihfft")},
    **{n: (lambda f, a, n=n: (getattr(f, n)(a), getattr(f, n)(a, s=(3, 5), axes=(1, 0), norm="forward")), C) for n in ("fftn", "ifftn", "irfftn")},
    "rfftn": (lambda f, a: (f.rfftn(a), f.rfftn(a, axes=(0,))), F),
    "fftfreq": (lambda f, a: (f.fftfreq(5), f.fftfreq(4, d=0.5)), F),
    "rfftfreq": (lambda f, a: (f.rfftfreq(5), f.rfftfreq(4, d=0.5)), F),
    "fftshift": (lambda f, a: (f.fftshift(a), f.fftshift(a, axes=1)), F),
    "ifftshift": (lambda f, a: (f.ifftshift(a), f.ifftshift(a, axes=(0,))), F),
}  # fmt: skip


@pytest.mark.parametrize("name", FFT)
def test_fft(session, name):
    call, a = FFT[name]
    run(lambda xp, a: call(xp.fft, a), a, rtol=1e-12)
    assert set(FFT) == set(strict.fft.__all__)


# -- the array -----------------------------------------------------------------------------------

KEYS = {
    "integer": lambda xp, x: x[1, 2],
    "row": lambda xp, x: x[1, :],
    "negative": lambda xp, x: (x[-1, ...], x[..., -1]),
    "slices": lambda xp, x: (x[1:, ::2], x[::-1, 3:0:-2], x[0:0, :]),
    "ellipsis": lambda xp, x: (x[...], x[..., 0], x[0, ...]),
    "new axes": lambda xp, x: (x[None, ...], x[:, None, :], x[..., None]),
    "mask": lambda xp, x: (x[x > 3], x[xp.zeros((3, 4), dtype=xp.bool)]),
    "mask of rows": lambda xp, x: x[xp.asarray([True, False, True])],
    "integer array": lambda xp, x: (x[xp.asarray([2, 0, 2]), xp.asarray([1, 1, 0])], x[xp.asarray([0, 1]), 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
def test_indexing(session, name):
    run(KEYS[name], F)
    run(KEYS[name], N)


def test_assignment(session):
    def change(xp, x):
        x[0, :] = 5.0
        x[1, 2] = x[2, 0]
        x[:, 3] = x[:, 0] * 2
        x[x > 5] = -1.0
        x[2, ...] += 1
        return x

    run(change, F)


def test_attributes(session):
    run(lambda xp, x: (x.shape, x.ndim, x.size, x.T, x.mT, len(x.shape)), F)
    run(lambda xp, x: (int(x), float(x), complex(x), bool(x)), np.array(3.0))
    run(lambda xp, x: (operator.index(x), int(x), [10, 20, 30, 40, 50][x]), np.array(3))
    x = dnb.asarray(F)
    assert x.device == dnb.__array_namespace_info__().default_device()
    assert x.to_device(x.device) is x
    assert x.__array_namespace__() is dnb
    assert (dnb.pi, dnb.e, dnb.newaxis) == (strict.pi, strict.e, None)
    assert dnb.inf == strict.inf
    assert np.isnan(dnb.nan)


@pytest.mark.parametrize("call", [int, float, complex, bool, operator.index], ids=str)
def test_arrays_with_axes_are_no_numbers(session, call):
    with pytest.raises((TypeError, ValueError)):
        call(dnb.asarray([1, 2]))

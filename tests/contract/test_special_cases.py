"""Special cases of the array API standard, on engines: zeros with their signs, infinities, NaN.

All cases of a function are one array, spread over the engines. The facts are in special_cases.
"""

import functools
import operator

import numpy as np
import pytest

import distnb as dnb
from tests.contract import special_cases
from tests.contract.support import no_warnings

pytestmark = pytest.mark.ways("cutoff", "compiled")

RTOL = {"float32": 1e-6, "float64": 1e-15, "complex64": 1e-6, "complex128": 1e-15}

#: Facts that NumPy does not meet; distnb computes what NumPy computes. NumPy's own tests except the
#: same ones of expm1 and tanh (tools/ci/array-api-xfails.txt); those of sign and tan are not tested
#: there. A fact that is met must go.
DEVIATIONS = {
    "expm1": {
        "zero 0: 0 0",  # of -0: -0 + 0j
        "inf 0: inf 0",  # the others have NaN for a part that is known
        "-inf inf: -1 ±0",
        "inf inf: ±inf nan",
        "-inf nan: -1 ±0",
        "inf nan: ±inf nan",
        "nan 0: nan 0",
    },
    "sign": {"nan any: nan nan", "any nan: nan nan"},  # where the other part is infinite: ±1, ±1j
    "tan": {"inf pos: 1 0"},  # as tanh
    "tanh": {"inf pos: 1 0"},  # the imaginary part has the sign of sin(2b), as in C
}

#: The same for operands that are Python numbers: for NumPy, x ** 0.5 is sqrt(x).
DEVIATIONS_OF_NUMBERS = {"pow": {"-inf other>0: inf", "-0 other>0: 0"}}

OPERATORS = {
    "add": (operator.add, operator.iadd),
    "subtract": (operator.sub, operator.isub),
    "multiply": (operator.mul, operator.imul),
    "divide": (operator.truediv, operator.itruediv),
    "floor_divide": (operator.floordiv, operator.ifloordiv),
    "remainder": (operator.mod, operator.imod),
    "pow": (operator.pow, operator.ipow),
    "equal": (operator.eq,),
    "not_equal": (operator.ne,),
    "abs": (operator.abs,),
    "negative": (operator.neg,),
    "positive": (operator.pos,),
}

real_cases = functools.cache(special_cases.real_cases)
complex_cases = functools.cache(special_cases.complex_cases)
REAL, COMPLEX = sorted(real_cases()), sorted(complex_cases())
TWO = sorted(name for name in REAL if len(real_cases()[name][0].operands) == 2)
KINDS = [(name, "real") for name in REAL] + [(name, "complex") for name in COMPLEX]
DTYPES = {"real": ("float32", "float64"), "complex": ("complex64", "complex128")}


def known(name, kind):
    return (real_cases() if kind == "real" else complex_cases())[name]


def columns(cases, dtype):
    """Return the operands of all cases as NumPy arrays: the first ones, and so on."""
    parts = np.array([case.operands for case in cases]).T
    if np.dtype(dtype).kind == "f":
        return list(parts.astype(dtype))
    found = np.empty((len(parts) // 2, len(cases)), dtype)
    found.real, found.imag = parts[0::2], parts[1::2]
    return list(found)


def spread(arrays):
    """Distribute operands, each in another way."""
    ways = ("block", "cyclic", "replicated")
    return [dnb.asarray(a.copy(), dist=way) for a, way in zip(arrays, ways, strict=False)]


def missed(cases, found, label):
    """Return the facts that are not met, with what was found instead."""
    rtol = RTOL.get(str(found.dtype), 0.0) * 4
    parts = (found.real, found.imag) if found.dtype.kind == "c" else (found.astype(float),)
    wrong = {}
    for case, *result in zip(cases, *(part.tolist() for part in parts), strict=True):
        if not case.met(result, rtol):
            wrong.setdefault(case.fact, []).append((label, case.operands, result))
    return wrong


def check(cases, found, label, deviations=frozenset()):
    wrong = missed(cases, found, label)
    assert set(wrong) == deviations, {f: w for f, w in wrong.items() if f not in deviations}


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_functions(session, name, kind):
    """And the operators of arrays, where a function has them."""
    cases = known(name, kind)
    for i, dtype in enumerate(DTYPES[kind]):  # an operator for each
        for f in (getattr(dnb, name), *OPERATORS.get(name, ())[i : i + 1]):
            with no_warnings():
                found = f(*spread(columns(cases, dtype))).to_numpy()
            deviations = DEVIATIONS.get(name, set()) if kind == "complex" else set()
            check(cases, found, (f, dtype), deviations)


def groups(cases, dtype, place):
    """Yield for each number at one of two places: the number, the others, and their cases."""
    found = {}
    for case, *operands in zip(cases, *columns(cases, dtype), strict=True):
        scalar = operands[place].item()
        others, chosen = found.setdefault(operands[place].tobytes(), (scalar, [], []))[1:]
        others.append(operands[1 - place])
        chosen.append(case)
    return found.values()


def with_numbers(f, dtype, cases):
    """Apply a function to arrays and Python numbers; return cases and results, side by side."""
    done, results = [], []
    for place in (0, 1):
        for scalar, others, chosen in groups(cases, dtype, place):
            x = dnb.asarray(np.array(others, dtype), dist="block")
            results.append(f(scalar, x) if place == 0 else f(x, scalar))
            done += chosen
    return done, np.concatenate([result.to_numpy() for result in results])


@pytest.mark.parametrize("name", TWO)
def test_python_numbers(session, name):
    """An operand may be a Python number, on either side: of the function, and of its operator."""
    function = getattr(dnb, name)
    forms = function, OPERATORS.get(name, (function,))[0]
    for dtype, f in zip(DTYPES["real"], forms, strict=True):
        with no_warnings():
            done, found = with_numbers(f, dtype, known(name, "real"))
        check(done, found, dtype, DEVIATIONS_OF_NUMBERS.get(name, set()))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_complex_python_numbers(session, name):
    cases = known(name, "complex")[::7]
    with no_warnings():
        done, found = with_numbers(OPERATORS[name][0], "complex128", cases)
    check(done, found, "numbers")


@pytest.mark.parametrize("dtype", DTYPES["real"])
def test_clip(session, dtype):
    cases = special_cases.cases(special_cases.CLIP)
    with no_warnings():
        found = dnb.clip(*spread(columns(cases, dtype))).to_numpy()
        x = dnb.asarray([np.nan, 1.0, np.nan], dtype=dtype)
        bounded = [dnb.clip(x, min=np.nan), dnb.clip(x, max=np.nan), dnb.clip(x, 0.0, np.nan)]
        alone = [dnb.clip(x), dnb.clip(x, min=0.0), dnb.clip(x, max=2.0)]
    check(cases, found, dtype)
    assert np.isnan(dnb.stack(bounded).to_numpy()).all()
    np.testing.assert_array_equal(dnb.stack(alone).to_numpy(), [[np.nan, 1, np.nan]] * 3)


def test_every_elementwise_function_has_facts():
    """All but those without floating point operands, or for which the standard has no such cases."""
    none = "imag bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor"
    order = "greater greater_equal less less_equal logical_and logical_not logical_or logical_xor"
    from tests.contract.test_conformance import ONE, TWO

    assert {*ONE, *TWO, "clip"} - {*REAL, "clip"} <= {*none.split(), *order.split()}

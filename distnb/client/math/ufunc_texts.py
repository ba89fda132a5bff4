"""What the docstrings of ufuncs say: a row for each, and the text that all of them share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["docstring", "method_docstring"]


class _Words(NamedTuple):
    """What is told of one ufunc: what it does, and an example with its result."""

    summary: str
    operands: str
    result: str


#: name -> what is told of it.
_WORDS: dict[str, _Words] = {
    "absolute": _Words(
        "Return the absolute value; of complex numbers, the modulus.", "[-2, 3]", "array([2, 3])"
    ),
    "add": _Words("Add, element by element.", "[1, 2], [10, 20]", "array([11, 22])"),
    "arccos": _Words(
        "Return the angle, from 0 to pi, whose cosine is given.",
        "[1.0, -1.0]",
        "array([0.        , 3.14159265])",
    ),
    "arccosh": _Words(
        "Return the number, 0 or more, whose hyperbolic cosine is given.",
        "[1.0, 2.0]",
        "array([0.       , 1.3169579])",
    ),
    "arcsin": _Words(
        "Return the angle, from -pi/2 to pi/2, whose sine is given.",
        "[0.0, 1.0]",
        "array([0.        , 1.57079633])",
    ),
    "arcsinh": _Words(
        "Return the number whose hyperbolic sine is given.",
        "[0.0, 1.0]",
        "array([0.        , 0.88137359])",
    ),
    "arctan": _Words(
        "Return the angle, from -pi/2 to pi/2, whose tangent is given.",
        "[0.0, 1.0]",
        "array([0.        , 0.78539816])",
    ),
    "arctan2": _Words(
        "Return the angle, from -pi to pi, of the point with the coordinates ``(x2, x1)``.",
        "[0.0, 1.0], [-1.0, 0.0]",
        "array([3.14159265, 1.57079633])",
    ),
    "arctanh": _Words(
        "Return the number whose hyperbolic tangent is given.",
        "[0.0, 0.5]",
        "array([0.        , 0.54930614])",
    ),
    "bitwise_and": _Words(
        "Combine integers bit by bit: 1 where both are; of truth values, the logical and.",
        "[12, 10], 6",
        "array([4, 2])",
    ),
    "bitwise_count": _Words(
        "Count the bits of the absolute value that are 1.", "[7, -8]", "array([3, 1], dtype=uint8)"
    ),
    "bitwise_or": _Words(
        "Combine integers bit by bit: 1 where one is; of truth values, the logical or.",
        "[12, 10], 6",
        "array([14, 14])",
    ),
    "bitwise_xor": _Words(
        "Combine integers bit by bit: 1 where they differ; of truth values, the exclusive or.",
        "[12, 10], 6",
        "array([10, 12])",
    ),
    "cbrt": _Words("Return the cube root.", "[8.0, -27.0]", "array([ 2., -3.])"),
    "ceil": _Words(
        "Round up: the least integer that is not less.", "[1.2, -1.2]", "array([ 2., -1.])"
    ),
    "conjugate": _Words(
        "Return the complex conjugate.", "[1 + 2j, 3 - 1j]", "array([1.-2.j, 3.+1.j])"
    ),
    "copysign": _Words(
        "Return ``x1`` with the sign of ``x2``.", "[1.0, 2.0], [-0.0, 5.0]", "array([-1.,  2.])"
    ),
    "cos": _Words(
        "Return the cosine of angles in radians.", "[0.0, 1.0]", "array([1.        , 0.54030231])"
    ),
    "cosh": _Words(
        "Return the hyperbolic cosine.", "[0.0, 1.0]", "array([1.        , 1.54308063])"
    ),
    "deg2rad": _Words(
        "Convert angles from degrees to radians.", "[0.0, 180.0]", "array([0.        , 3.14159265])"
    ),
    "degrees": _Words(
        "Convert angles from radians to degrees.", "[0.0, 1.0]", "array([ 0.        , 57.29577951])"
    ),
    "divide": _Words("Divide; integers become floats.", "[1, 6], 4", "array([0.25, 1.5 ])"),
    "divmod": _Words(
        "Return quotients rounded down, and remainders with the sign of the divisor.",
        "[7, -7], 3",
        "[array([ 2, -3]), array([1, 2])]",
    ),
    "equal": _Words("Tell where operands are equal.", "[1, 2], [1, 3]", "array([ True, False])"),
    "exp": _Words(
        "Return the exponential, e to the power of ``x``.",
        "[0.0, 1.0]",
        "array([1.        , 2.71828183])",
    ),
    "exp2": _Words("Return 2 to the power of ``x``.", "[0.0, 3.0]", "array([1., 8.])"),
    "expm1": _Words(
        "Return ``exp(x) - 1``, exact to the last digits also near 0.",
        "[0.0, 1e-10]",
        "array([0.e+00, 1.e-10])",
    ),
    "fabs": _Words(
        "Return the absolute value as a float; complex numbers are refused.",
        "[-2, 3]",
        "array([2., 3.])",
    ),
    "float_power": _Words(
        "Raise to a power, of floats in double precision at least.",
        "[2, 3], -1",
        "array([0.5       , 0.33333333])",
    ),
    "floor": _Words(
        "Round down: the largest integer that is not greater.", "[1.2, -1.2]", "array([ 1., -2.])"
    ),
    "floor_divide": _Words("Divide and round down.", "[7, -7], 2", "array([ 3, -4])"),
    "fmax": _Words(
        "Return the greater of two elements; of NaN and a number, the number.",
        "[1.0, dnb.nan], 0.5",
        "array([1. , 0.5])",
    ),
    "fmin": _Words(
        "Return the smaller of two elements; of NaN and a number, the number.",
        "[1.0, dnb.nan], 0.5",
        "array([0.5, 0.5])",
    ),
    "fmod": _Words(
        "Return the remainder of a division, with the sign of the dividend.",
        "[7, -7], 3",
        "array([ 1, -1])",
    ),
    "frexp": _Words(
        "Split into mantissas, from 0.5 to 1 in size, and exponents of 2.",
        "[8.0, 0.75]",
        "[array([0.5 , 0.75]), array([4, 0], dtype=int32)]",
    ),
    "gcd": _Words("Return the greatest common divisor.", "[12, 10], 8", "array([4, 2])"),
    "greater": _Words(
        "Tell where ``x1`` is greater than ``x2``.", "[1, 2, 3], 2", "array([False, False,  True])"
    ),
    "greater_equal": _Words(
        "Tell where ``x1`` is greater than ``x2``, or equal.",
        "[1, 2, 3], 2",
        "array([False,  True,  True])",
    ),
    "heaviside": _Words(
        "Return the step function: 0 below 0, 1 above, and ``x2`` at 0.",
        "[-1.0, 0.0, 2.0], 0.5",
        "array([0. , 0.5, 1. ])",
    ),
    "hypot": _Words(
        "Return the hypotenuse, ``sqrt(x1**2 + x2**2)``, without overflow on the way.",
        "[3.0, 5.0], [4.0, 12.0]",
        "array([ 5., 13.])",
    ),
    "invert": _Words(
        "Invert every bit; of truth values, the logical not.", "[0, 5]", "array([-1, -6])"
    ),
    "isfinite": _Words(
        "Tell which elements are neither infinite nor NaN.",
        "[1.0, dnb.inf, dnb.nan]",
        "array([ True, False, False])",
    ),
    "isinf": _Words(
        "Tell which elements are infinite.",
        "[1.0, dnb.inf, dnb.nan]",
        "array([False,  True, False])",
    ),
    "isnan": _Words(
        "Tell which elements are NaN.", "[1.0, dnb.inf, dnb.nan]", "array([False, False,  True])"
    ),
    "isnat": _Words(
        "Tell which times are not a time; distributed arrays hold numbers, which are refused.",
        "[1.0]",
        "Traceback (most recent call last):\n...\nTypeError: ufunc 'isnat' is only defined for ...",
    ),
    "lcm": _Words("Return the least common multiple.", "[4, 6], 10", "array([20, 30])"),
    "ldexp": _Words("Return ``x1 * 2**x2``.", "[0.5, 0.75], [4, 0]", "array([8.  , 0.75])"),
    "left_shift": _Words(
        "Shift the bits of integers to the left: multiply by ``2**x2``.",
        "[1, 3], 2",
        "array([ 4, 12])",
    ),
    "less": _Words(
        "Tell where ``x1`` is less than ``x2``.", "[1, 2, 3], 2", "array([ True, False, False])"
    ),
    "less_equal": _Words(
        "Tell where ``x1`` is less than ``x2``, or equal.",
        "[1, 2, 3], 2",
        "array([ True,  True, False])",
    ),
    "log": _Words("Return the natural logarithm.", "[1.0, 2.0]", "array([0.        , 0.69314718])"),
    "log10": _Words("Return the logarithm to the base 10.", "[1.0, 1000.0]", "array([0., 3.])"),
    "log1p": _Words(
        "Return ``log(1 + x)``, exact to the last digits also near 0.",
        "[0.0, 1e-10]",
        "array([0.e+00, 1.e-10])",
    ),
    "log2": _Words("Return the logarithm to the base 2.", "[1.0, 8.0]", "array([0., 3.])"),
    "logaddexp": _Words(
        "Return ``log(exp(x1) + exp(x2))`` without overflow on the way.",
        "[0.0, 1000.0], [0.0, 1000.0]",
        "array([6.93147181e-01, 1.00069315e+03])",
    ),
    "logaddexp2": _Words(
        "Return ``log2(2**x1 + 2**x2)`` without overflow on the way.",
        "[0.0, 5.0], [0.0, 5.0]",
        "array([1., 6.])",
    ),
    "logical_and": _Words(
        "Tell where both operands are true.", "[True, False], [True, True]", "array([ True, False])"
    ),
    "logical_not": _Words(
        "Tell where elements are false.", "[True, False]", "array([False,  True])"
    ),
    "logical_or": _Words(
        "Tell where one operand is true, or both.",
        "[True, False], [False, False]",
        "array([ True, False])",
    ),
    "logical_xor": _Words(
        "Tell where one operand is true and not the other.",
        "[True, False], [True, True]",
        "array([False,  True])",
    ),
    "maximum": _Words(
        "Return the greater of two elements; NaN if one is NaN.",
        "[1.0, dnb.nan], 2.0",
        "array([ 2., nan])",
    ),
    "minimum": _Words(
        "Return the smaller of two elements; NaN if one is NaN.",
        "[1.0, dnb.nan], 2.0",
        "array([ 1., nan])",
    ),
    "modf": _Words(
        "Split into fractions and integers, both with the sign of the element.",
        "[1.5, -2.25]",
        "[array([ 0.5 , -0.25]), array([ 1., -2.])]",
    ),
    "multiply": _Words("Multiply, element by element.", "[1, 2], [10, 20]", "array([10, 40])"),
    "negative": _Words("Return the number with the other sign.", "[1, -2]", "array([-1,  2])"),
    "nextafter": _Words(
        "Return the next float from ``x1`` towards ``x2``.",
        "[0.0, 0.0], [1.0, -1.0]",
        "array([ 5.e-324, -5.e-324])",
    ),
    "not_equal": _Words("Tell where operands differ.", "[1, 2], [1, 3]", "array([False,  True])"),
    "positive": _Words(
        "Return the elements as they are, in a new array.", "[1, -2]", "array([ 1, -2])"
    ),
    "power": _Words(
        "Raise to a power, in the dtype of the operands.", "[2, 3], [3, 2]", "array([8, 9])"
    ),
    "rad2deg": _Words(
        "Convert angles from radians to degrees.", "[0.0, 1.0]", "array([ 0.        , 57.29577951])"
    ),
    "radians": _Words(
        "Convert angles from degrees to radians.", "[0.0, 180.0]", "array([0.        , 3.14159265])"
    ),
    "reciprocal": _Words(
        "Return ``1 / x`` in the dtype of the operand: of integers, rounded towards 0.",
        "[2.0, 8.0]",
        "array([0.5  , 0.125])",
    ),
    "remainder": _Words(
        "Return the remainder of a division, with the sign of the divisor.",
        "[7, -7], 3",
        "array([1, 2])",
    ),
    "right_shift": _Words(
        "Shift the bits of integers to the right: divide by ``2**x2``, rounded down.",
        "[8, -5], 1",
        "array([ 4, -3])",
    ),
    "rint": _Words(
        "Round to the nearest integer; halves go to the even one.", "[1.5, 2.5]", "array([2., 2.])"
    ),
    "sign": _Words(
        "Return -1, 0 or 1; of a complex number, the number divided by its modulus.",
        "[-3, 0, 2]",
        "array([-1,  0,  1])",
    ),
    "signbit": _Words(
        "Tell where the sign bit is set, also of -0.0.", "[1.0, -0.0]", "array([False,  True])"
    ),
    "sin": _Words(
        "Return the sine of angles in radians.", "[0.0, 1.0]", "array([0.        , 0.84147098])"
    ),
    "sinh": _Words("Return the hyperbolic sine.", "[0.0, 1.0]", "array([0.        , 1.17520119])"),
    "spacing": _Words(
        "Return the distance to the next float away from 0.",
        "[1.0, 2.0]",
        "array([2.22044605e-16, 4.44089210e-16])",
    ),
    "sqrt": _Words(
        "Return the square root; of negative floats NaN.",
        "[4.0, 2.0]",
        "array([2.        , 1.41421356])",
    ),
    "square": _Words("Multiply each element by itself.", "[3, -4]", "array([ 9, 16])"),
    "subtract": _Words("Subtract ``x2`` from ``x1``.", "[1, 2], [10, 20]", "array([ -9, -18])"),
    "tan": _Words(
        "Return the tangent of angles in radians.", "[0.0, 1.0]", "array([0.        , 1.55740772])"
    ),
    "tanh": _Words(
        "Return the hyperbolic tangent.", "[0.0, 1.0]", "array([0.        , 0.76159416])"
    ),
    "trunc": _Words("Round towards 0.", "[1.7, -1.7]", "array([ 1., -1.])"),
}

_TEXT = """{summary}

Elementwise, as ``numpy.{name}``. A new result stays where the largest operand is, and ``out``
where it is: what lies elsewhere is sent there, and an aligned operation sends nothing.

Parameters
----------
{operands}
out : {kind}, optional
    Where the result is put.
where : array_like of bool, optional
    Which elements are computed. Others keep what is in ``out``, and are undefined without it.
casting : str, optional
    How operands may be cast, as in NumPy; by default ``'same_kind'``.
dtype : dtype, optional
    In which it is computed; by default as in NumPy.

Returns
-------
{kind}
    Of the shape to which operands are broadcast, {dtype}.
    Of scalars it is a scalar.

Examples
--------
>>> import distnb as dnb
>>> with dnb.inprocess(2):
...     {example}
{result}
"""

_ONE = "x : array_like\n    The operand."
_TWO = "x1, x2 : array_like\n    The operands, which meet by broadcasting."


#: Method of ufuncs -> what it does, and where its result lies.
_METHODS = {
    "reduce": """Combine the elements along axes.

    As ``{name}.reduce``. Layout and messages are those of :func:`distnb.sum`, or, where the order
    matters, of ``reduceat``.
    """,
    "accumulate": """Combine the elements along an axis one after the other, and return all results.

    As ``{name}.accumulate``. Layout and messages are those of :func:`distnb.cumsum`.
    """,
    "reduceat": """Combine the elements of segments of an axis.

    As ``{name}.reduceat``. Each engine combines its elements, and hands on what it has of a segment
    that does not end there: a result lies where its segment ends. Indices are read in the notebook.
    """,
    "outer": """Apply the function to all pairs of elements of two arrays.

    As ``{name}.outer``. The result stays where the larger array is: the other one is sent there.
    """,
    "at": """Apply the function in place at indices, as often as they come.

    As ``{name}.at``. Indices and operands are sent to the engines that hold the elements.
    """,
}


def method_docstring(ufunc: np.ufunc, method: str) -> str:
    """Return the docstring of a method of a ufunc."""
    return _METHODS[method].format(name=f"numpy.{ufunc.__name__}")


def docstring(ufunc: np.ufunc) -> str:
    """Return the docstring of a ufunc, or of what has its name, numbers and loops."""
    name, row = ufunc.__name__, _WORDS[ufunc.__name__]
    call = f"dnb.{name}({row.operands})"
    return _TEXT.format(
        summary=row.summary,
        name=name,
        operands=_ONE if ufunc.nin == 1 else _TWO,
        kind="DistArray" if ufunc.nout == 1 else "tuple of DistArray",
        dtype="of dtype bool" if _is_test(ufunc) else "of the dtype that NumPy's has",
        example=f"{call}.to_numpy()" if ufunc.nout == 1 else f"[x.to_numpy() for x in {call}]",
        result=row.result,
    )


def _is_test(ufunc: np.ufunc) -> bool:
    """Tell whether results are truth values."""
    return {loop[-1] for loop in ufunc.types} <= {"?", "O"}

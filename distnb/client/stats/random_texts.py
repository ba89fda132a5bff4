"""What docstrings say of distributions: parameters, an example, where the method is from."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

__all__ = ["described"]

_Class = TypeVar("_Class", bound=type)

#: What numbers are: whole, or of the dtype that is asked for.
_COUNTS, _ASKED = "int64", "Of ``dtype``"


class Text(NamedTuple):
    """What is said of a distribution."""

    #: Its own parameters; others are those of all.
    parameters: dict[str, str]
    #: Arguments of an example, and what comes out, rounded.
    arguments: str
    found: str
    #: What numbers are.
    kind: str = "float64"
    #: Where the method is from.
    source: str = ""


#: What own parameters are, if not numbers or arrays of them.
_KINDS = {"dtype": "dtype", "endpoint": "bool"}
#: Parameters of all distributions.
_SHARED = {
    "size": (
        "int or tuple of int, optional",
        "The shape; by default that to which parameters broadcast, or one number.",
    ),
    "dtype": ("dtype", "float64 or float32."),
    "method": ("str", "Changes nothing."),
    "out": ("DistArray, optional", "Where the result is put."),
    "dist": (
        "bool, str, tuple, DistArray or layout, optional",
        "How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as\n"
        "    ``('*', 'block')``, or as another array; see :func:`distnb.array`.",
    ),
    "grid": ("int or tuple of int, optional", "Engines along each split axis."),
}

_TEXTS: dict[str, Text] = {
    "random": Text({}, "", "array([0.3 , 0.85, 0.16, 0.03])", _ASKED),
    "uniform": Text(
        {"low": "The least number.", "high": "What all numbers are below."},
        "5.0, 9.0",
        "array([6.21, 8.39, 5.62, 5.12])",
    ),
    "standard_normal": Text(
        {},
        "",
        "array([-0.24, -0.79, -0.63, -0.77])",
        _ASKED,
        "G. Marsaglia, W. Tsang, J. Stat. Softw. 5, 2000",
    ),
    "normal": Text(
        {"loc": "The mean.", "scale": "The standard deviation, not negative."},
        "5.0, 2.0",
        "array([4.52, 3.43, 3.74, 3.46])",
        "float64",
        "G. Marsaglia, W. Tsang, J. Stat. Softw. 5, 2000",
    ),
    "standard_exponential": Text({}, "", "array([0.4 , 0.48, 0.09, 0.66])", _ASKED),
    "exponential": Text(
        {"scale": "The mean, not negative."}, "2.0", "array([0.81, 0.96, 0.19, 1.32])"
    ),
    "standard_gamma": Text(
        {"shape": "The shape, not negative."}, "3.0", "array([2.29, 1.76, 2.4 , 5.08])", _ASKED
    ),
    "gamma": Text(
        {
            "shape": "The shape, not negative.",
            "scale": "By what numbers are multiplied, not negative.",
        },
        "3.0, 2.0",
        "array([ 4.58,  3.53,  4.8 , 10.16])",
    ),
    "integers": Text(
        {
            "low": "The least number; without ``high`` it is 0, and all are below this.",
            "high": "What all numbers are below.",
            "dtype": "An integer type, or bool.",
            "endpoint": "Whether ``high`` is one of the numbers.",
        },
        "10",
        "array([3, 8, 1, 0])",
        _ASKED,
    ),
    "beta": Text(
        {"a": "The first shape, positive.", "b": "The second shape, positive."},
        "2.0, 3.0",
        "array([0.44, 0.22, 0.42, 0.31])",
    ),
    "binomial": Text(
        {"n": "How many trials.", "p": "The probability of success."},
        "10, 0.3",
        "array([2, 2, 1, 6])",
        _COUNTS,
        "W. Hormann, J. Stat. Comput. Simul. 46, 1993",
    ),
    "chisquare": Text(
        {"df": "Degrees of freedom, positive."}, "3", "array([1.85, 1.22, 1.99, 5.9 ])"
    ),
    "f": Text(
        {
            "dfnum": "Degrees of freedom of the numerator, positive.",
            "dfden": "Degrees of freedom of the denominator, positive.",
        },
        "3, 5",
        "array([1.13, 0.38, 1.03, 0.63])",
    ),
    "geometric": Text({"p": "The probability of success."}, "0.3", "array([2, 2, 1, 2])", _COUNTS),
    "gumbel": Text(
        {"loc": "The mode.", "scale": "The scale, not negative."},
        "5.0, 2.0",
        "array([ 6.99,  6.63, 11.56,  2.63])",
    ),
    "hypergeometric": Text(
        {
            "ngood": "How many good ones there are.",
            "nbad": "How many bad ones.",
            "nsample": "How many are drawn.",
        },
        "6, 4, 5",
        "array([3, 3, 3, 3])",
        _COUNTS,
    ),
    "laplace": Text(
        {"loc": "The mean.", "scale": "The scale, not negative."},
        "5.0, 2.0",
        "array([ 4.04,  4.33, -0.21, 10.15])",
    ),
    "logistic": Text(
        {"loc": "The mean.", "scale": "The scale, not negative."},
        "5.0, 2.0",
        "array([ 3.39,  3.82, -1.52, 11.46])",
    ),
    "lognormal": Text(
        {"mean": "The mean of the logarithms.", "sigma": "Their standard deviation, not negative."},
        "0.0, 0.5",
        "array([0.89, 0.67, 0.73, 0.68])",
    ),
    "logseries": Text(
        {"p": "The shape, from 0 up to 1, 1 excluded."},
        "0.6",
        "array([1, 7, 4, 2])",
        _COUNTS,
        "A. Kemp, Appl. Stat. 30, 1981",
    ),
    "negative_binomial": Text(
        {"n": "How many successes, positive.", "p": "The probability of success."},
        "3, 0.5",
        "array([0, 1, 6, 1])",
        _COUNTS,
    ),
    "noncentral_chisquare": Text(
        {"df": "Degrees of freedom, positive.", "nonc": "The noncentrality, not negative."},
        "3, 1.0",
        "array([ 0.85,  0.24,  2.06, 13.27])",
    ),
    "noncentral_f": Text(
        {
            "dfnum": "Degrees of freedom of the numerator, positive.",
            "dfden": "Degrees of freedom of the denominator, positive.",
            "nonc": "The noncentrality, not negative.",
        },
        "3, 5, 1.0",
        "array([0.52, 0.39, 5.57, 0.78])",
    ),
    "pareto": Text({"a": "The shape, positive."}, "3.0", "array([0.14, 0.17, 0.03, 0.25])"),
    "poisson": Text(
        {"lam": "The mean, not negative."},
        "4.0",
        "array([2, 1, 5, 1])",
        _COUNTS,
        "W. Hormann, Insurance: Math. Econ. 12, 1993",
    ),
    "power": Text(
        {"a": "The exponent of the distribution function, positive."},
        "3.0",
        "array([0.69, 0.73, 0.45, 0.79])",
    ),
    "rayleigh": Text(
        {"scale": "The mode, not negative."}, "2.0", "array([1.8 , 1.96, 0.87, 2.3 ])"
    ),
    "standard_cauchy": Text({}, "", "array([ 0.31,  0.82, -0.44,  0.5 ])"),
    "standard_t": Text(
        {"df": "Degrees of freedom, positive."}, "5", "array([-0.35, -0.88,  0.67,  0.23])"
    ),
    "triangular": Text(
        {
            "left": "The least number.",
            "mode": "Where the density is largest.",
            "right": "The largest number.",
        },
        "0.0, 1.0, 4.0",
        "array([1.12, 1.22, 0.38, 3.32])",
    ),
    "vonmises": Text(
        {"mu": "The mode, in radians.", "kappa": "The concentration, not negative."},
        "0.0, 4.0",
        "array([-0.26,  0.39, -0.74, -0.02])",
        "float64",
        "D. Best, N. Fisher, Appl. Stat. 28, 1979",
    ),
    "wald": Text(
        {"mean": "The mean, positive.", "scale": "The shape, positive."},
        "2.0, 3.0",
        "array([1.64, 3.33, 1.74, 5.05])",
        "float64",
        "J. Michael, W. Schucany, R. Haas, Am. Stat. 30, 1976",
    ),
    "weibull": Text({"a": "The shape, not negative."}, "2.0", "array([0.64, 0.69, 0.31, 0.81])"),
    "zipf": Text(
        {"a": "The exponent, larger than 1."},
        "3.0",
        "array([1, 1, 1, 1])",
        _COUNTS,
        'L. Devroye, "Non-uniform random variate generation", 1986, X.6.1',
    ),
}


def described(cls: _Class) -> _Class:
    """Complete the docstrings of the methods that draw from a distribution."""
    for name, text in _TEXTS.items():
        method = vars(cls)[name]
        method.__doc__ = _docstring(name, inspect.cleandoc(method.__doc__ or ""), text, method)
    return cls


def _docstring(name: str, summary: str, text: Text, method: Callable[..., Any]) -> str:
    """Return a docstring that begins with a summary."""
    known = {p: (_KINDS.get(p, "array_like"), words) for p, words in text.parameters.items()}
    names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
    told = {p: known.get(p) or _SHARED[p] for p in [*names, "dist", "grid"]}
    rows = [f"{p} : {kind}\n    {words}" for p, (kind, words) in told.items()]
    given = ", ".join(filter(None, (text.arguments, 'size=4, dist="block"')))
    rounded = "" if "." not in text.found else ".round(2)"
    parts = [
        summary,
        "Each engine draws what it holds, by global index: numbers depend on neither engines nor\n"
        "layout. Nothing is sent but parameters that are arrays, to where the result lies.",
        _section("Parameters", *rows),
        _section("Returns", f"DistArray\n    {text.kind}, of shape ``size``."),
        *([_section("References", f"{text.source}.")] if text.source else []),
        _section(
            "Examples",
            ">>> import distnb as dnb",
            ">>> with dnb.inprocess(2):",
            "...     rng = dnb.random.default_rng(1)",
            f"...     rng.{name}({given}).to_numpy(){rounded}",
            text.found,
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _section(title: str, *lines: str) -> str:
    return "\n".join([title, "-" * len(title), *lines])

"""Special cases of the array API standard 2024.12, as facts: operands, and what results from them.

A fact reads ``operands: result``; facts are separated by semicolons. An operand is a number, or the
name of a set of numbers (SETS). A result is a number, a name of RESULTS, or alternatives joined by
commas; after ``±`` the sign is not specified. Complex operands are two words (real and imaginary
part), complex results too. A result that float32 can hold must be met exactly, the sign of zeros
included; another, such as π/2, nearly, and so must all of a fact that begins with ``~``.

Consortium for Python Data API Standards, "Python array API standard", 2024.12, elementwise
functions. Some are defined there by others: these facts are derived.
"""

import itertools
import math
import operator
from typing import NamedTuple

import numpy as np

NAN, INF, PI = math.nan, math.inf, math.pi

VALUES = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0]
#: Parts of complex numbers, where facts are about all of them.
FINITE = [0.0, -0.0, 1.0, -1.0, 2.5]


def _odd(v):
    return math.isfinite(v) and v % 2 == 1


SETS = {
    "any": lambda v: True,
    "num": lambda v: not math.isnan(v),
    "fin": math.isfinite,
    "zero": lambda v: v == 0,
    "inf*": math.isinf,
    "notinf": lambda v: not math.isinf(v),
    "not0": lambda v: v != 0,
    "not1": lambda v: v != 1,
    "nz": lambda v: math.isfinite(v) and v != 0,
    "pos": lambda v: 0 < v < INF,
    "neg": lambda v: -INF < v < 0,
    ">0": lambda v: v > 0,
    "<0": lambda v: v < 0,
    ">1": lambda v: v > 1,
    "<1": lambda v: v < 1,
    "<-1": lambda v: v < -1,
    "int": lambda v: math.isfinite(v) and v == int(v),
    "|>1|": lambda v: abs(v) > 1,
    "|1|": lambda v: abs(v) == 1,
    "|<1|": lambda v: abs(v) < 1,
    "odd>0": lambda v: v > 0 and _odd(v),
    "odd<0": lambda v: v < 0 and _odd(v),
    "other>0": lambda v: v > 0 and not _odd(v),
    "other<0": lambda v: v < 0 and not _odd(v),
    "notint": lambda v: math.isfinite(v) and v != int(v),
}

RESULTS = {
    "pi": lambda *_: PI,
    "pi/2": lambda *_: PI / 2,
    "pi/4": lambda *_: PI / 4,
    "3pi/4": lambda *_: 3 * PI / 4,
    "x": lambda x, *_: x,
    "y": lambda x, y: y,
    "-x": lambda x, *_: -x,
    "|x|": lambda x, *_: abs(x),
    "|y|": lambda x, y: abs(y),
    "-|x|": lambda x, *_: -abs(x),
    "im": lambda x, y: y,
    "-im": lambda x, y: -y,
    "round": lambda x: math.copysign(round(x), x),
    "x+y": operator.add,
    "x*y": operator.mul,
    "x/y": operator.truediv,
    "x%y": operator.mod,
    "x//y": lambda x, y: math.copysign(math.floor(x / y), x / y),
    "x==y": lambda x, y: float(x == y),
    "x!=y": lambda x, y: float(x != y),
    "inf*cos": lambda a, b: INF * math.cos(b),
    "inf*sin": lambda a, b: INF * math.sin(b),
    "0*cos": lambda a, b: 0.0 * math.cos(b),
    "0*sin": lambda a, b: 0.0 * math.sin(b),
    "inf*cos-1": lambda a, b: INF * math.cos(b) - 1,
}  # fmt: skip

# -- real operands -------------------------------------------------------------------------------

ODD = "nan: nan; 0: 0; -0: -0"
ROUNDING = "nan: nan; inf: inf; -inf: -inf; int: x"
LOGARITHM = "nan: nan; <0: nan; zero: -inf; 1: 0; inf: inf"

ONE = {
    "abs": "nan: nan; -0: 0; -inf: inf; num: |x|",
    "acos": "nan: nan; >1: nan; <-1: nan; 1: 0",
    "acosh": "nan: nan; <1: nan; 1: 0; inf: inf",
    "asin": f"{ODD}; >1: nan; <-1: nan",
    "asinh": f"{ODD}; inf: inf; -inf: -inf",
    "atan": f"{ODD}; inf: pi/2; -inf: -pi/2",
    "atanh": f"{ODD}; <-1: nan; >1: nan; -1: -inf; 1: inf",
    "ceil": f"{ROUNDING}; 2.5: 3; -2.5: -2; -0.5: -0",
    "conj": "any: x",
    "cos": "nan: nan; zero: 1; inf*: nan",
    "cosh": "nan: nan; zero: 1; inf*: inf",
    "exp": "nan: nan; zero: 1; inf: inf; -inf: 0",
    "expm1": f"{ODD}; inf: inf; -inf: -1",
    "floor": f"{ROUNDING}; 2.5: 2; -2.5: -3; 0.5: 0",
    "isfinite": "nan: 0; inf*: 0; fin: 1",
    "isinf": "nan: 0; inf*: 1; fin: 0",
    "isnan": "nan: 1; num: 0",
    "log": LOGARITHM,
    "log10": LOGARITHM,
    "log1p": f"{ODD}; <-1: nan; -1: -inf; inf: inf",
    "log2": LOGARITHM,
    "negative": "any: -x",
    "positive": "any: x",
    "real": "any: x",
    "round": f"{ROUNDING}; fin: round; 0.5: 0; -0.5: -0; 2.5: 2; -2.5: -2",
    "sign": "nan: nan; <0: -1; >0: 1; zero: 0",
    "signbit": "0: 0; -0: 1; inf: 0; -inf: 1; pos: 0; neg: 1; nan: 0; -nan: 1",
    "sin": f"{ODD}; inf*: nan",
    "sinh": f"{ODD}; inf: inf; -inf: -inf",
    "sqrt": f"{ODD}; <0: nan; inf: inf",
    "tan": f"{ODD}; inf*: nan",
    "tanh": f"{ODD}; inf: 1; -inf: -1",
    "trunc": f"{ROUNDING}; 2.5: 2; -2.5: -2; 0.5: 0; -0.5: -0",
}

#: NaN if either operand is.
BOTH = "nan any: nan; any nan: nan"
QUOTIENT = """inf* inf*: nan; zero zero: nan; 0 >0: 0; -0 >0: -0; 0 <0: -0; -0 <0: 0;
    >0 0: inf; >0 -0: -inf; <0 0: -inf; <0 -0: inf; pos inf: 0; neg -inf: 0"""

TWO = {
    "add": f"""{BOTH}; inf -inf: nan; -inf inf: nan; inf inf: inf; -inf -inf: -inf; inf fin: inf;
        -inf fin: -inf; fin inf: inf; fin -inf: -inf; -0 -0: -0; -0 0: 0; 0 -0: 0; 0 0: 0;
        zero nz: y; nz zero: x; nz nz: x+y""",
    "atan2": f"""{BOTH}; >0 zero: pi/2; 0 >0: 0; 0 0: 0; 0 -0: pi; 0 <0: pi; -0 >0: -0; -0 0: -0;
        -0 -0: -pi; -0 <0: -pi; <0 zero: -pi/2; pos inf: 0; pos -inf: pi; neg inf: -0; neg -inf: -pi;
        inf fin: pi/2; -inf fin: -pi/2; inf inf: pi/4; inf -inf: 3pi/4; -inf inf: -pi/4;
        -inf -inf: -3pi/4""",
    "copysign": """num <0: -|x|; num -0: -|x|; num 0: |x|; num >0: |x|; num -nan: -|x|; num nan: |x|;
        nan <0: -nan; nan -0: -nan; nan 0: +nan; nan >0: +nan; nan -nan: -nan; -nan nan: +nan""",
    "divide": f"""{BOTH}; {QUOTIENT}; inf pos: inf; inf neg: -inf; -inf pos: -inf; -inf neg: inf;
        pos -inf: -0; neg inf: -0; nz nz: x/y""",
    "equal": """nan any: 0; any nan: 0; inf inf: 1; -inf -inf: 1; zero zero: 1; fin fin: x==y;
        inf* fin: 0; fin inf*: 0; inf -inf: 0; -inf inf: 0""",
    "floor_divide": f"""{BOTH}; {QUOTIENT}; inf pos: inf,nan; inf neg: -inf,nan; -inf pos: -inf,nan;
        -inf neg: inf,nan; pos -inf: -0,-1; neg inf: -0,-1; nz nz: x//y""",
    "hypot": """inf* any: inf; any inf*: inf; zero any: |y|; any zero: |x|; fin nan: nan; nan nan: nan;
        nan fin: nan""",
    "logaddexp": f"{BOTH}; inf num: inf; num inf: inf",
    "maximum": BOTH,
    "minimum": BOTH,
    "multiply": f"""{BOTH}; inf* zero: nan; zero inf*: nan; inf inf: inf; -inf -inf: inf;
        inf -inf: -inf; -inf inf: -inf; inf pos: inf; inf neg: -inf; -inf pos: -inf; -inf neg: inf;
        pos inf: inf; neg inf: -inf; pos -inf: -inf; neg -inf: inf; fin fin: x*y""",
    "nextafter": f"{BOTH}; -0 0: 0; 0 -0: -0",
    "not_equal": """nan any: 1; any nan: 1; inf -inf: 1; -inf inf: 1; fin fin: x!=y; inf inf: 0;
        -inf -inf: 0""",
    "pow": """not1 nan: nan; any zero: 1; nan not0: nan; |>1| inf: inf; |>1| -inf: 0; |1| inf*: 1;
        1 num: 1; |<1| inf: 0; |<1| -inf: inf; inf >0: inf; inf <0: 0; -inf odd>0: -inf;
        -inf other>0: inf; -inf odd<0: -0; -inf other<0: 0; 0 >0: 0; 0 <0: inf; -0 odd>0: -0;
        -0 other>0: 0; -0 odd<0: -inf; -0 other<0: inf; neg notint: nan""",
    "remainder": f"""{BOTH}; inf* inf*: nan; zero zero: nan; 0 >0: 0; -0 >0: 0; 0 <0: -0; -0 <0: -0;
        >0 zero: nan; <0 zero: nan; inf* fin: nan; pos inf: x; pos -inf: y; neg inf: y; neg -inf: x;
        nz nz: x%y""",
}

#: Minimum and maximum of ``clip``: NaN in any of the three gives NaN.
CLIP = "nan any any: nan; any nan any: nan; any any nan: nan"

# -- complex operands: f(conj(z)) is conj(f(z)), so that facts of b < 0 follow from those of b > 0 -----

COMPLEX = {
    "acos": """zero 0: pi/2 -0; zero nan: pi/2 nan; fin inf: pi/2 -inf; nz nan: nan nan;
        -inf pos: pi -inf; inf pos: 0 -inf; -inf inf: 3pi/4 -inf; inf inf: pi/4 -inf;
        inf* nan: nan ±inf; nan fin: nan nan; nan inf: nan -inf; nan nan: nan nan""",
    "acosh": """zero 0: 0 pi/2; fin inf: inf pi/2; nz nan: nan nan; 0 nan: nan ±pi/2;
        -inf pos: inf pi; inf pos: inf 0; -inf inf: inf 3pi/4; inf inf: inf pi/4; inf* nan: inf nan;
        nan fin: nan nan; nan inf: inf nan; nan nan: nan nan""",
    "asinh": """0 0: 0 0; pos inf: inf pi/2; fin nan: nan nan; inf pos: inf 0; inf inf: inf pi/4;
        nan 0: nan 0; nan nz: nan nan; nan inf: ±inf nan; nan nan: nan nan""",
    "atanh": """0 0: 0 0; 0 nan: 0 nan; 1 0: inf 0; pos inf: 0 pi/2; nz nan: nan nan; inf pos: 0 pi/2;
        inf inf: 0 pi/2; inf nan: 0 nan; nan fin: nan nan; nan inf: ±0 pi/2; nan nan: nan nan""",
    "cosh": """0 0: 1 0; 0 inf: nan ±0; 0 nan: nan ±0; nz inf: nan nan; nz nan: nan nan; inf 0: inf 0;
        inf nz: inf*cos inf*sin; inf inf: ±inf nan; inf nan: inf nan; nan zero: nan ±0;
        nan nz: nan nan; nan nan: nan nan""",
    "exp": """zero 0: 1 0; fin inf: nan nan; fin nan: nan nan; inf 0: inf 0; -inf fin: 0*cos 0*sin;
        inf nz: inf*cos inf*sin; -inf inf: ±0 ±0; inf inf: ±inf nan; -inf nan: ±0 ±0; inf nan: ±inf nan;
        nan 0: nan 0; nan not0: nan nan; nan nan: nan nan""",
    "expm1": """zero 0: 0 0; fin inf: nan nan; fin nan: nan nan; inf 0: inf 0; ~ -inf fin: -1 0*sin;
        inf nz: inf*cos-1 inf*sin; -inf inf: -1 ±0; inf inf: ±inf nan; -inf nan: -1 ±0;
        inf nan: ±inf nan; nan 0: nan 0; nan not0: nan nan; nan nan: nan nan""",
    "log": """-0 0: -inf pi; 0 0: -inf 0; fin inf: inf pi/2; fin nan: nan nan; -inf pos: inf pi;
        inf pos: inf 0; -inf inf: inf 3pi/4; inf inf: inf pi/4; inf* nan: inf nan; nan fin: nan nan;
        nan inf: inf nan; nan nan: nan nan""",
    "log1p": """-1 0: -inf 0; fin inf: inf pi/2; fin nan: nan nan; -inf pos: inf pi; inf pos: inf 0;
        -inf inf: inf 3pi/4; inf inf: inf pi/4; inf* nan: inf nan; nan fin: nan nan; nan inf: inf nan;
        nan nan: nan nan""",
    "sinh": """0 0: 0 0; 0 inf: ±0 nan; 0 nan: ±0 nan; pos inf: nan nan; pos nan: nan nan; inf 0: inf 0;
        inf pos: inf*cos inf*sin; inf inf: ±inf nan; inf nan: ±inf nan; nan 0: nan 0; nan nz: nan nan;
        nan nan: nan nan""",
    # 2024.12 has other results for "-inf pos" and "inf pos"; they were misprints, mended in 2025.12.
    "sqrt": """zero 0: 0 0; any inf: inf inf; fin nan: nan nan; -inf pos: 0 inf; inf pos: inf 0;
        -inf nan: nan ±inf; inf nan: inf nan; nan notinf: nan nan; nan nan: nan nan""",
    "tanh": """0 0: 0 0; nz inf: nan nan; 0 inf: 0,nan nan; nz nan: nan nan; 0 nan: 0,nan nan;
        inf pos: 1 0; inf inf: 1 ±0; inf nan: 1 ±0; nan 0: nan 0; nan not0: nan nan; nan nan: nan nan""",
}
#: Facts that hold as they are, of any function of complex numbers.
AS_THEY_ARE = {
    "abs": "inf* any: inf; any inf*: inf; zero any: |y|; any zero: |x|; nan fin: nan; fin nan: nan; nan nan: nan",
    "conj": "any any: x -im",
    "imag": "any any: im",
    "isfinite": "nan any: 0; any nan: 0; inf* any: 0; any inf*: 0; fin fin: 1",
    "isinf": "inf* any: 1; notinf inf*: 1; notinf notinf: 0",
    "isnan": "nan any: 1; any nan: 1; num num: 0",
    "negative": "any any: -x -im",
    "positive": "any any: x im",
    "real": "any any: x",
    "sign": "zero zero: 0 0; nan any: nan nan; any nan: nan nan",
}  # fmt: skip

ODD_FUNCTIONS, EVEN_FUNCTIONS = ("asinh", "atanh", "sinh", "tanh"), ("cosh",)


# -- what is made of them ------------------------------------------------------------------------


class Case(NamedTuple):
    """Operands, the result that is wanted, and the fact that says so.

    The result has one part, or two if it is complex; each is a list of alternatives: a number, and
    whether its sign matters.
    """

    operands: tuple[float, ...]
    wanted: tuple[list[tuple[float, bool]], ...]
    fact: str
    exact: bool = True

    def met(self, found, rtol):
        """Tell whether a result, as parts, is what it must be."""
        pairs = zip(self.wanted, found, strict=True)
        return all(any(self._met(*one, part, rtol) for one in wanted) for wanted, part in pairs)

    def _met(self, wanted, signed, found, rtol):
        if signed and math.copysign(1, found) != math.copysign(1, wanted):
            return False
        if math.isnan(wanted):
            return math.isnan(found)
        found, wanted = abs(found), abs(wanted)
        if self.exact and float(np.float32(wanted)) == wanted:
            return found == wanted
        return math.isclose(found, wanted, rel_tol=rtol)


def _operands(word):
    if word in SETS:
        return [v for v in VALUES if SETS[word](v)]
    return [-NAN if word == "-nan" else float(word)]


def _wanted(words, operands):
    found = []
    for word in words.split(","):
        signed, bare = word[0] != "±", word.lstrip("±")
        negative = bare not in RESULTS and bare[0] == "-"
        bare = bare if bare in RESULTS else bare.lstrip("+-")
        value = RESULTS[bare](*operands) if bare in RESULTS else float(bare)
        value = -value if negative else value
        found.append((value, signed and (not math.isnan(value) or word in ("+nan", "-nan"))))
    return found


def cases(facts):
    """Return the cases that facts stand for."""
    found = []
    for fact in facts.split(";"):
        operands, results = (half.split() for half in fact.replace("~", "").split(":"))
        for values in itertools.product(*map(_operands, operands)):
            wanted = tuple(_wanted(word, values) for word in results)
            found.append(Case(values, wanted, " ".join(fact.split()), "~" not in fact))
    return found


def _minus(wanted):
    return [(-value, signed) for value, signed in wanted]


def _over(wanted, divisor):
    return [(value / divisor, signed) for value, signed in wanted]


def _conjugate(case):
    (a, b), (re, im) = case.operands, case.wanted
    return case._replace(operands=(a, -b), wanted=(re, _minus(im)))


def _opposite(case, odd):
    wanted = tuple(map(_minus, case.wanted)) if odd else case.wanted
    return case._replace(operands=tuple(-v for v in case.operands), wanted=wanted)


def _turned(case):
    """From f(jz) to -j f(z): sin is made of sinh so."""
    (a, b), (re, im) = case.operands, case.wanted
    return case._replace(operands=(b, -a), wanted=(im, _minus(re)))


def _turned_even(case):
    """From f(jz) to f(z): cos is made of cosh so."""
    a, b = case.operands
    return case._replace(operands=(b, -a))


def _by_parts(real):
    """Pair cases of real operands: one for the real parts, another for the imaginary parts."""
    others = real[7:] + real[:7]
    for one, other in zip(real, others, strict=True):
        operands = (v for pair in zip(one.operands, other.operands, strict=True) for v in pair)
        yield Case(tuple(operands), one.wanted + other.wanted, f"{one.fact}, {other.fact}")


def _textbook(count, formula, fact):
    """Return cases of finite parts, by a formula."""
    for operands in itertools.product(FINITE, repeat=count):
        try:
            found = formula(*operands)
        except ZeroDivisionError:
            continue
        yield Case(operands, tuple([(part, False)] for part in found), fact, exact=False)
    yield Case((NAN,) * count, ([(NAN, False)],) * 2, "all parts are NaN")


def _times(a, b, c, d):
    return a * c - b * d, b * c + a * d


def _divided(a, b, c, d):
    return (a * c + b * d) / (c * c + d * d), (b * c - a * d) / (c * c + d * d)


def _compared(equal):
    for operands in itertools.product([NAN, INF, -INF, 0.0, -0.0, 1.0], repeat=4):
        a, b, c, d = operands
        value = float((a == c and b == d) == equal)
        yield Case(operands, ([(value, True)],), "a == c and b == d")


def real_cases():
    """Return the cases of each function of real operands."""
    found = {name: cases(facts) for name, facts in {**ONE, **TWO}.items()}
    ones = [c for c in found["divide"] if c.operands[0] == 1]
    squares = [c for c in found["multiply"] if repr(c.operands[0]) == repr(c.operands[1])]
    found["reciprocal"] = [c._replace(operands=c.operands[1:]) for c in ones]
    found["square"] = [c._replace(operands=c.operands[1:]) for c in squares]
    found["subtract"] = [c._replace(operands=(c.operands[0], -c.operands[1])) for c in found["add"]]
    return found


def complex_cases():
    """Return the cases of each function of complex operands."""
    found = {name: cases(facts) for name, facts in COMPLEX.items()}
    for name, known in found.items():
        if name in ODD_FUNCTIONS + EVEN_FUNCTIONS:
            known += [_opposite(case, name in ODD_FUNCTIONS) for case in known]
        known += [_conjugate(case) for case in known]
    for name in ("asin", "atan", "sin", "tan"):
        found[name] = [_turned(case) for case in found[f"{name}h"]]
    found["cos"] = [_turned_even(case) for case in found["cosh"]]
    for base in (2, 10):
        logs = found["log"]
        found[f"log{base}"] = [
            c._replace(wanted=tuple(_over(part, math.log(base)) for part in c.wanted)) for c in logs
        ]
    found |= {name: cases(facts) for name, facts in AS_THEY_ARE.items()}
    real = real_cases()
    found |= {name: list(_by_parts(real[name])) for name in ("add", "subtract", "round")}
    found["multiply"] = list(_textbook(4, _times, "as by the textbook"))
    found["divide"] = list(_textbook(4, _divided, "as by the textbook"))
    found["square"] = list(_textbook(2, lambda a, b: _times(a, b, a, b), "as x * x"))
    found["reciprocal"] = list(_textbook(2, lambda a, b: _divided(1, 0, a, b), "as 1 / x"))
    return found | {"equal": list(_compared(True)), "not_equal": list(_compared(False))}

"""numexpr on all cores: one expression for each pass that it can fuse."""

from __future__ import annotations

import numexpr
import numpy as np

from benchmarks import workloads as w
from benchmarks.peers import Peer

B1, B2, B3, B4, B5 = w.POLYNOMIAL
TAIL = (
    f"{w.DENSITY} * exp(-0.5 * x * x) * "
    f"(k * ({B1} + k * ({B2} + k * ({B3} + k * ({B4} + k * {B5})))))"
)


def evaluate(text, out=None, **names):
    return numexpr.evaluate(text, names, {}, out=out)


def neighbours(a):
    return {"c": a[1:-1, 1:-1], "w": a[1:-1, :-2], "e": a[1:-1, 2:]} | {
        "n": a[:-2, 1:-1],
        "s": a[2:, 1:-1],
    }


def corners(a):
    return {"nw": a[:-2, :-2], "ne": a[:-2, 2:], "sw": a[2:, :-2], "se": a[2:, 2:]}


def jacobi(a, steps):
    views, t = neighbours(a), np.empty_like(a[1:-1, 1:-1])
    for _ in range(steps):
        evaluate("0.2 * (c + w + e + n + s)", out=t, **views)
        evaluate("t", out=views["c"], t=t)
    return a


def nine_points(a, steps):
    views, t = neighbours(a) | corners(a), np.empty_like(a[1:-1, 1:-1])
    text = "0.25 * c + 0.125 * (n + s + w + e) + 0.0625 * (nw + ne + sw + se)"
    for _ in range(steps):
        evaluate(text, out=t, **views)
        evaluate("t", out=views["c"], t=t)
    return a


def relax(a, i, j):
    rows, columns = slice(i, -1, 2), slice(j, -1, 2)
    c = a[rows, columns]
    evaluate(
        "c + 1.5 * (0.25 * (n + s + w + e) - c)",
        out=c,
        c=c,
        n=a[i - 1 : -2 : 2, columns],
        s=a[i + 1 :: 2, columns],
        w=a[rows, j - 1 : -2 : 2],
        e=a[rows, j + 1 :: 2],
    )


def sor(a, steps):
    for _ in range(steps):
        for i, j in w.RED + w.BLACK:
            relax(a, i, j)
    return a


def normal_cdf(x):
    k = evaluate(f"1.0 / (1.0 + {w.TAIL} * abs(x))", x=x)
    tail = evaluate(TAIL, x=x, k=k)
    return evaluate("where(x < 0, t, 1.0 - t)", x=x, t=tail)


def black_scholes(price, strike, years):
    drift = w.RATE + 0.5 * w.VOLATILITY**2
    text = f"(log(p / s) + {drift} * y) / ({w.VOLATILITY} * sqrt(y))"
    d1 = evaluate(text, p=price, s=strike, y=years)
    d2 = evaluate(f"d - {w.VOLATILITY} * sqrt(y)", d=d1, y=years)
    c1, c2 = normal_cdf(d1), normal_cdf(d2)
    text = f"p * c1 - s * exp({-w.RATE} * y) * c2"
    return evaluate(text, p=price, s=strike, y=years, c1=c1, c2=c2)


def tiny(x, steps):
    for _ in range(steps):
        x = evaluate("x + 1.5", x=x)
    return float(x[0])


def chain(x, y, w):
    text = "sin(x) * cos(y) + tanh(x * y) / (1.0 + w * w) - abs(x - y)"
    return evaluate(text, x=x, y=y, w=w)


def weighted_sum(x, y, w):
    total = evaluate("sum(where(x > y, x * w, y * (1.0 - w)))", x=x, y=y, w=w)
    return total / evaluate("sum(w)", w=w)


class Numexpr(Peer):
    """Fuses elementwise expressions and a reduction; knows nothing else."""

    codes = {
        "W1": jacobi,
        "W2 copy": lambda a: evaluate("a", a=a),
        "W2 max": lambda a: evaluate("max(a)", a=a),
        "W2 sum": lambda a: evaluate("sum(a)", a=a),
        "W2 sum0": lambda a: evaluate("sum(a, axis=0)", a=a),
        "W2 sum1": lambda a: evaluate("sum(a, axis=1)", a=a),
        "W2 flip2": lambda a: evaluate("a", a=a[::-2]),
        "W2 add0": lambda a: evaluate("a + 0", a=a),
        "W2 adda": lambda a: evaluate("a + a", a=a),
        "W2 iadd": lambda a: evaluate("a + a", out=a, a=a),
        "W2 sqrt": lambda a: evaluate("sqrt(a)", a=a),
        "W3": black_scholes,
        "W5": lambda m: evaluate("0.5 * (m + t)", m=m, t=m.T),
        "W7": sor,
        "W10": tiny,
        "H1": nine_points,
        "H2": chain,
        "H3": weighted_sum,
    }
    reasons = {
        "W2 bincount": "no bincount",
        "W4": "no products of matrices",
        "W6": "no products of matrices",
        "W8": "no argmin, no products of matrices",
        "W9": "no sort",
        "W11": "no engines to read from",
    }

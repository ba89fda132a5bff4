"""Functions of the user's give on engines what they give in NumPy, wherever the elements lie."""

import re
import threading
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest

import distnb as dnb
from distnb.client.batching import user_functions
from tests.contract.support import agree, measured, numbered, on_engines, same, setting, special

pytestmark = pytest.mark.ways("one", "cutoff")

DISTS = {
    "block": "block",
    "columns": ("*", "block"),
    "cyclic": ("cyclic", "*"),
    "block-cyclic": (("cyclic", 2), "*"),
    "both cyclic": ("cyclic", "cyclic"),
    "grid": ("block", "block"),
    "replicated": "replicated",
    "engine": ("engine", 0),
    "irregular": "irregular",
    "host": None,
    "default": None,
}
VIEWS = {
    "all": np.s_[:],
    "steps": np.s_[::2, 1:],
    "reversed": np.s_[::-1, ::-2],
    "row": np.s_[3],
    "nothing": np.s_[2:2],
    "element": np.s_[3:4, 2:3],
}
X = numbered((9, 6)) * 7 % 23 - 5
Y = numbered((9, 6)) * 5 % 19 - 3.5


def spread(x, name, session):
    """Return an array in a layout."""
    if name == "host":
        return x
    if name == "irregular":
        cuts = [(k * k * len(x)) // session.size**2 for k in range(session.size + 1)]
        return dnb.from_parts([x[a:b] for a, b in pairwise(cuts)])
    return dnb.array(x, dist=DISTS[name])


def kinks(x, y):
    """Return what no ufunc computes."""
    return np.where(x > y, x * 2 - 1, y / 3)


# -- map ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", DISTS)
@pytest.mark.parametrize("other", ["cyclic", "grid", "default"])
def test_any_two_layouts(session, books, one, other):
    a, b = spread(X, one, session), spread(Y, other, session)
    for name, key in VIEWS.items():
        p, q = X[key], Y[key]
        x, y = a[key], b[key]
        books.add(dnb.map(kinks, x, y), kinks(p, q), f"{one}, {other}, {name}")
        books.add(dnb.map(kinks, x.T, y.T[...]), kinks(p.T, q.T), f"{one}, {other}, {name}, turned")


def test_the_layout_is_that_of_an_elementwise_operation(session):
    a, b = spread(X, "cyclic", session), spread(Y, "columns", session)
    for x, y in ((a, b), (b, a), (a[1:], b[:-1]), (a, b[0]), (a[:, :1], b), (2.0, b)):
        assert dnb.map(kinks, x, y).layout.base == (x + y).layout.base


def test_aligned_parts_send_nothing(session, engines_only):
    a, b = spread(X, "cyclic", session), spread(Y, "cyclic", session)
    session.flush()
    with measured(session) as found:
        dnb.map(kinks, a, b)
    assert sum(rank.bytes for op in found[0].ops for rank in op.ranks) == 0


def test_operands_meet_by_broadcasting(session, books):
    a = spread(X, "block", session)
    row, column = dnb.array(Y[0], dist="block"), dnb.array(Y[:, :1], dist="cyclic")
    for x, p in ((row, Y[0]), (column, Y[:, :1]), (Y[0], Y[0]), ([[2.0]], [[2.0]])):
        p = np.broadcast_to(p, X.shape)
        books.add(dnb.map(kinks, a, x), kinks(X, p), "right")
        books.add(dnb.map(kinks, x, a), kinks(p, X), "left")
    agree(
        lambda: kinks(Y[0], Y[:, :1]),
        lambda: dnb.map(kinks, row, column),
    )
    with pytest.raises(ValueError, match=r"^shapes: got \(9, 6\) and \(6, 9\), expected"):
        dnb.map(kinks, a, a.T)


def test_numbers_stay_numbers(session):
    seen = lambda x, n: x + (n if isinstance(n, int | float | np.generic) else 1000)  # noqa: E731
    a = spread(X, "block", session)
    for n in (3, 2.5, np.float64(2.5), np.array(4.0)):
        same(dnb.map(seen, a, n), X + n)
    same(dnb.map(lambda x, b: np.where(b, x, -x), a, False), -X)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (3, 0, 2), (2, 3, 4), (1, 1, 5)])
def test_any_shape(session, shape):
    p = np.asarray(numbered(shape))
    for dist in (["block", "cyclic"] if shape else []) + [
        "replicated",
        ("engine", session.size - 1),
    ]:
        x = dnb.array(p, dist=dist)
        same(dnb.map(np.sqrt, x), np.sqrt(p))
        same(dnb.map(lambda v: v[..., ::-1][..., ::-1].copy(), x.T), p.T)


@pytest.mark.parametrize("dtype", [*"?bhilBHILefdFD"])
def test_dtypes_follow_from_the_function(session, books, dtype):
    p = special(dtype, 13)
    x = dnb.array(p, dist="block")
    functions = (np.abs, np.square, np.isfinite, lambda v: v * 2.5, lambda v: v.astype("f4").real)
    for f in functions:
        with np.errstate(all="ignore"):
            expected = f(p)
        books.add(dnb.map(f, x), expected, f"{f} of {dtype}", rtol=None)


def test_masks_of_results_are_not_lost_without_a_word(session):
    x = dnb.arange(8.0, dist="block")
    for call in (dnb.map, dnb.map_blocks):
        with pytest.raises(TypeError, match=r"masked array.*return \.filled"):
            call(lambda b: np.ma.masked_greater(b, 3), x).to_numpy()
        kept = np.where(np.arange(8.0) > 3, -1, np.arange(8.0))
        same(call(lambda b: np.ma.masked_greater(b, 3).filled(-1), x), kept)
        same(call(lambda b: np.ma.masked_greater(b, 9), x), np.arange(8.0))  # which hides nothing


def test_a_given_dtype(session):
    x = dnb.arange(7, dist="block")
    found = dnb.map(lambda v: v * 2, x, dtype=np.float32)
    same(found, np.arange(0, 14, 2, dtype=np.float32))
    same(dnb.map(lambda v: v + v.min() * 0, x, dtype=int), np.arange(7))
    with pytest.raises(TypeError, match="dtype: got object"):
        dnb.map(np.abs, x, dtype=object)
    with pytest.raises(TypeError, match="from dtype..float64.. to dtype..int64.. according to"):
        dnb.map(lambda v: v / 2, x, dtype=np.int64).to_numpy()


def test_several_results(session):
    a, p = spread(X, "cyclic", session), X
    for found in (
        dnb.map(lambda v: (np.floor(v), v > 3, v * 1j), a),
        dnb.map(lambda v: (np.floor(v), v > 3, v * 1j), a, dtype=(float, bool, complex)),
    ):
        assert isinstance(found, tuple)
        for one, expected in zip(found, (np.floor(p), p > 3, p * 1j), strict=True):
            same(one, expected)
    (one,) = dnb.map(lambda v: (v, v), a)[:1]
    same(one, p)
    with pytest.raises(ValueError, match="function of map.*: got 2 results, expected 1"):
        dnb.map(lambda v: (v, v), a, dtype=float).to_numpy()


def test_constants(session):
    i = dnb.array(X.astype(int) % 5, dist="block")
    table = np.array([3.0, 1, 4, 1, 5])
    look = lambda v, table, plus=0: table[v] + plus  # noqa: E731
    same(dnb.map(look, i, table=table, plus=2), table[X.astype(int) % 5] + 2)
    with setting(cutoff=1 << 12):
        small = dnb.array(table)
        same(dnb.map(look, i, table=small), table[X.astype(int) % 5])
    same(dnb.map(partial(look, plus=1), i, table=table), table[X.astype(int) % 5] + 1)


@pytest.mark.ways("spmd", "started")
def test_a_call_is_a_snapshot(session):
    x, k = dnb.arange(10.0, dist="block"), 2
    by = {"k": 1.0}

    def times(v):
        return v * k + by["k"]

    found = [dnb.map(times, x)]
    k = 3
    found.append(dnb.map(times, x))
    by["k"] = 7.0
    found.append(dnb.map(times, x))
    for one, (factor, plus) in zip(found, ((2, 1), (3, 1), (3, 7)), strict=True):
        same(one, np.arange(10.0) * factor + plus)


def test_a_loop_with_other_functions(session):
    p = np.linspace(0, 1, 50)
    x = dnb.array(p, dist="block")
    for turn in range(6):
        f = (np.sin, np.cos, lambda v, turn=turn: v * turn)[turn % 3]
        p = f(p) + 1
        x = dnb.map(f, x) + 1
    same(x, p)


def test_small_arrays_stay_in_the_notebook(session):
    threads = []

    def f(x, y):
        threads.append(threading.current_thread())  # which could not be pickled
        return kinks(x, y)

    with setting(cutoff=1 << 10):
        x, k = dnb.array(X), dnb.array(Y)
        found = dnb.map(f, x[::2], k[::2].T[0][:, None] * 0 + 3)
        same(found, kinks(X[::2], np.full((5, 1), 3.0)))
        assert found.here is not None
        assert len(threads) == 2
        assert dnb.map(np.sin, dnb.array(2.0)).here.shape == ()
        same(dnb.map(np.sin, 2.0), np.sin(np.array(2.0)))
        same(dnb.map(kinks, x, dnb.array(3.0)), kinks(X, 3.0))
        several = dnb.vectorize(both)(dnb.array(N), 3)
        assert all(one.here is not None for one in several)
        large = dnb.map(np.add, dnb.arange(100.0)[:, None], dnb.arange(100))
        assert large.here is None
        same(large, np.add.outer(np.arange(100.0), np.arange(100)))
        for wrong, kind in (
            (lambda: dnb.map(lambda v: v.min(), x), TypeError),
            (lambda: dnb.map(lambda v: v[:1], x, dtype=float), ValueError),
            (lambda: dnb.map(lambda v: np.copyto(v, 0), x, dtype=float), ValueError),
            (lambda: dnb.map(lambda v: v / 2, x, dtype=int), TypeError),
            (lambda: dnb.map(kinks, x, dnb.array(X.T)), ValueError),
        ):
            with pytest.raises(kind):
                wrong()
        with pytest.warns(RuntimeWarning, match=r"invalid value encountered in map \(sqrt\)"):
            dnb.map(np.sqrt, dnb.array([-1.0]))


# -- together with other operations --------------------------------------------------------------


def test_in_one_pass_with_other_operations(session):
    p, x = X.copy(), spread(X, "block", session)
    same(2 * dnb.map(np.tanh, x + 1) - x, 2 * np.tanh(p + 1) - p)
    same(dnb.map(np.tanh, x).sum(axis=0), np.tanh(p).sum(axis=0), 1e-14)
    x[...] = dnb.map(lambda v: v * 2, x)
    p[...] = p * 2
    x[1:-1] = dnb.map(kinks, x[2:], x[:-2]) + x[1:-1]
    p[1:-1] = kinks(p[2:], p[:-2]) + p[1:-1]
    x[::-1] = dnb.map(lambda v: v - 1, x)
    p[::-1] = p - 1
    x[x > 3] = 0
    p[p > 3] = 0
    same(x, p)


def test_a_result_that_is_the_argument(session):
    x = spread(X, "block", session)
    found = dnb.map(lambda v: v, x)
    x += 1
    same(found, X)
    same(x, X + 1)


def test_tiles_of_large_arrays(session):
    p = np.arange(300_000.0).reshape(500, 600)
    x = dnb.array(p, dist="block")
    same(dnb.map(lambda v: np.sqrt(v) + v, x.T), (np.sqrt(p) + p).T)
    same(dnb.map(np.sqrt, x + x).sum(), np.sqrt(p + p).sum(), 1e-12)


# -- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "dtype", "kind", "message"),
    [
        (lambda v: v[1:], float, ValueError, r"^function of map.*: got shape .*apply_along_axis\n"),
        (lambda v: v.sum(), float, TypeError, r"^function of map.*got float64, expected a NumPy"),
        (lambda v: list(v), float, TypeError, r"^function of map.*got list, expected a NumPy"),
        (
            lambda v: v.max(),
            None,
            TypeError,
            r"^dtype of map.*got ValueError for .*give dtype=.*; pass all arrays",
        ),
        (lambda v: "text", None, TypeError, r"^dtype of map.*got str"),
        (lambda v: v.astype(str), None, TypeError, "got <U32, expected bool, an integer, float"),
        (lambda v: v.missing, float, AttributeError, "no attribute 'missing'"),
        (lambda v: np.add(v, 1, out=v), float, ValueError, "read-only"),
        (lambda: 0, float, TypeError, "positional argument"),
    ],
)
def test_what_a_function_does_wrong(session, function, dtype, kind, message):
    x, other = dnb.arange(1.0, 12, dist="block"), dnb.arange(5.0, dist="block")
    with pytest.raises(kind, match=message):
        dnb.map(function, x, dtype=dtype).to_numpy()
    same(other + 1, np.arange(1.0, 6))
    same(x, np.arange(1.0, 12))


def test_arguments_that_are_wrong(session):
    x = dnb.arange(4.0, dist="block")
    for wrong, message in (
        (
            lambda: dnb.map(np.sin),
            r"^map\(\): got no arrays, expected at least one; pass what to map",
        ),
        (lambda: dnb.map(np.sin, x, {}), "got dict, expected array-like"),
        (lambda: dnb.map(kinks, x, "text"), "array-like|dtype"),
        (
            lambda: dnb.map(lambda v: v + x, x, dtype=float),
            r"uses a distributed array of shape \(4,",
        ),
        (lambda: dnb.map(lambda v, u: v, x, u=threading.Lock()), "cannot be pickled: .*lock"),
        (lambda: dnb.map(5, x), "not callable"),
    ):
        with pytest.raises(TypeError, match=message):
            wrong()


@pytest.mark.ways("spmd", "started")
@pytest.mark.usefixtures("engines_only")
def test_one_part_fails(session):
    x = dnb.arange(40.0, dist="block")

    def picky(v):
        if np.any(v == 39):
            raise LookupError("not this one")
        return v + 1

    before = x * 2
    found, after = dnb.map(picky, x, dtype=float), x * 3
    with pytest.raises(LookupError, match="not this one") as caught:
        found.to_numpy()
    note = "\n".join(caught.value.__notes__)
    assert f"raised on rank {session.size - 1} of {session.size} in 'map (picky)'" in note
    line = 'raise LookupError("not this one")'
    assert re.search(rf"^in picky\(\): test_mapping.py line \d+: {re.escape(line)}$", note, re.M)
    same(before, np.arange(40.0) * 2)
    same(after, np.arange(40.0) * 3)
    with pytest.raises(dnb.LostArrayError):
        found + 1


@pytest.mark.ways("started")
@pytest.mark.usefixtures("engines_only")
def test_exceptions_are_what_was_raised(session):
    """Of their class, with their arguments, also where the notebook heard of them before."""

    class OddError(Exception):
        def __init__(self, one, other):
            super().__init__(one)
            self.other = other

    def fail(v):
        raise [OddError("a", 3), FileNotFoundError(2, "no", "x.npy"), KeyError("k")][int(v[0])]

    def told(kind):
        found = dnb.map(fail, dnb.full(40, kind, dist="block"), dtype=float)
        session.send()
        while session.connection.sent:
            session.take_oldest()
        with pytest.raises((OddError, OSError, KeyError)) as caught:
            found + 1
        return caught.value

    odd, missing, key = map(told, range(3))
    assert (type(odd), odd.args, odd.other) == (OddError, ("a",), 3)
    assert (missing.errno, missing.filename) == (2, "x.npy")
    assert key.args == ("k",)


@pytest.mark.ways("spmd", "started")
def test_no_session_on_an_engine(session, engines_only):
    x = dnb.arange(7.0, dist="block")

    def asks(v):
        import distnb

        return distnb.zeros(3) + v

    with pytest.raises(RuntimeError, match="^session: got none on an engine, expected NumPy's"):
        dnb.map(asks, x, dtype=float).to_numpy()
    same(dnb.map(lambda v: v * dnb.pi, x), np.arange(7.0) * np.pi)


def test_floating_point_warnings(session):
    x = dnb.arange(-2.0, 3, dist="block")

    def logs(v):
        with np.errstate(divide="ignore"):
            return np.log(v)

    with pytest.warns(RuntimeWarning, match=r"^invalid value encountered in map \(logs\)$") as told:
        found = dnb.map(logs, x).to_numpy()
    assert [w.filename for w in told] == [__file__]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.log(np.arange(-2.0, 3)))


@pytest.mark.ways("spmd", "started")
def test_reports_name_the_function(session, engines_only):
    x = dnb.arange(9.0, dist="block")
    with measured(session) as found:
        dnb.map(kinks, x, 2)
        dnb.map(partial(kinks, 1), x)
        dnb.map(np.sin, x)
    names = [op.op for op in found[0].ops]
    assert names.count("map (kinks)") == 2
    assert "map (sin)" in names


# -- what engines hold ---------------------------------------------------------------------------


def kept(session):
    """Return how many functions each engine has, once what was recorded is done."""
    dnb.zeros(1, dist="block", session=session).item()
    return on_engines(session, "len(worker.store.functions)")


@pytest.mark.ways("spmd", "started")
def test_a_function_is_sent_once(session, engines_only, monkeypatch):
    x, sent = dnb.arange(9.0, dist="block"), []
    define = session.functions._define
    monkeypatch.setattr(
        session.functions, "_define", lambda *args: sent.append(args) or define(*args)
    )
    for n in range(3):
        dnb.map(lambda v, n: v + n, x, n)  # a new one, with the same text
        dnb.map(lambda v, n: v + n, x, n)
    assert len({text for _, text in sent}) == len(sent) == 2
    for n in range(3):
        dnb.map(lambda v, n: v + n, x, n=n)
    assert len({number for number, _ in sent}) == len(sent) == 5


@pytest.mark.ways("spmd", "started")
def test_those_used_last_are_kept(session, engines_only, monkeypatch):
    x = dnb.arange(9.0, dist="block")
    monkeypatch.setattr(user_functions, "_MOST", 3)
    found = [dnb.map(lambda v, n: v * n, x, n=n) for n in (0, 1, 2, 1, 3, 4, 1)]
    assert kept(session) == [3] * session.size
    for n, one in zip((0, 1, 2, 1, 3, 4, 1), found, strict=True):
        same(one, np.arange(9.0) * n)


@pytest.mark.ways("spmd", "started")
def test_large_ones_are_dropped_after_use(session, engines_only, monkeypatch):
    x = dnb.arange(9, dist="block")
    monkeypatch.setattr(user_functions, "_MOST_BYTES", 5000)
    table = np.arange(9000.0)
    dnb.map(np.abs, x)
    found = [dnb.map(lambda v, t: t[v], x, t=table) for _ in range(2)]
    sizes = [len(text) for _, text in session.functions._known.values()]
    assert 0 < sum(sizes) <= 5000  # smaller ones stay
    assert kept(session) == [len(sizes)] * session.size
    for one in found:
        same(one, table[:9])


@pytest.mark.ways("spmd", "started")
def test_sessions_have_functions_of_their_own(session, second, engines_only):
    f = lambda v: v + 1  # noqa: E731
    for s in (second, session, second):
        x = dnb.arange(9.0, dist="block", session=s)
        np.testing.assert_array_equal(dnb.map(f, x).to_numpy(), np.arange(1.0, 10))


# -- vectorize -----------------------------------------------------------------------------------


def collatz(n):
    count = 0
    while n > 1:
        n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
    return count


def both(x, y=1, *, z=0):
    return (x + y, x > z) if x > -100 else None


N = np.arange(1, 25).reshape(4, 6)
#: name -> what is called with numpy or distnb, and an array of either
CALLS = {
    "otypes found": lambda xp, n: xp.vectorize(collatz)(n),
    "first element decides": lambda xp, n: xp.vectorize(lambda v: v if v == 1 else v + 0.75)(n),
    "otypes": lambda xp, n: xp.vectorize(collatz, otypes=[float])(n),
    "otypes as codes": lambda xp, n: xp.vectorize(collatz, otypes="f")(n[::2, ::-1]),
    "to integers": lambda xp, n: xp.vectorize(lambda v: v / 2, otypes=["i4"])(n.T),
    "two results": lambda xp, n: xp.vectorize(both)(n),
    "two results, otypes": lambda xp, n: xp.vectorize(both, otypes=[complex, bool])(n, 2.5),
    "numbers": lambda xp, n: xp.vectorize(both)(n, 7, z=12),
    "by name": lambda xp, n: xp.vectorize(both)(x=n, y=n + 1, z=3),
    "broadcast": lambda xp, n: xp.vectorize(lambda a, b: a - b)(n, n[:1] * 1.5),
    "excluded": lambda xp, n: xp.vectorize(lambda t, v: t[v % 3], excluded={0})([2, 3, 5], n),
    "excluded name": lambda xp, n: xp.vectorize(lambda v, t: t[v % 3], excluded={"t"})(
        n, t=[2, 3, 5]
    ),
    "empty": lambda xp, n: xp.vectorize(collatz, otypes=[int])(n[:0]),
    "empty, unknown": lambda xp, n: xp.vectorize(collatz)(n[:0]),
    "element": lambda xp, n: xp.vectorize(collatz)(n[3:4, 2]),
    "no arguments": lambda xp, n: xp.vectorize(lambda: 5)(),
    "shapes": lambda xp, n: xp.vectorize(both)(n, n.T),
    "objects": lambda xp, n: xp.vectorize(lambda v: v.bit_length(), otypes=[int])(n),
    "raises": lambda xp, n: xp.vectorize(lambda v: 1 // (v - 20), otypes=[int])(n).tolist(),
    "too large": lambda xp, n: xp.vectorize(lambda v: v * 100, otypes=["i1"])(n).tolist(),
    "decorator": lambda xp, n: xp.vectorize(otypes=[float], excluded=["k"])(lambda v, k: v * k)(
        n, k=3
    ),
    "not callable": lambda xp, n: xp.vectorize("text"),
    "no types": lambda xp, n: xp.vectorize(collatz, otypes=5),
}


@pytest.mark.parametrize("name", CALLS)
def test_vectorize(session, name):
    call = CALLS[name]
    for dist in ("block", "cyclic", ("*", "block")) if name.startswith("otypes") else ("block",):
        agree(lambda: call(np, N), lambda: call(dnb, dnb.array(N, dist=dist)))


def test_a_vectorized_function_describes_itself(session):
    @dnb.vectorize
    def named(x):
        """Say so."""
        return x

    assert named.__name__ == "named"
    assert named.__doc__ == "Say so."
    assert dnb.vectorize(named.pyfunc, doc="Other.").__doc__ == "Other."


@pytest.mark.ways("spmd", "started")
@pytest.mark.parametrize("dist", ["block", ("*", "block"), ("block", "block"), None], ids=str)
def test_functions_of_some_last_axes(session, dist):
    x, least = dnb.array(N, dist=dist), N.min(axis=1)
    with setting(gather_budget=N[0].nbytes):
        same(dnb.vectorize(lambda v: v.sum(), signature="(n)->()")(x), N.sum(axis=1))
    y = dnb.array(least, dist="block")
    shifted = dnb.vectorize(lambda v, a: (v - a, v.max()), signature="(n),()->(n),()")
    for got, want in zip(shifted(x, y), (N - least[:, None], N.max(axis=1)), strict=True):
        same(got, want)
    pairs = dnb.vectorize(lambda v, k: v[: 2 * k], "f", excluded=[1], signature="(n)->(k)")
    same(pairs(x.T, 1), N.T[:, :2].astype("f4"))
    powers = dnb.vectorize(lambda v, *, power: v**power, excluded=["power"], signature="(n)->(n)")
    same(powers(x, power=2), N**2)
    outer = dnb.vectorize(np.outer, signature="(m),(n)->(m,n)")
    same(
        outer(x[:, None], x[:2, 1:]),
        np.vectorize(np.outer, signature="(m),(n)->(m,n)")(N[:, None], N[:2, 1:]),
    )


def test_functions_of_some_last_axes_that_do_not_fit(session):
    x = dnb.array(N, dist="block")
    summed = dnb.vectorize(lambda v: v.sum(), signature="(n)->()")
    with setting(cutoff=1 << 12):
        same(summed(dnb.array(N)), N.sum(axis=1))
    with pytest.raises(ValueError, match="enough dimensions"):
        summed(x.sum())
    with pytest.raises(ValueError, match="otypes"):
        summed(x[:0])
    assert dnb.vectorize(np.sum, "d", signature="(n)->()")(x[:0]).shape == (0,)
    with pytest.raises(ValueError, match="broadcast"):
        dnb.vectorize(np.dot, signature="(n),(n)->()")(x, dnb.ones((3, N.shape[1])))
    with pytest.raises(ValueError, match="core dimension"):
        dnb.vectorize(np.dot, signature="(n),(n)->()")(x, x.T[: len(N)])
    uneven = dnb.vectorize(lambda v: v[: int(v[0]) % 2 + 1], signature="(n)->(k)")
    with pytest.raises(ValueError, match="core dimension|broadcast"):
        np.asarray(uneven(dnb.arange(12.0).reshape(4, 3) * 1.5))
    assert float(x.sum()) == N.sum()


# -- ufuncs of others ----------------------------------------------------------------------------


def test_ufuncs_of_python_functions_are_refused(session):
    x = dnb.arange(4.0, dist="block")
    for options in ({}, {"dtype": float}, {"out": dnb.zeros(4)}):
        with pytest.raises(TypeError, match=r"use distnb.vectorize\(function, otypes=\[float\]\)$"):
            np.frompyfunc(lambda v: v, 1, 1)(x, **options)


def test_ufuncs_of_others(session):
    special_functions = pytest.importorskip("scipy.special")
    p = np.linspace(-2, 2, 17, dtype=np.float32)
    x = dnb.array(p, dist="block")
    same(special_functions.erf(x), special_functions.erf(p))
    same(
        special_functions.jv(2, x[::-1].astype(float)),
        special_functions.jv(2, p[::-1].astype(float)),
    )
    for one, expected in zip(special_functions.airy(x), special_functions.airy(p), strict=True):
        same(one, expected)


def test_options_of_ufuncs_of_others(session):
    sp = pytest.importorskip("scipy.special")
    p = np.linspace(-2, 2, 17)
    x, y = dnb.array(p, dist="block"), dnb.zeros((2, 17), dist=("*", "cyclic"))
    assert sp.erf(x, out=y) is y
    same(y, np.broadcast_to(sp.erf(p), (2, 17)))
    want = p.copy()
    sp.erf(want, out=want, where=want > 0.5)
    sp.erf(x, out=x, where=x > 0.5)
    same(x, want)
    same(sp.erf(x, dtype=np.float32), sp.erf(want, dtype=np.float32))
    shapes = (17,), (17,)
    ours, numpys = [dnb.zeros(n) for n in shapes], [np.zeros(n) for n in shapes]
    sp.sici(x, out=tuple(ours))
    sp.sici(want, out=tuple(numpys))
    for one, expected in zip(ours, numpys, strict=True):
        same(one, expected)
    with pytest.raises(TypeError, match="Cannot cast|cast"):
        sp.erf(x, out=dnb.zeros(17, int))
    with pytest.raises(ValueError, match="shape"):
        sp.erf(x, out=dnb.zeros(3))
    plain = np.zeros(17)
    assert sp.erf(x, out=plain) is plain  # as NumPy's own
    same(x, want)
    np.testing.assert_array_equal(plain, sp.erf(want))
    with pytest.raises(TypeError, match="arrays as out="):
        sp.erf(x, out=[0.0])


def test_ufuncs_that_numba_makes(session):
    numba = pytest.importorskip("numba")
    p = np.linspace(-2, 2, 17)
    x = dnb.array(p, dist="block")
    near = numba.vectorize(["float64(float64, float64)"])(lambda a, b: a * b + 1)
    same(near(x, 2), near(p, 2))
    same(near(x, x[::-1]), near(p, p[::-1]))
    out = dnb.zeros(17, dist="block")
    for inputs, options in (
        ((x, x), {"out": out}),
        ((x, x), {"out": (out,)}),
        ((x, x, out), {}),
        ((p, p), {"out": out}),
    ):
        out[:] = 0
        assert near(*inputs, **options) is out
        same(out, near(p, p))
    matrix, wide = np.outer(p, p), dnb.zeros((17, 17), dist="block")
    assert near(dnb.array(matrix), 2, out=wide) is wide
    same(wide, near(matrix, 2))
    with pytest.raises(TypeError, match="both a positional and keyword"):
        near(x, x, out, out=out)


@cache
def sum_of_rows():
    """A ufunc of last axes that Numba compiles, which takes seconds."""
    import numba

    @numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->(n)")
    def added(a, b, out):
        out[:] = a + 2 * b

    return added


@pytest.mark.cases(1)  # each process compiles it
def test_outputs_of_ufuncs_of_last_axes_that_numba_makes(session):
    pytest.importorskip("numba")
    added, p = sum_of_rows(), numbered((4, 5)) + 0.5
    x, out = dnb.array(p, dist="block"), dnb.zeros((4, 5), dist="block")
    want = p + 2 * p
    assert added(x, x, out=out) is out
    same(out, want)
    out[:] = 0
    assert added(x, x, out) is out
    same(out, want)


def test_ufuncs_of_others_say_themselves_which_dtypes_they_take(session):
    special_functions = pytest.importorskip("scipy.special")
    x = dnb.arange(4.0, dist="block")
    with pytest.raises(TypeError, match="^ufunc 'eval_hermite' not supported for the input types"):
        special_functions.eval_hermite(x, x)
    p = np.arange(4.0)
    same(special_functions.eval_hermite(2, x), special_functions.eval_hermite(2, p))


@pytest.mark.parametrize("name", ["add", "maximum", "power"])
def test_methods_of_ufuncs_with_the_name_of_numpys(session, name):
    """What engines know by its name is NumPy's; another of this name is another function."""
    numba = pytest.importorskip("numba")

    def function(a, b):
        return a * b + 1

    function.__name__ = name
    other, p = numba.vectorize(["float64(float64, float64)"])(function), np.linspace(-2, 2, 17)
    x = dnb.array(p, dist="block")
    for method, args in (("reduce", ()), ("accumulate", ()), ("reduceat", ([0, 5],))):
        want = getattr(other, method)(p, *args)
        try:
            same(getattr(other, method)(x, *args), np.asarray(want))  # where x is in the notebook
        except TypeError as error:
            assert f"got {name}.{method} of a ufunc that is not NumPy's" in str(error)
            assert not x.at_home
    stack = dnb.array(np.outer(p, p), dist="block")
    along = dnb.apply_along_axis(lambda row: other.reduce(row), 1, stack)
    same(along, other.reduce(np.outer(p, p), axis=1))


# -- with ``import distnb as np`` ------------------------------------------------------------------


def test_names_of_ours_are_numpys_on_engines(session):
    """A program that says ``import distnb as np`` has functions of the user's that say ``np.``."""
    x = numbered((4, 5)) + 1
    a = dnb.array(x, dist="block")
    root, matrices = dnb.sqrt, dnb.linalg

    def mixed(v):
        return dnb.sin(v) + root(v) + matrices.norm(dnb.array([3.0, 4.0])) + dnb.float64(dnb.pi)

    same(dnb.vectorize(mixed)(a), np.sin(x) + np.sqrt(x) + 5 + np.pi, 1e-12)
    same(dnb.map(lambda v: dnb.where(v > 3, v, dnb.abs(v - 7)), a), np.where(x > 3, x, abs(x - 7)))
    same(dnb.map(dnb.exp, a), np.exp(x), 1e-12)
    same(dnb.apply_along_axis(dnb.sum, 0, a), x.sum(axis=0))
    same(dnb.apply_along_axis(lambda v: dnb.cumsum(v)[::2], 1, a), x.cumsum(axis=1)[:, ::2])
    same(dnb.map_blocks(lambda u: dnb.maximum(u[1:-1], 3), a[0], halo=1), np.maximum(x[0], 3))
    same(dnb.foreach(lambda rows: dnb.max(rows, axis=1), a.splits()), x.max(axis=1))


@pytest.mark.parametrize("name", ["random", "map"])
def test_names_that_are_not_numpys_are_refused_on_engines(session, name):
    a = dnb.array(numbered((4,)), dist="block")
    with pytest.raises(RuntimeError, match=rf"{name} of distnb on an engine"):
        dnb.vectorize(lambda v: getattr(dnb, name) and v, otypes="d")(a).to_numpy()


def test_functions_of_elements_and_slices_read_arrays_that_they_use(session):
    x = np.arange(24.0).reshape(4, 6)
    a, table = dnb.array(x), dnb.array(np.arange(24.0) ** 2)
    taps = dnb.array([0.25, 0.5, 0.25])
    number = dnb.array([3.0])[0]
    same(
        dnb.apply_along_axis(lambda row: np.convolve(row, np.asarray(taps), "same"), 1, a),
        np.apply_along_axis(lambda row: np.convolve(row, [0.25, 0.5, 0.25], "same"), 1, x),
    )
    same(dnb.vectorize(lambda v: table[int(v)] + number, "d")(a), x**2 + 3)

    def writes(v):
        np.asarray(table)[0] = v
        return v

    if a.here is None:
        with pytest.raises(ValueError, match="read-only"):
            dnb.vectorize(writes, "d")(a).to_numpy()


def test_what_a_function_reads_is_within_the_budget(session):
    table = dnb.array(np.arange(100.0), dist="block")
    with setting(gather_budget=80), pytest.raises(dnb.GatherError):
        dnb.vectorize(lambda v: table[int(v)], "d")(dnb.arange(4.0, dist="block"))

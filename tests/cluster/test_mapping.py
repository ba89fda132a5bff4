"""Functions of a notebook on real engines: they go along with what they use, in order, and once."""

import functools
import itertools
import os
import signal
import time

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import on_engines
from tests.interrupting import CtrlC
from tests.waiting import until

N = np.arange(20.0)


@pytest.fixture(params=["direct", pytest.param("ipyparallel", marks=pytest.mark.tier("test-all"))])
def session(engines, request):
    """A session on these engines."""
    before, dnb.config.road = dnb.config.road, request.param
    try:
        with dnb.connect(client=engines.transport.client) as found:
            yield found
    finally:
        dnb.config.road = before


def cell(code, **names):
    """Run code as a notebook does; return what it defines."""
    names |= {"__name__": "__main__", "np": np}
    exec(code, names)
    return names


def check(found, expected):
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_functions_of_a_notebook(session):
    names = cell("""
import math
scale = 3

def inner(v):
    return v * scale + math.pi

def outer(plus):
    def f(v):
        return inner(v) + plus
    return f

class Shift:
    def __init__(self, by):
        self.by = by
    def __call__(self, v):
        return v + self.by
""")
    x = dnb.array(N, session=session)
    check(dnb.map(names["inner"], x), N * 3 + np.pi)
    check(dnb.map(names["outer"](2), x), N * 3 + np.pi + 2)
    check(dnb.map(names["Shift"](5), x), N + 5)
    check(dnb.map(lambda v: v**2, x), N**2)
    check(dnb.map(functools.partial(np.power, 2), x), 2**N)
    found = dnb.map(names["inner"], x)
    names["scale"] = 4
    check(found, N * 3 + np.pi)
    check(dnb.map(names["inner"], x), N * 4 + np.pi)
    cell("def inner(v): return -v", **names)  # a cell that is run again
    names.update(cell("def inner(v): return -v"))
    check(dnb.map(names["inner"], x), -N)
    check(dnb.vectorize(lambda v: f"{v:.1f}".count("1"))(x), [f"{v:.1f}".count("1") for v in N])


def test_a_compiled_function(session):
    numba = pytest.importorskip("numba")

    @numba.njit
    def steps(v):
        out = np.empty_like(v)
        for i in range(v.size):
            out[i] = v[i] if i % 2 == i % 2 else 0
        return out

    @numba.vectorize
    def twice(v, w):
        return v + 2 * w

    x = dnb.array(N, session=session)
    check(dnb.map(steps, x), N)
    check(dnb.map(twice, x, x[::-1]), N + 2 * N[::-1])
    check(twice(x, x[::-1]), N + 2 * N[::-1])


def test_it_comes_before_the_batch_that_uses_it(session):
    x = dnb.array(N, session=session)
    total = N.copy()
    for n in range(30):
        x = dnb.map(lambda v, n: v + n, x, n=n)
        total += n
        if n % 3 == 0:
            x = x + 1
            total += 1
        if n % 7 == 0:
            session.send()
    check(x, total)
    assert on_engines(session, "len(worker.store.functions)") == [30] * 3


def test_a_failure_on_one_engine(session):
    names = cell("""
class Mine(KeyError):
    pass

def picky(v):
    if v[-1] == 19:
        raise Mine("the last one")
    return v
""")
    x = dnb.array(N, session=session)
    found, other = dnb.map(names["picky"], x, dtype=float), x + 1
    with pytest.raises(KeyError, match="the last one") as caught:
        found.to_numpy()
    assert "raised on rank 2 of 3 in 'map (picky)'" in caught.value.__notes__[0]
    check(other, N + 1)
    with pytest.raises(ModuleNotFoundError, match="No module named 'not_there'"):
        dnb.map(Absent(), x, dtype=float).to_numpy()
    check(other, N + 1)


class Absent:
    """Something that engines cannot make."""

    def __reduce__(self):
        return __import__, ("not_there",)


def test_sessions_one_after_the_other(engines):
    f = lambda v: v * 2  # noqa: E731
    numbers = []
    for _ in range(2):
        with dnb.connect(client=engines.transport.client) as one:
            check(dnb.map(f, dnb.array(N, session=one)), N * 2)
            numbers.append(next(iter(one.functions._known.values()))[0])
        code = "import distnb.engines.server.entry as e; found = len(e._WORKERS)"
        engines.transport.client[:].execute(code, block=True)
        assert engines.transport.client[:].pull("found", block=True) == [1] * 3
    assert numbers == [-1, -1]


@pytest.mark.tier("test-all")
def test_engines_that_are_started_again(engines, monkeypatch):
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    monkeypatch.setattr(dnb.config, "recover", "never")
    f = lambda v: v * 2  # noqa: E731
    doomed = dnb.start(2, beside=True)
    x = dnb.array(N, session=doomed)
    check(dnb.map(f, x), N * 2)
    os.kill(doomed.transport.about[1]["pid"], signal.SIGKILL)
    with pytest.raises(dnb.EngineError):
        for k in itertools.count():
            dnb.map(lambda v, k: v + k, x, k=k).to_numpy()
    doomed.close()
    with dnb.start(2, beside=True) as again:
        check(dnb.map(f, dnb.array(N, session=again)), N * 2)


def test_ctrl_c_ends_a_long_function(session, gate):
    x = dnb.array(N, session=session)
    keep = x + 1
    session.flush()

    def slow(v, stand=gate.stand):
        exec(stand, {"os": os, "time": time})
        return v

    found = dnb.map(slow, x, dtype=float)
    with CtrlC(0.2, after=gate.come):
        found.to_numpy()
    gate.open()
    check(found, N)  # made when it is used
    check(keep, N + 1)
    check(dnb.map(lambda v: v - 1, keep), N)


def test_ctrl_c_ends_tasks(session, gate):
    x, y = dnb.array(N, session=session), dnb.array(N, session=session, dist="block")

    def slow(part, other, stand=gate.stand):
        part[...] = 0
        exec(stand, {"os": os, "time": time})

    with CtrlC(0.2, after=gate.come):
        dnb.foreach(slow, y.splits(8), x.splits(8), update=0)
    with pytest.raises(dnb.LostArrayError):
        y.to_numpy()
    check(x, N)
    check(dnb.foreach(lambda part: part + 1, x.splits(8)), N + 1)


def test_ctrl_c_before_the_wait_ends_tasks(session, gate, monkeypatch):
    """The idle timer may send tasks before their results are waited for."""
    y = dnb.array(N, session=session, dist="block")

    def slow(part, stand=gate.stand):
        part[...] = 0
        exec(stand, {"os": os, "time": time})

    def sent():
        session.send()
        until(gate.come)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(session.functions, "trim", sent)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest's children ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            dnb.foreach(slow, y.splits(8), update=0)
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    with pytest.raises(dnb.LostArrayError):
        y.to_numpy()
    check(dnb.foreach(lambda part: part + 1, dnb.array(N, session=session).splits(8)), N + 1)


def test_what_engines_are_at_names_the_function(session, gate):
    if session.transport.kind != "direct sockets":
        pytest.skip("engines answer on the monitor channel only")

    def slow(v, stand=gate.stand):
        exec(stand, {"os": os, "time": time})
        return v

    found = dnb.map(slow, dnb.array(N, session=session), dtype=float)
    session.send()

    def running():
        return {engine.running.partition(" (test")[0] for engine in session.live().engines}

    until(lambda: running() == {"map (slow)"})
    gate.open()
    check(found, N)

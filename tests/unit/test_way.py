"""The way of one operation is the one that docs/architecture.md tells, call by call."""

import gc
import re
import sys
from pathlib import Path

import pytest

import distnb as dnb
from distnb.client.batching.rounds import Rounds
from distnb.client.reach import pace, small_steps
from distnb.client.session import large_steps
from distnb.client.session.large_steps import ENOUGH

pytestmark = [
    pytest.mark.tier("test"),
    pytest.mark.skipif(
        small_steps.__file__.endswith(".so"),
        reason="compiled functions do not tell of calls; tests/unit/test_native.py runs these apart",
    ),
]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
PACKAGE = str(Path(dnb.__file__).parent)
#: A comprehension is no call to whoever reads the code.
HIDDEN = "<"


def calls_of(function):
    """Return the functions of distnb that a call makes, in order, as the page names them."""
    found = []

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name[0] != HIDDEN:
            found.append(f"{Path(code.co_filename).stem}.{code.co_name}")

    gc.disable()  # what counts collections would be a call of distnb's
    sys.setprofile(note)
    try:
        function()
    finally:
        gc.enable()
        sys.setprofile(None)
    return found


RANDOM = dnb.random.default_rng(1)
#: Elements of arrays that are large enough for engines.
N = 1_200_000


@pytest.fixture
def operands(monkeypatch):
    """Two large arrays on an engine, whose sum has been recorded before, in this batch too."""
    monkeypatch.setattr(dnb.config, "cutoff", 0)
    monkeypatch.setattr(dnb.config, "place", "auto")
    monkeypatch.setattr(dnb.config, "flush_idle", 60)
    for module in (pace, large_steps):  # on a slow machine each step would be another program
        monkeypatch.setattr(module, "perf_counter", lambda: 1.0)
    with dnb.inprocess(1) as session:
        session.recorder._rounds = Rounds(None)  # on a slow machine a batch would be full
        session.extensions[pace.Paces].now.way = pace.WAIT  # a program that goes on for long
        session.large.begin(ENOUGH)
        a, b = dnb.ones(N), dnb.ones(N)
        session.flush()
        kept = [a + b for _ in range(3)]
        yield a, b
        assert (kept[0].to_numpy() == 2).all()


@pytest.fixture
def few(operands, monkeypatch):
    """Two arrays that are few elements on the same engine, which computes whatever they are."""
    monkeypatch.setattr(dnb.config, "place", "engines")
    return dnb.ones(9), dnb.ones(9)


def told(start="<!-- held by", end="**2."):
    """Return a list of the page."""
    part = PAGE.read_text().split(f"{start} tests/unit/test_way.py")[1].split(end)[0]
    return re.findall(r"^\d+\. `([\w.]+)`", part, re.MULTILINE)


def test_the_page_tells_the_calls_of_an_operation_that_comes_again(operands):
    a, b = operands
    kept = []
    a.session.flush()  # now and then what is pending is looked at
    calls = calls_of(lambda: kept.append(a + b))
    assert calls == told()
    assert len(calls) <= 8


def test_numbers_and_other_operators_go_the_same_way(operands):
    a, b = operands
    first = [a * 2.0, a < b, b - a]
    a.session.flush()
    for again in (lambda: first.append(a * 2.0), lambda: first.append(a < b)):
        assert calls_of(again) == told()


def test_the_page_tells_the_calls_of_a_group_that_comes_again(few):
    a, b = few
    session, kept = a.session, []
    for _ in range(3):
        session.flush()
        kept.append(a + b)
    calls = calls_of(session.flush)
    first = calls.index("worker._group")
    assert calls[first : first + 14] == told("<!-- the engine's part, held by", "**5.")


def calls_of_reading(make, expected):
    """Return the calls by which a value is made and read for the fourth time."""
    found = []
    for _ in range(3):
        found.append(float(make()))
    calls = calls_of(lambda: found.append(float(make())))
    assert found == [expected] * 4
    return calls


@pytest.mark.usefixtures("few")
def test_a_value_takes_few_calls_on_the_way_there_and_back():
    """Recorded, sent, computed on the engine, read and taken in: it was twice as many once."""
    a, b = dnb.ones(()), dnb.ones(())
    # An engine that is late is asked once more.
    assert min(len(calls_of_reading(lambda: a + b, 2)) for _ in range(3)) <= 116


def test_nothing_is_asked_of_what_does_not_travel(few):
    x, y = few
    calls = calls_of_reading(lambda: (x + y).sum(), 18)
    assert not {c for c in calls if c.split(".")[0] in ("zero_copy", "replicas")}
    assert len(calls) <= 212


@pytest.mark.parametrize(
    ("step", "most"),
    [
        (lambda x: -x, 11),
        (lambda x: x.T, 8),
        (lambda x: dnb.zeros(5), 10),
        (lambda x: dnb.mean(x), 12),
        (lambda x: dnb.concatenate([x, x]), 16),
        (lambda x: x.copy(), 13),
        (lambda x: dnb.array(x), 15),
        (lambda x: dnb.array(3.0), 8),
        (lambda x: dnb.zeros_like(x), 16),
        (lambda x: x.sort(), 16),
        (lambda x: dnb.linalg.eigh(x), 26),
        (lambda x: divmod(x, 3), 21),
        (lambda x: dnb.frexp(x), 23),
        (lambda x: dnb.add.reduce(x), 16),
        (lambda x: dnb.subtract.reduceat(x, [0, 1]), 16),
        (lambda x: dnb.subtract.outer(x, x), 26),
        (lambda x: x.put(3, 1), 16),
        (lambda x: dnb.copyto(x, 1), 16),
        (lambda x: dnb.c_[x, x], 16),
        (lambda x: dnb.random.randint(5), 16),
        (lambda x: dnb.add.reduce(x, 0, None, x[0]), 24),
        (lambda x: dnb.add.accumulate(x, out=x), 17),
        (lambda x: dnb.minimum.reduce([x, x]), 22),
        (lambda x: dnb.add.at(x, [0, 1], 0.0), 17),
        (lambda x: dnb.nan_to_num(x, copy=False), 40),
        (lambda x: dnb.size(x), 3),
        (lambda x: x.tolist(), 4),
        (lambda x: x.transpose(1, 0), 11),
        (lambda x: RANDOM.shuffle(x), 47),
        (lambda x: RANDOM.permutation(x), 50),
        (lambda x: RANDOM.choice(99, 2, replace=False), 35),
        (lambda x: dnb.lib.stride_tricks.as_strided(x, (3, 2), (8, 8)), 60),
        (lambda x: dnb.mgrid[:2, :3], 46),
    ],
    ids=(
        "minus T zeros mean concatenate copy array number zeros_like sort eigh "
        "divmod frexp reduce reduceat outer put copyto c_ randint reduce_into accumulate_into "
        "reduce_list at nan_to_num size tolist transpose "
        "shuffle permutation choice as_strided mgrid"
    ).split(),
)
def test_small_arrays_take_few_calls(step, most, monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 1 << 16)
    with dnb.inprocess(1):
        x = dnb.array([[2.0, 1.0], [1.0, 3.0]])
        kept = [step(x)]
        assert len(calls_of(lambda: kept.append(step(x)))) <= most

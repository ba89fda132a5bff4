"""What the contract tests share: sessions, data, views of both kinds, comparisons."""

import builtins
import contextlib
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.measure.events import IDLE, OVERHEAD, WAITING
from tests.tiers import SCALE

DTYPES = [np.dtype(d) for d in testing.DTYPES]
INTEGERS = [d for d in DTYPES if d.kind in "iu"]
INEXACT = [d for d in DTYPES if d.kind in "fc"]


def thin(items, least=17):
    """Return a list, or every n-th of its items (n at most ``least``) where fewer are asked for."""
    return list(items)[:: max(1, min(least, round(1 / SCALE)))]


def thin_parameters(tests, whole="inprocess:3"):
    """Return a share of each test function's parameters, the same on all ranks.

    All of them run on three engines in this process: three finds what two and four hide. In other
    ways each function runs once or more.
    """
    groups = {}
    for test in tests:
        kind = test.callspec.params.get("session") if hasattr(test, "callspec") else None
        groups.setdefault((kind, test.path, test.originalname), []).append(test)
    keep = set()
    for (kind, *_), group in groups.items():
        n = len(group)
        keep.update(group if kind == whole else group[:: max(1, int(n / max(1, n * SCALE)))])
    return [test for test in tests if test in keep]


# -- sessions ----------------------------------------------------------------------------------


#: What the end of a word like ``inprocess:3:unfused`` sets.
SETTINGS = {
    "cutoff": {"cutoff": dnb.Config.cutoff},
    "unfused": {"fuse": 0},
    "compiled": {},
    "reach": {"place": "notebook"},
    "auto": {"place": "auto"},
}


def parted(word):
    """Return the session that a word names, and what is to be set in it."""
    kind, _, end = word.rpartition(":")
    return (kind, SETTINGS[end]) if end in SETTINGS else (word, {})


def open_session(kind):
    """Return the session that a word like ``inprocess:3`` names."""
    name, _, more = kind.partition(":")
    if name == "inprocess":
        return dnb.inprocess(int(more))
    if name == "start":
        return dnb.start(int(more), beside=True)
    if name == "connect":
        return dnb.connect(cluster_id=more or None)
    if name == "spmd":
        return dnb.spmd()
    raise ValueError(
        f"DISTNB_TEST_SESSION: got {kind!r}, expected inprocess:N, start:N, connect, spmd"
    )


def another(session):
    """Return a further session on engines of the same kind."""
    if session.transport.kind == "SPMD":
        return dnb.spmd()
    if hasattr(session.transport, "client"):
        return dnb.connect(client=session.transport.client)
    return dnb.inprocess(session.size)


def on_engines(session, expression):
    """Return the value on each engine of an expression in ``worker``, the engine's worker."""
    session.flush()
    transport = session.transport
    if transport.kind == "SPMD":
        return transport._share(eval(expression, {"worker": transport.worker}))
    if hasattr(transport, "client"):
        import ipyparallel

        entry = "__import__('importlib').import_module('distnb.engines.server.entry')"
        call = f"(lambda worker: lambda: {expression})({entry}.worker({transport._session!r}))"
        return transport._view.apply_sync(ipyparallel.Reference(call))
    return [eval(expression, {"worker": w}) for w in transport.workers]


@contextlib.contextmanager
def setting(**values):
    """Change settings of distnb for a while."""
    before = {name: getattr(dnb.config, name) for name in values}
    try:
        for name, value in values.items():
            setattr(dnb.config, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(dnb.config, name, value)


@contextlib.contextmanager
def measured(session):
    """Yield a list that gets the report of the window when it ends."""
    found = []
    window = session.start_window()
    yield found
    found.append(session.end_window(window))


def between_engines(report):
    """Return the bytes that engines sent each other: what operations bring to the notebook is none."""
    return sum(rank.bytes for op in report.ops if op not in report.gathers for rank in op.ranks)


def closed(report, session):
    """Check the laws of a report: all is accounted for, once."""
    for rank, engine in enumerate(report.engines):
        assert sum(engine.spent) == engine.now == round(report.wall * 1e9)
        assert min(engine.spent) >= 0
        assert sum(ns for _, ns in engine.waits) == engine.spent[WAITING]
        assert sum(m for _, m, _ in engine.sent) == engine.messages
        assert rank not in dict(engine.waits)
        spans = [step.spans[rank] for step in report.steps]
        at = 0
        for span in sorted(spans):
            assert at <= span.start <= span.end <= engine.now
            assert sum(span.time[:4]) == span.end - span.start
            assert sum(ns for _, ns in span.waits) == span.time.waiting
            assert sum(m for _, m, _ in span.sent) == span.time.messages
            at = span.end
        if not report.dropped:
            total = np.sum([span.time for span in spans], axis=0).tolist()
            booked = [*engine.spent[:IDLE], engine.messages, engine.bytes]
            if session.transport.kind == "SPMD":  # batches of deletions alone are no steps
                assert total[OVERHEAD] <= booked[OVERHEAD]
                total[OVERHEAD] = booked[OVERHEAD]
            assert total == booked
            assert sum(span.touched for span in spans) == engine.touched
    assert len({len(step.spans) for step in report.steps}) <= 1


def lends(session):
    """Tell whether engines read what they need of others of their node where it is."""
    about = getattr(session.transport, "about", [{}])
    return bool(dnb.config.shared == 1 and about[0].get("shared"))


# -- data --------------------------------------------------------------------------------------

_SPECIAL = {
    "b": [True, False, False, True],
    "i": [0, 1, -1, 2, -2, 3, 7, 100, "max", "min"],
    "u": [0, 1, 2, 3, 5, 7, 100, 8, "max", 4],
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.25, 1e-3, "max", "tiny", "inf", "-inf", "nan"],
    "c": [0, 1, 1j, -1 - 1j, 0.5 + 2j, 3 - 0.25j, "inf", "nan", complex(2, -0.0), -2.5],
}


def special(dtype, n):
    """Return ``n`` values of a dtype, the extreme ones among them."""
    dtype = np.dtype(dtype)
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    limits = np.finfo(dtype) if dtype.kind in "fc" else limits
    found = []
    for value in _SPECIAL[dtype.kind]:
        if isinstance(value, str):
            value = getattr(limits, value) if hasattr(limits, value) else float(value)
        found.append(value)
    with np.errstate(all="ignore"):
        return np.resize(np.array(found, dtype), n)


def numbered(shape, dtype=np.float64, first=1):
    """Return an array whose elements are all different (if the dtype has as many values)."""
    n = int(np.prod(shape))
    flat = np.arange(first, first + n)
    if np.dtype(dtype) == bool:
        return (flat % 3 == 0).reshape(shape)
    if np.dtype(dtype).kind == "c":
        return (flat + 1j * (flat % 7)).astype(dtype).reshape(shape)
    return flat.astype(dtype).reshape(shape)


# -- views -------------------------------------------------------------------------------------


def take(x, view):
    """Return the view of an array, NumPy's or distributed, by indexing it as a user does."""
    key = [slice(None)] * x.ndim
    for axis, index in view.fixed:
        key[axis] = index
    for n, (axis, start, step) in zip(view.shape, view.dims, strict=True):
        if axis >= 0:
            stop = start + step * n
            key[axis] = slice(start, stop if stop >= 0 else None, step) if n else slice(0, 0)
    x = x[(*key, ...)]
    order = [axis for axis, _, _ in view.dims if axis >= 0]
    x = x.transpose([sorted(order).index(axis) for axis in order])
    x = x[(*(slice(None) if axis >= 0 else None for axis, _, _ in view.dims), ...)]
    return x if x.shape == view.shape else np.broadcast_to(x, view.shape)


@st.composite
def operands(draw, shape, size, dtype=None, elements=None, broadcast=True):
    """Draw an operand twice: NumPy's base and view, and the distributed ones."""
    operand = draw(testing.placed(shape, size, broadcast))
    kind = draw(testing.dtypes()) if dtype is None else np.dtype(dtype)
    offset = draw(st.integers(0, 50))
    base = (
        numbered(operand.shape, kind, offset) if elements is None else elements(operand.shape, kind)
    )
    return base, dnb.array(base, dist=operand.layout), operand.view


def pair(draw, *args, **options):
    """Draw an operand; return NumPy's view, the distributed view, and both bases."""
    base, dist, view = draw(operands(*args, **options))
    return take(base, view), take(dist, view), base, dist


# -- comparison --------------------------------------------------------------------------------


def same(actual, expected, rtol=0.0):
    """Raise AssertionError unless a distributed result is NumPy's in type, dtype, shape, values.

    An element in reach of the notebook is NumPy's scalar. Text, times and objects are NumPy's.
    """
    if isinstance(actual, np.ndarray) and actual.dtype.kind not in "biufc":
        return alike(actual, expected)
    if isinstance(actual, np.generic):
        assert isinstance(expected, np.generic) or np.ndim(expected) == 0
        return alike(np.asarray(actual), expected, rtol)
    assert isinstance(actual, dnb.DistArray), type(actual)
    values = actual.to_numpy()
    alike(values, expected, rtol)
    assert actual.dtype == values.dtype
    assert actual.shape == values.shape
    return None


def alike(values, expected, rtol=0.0):
    """Compare two NumPy results; parts of complex numbers one by one."""
    expected = np.asarray(expected)
    assert values.dtype == expected.dtype, (values.dtype, expected.dtype)
    assert values.shape == expected.shape, (values.shape, expected.shape)
    if values.tobytes() == expected.tobytes():
        return
    parts = ("real", "imag") if expected.dtype.kind == "c" else ("real",)
    for part in parts:
        a, b = getattr(values, part), getattr(expected, part)
        if rtol:
            np.testing.assert_allclose(a, b, rtol, 0, equal_nan=True)
        else:
            np.testing.assert_array_equal(a, b)


def public(error):
    """Return the nearest class of an exception that a user can name."""
    places = (builtins, np.exceptions, np.linalg)
    for cls in type(error).__mro__:
        if any(getattr(place, cls.__name__, None) is cls for place in places):
            return cls
    raise AssertionError(error)


@contextlib.contextmanager
def no_warnings():
    """Ignore floating point warnings, NumPy's and those that come from engines."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield


def outcome(function):
    """Return (result, None) or (None, exception) of a call."""
    with no_warnings():
        try:
            return function(), None
        except Exception as error:
            return None, error


def agree(numpys, ours, rtol=0.0):
    """Two calls give the same result, or raise the same type of exception."""
    expected, error = outcome(numpys)
    actual, other = outcome(ours)
    if error is None and other is None:
        with no_warnings():
            check(actual, expected, rtol)
        return
    if error is None:
        raise AssertionError(f"raised {other!r}, expected {expected!r}") from other
    if other is None:
        raise AssertionError(f"returned {actual!r}, expected {error!r}")
    assert isinstance(other, public(error)), f"raised {other!r}, expected {error!r}"


def check(actual, expected, rtol=0.0):
    """Compare a result that may be a tuple, or a plain Python object."""
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple)
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected, strict=True):
            check(a, b, rtol)
    elif isinstance(expected, np.ndarray | np.generic):
        same(actual, expected, rtol)
    else:
        assert actual == expected


class Books:
    """Compares many small results at the cost of a few reads.

    Each result is assigned into a row of an array that holds all results of its dtype and shape,
    and these arrays are read in the end.
    """

    def __init__(self, rows=64):
        self.rows = rows
        self.open = {}

    def add(self, actual, expected, label, rtol=0.0):
        """Note that ``actual`` must be ``expected``; dtype and shape are compared at once.

        A relative error of None asks for the same bits.
        """
        if isinstance(actual, np.generic):  # as NumPy's, where its value is at hand
            assert np.ndim(expected) == 0, (label, type(actual))
            alike(np.asarray(actual), expected, rtol)
            return
        expected = np.asarray(expected)
        assert isinstance(actual, dnb.DistArray), (label, type(actual))
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), (
            f"{label}: got {actual.dtype} {actual.shape}, expected {expected.dtype} {expected.shape}"
        )
        key = expected.dtype, expected.shape
        if key not in self.open:
            dist = ("*", "block") if expected.ndim else "replicated"
            self.open[key] = (
                dnb.zeros((self.rows, *expected.shape), expected.dtype, dist=dist),
                [],
            )
        whole, wanted = self.open[key]
        with no_warnings():  # in reach, all that was asked of engines is waited for
            whole[len(wanted)] = actual
        wanted.append((expected, label, rtol))
        if len(wanted) == self.rows:
            self._read(key)

    def compare(self, label, numpys, ours, rtol=0.0):
        """Note the results of two calls, which may be tuples; exceptions are compared at once."""
        expected, error = outcome(numpys)
        actual, other = outcome(ours)
        if error is not None:
            shown = "no exception" if other is None else repr(other)
            assert isinstance(other, public(error)), f"{label}: {shown} instead of {error!r}"
            return
        if other is not None:
            raise AssertionError(f"{label}: raised {other!r}") from other
        if not isinstance(expected, tuple):
            actual, expected = (actual,), (expected,)
        assert isinstance(actual, tuple), label
        for a, e in zip(actual, expected, strict=True):
            self.add(a, e, label, rtol)

    def _read(self, key):
        whole, wanted = self.open.pop(key)
        with no_warnings():
            found = whole.to_numpy()
        for values, (expected, label, rtol) in zip(found, wanted, strict=False):
            try:
                if rtol is None:
                    assert np.asarray(values).tobytes() == expected.tobytes(), (values, expected)
                else:
                    alike(np.asarray(values), expected, rtol)
            except AssertionError as error:
                raise AssertionError(f"{label}: {error}") from None

    def close(self):
        """Compare what is left."""
        for key in list(self.open):
            self._read(key)


# -- xarray ------------------------------------------------------------------------------------


def entry_points_in(folder):
    """Return a folder for Python's path, with our entry points as where this is installed."""
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((group, rows),) = project["entry-points"].items()
    info = folder / "installed" / "ours-1.dist-info"
    info.mkdir(parents=True)
    lines = [f"{name} = {value}" for name, value in rows.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]), encoding="utf-8")
    (info / "METADATA").write_text("Name: ours\nVersion: 1\n", encoding="utf-8")
    return str(info.parent)


@contextlib.contextmanager
def known_to_xarray(folder, monkeypatch):
    """Yield xarray, which finds our entry point, whatever is installed."""
    xr = pytest.importorskip("xarray")
    monkeypatch.syspath_prepend(entry_points_in(folder))
    known = xr.namedarray.parallelcompat.list_chunkmanagers
    known.cache_clear()
    yield xr
    known.cache_clear()

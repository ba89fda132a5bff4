"""What the tests of failures share: faults planted in engines, a case for each kind of command."""

import contextlib
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np

import distnb as dnb
from distnb.client.linalg import grid_products, panel_commands, scalapack_commands
from distnb.client.transport.mpiexec import engine_environment, find_mpiexec, mpi_family

ROOT = Path(__file__).resolve().parents[2]


# -- engines -----------------------------------------------------------------------------------


def on_rank(session, rank, code):
    """Run code on one engine, with ``worker`` and ``user`` (the namespace of %px); return ``found``."""
    code = textwrap.dedent(code)
    kind = session.transport.kind
    if kind == "SPMD":
        return run_with(session.transport.worker, code) if rank == session.transport.rank else None
    if not hasattr(session.transport, "client"):
        return run_with(session.transport.workers[rank], code)
    import ipyparallel

    here = "__import__('importlib').import_module"
    call = f"""
        lambda code: {here}('tests.failures.support').run_with(
            {here}('distnb.engines.server.entry').worker({session.transport._session!r}), code)
    """
    transport = session.transport
    return transport._one[rank].apply_sync(ipyparallel.Reference(f"({call.strip()})"), code)


def run_with(worker, code):
    """Run code that uses ``worker``; return what it calls ``found``."""
    names = {
        "__name__": __name__,
        "worker": worker,
        "user": worker.executor.user,
        "os": os,
        "time": time,
        "np": np,
    }
    exec(code, names)
    return names.get("found")


def everywhere(session, code):
    """Run code on all engines; return what each found."""
    found = [on_rank(session, rank, code) for rank in range(session.size)]
    if session.transport.kind != "SPMD":
        return found
    dnb.zeros(1, session=session).item()  # after an interrupt a batch starts the new epoch
    return session.transport._share(found[session.transport.rank])


def plant(session, rank, when, do, times=1):
    """Let an engine do something, such as raise, before commands ``c`` for which ``when`` holds."""
    code = f"""
        left = [{times}]
        def fault(c):
            name, op = type(c).__name__, getattr(c, "op", "")
            how = c.how[2 * (c.how[0] == "at")] if name == "Create" else ""
            how = "empty" if how == "room" else how
            if left[0] and ({when}):
                left[0] -= 1
                {do}
        worker.executor.fault = fault
    """
    session.flush()
    on_rank(session, rank, code)


def heal(session):
    """Take all faults out."""
    everywhere(session, "worker.executor.fault = None")


def heal_quietly(session, kinds):
    """Take all faults out, whatever they have done."""
    while True:
        try:
            heal(session)
            session.flush()
            return
        except tuple(kinds):
            pass


@contextlib.contextmanager
def planted(session, rank, when, do, times=1):
    """Plant a fault for a while, on one rank or several."""
    for r in [rank] if isinstance(rank, int) else rank:
        plant(session, r, when, do, times)
    try:
        yield
    finally:
        heal(session)


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


#: Something that takes n hundredths of a second.
SLOWLY = "[time.sleep(0.01) for _ in range({n})]"


def left_over(session):
    """Return how many messages wait for a rank of this process."""
    workers = getattr(session.transport, "workers", None)
    if not workers or session.size == 1:
        return 0
    return sum(len(box.waiting) for box in workers[0].comm._boxes)


def lost_on(session, array):
    """Return, for each rank, whether it takes the content of an array for lost."""
    handle = array.dbase.handle
    return everywhere(session, f"found = worker.store.bases[{handle}].lost")


# -- arrays ------------------------------------------------------------------------------------


def numbers(*shape):
    return (np.arange(np.prod(shape)) * 7 % 23 + 1.0).reshape(shape)


class World:
    """Arrays in several layouts, and the same in NumPy. Nothing depends on ``keep``."""

    layouts = SimpleNamespace(
        a=("block", "*"),
        b=("cyclic", "*"),
        g=("*", "block"),
        c=("block", "*"),
        d=("*", "cyclic"),
        m=("*", "cyclic"),
        i=("block", "*"),
        row="block",
        one="replicated",
        none=("block", "*"),
        square=("*", "block"),
        keep="cyclic",
    )

    def __init__(self, session):
        shape = (10, 7)
        self.session = session
        self.np = SimpleNamespace(
            a=numbers(*shape),
            b=numbers(*shape)[::-1] + 0.5,
            g=numbers(*shape) * 2,
            c=np.zeros(shape),
            d=np.ones(shape),
            m=numbers(*shape) % 2 == 0,
            i=numbers(*shape).astype(np.int64),
            row=numbers(7),
            one=np.array(3.0),
            none=np.zeros((6, 0)),
            square=numbers(7, 7),
            keep=numbers(25),
        )
        self.dist = SimpleNamespace(
            **{
                name: dnb.array(value, dist=getattr(self.layouts, name), session=session)
                for name, value in vars(self.np).items()
            }
        )
        everywhere(session, f"user['chunk'] = np.arange(4.0) + 10 * {RANK}")
        session.flush()

    def check(self, *lost):
        """All arrays hold what NumPy's do, but for those that are lost."""
        self.check_lost(lost)
        for name in sorted(vars(self.dist).keys() - set(lost)):
            value = getattr(self.dist, name).to_numpy()
            np.testing.assert_array_equal(value, getattr(self.np, name), name)

    def check_lost(self, names):
        """Arrays are lost, for the client and on all engines."""
        for name in names:
            value = getattr(self.dist, name)
            assert reading(value) is dnb.LostArrayError, name
            assert lost_on(self.session, value) == [True] * self.session.size, name


RANK = "worker.comm.rank"


def reading(array):
    """Return the type of the exception that reading an array raises, None if it can be read."""
    try:
        array.to_numpy()
    except Exception as error:
        return type(error)
    return None


def arrays_in(found):
    """Return the distributed arrays of a result."""
    return [
        x for x in (found if isinstance(found, tuple) else (found,)) if isinstance(x, dnb.DistArray)
    ]


def same(actual, expected):
    """A result is NumPy's (None: it cannot be known)."""
    if expected is None:
        return
    actual = actual if isinstance(actual, tuple) else (actual,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for a, e in zip(actual, expected, strict=True):
        value = a.to_numpy() if isinstance(a, dnb.DistArray) else np.asarray(a)
        assert value.dtype == np.asarray(e).dtype
        np.testing.assert_allclose(value, e, rtol=1e-12)


def work(session, steps=20, seed=0):
    """Compare a random program with NumPy: what was left over from a failure would show."""
    rng = np.random.default_rng(seed)
    dists = ["block", "cyclic", ("cyclic", 2), "replicated", ("engine", session.size - 1)]
    pairs = []
    for k in range(3):
        value = rng.integers(-9, 9, 17).astype(float)
        pairs.append((value, dnb.array(value, dist=dists[k], session=session)))
    for step in range(steps):
        i, j = rng.integers(len(pairs), size=2)
        (p, x), (q, y) = pairs[i], pairs[j]
        kind = step % 5
        if kind == 0:
            new = p + q, x + y
        elif kind == 1:
            new = p[::-1] - q, x[::-1] - y
        elif kind == 2:
            p[1:] = p[:-1].copy()
            x[1:] = x[:-1]
            continue
        elif kind == 3:
            new = p * q.sum(), x * y.sum()
        else:
            new = p.copy(), x.redistribute(dists[step % len(dists)])
        pairs[rng.integers(len(pairs))] = (new[0] % 1000, new[1] % 1000)
    for p, x in pairs:
        np.testing.assert_array_equal(x.to_numpy(), p)


# -- cases -------------------------------------------------------------------------------------


class Case:
    """A step that records a command of one kind.

    ``run(x, w)`` does it, ``x`` being numpy or distnb and ``w`` the arrays of either. ``when`` says
    which of its commands is to fail, as in :func:`plant`, and ``writes`` which arrays of the world
    are lost then.
    """

    def __init__(self, run, when, writes=(), numpys=None):
        self.run = run
        self.when = when
        self.writes = writes
        self.numpys = run if numpys is None else numpys


def _apply(op):
    return f"name == 'Apply' and op == {op!r}"


def _reduce(op):
    return f"name == 'Reduce' and op == {op!r}"


def _local(op):
    return f"name == 'Local' and op == {op!r}"


def _create(how):
    return f"name == 'Create' and how == {how!r}"


def _set(x, w, target, key, value):
    getattr(w, target)[key] = value(w)


def _inplace(x, w):
    w.c += w.b


def _out_in_part(x, w):
    x.exp(w.a[:4] / 8, out=w.d[3:7])


def _copyto(x, w):
    x.copyto(w.c, w.b, where=w.m)


def _put(x, w):
    w.c[w.i[::2, 0] % 10] = w.b[:5]


def _expanded(x, w):
    mask = w.row > 3
    w.row[mask] = w.row[mask] * 2


def _at(x, w):
    np.add.at(w.row, w.i[:, 1] % 7, w.a[:, 0])


def _taken_along(x, w):
    return x.take_along_axis(w.a, w.i % 10, 0)


def _fetched(x, w):
    view = w.b[::-2, 1:]
    return view.to_numpy() if x is dnb else view.copy()


def _nothing(x, w):
    """What NumPy cannot know."""


def _in_panels(x, w, function):
    """Factor a matrix of which no engine gets all."""
    with setting(alone=0, scalapack=0), mock.patch.object(panel_commands, "WIDTH", 2):
        return function(x, w.square @ w.square.T + 9 * x.eye(7))


def _by_scalapack(x, w, function):
    """Factor a matrix of which no engine gets all; in panels where there is no ScaLAPACK."""
    with setting(alone=0, scalapack=2), mock.patch.object(scalapack_commands, "WIDTH", 2):
        return function(x, w.square @ w.square.T + 9 * x.eye(7))


def _on_a_grid(x, w):
    """Multiply matrices of which both axes are dealt, in several panels."""
    if x is np:
        return w.square @ w.square
    with mock.patch.object(grid_products, "WIDTH", 3):
        a = w.square.redistribute(("block", "block"))
        return a @ a


def _searched(x, w):
    """Look for elements in an array that is too long for every engine."""
    return x.searchsorted(x.arange(9000.0), w.b)


_COLLECTIVE = "name == 'Collective'"


def _collective(op):
    return f"name == 'Collective' and op == {op!r}"


_FIRST, _LAST = np.s_[1:], np.s_[:-1]

CASES = {
    # Create, of every kind
    "empty": Case(lambda x, w: x.empty((5, 4)), _create("empty"), numpys=_nothing),
    "fill": Case(lambda x, w: x.full((5, 4), 2.5), _create("fill")),
    "index": Case(lambda x, w: x.arange(11.0), _create("index")),
    "random": Case(
        lambda x, w: dnb.random.default_rng(1, session=w.a.session).random((9, 9)),
        _create("random"),
        numpys=_nothing,
    ),
    "data": Case(lambda x, w: x.array(numbers(8, 3)), _create("data")),
    "parts": Case(
        lambda x, w: dnb.from_parts([numbers(k) for k in range(w.a.session.size)]),
        _create("data"),
        numpys=_nothing,
    ),
    "local": Case(
        lambda x, w: dnb.from_parts("chunk"),
        _create("local"),
        numpys=_nothing,
    ),
    # Apply
    "aligned": Case(lambda x, w: w.a + w.c, _apply("add")),
    "scalar": Case(lambda x, w: w.a**3, _apply("power")),
    "halo": Case(lambda x, w: w.a[_FIRST] * w.a[_LAST], _apply("multiply")),
    "all to all": Case(lambda x, w: w.a + w.b, _apply("add")),
    "two layouts": Case(lambda x, w: x.hypot(w.g, w.b), _apply("hypot")),
    "broadcast": Case(lambda x, w: w.b - w.row, _apply("subtract")),
    "zero dimensions": Case(lambda x, w: w.g + w.one, _apply("add")),
    "ndarray": Case(lambda x, w: w.a + numbers(10, 7), _apply("add")),
    "two outputs": Case(lambda x, w: x.divmod(w.a, w.b), _apply("divmod")),
    "choose": Case(lambda x, w: x.where(w.m, w.a, w.b), _apply("where")),
    "clip": Case(lambda x, w: x.clip(w.a, 2, 9), _apply("clip")),
    "out": Case(lambda x, w: x.add(w.a, w.b, out=w.c), _apply("add"), ["c"]),
    "out elsewhere": Case(lambda x, w: x.add(w.a, w.b, out=w.d), _apply("add"), ["d"]),
    "masked": Case(lambda x, w: x.add(w.a, w.b, out=w.c, where=w.m), _apply("add"), ["c"]),
    "out in part": Case(_out_in_part, _apply("exp"), ["d"]),
    "in place": Case(_inplace, _apply("add"), ["c"]),
    "copyto": Case(_copyto, _apply("copy"), ["c"]),
    "assign": Case(
        lambda x, w: _set(x, w, "c", np.s_[2:5, ::-1], lambda w: w.b[1:4]), _apply("copy"), ["c"]
    ),
    "assign scalar": Case(
        lambda x, w: _set(x, w, "c", np.s_[::3], lambda w: 5), _apply("copy"), ["c"]
    ),
    "assign mask": Case(lambda x, w: _set(x, w, "c", w.m, lambda w: 5.0), _apply("copy"), ["c"]),
    "assign to itself": Case(
        lambda x, w: _set(x, w, "b", _FIRST, lambda w: w.b[_LAST]), _apply("copy"), ["b"]
    ),
    "reverse": Case(lambda x, w: _set(x, w, "b", ..., lambda w: w.b[::-1]), _apply("copy"), ["b"]),
    "overlapping sum": Case(
        lambda x, w: _set(x, w, "b", np.s_[1:-1], lambda w: w.b[2:] + w.b[:-2]),
        _apply("copy"),
        ["b"],
    ),
    "copy": Case(lambda x, w: w.b[::2].copy(), _apply("copy")),
    "astype": Case(lambda x, w: w.b.astype(np.float32), _apply("copy")),
    "transposed": Case(lambda x, w: w.square.T + w.square, _apply("add")),
    "map": Case(
        lambda x, w: x.map(np.hypot, w.a, w.b),
        _apply("map"),
        numpys=lambda x, w: np.hypot(w.a, w.b),
    ),
    # redistribution
    "to cyclic": Case(
        lambda x, w: w.a.redistribute(("cyclic", "*")), _apply("copy"), numpys=lambda x, w: w.a
    ),
    "to columns": Case(
        lambda x, w: w.a.redistribute(("*", "block")), _apply("copy"), numpys=lambda x, w: w.a
    ),
    "to all": Case(
        lambda x, w: w.b.redistribute("replicated"), _apply("copy"), numpys=lambda x, w: w.b
    ),
    "to one": Case(
        lambda x, w: w.b.redistribute(("engine", 1)), _apply("copy"), numpys=lambda x, w: w.b
    ),
    # Reduce
    **{
        name: Case(lambda x, w, name=name: getattr(w.b, name)(), _reduce(name))
        for name in ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax")
    },
    **{
        f"{name} of rows": Case(lambda x, w, name=name: getattr(w.b, name)(axis=0), _reduce(name))
        for name in ("sum", "max", "any", "argmin", "argmax")
    },
    "sum of columns": Case(lambda x, w: w.b.sum(axis=1), _reduce("sum")),
    "sum of a view": Case(lambda x, w: w.b[::2, ::-1].sum(axis=0, keepdims=True), _reduce("sum")),
    "sum of integers": Case(lambda x, w: w.i.sum(axis=0), _reduce("sum")),
    "sum of nothing": Case(lambda x, w: w.none.sum(axis=0), _reduce("sum")),
    "sum over nothing": Case(lambda x, w: w.none.sum(axis=1), _reduce("sum")),
    "sum into": Case(lambda x, w: x.sum(w.a, axis=0, out=w.row), _apply("copy"), ["row"]),
    "masked sum": Case(lambda x, w: x.sum(w.a, where=w.m), _reduce("sum")),
    "logical": Case(lambda x, w: np.logical_xor.reduce(w.m, axis=0), _reduce("logical_xor.reduce")),
    "mean": Case(lambda x, w: w.b.mean(axis=0), _reduce("sum")),
    "var": Case(lambda x, w: w.b.var(), _reduce("sum")),
    "sum of a product": Case(lambda x, w: (w.b * w.b).sum(axis=0), _apply("multiply")),
    "sum at the end of a group": Case(lambda x, w: (w.b * w.b + w.a).sum(), _reduce("sum")),
    "count": Case(lambda x, w: x.count_nonzero(w.m, axis=0), _reduce("sum")),
    # products
    "matmul": Case(lambda x, w: w.a @ w.square, "name == 'Local'"),
    "vector product": Case(lambda x, w: w.row @ w.row, "name == 'Local'"),
    # shapes
    "reshape": Case(lambda x, w: w.a.reshape(5, 14), _local("adopt")),
    "reshape of a view": Case(lambda x, w: w.a[1:].T.reshape(9, 7), _apply("copy")),
    "repeat": Case(lambda x, w: x.repeat(w.a, [1, 0, 2, 3, 1, 1, 4, 0, 1, 2], 0), _local("repeat")),
    # Collective, and what is counted in parts
    "scan": Case(lambda x, w: x.cumsum(w.a, axis=0), _COLLECTIVE),
    "scan of a view": Case(lambda x, w: x.cumsum(w.b[::-2, 3]), _COLLECTIVE),
    "segments": Case(lambda x, w: np.add.reduceat(w.a, [0, 4, 5]), _COLLECTIVE),
    "segments in turn": Case(lambda x, w: np.subtract.reduceat(w.a, [2]), _COLLECTIVE),
    "convolve": Case(lambda x, w: x.convolve(w.a[:, 2], [1.0, 2, 3]), _local("convolve")),
    "interp": Case(lambda x, w: x.interp(w.a, [1.0, 9], [2.0, 5]), _local("interp")),
    "scan in turn": Case(lambda x, w: np.subtract.accumulate(w.a), _COLLECTIVE),
    "sort": Case(lambda x, w: x.sort(w.row), _COLLECTIVE),
    "sort of a view": Case(lambda x, w: x.sort(w.b[::-2, 3], stable=True), _COLLECTIVE),
    "sort of columns": Case(lambda x, w: x.sort(w.a, axis=0), _COLLECTIVE),
    "sort of few columns": Case(lambda x, w: x.sort(w.a[:, :1], axis=0), _COLLECTIVE),
    "sort in place": Case(lambda x, w: w.row.sort(), _COLLECTIVE, ["row"]),
    "argsort": Case(lambda x, w: x.argsort(w.row, stable=True), _COLLECTIVE),
    "median": Case(lambda x, w: x.median(w.a), _COLLECTIVE),
    "search": Case(
        _searched, _COLLECTIVE, numpys=lambda x, w: x.searchsorted(np.arange(9000.0), w.b)
    ),
    "take": Case(lambda x, w: x.take(w.b, w.i[:, 1] % 10, axis=0), _collective("gather")),
    "take, checking": Case(lambda x, w: w.a[w.i[:, 1] % 10, w.i[:, 0] % 7], _collective("check")),
    "index by arrays": Case(lambda x, w: w.a[[9, 0, 3], w.i[:3, 0] % 7], _collective("gather")),
    "put": Case(_put, _collective("scatter"), ["c"]),
    "at": Case(_at, _collective("scatter"), ["row"]),
    "mask": Case(lambda x, w: w.b[w.m], _collective("gather")),
    "mask in its blocks": Case(lambda x, w: w.row[w.row > 3], _collective("compress")),
    "mask of rows": Case(lambda x, w: w.a[w.a[:, 0] > 9], _collective("compress.rows")),
    "assign to a mask": Case(_expanded, _collective("expand"), ["row"]),
    "put, checking": Case(_put, _collective("check")),
    "mask, counting": Case(lambda x, w: w.b[w.m], _local("count")),
    "nonzero": Case(lambda x, w: x.nonzero(w.i % 3), _collective("nonzero")),
    "take along axis": Case(_taken_along, _collective("along")),
    "bincount": Case(lambda x, w: x.bincount(w.i[:, 2]), _local("bincount")),
    "bincount of weights": Case(lambda x, w: x.bincount(w.i[:, 2], w.a[:, 1]), _local("bincount")),
    "bincount of a view": Case(lambda x, w: x.bincount(w.i[1:, 2]), _local("bincount")),
    # Collective without messages, and what is brought into place for it
    "fft": Case(lambda x, w: x.fft.fft(w.b, axis=1), _collective("fft")),
    "fft of columns": Case(lambda x, w: x.fft.fft2(w.a * 1j), _collective("pencils")),
    "fft of real elements": Case(lambda x, w: x.fft.fft2(w.a), _collective("pencils")),
    "fft, bringing": Case(lambda x, w: x.fft.fft(w.b, axis=0), _apply("copy")),
    "fft of one slice": Case(lambda x, w: x.fft.rfft(w.row), _collective("fft")),
    "random numbers": Case(
        lambda x, w: dnb.random.default_rng(1).poisson(w.a),
        _collective("sample"),
        numpys=lambda x, w: None,
    ),
    "random order": Case(
        lambda x, w: dnb.random.default_rng(1, session=w.a.session).permutation(20),
        _collective("sort"),
        numpys=lambda x, w: None,
    ),
    "factor of a stack": Case(lambda x, w: x.linalg.inv(w.a[:, :2, None] * x.eye(2)), _COLLECTIVE),
    "factor on one engine": Case(lambda x, w: x.linalg.inv(w.square + 9 * x.eye(7)), _COLLECTIVE),
    **{
        f"factor in panels, {name}": Case(
            lambda x, w, f=f: _in_panels(x, w, f),
            f"name == 'Collective' and op == 'panel' and {which}",
        )
        for name, f, which in (
            ("cholesky", lambda x, a: x.linalg.cholesky(a), "True"),
            ("solving", lambda x, a: x.linalg.inv(a), "c.args[0] == 'lu' and c.args[1]"),
            ("substituting", lambda x, a: x.linalg.inv(a), "c.args[0] == 'back'"),
            # exact in norm, which is 1: elements near zero differ between processors
            ("reflecting", lambda x, a: abs(x.linalg.qr(a)[0]) + 1, "c.args[0] == 'q'"),
        )
    },
    **{
        f"factor by ScaLAPACK, {name}": Case(
            lambda x, w, f=f: _by_scalapack(x, w, f),
            f"{_COLLECTIVE} and op in ('scalapack', 'panel')",
        )
        for name, f in (
            ("cholesky", lambda x, a: x.linalg.cholesky(a)),
            ("inverse", lambda x, a: x.linalg.inv(a)),
        )
    },
    "factor in rows": Case(lambda x, w: x.linalg.svdvals(w.a[:, :2]), _COLLECTIVE),
    "factors in rows": Case(lambda x, w: abs(x.linalg.qr(w.a[:, :2])[0]), _COLLECTIVE),
    "contraction": Case(lambda x, w: x.einsum("ij,kj->ik", w.a, w.b), _COLLECTIVE),
    "diagonal": Case(lambda x, w: x.diagonal(w.square), _COLLECTIVE),
    # Fetch
    "read": Case(_fetched, "name == 'Fetch'"),
}

#: Four engines make a grid.
ON_A_GRID = Case(_on_a_grid, _collective("summa"))

#: What is raised on an engine -> what comes out in the notebook.
ERRORS = [
    ("raise ValueError('boom')", ValueError, "boom"),
    ("raise MemoryError('no memory')", MemoryError, "no memory"),
    ("raise FloatingPointError('underflow')", FloatingPointError, "underflow"),
    ("1 / 0", ZeroDivisionError, "division by zero"),
    ("np.linalg.inv(np.zeros((2, 2)))", np.linalg.LinAlgError, "Singular matrix"),
    ("raise type('Mine', (Exception,), {})('my own')", Exception, "my own"),
]


def check_failure(session, case, ranks, do, kind, text, steps=10):
    """Let a case fail on some ranks; check what is said, what is lost, and that all goes on."""
    w = World(session)
    found = None
    try:
        with planted(session, ranks, case.when, do):
            found = case.run(dnb, w.dist)
            after = [x + 1 for x in arrays_in(found)]
            session.flush()
    except kind as error:
        assert kind in (type(error), type(error).__base__)
        assert text in str(error)
        check_notes(session, error, ranks)
    else:
        raise AssertionError("nothing was raised")
    session.flush()  # it is not raised again
    if found is not None:
        for x in [*arrays_in(found), *after]:
            if x is found and x.dbase.look is not None:  # made again, of what it is a look at
                same(x, case.numpys(np, w.np))
                continue
            assert reading(x) is dnb.LostArrayError
            assert lost_on(session, x) == [True] * session.size
    w.check_lost(case.writes)
    for name in case.writes:
        getattr(w.dist, name)[...] = getattr(w.np, name)
    same(case.run(dnb, w.dist), case.numpys(np, w.np))
    w.check()
    work(session, steps, seed=len(text))
    assert left_over(session) == 0


def check_notes(session, error, ranks):
    ranks = [ranks] if isinstance(ranks, int) else sorted(ranks)
    note = "\n".join(error.__notes__)
    plural = "s" if len(ranks) > 1 else ""
    assert f"raised on rank{plural} {', '.join(map(str, ranks))} of {session.size} in " in note
    for rank in ranks:
        assert f"rank {rank}: [" in note
    assert "recorded at support.py line " in note
    assert f"traceback of rank {ranks[0]}:\nTraceback" in note


# -- SPMD --------------------------------------------------------------------------------------


def under_mpiexec(*program):
    """Return the command and the environment of ``mpiexec -n 3`` for a program of Python's."""
    mpiexec = find_mpiexec()
    family = mpi_family(mpiexec)
    outer = {**os.environ, "DISTNB_ALLOW_ROOT": "1"}
    environment = engine_environment(outer, family, 3)
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment["PYTHONPATH"]])
    return [mpiexec, "-n", "3", sys.executable, *program], environment


def spmd_command(part, folder):
    """Return the same for a part of ``spmd.py``."""
    return under_mpiexec("-m", "tests.failures.spmd", part, str(folder))


def spmd(part, folder):
    """Run a part of ``spmd.py`` on three ranks, with gates in a folder; return what it prints."""
    command, environment = spmd_command(part, folder)
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

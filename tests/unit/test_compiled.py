"""Compiled loops give NumPy's results bit for bit, with its warnings; they come when they are ready."""

import fcntl
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import distnb as dnb
from distnb.engines.fusion import compiled_loops, compiler, machine_code
from tests.compiling import at_once
from tests.tiers import some
from tests.waiting import until

pytest.importorskip("numba")

pytestmark = pytest.mark.tier("test")

SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e300, 1e-300, 3.0, 7.25]


@pytest.fixture
def session():
    """Two engines that compile at once whatever they can."""
    with dnb.inprocess(2) as found, at_once(found):
        yield found


@pytest.fixture
def streams(monkeypatch):
    """An engine whose results all go past the caches; the texts of its loops that do so."""
    texts = []
    source = compiled_loops.Segment.source

    def spy(*args):
        found = source(*args)
        if "fence()" in found.text:
            texts.append(found.text)
        return found

    monkeypatch.setattr(compiled_loops.Segment, "source", spy)
    with dnb.inprocess(1) as found, at_once(found, stream=1):
        yield texts


def made(session):
    """Return how many loops have been compiled."""
    return len(session.transport.workers[0].executor.compiler._ready)


def numbers(dtype, seed):
    values = np.resize(np.array(SPECIAL), 8 * 11)
    np.random.default_rng(seed).shuffle(values)
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind == "i":
            values = np.nan_to_num(values, posinf=9, neginf=-9).clip(-1e9, 1e9)
        return values.astype(dtype).reshape(8, 11)


@pytest.mark.cases(1)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "?"])
def test_every_operation_equals_numpys(session, dtype):
    x, y = numbers(dtype, 1), numbers(dtype, 2)
    a, b = dnb.array(x, dist="block"), dnb.array(y, dist="block")
    wanted, found, done = {}, {}, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in sorted(set(compiled_loops.EXPRESSIONS) - {"copy", "where"}):
            f = getattr(np, op)
            kinds = [np.dtype(dtype)] * f.nin
            try:
                wanted[op] = f(*(x, y)[: f.nin])
            except TypeError:
                continue
            found[op] = f(*(a, b)[: f.nin])
            done += compiled_loops.can_compile(op, kinds, [wanted[op].dtype], True)
        found = {op: value.to_numpy() for op, value in found.items()}
    for op, value in wanted.items():
        assert found[op].dtype == value.dtype
        np.testing.assert_array_equal(found[op], value, err_msg=op)
        signs = [np.signbit(v.astype("f8")) for v in (found[op], value)]
        np.testing.assert_array_equal(*signs, err_msg=op)
    assert done >= 3
    assert made(session) > 0


def test_casts_choice_and_scalars(session):
    x, y = numbers("f8", 1), numbers("f4", 2)
    a, b = dnb.array(x), dnb.array(y)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = np.where(x > y, x * 2, y - np.float32(1)) + True * y
        found = np.where(a > b, a * 2, b - np.float32(1)) + True * b
        np.testing.assert_array_equal(found.to_numpy(), wanted)
    assert made(session) > 0


@pytest.mark.parametrize("dtype", ["f4", "i8", "i4"])
def test_python_integers_that_a_dtype_has_not(session, dtype):
    x = np.array([-(2**31), -1, 0, 1, 2**31 - 1] * 8).astype(dtype)
    a = dnb.array(x, dist="block")
    numbers = (5, 2**31, 2**33, 2**32 + 5, -(2**31) - 1, 2**60 + 2**36 + 1, 2**63 - 1, -(2**63))
    comparisons = np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal
    for compare in some(comparisons, 3):  # a loop for each is compiled twice, and takes long
        for c in numbers:
            wanted = compare(x, c), compare(c, x * 1), (x >= 0) & compare(x, c)
            found = compare(a, c), compare(c, a * 1), (a >= 0) & compare(a, c)
            for f, w in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(f.to_numpy(), w, err_msg=f"{compare} {c}")
    if dtype == "f4":
        for c in numbers:
            np.testing.assert_array_equal((a + c).to_numpy(), x + c)
    assert made(session) > 0


def test_stencils_in_place_broadcasts_and_transposes(session):
    x = np.random.default_rng(0).random((30, 30))
    a = dnb.array(x)
    for m in (x, a):
        for _ in range(3):
            m[1:-1, 1:-1] = 0.25 * (m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:])
        m[...] = (m + m.T) * 0.5 - m[3] * m[:, 2:3]
        m[::-2] += m[1::2] * 2
        m *= m
    np.testing.assert_array_equal(a.to_numpy(), x)
    assert made(session) > 0


STRIDED = [
    slice(0, 15, 2),
    slice(1, None, 2),
    slice(None, None, -1),
    slice(None, None, -2),
    slice(2, None, 3),
    slice(None, 0, -3),
    slice(5, 6, 2),
    slice(4, 4, 2),
]


@pytest.mark.cases(2)
@pytest.mark.parametrize("rows", STRIDED)
@pytest.mark.parametrize("columns", STRIDED)
def test_every_stride(session, rows, columns):
    x = np.random.default_rng(0).random((16, 16))
    a = dnb.array(x)
    for m in (x, a):
        for _ in range(3):
            part = m[rows, columns]
            part *= 0.5 + part
            m[rows, columns] = m[rows, columns] + m[rows, columns] * m[rows][:, columns]
            m[rows, ::2] = m[rows, ::2] * 0.5 + m[rows, 1::2]
    np.testing.assert_array_equal(a.to_numpy(), x)


def test_lattices_that_have_no_point_in_common_are_written_in_place(session, monkeypatch):
    texts = set()
    get = compiler.Compiler.get
    monkeypatch.setattr(
        compiler.Compiler, "get", lambda c, s, *n: (texts.add(s.text), get(c, s, *n))[1]
    )
    x = np.random.default_rng(0).random((40, 40))
    a = dnb.array(x)
    for m in (x, a):
        for _ in range(3):
            for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
                point = m[i:-1:2, j:-1:2]
                above, below = m[i - 1 : -2 : 2, j:-1:2], m[i + 1 :: 2, j:-1:2]
                point += 1.5 * (0.5 * (above + below) - point)
    np.testing.assert_array_equal(a.to_numpy(), x)
    assert not any("% m" in text for text in texts)  # no ring of rows
    assert any("i1 * 2)] = " in text for text in texts)


@pytest.mark.cases(1)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
def test_results_that_go_past_the_caches(streams, dtype):
    """Chunks end anywhere; results begin anywhere; single operations are compiled for it, too."""
    for n in (1, 511, 512, 513, 1300):
        x = (np.arange(3 * n) % 97).reshape(3, n).astype(dtype)
        a, y = dnb.array(x), np.zeros((4, n + 5), dtype)
        b = dnb.array(y)
        b[1:, 3:-2] = a
        y[1:, 3:-2] = x
        np.testing.assert_array_equal(b.to_numpy(), y)
        for f in (
            lambda z: z.copy(),
            lambda z: z + 3,
            lambda z: z[:, ::-2] * z[0, 0] + z[:, ::-2],
            lambda z: z[1] - z,
            lambda z: np.where(z > 40, z, -z),
        ):
            np.testing.assert_array_equal(f(a).to_numpy(), f(x), strict=True)
    assert len(set(streams)) >= 5


def test_what_is_read_or_held_does_not_go_past_the_caches(streams):
    x = np.arange(2000.0).reshape(20, 100)
    a = dnb.array(x)
    a += a
    a[1:] = a[:-1] + 1  # a stencil in place
    a[:, ::2] = a[:, 1::2]  # not every element
    dnb.array(x.T.copy())[:] = a.T  # across memory
    assert not streams
    flags = a > 3  # too small to be stored so
    x += x
    x[1:] = x[:-1] + 1
    x[:, ::2] = x[:, 1::2]
    np.testing.assert_array_equal(a.to_numpy(), x)
    np.testing.assert_array_equal(flags.to_numpy(), x > 3)
    assert not streams


def test_warnings_are_numpys(session):
    a = dnb.array(np.linspace(0, 1, 100))
    with pytest.warns(RuntimeWarning, match=r"divide by zero encountered in divide"):
        (1 / a + a).to_numpy()
    with pytest.warns(RuntimeWarning, match=r"invalid value encountered in sqrt"):
        (np.sqrt(a - 0.5) + a).to_numpy()
    assert made(session) > 0


def test_a_failed_step_leaves_compiled_loops_alone(session):
    a = dnb.array(np.arange(100))
    keep = a * 2 + 1
    bad = a ** (a - 50)
    with pytest.raises(ValueError, match="negative integer powers"):
        bad.to_numpy()
    np.testing.assert_array_equal(keep.to_numpy(), np.arange(100) * 2 + 1)


PROGRAM = """
import sys, pathlib
import numpy as np
import distnb as dnb
folder = pathlib.Path(sys.argv[1])
with dnb.inprocess(1) as session:
    compiler = session.transport.workers[0].executor.compiler
    x = np.random.default_rng(0).random((300, 300))
    a = dnb.array(x)
    while not any(compiler._ready.values()):
        b = (a + 1) * a - 0.5
        assert (b.to_numpy() == (x + 1) * x - 0.5).all()
    b = (a + 1) * a - 0.5
    assert (b.to_numpy() == (x + 1) * x - 0.5).all()
    print(compiler._server is not None, "numba" in sys.modules)
"""


def test_compiled_elsewhere_and_kept_on_disk(tmp_path):
    environment = os.environ | {
        "DISTNB_CACHE": str(tmp_path),
        "DISTNB_JIT": "1",
        "DISTNB_CUTOFF": "0",
    }
    served = []
    for _ in range(2):
        command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=250, check=False
        )
        assert done.returncode == 0, done.stderr
        served.append(done.stdout.strip())
    assert served == ["True False", "False False"]  # the second session found it on disk
    assert not list(tmp_path.rglob("*.failed"))


#: Stands for the process that compiles: what it reads the names of is there.
SERVER = """
import pathlib, sys
for line in sys.stdin:
    pathlib.Path(line.strip()).with_suffix(".o").touch()
"""


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """What gives compiled loops, each of which is print, by a process and a folder of its own."""
    monkeypatch.setenv("DISTNB_CACHE", str(tmp_path))
    monkeypatch.setattr(compiler, "_SERVER", SERVER)
    monkeypatch.setattr(compiler, "loaded", lambda name, text, data: print)
    made = compiler.Compiler()
    yield made
    made.close()


def source(name):
    return compiled_loops.Source(name, f"# the text of {name}")


def test_a_loop_that_has_made_much_is_compiled_at_once(quick, monkeypatch):
    monkeypatch.setattr(compiler, "_REST", 1e9)
    assert quick.get(source("k1"), 1 << 21) is None
    assert quick.get(source("k2"), 1 << 25) is None
    assert until(lambda: quick.get(source("k2"), 1 << 21)) is print
    assert quick.get(source("k1"), 1 << 24) is None
    assert not quick._object("k1").with_suffix(".py").exists()
    assert until(lambda: quick.get(source("k1"), 1 << 25)) is print
    assert [quick.counts(1 << n) for n in (19, 20)] == [False, True]
    assert compiler.Compiler(wait=True).counts(1)


def test_a_loop_that_has_made_little_is_compiled_when_no_loop_runs(quick, monkeypatch):
    monkeypatch.setattr(compiler, "_REST", 1e9)
    assert quick.get(source("k1"), 1 << 21) is None
    assert quick.tells_young()
    assert until(lambda: quick._folder is not None)  # it is looked after
    assert not quick._object("k1").with_suffix(".py").exists()
    monkeypatch.setattr(compiler, "_REST", 0.0)
    assert until(lambda: quick.settled(source("k1")))
    assert quick.get(source("k1"), 1 << 21) is print
    assert not quick.tells_young()
    assert not quick._awaited


def test_a_loop_that_is_on_disk_is_there_at_once_where_others_were(quick):
    assert quick.get(source("k1")) is None
    assert until(lambda: quick.get(source("k1"))) is print
    quick._object("k2").touch()
    quick.tells_young()
    assert quick.get(source("k2"), 1 << 20) is print
    assert not quick.tells_young()


def test_a_process_that_had_nothing_to_do_and_ended_begins_anew(quick):
    assert until(lambda: quick.get(source("k1"))) is print
    quick._server.kill()
    quick._server.wait()
    assert until(lambda: quick.get(source("k2"))) is print


def test_a_loop_whose_file_is_broken_is_never_there(tmp_path, monkeypatch):
    """LLVM would end the process that gives it such a file."""
    monkeypatch.setenv("DISTNB_CACHE", str(tmp_path))
    made = compiler.Compiler()
    try:
        made._object("k1").write_bytes(b"no object" * 100)
        assert made.get(source("k1")) is None
        assert until(lambda: made.settled(source("k1")))
        assert made.get(source("k1")) is None
        assert not made._object("k1").exists()  # a later session has it compiled anew
    finally:
        made.close()


def test_one_process_compiles_for_all(tmp_path):
    """While it is at it others wait, and find nothing left to do: they never load Numba."""
    text = 'from numba import njit\n\n\n@njit("void(int64[::1])")\ndef kernel(x):\n    x[0] = {}\n'
    whole = ["no text of a loop", text.format(1), text.format(2)]
    names = [machine_code.name_of(x) for x in whole]
    for name, x in zip(names, whole, strict=True):
        (tmp_path / f"{name}.py").write_text(x)
    (tmp_path / f"{machine_code.name_of('others')}.py").write_text("oth")  # is being written
    command = [sys.executable, "-c", compiler._SERVER, machine_code.__file__]
    lock = open(tmp_path / "lock", "w")  # noqa: SIM115 - one process is at it
    fcntl.flock(lock, fcntl.LOCK_EX)
    both = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        process.stdin.write(f"{tmp_path / names[1]}.py\n")
        process.stdin.flush()
    time.sleep(0.5)
    assert not list(tmp_path.glob("*.o"))
    lock.close()
    for process in both:
        process.communicate(timeout=200)
    found = {x.name for x in tmp_path.glob("*.*") if x.suffix != ".py"}
    assert found == {f"{names[0]}.failed", f"{names[1]}.o", f"{names[2]}.o"}
    made, data = np.zeros(1, np.int64), (tmp_path / f"{names[2]}.o").read_bytes()
    for _ in range(2):  # engines of one process load it each for itself
        machine_code.loaded(names[2], whole[2], data)(made)
        assert made == 2
        made[0] = 0


def test_code_that_needs_more_than_libm_is_not_kept():
    """Such as memory that a loop takes, by Numba's functions: engines have no Numba."""
    text = (
        'import numpy as np\nfrom numba import njit\n\n\n@njit("void(int64, float64[::1])")\n'
        "def kernel(n, x):\n    y = np.empty(n)\n    y[:] = x\n    x[:] = y[::-1]\n"
    )
    with pytest.raises(RuntimeError, match="got calls of .*NRT"):
        machine_code.compiled("k1", text)


def test_engines_tell_of_loops_that_are_yet_to_be_compiled(monkeypatch):
    """By what these take at first nobody is to judge engines; one operation is never compiled."""
    monkeypatch.setattr(dnb.config, "place", "engines")

    def told(session, compute):
        session.connection.young = False
        for _ in range(3):
            compute()
            session.flush()
        return session.connection.young

    for made, young in ((compiler.Compiler(), True), (compiler.Compiler(wait=True), False)):
        with dnb.inprocess(2) as session, at_once(session, made):
            x = dnb.ones(200000, dist="block")
            assert told(session, lambda x=x: x * 2 + 1) == young
            assert not told(session, lambda x=x: x * 2)


def test_no_folder_no_compiled_loops(tmp_path, quick, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DISTNB_CACHE", str(tmp_path / "file"))
    assert quick.get(source("k0")) is None
    assert until(lambda: quick.settled(source("k0")))
    assert quick._ready == {"k0": None}


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_no_room_for_a_thread_no_compiled_loops(quick, monkeypatch, error):
    def fail(*given):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(compiler._thread, "start_new_thread", fail)
        assert quick.get(source("k2")) is None
    assert quick._ready == {"k2": None}
    assert quick.get(source("k3")) is None
    assert until(lambda: quick.get(source("k3"))) is print  # there is room again


def test_a_thread_that_never_began_is_not_waited_for(quick, monkeypatch):
    """So it is where there is no memory for its first frame: nobody is told."""
    with monkeypatch.context() as patch:
        patch.setattr(compiler._thread, "start_new_thread", lambda *given: 0)
        assert quick.get(source("k4")) is None
    assert quick.get(source("k5")) is None
    assert until(lambda: quick.get(source("k4"))) is print
    assert until(lambda: quick.get(source("k5"))) is print


def test_a_thread_that_ends_leaves_the_next_one_alone(monkeypatch):
    """As soon as nothing is awaited another thread may begin, before the first has ended."""
    made = compiler.Compiler()

    def others_begin():
        made._looking = True

    monkeypatch.setattr(made, "_look_after", others_begin)
    made._look()
    assert made._looking


def test_a_thread_that_fails_makes_room_for_the_next_one(monkeypatch):
    made = compiler.Compiler()
    monkeypatch.setattr(made, "_look_after", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made._look()
    assert not made._looking


def test_an_abandoned_compilation_is_taken_up(quick):
    path = quick._object("k1").with_suffix(".py")
    path.write_text("")
    os.utime(path, (0, time.time() - 1000))
    assert quick.get(source("k1")) is None
    assert until(lambda: quick.get(source("k1"))) is print

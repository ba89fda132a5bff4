"""SPMD: programs that are not the same on all ranks end, and say where; no rank waits for ever."""

import os
import re
import signal
import subprocess

import pytest

from tests.failures.support import under_mpiexec

BEGIN = """
import sys
import distnb as dnb
session = dnb.spmd()
rank = session.transport.rank
a = dnb.ones(1000, dist="block")
"""
LATE = pytest.mark.tier("test-all")
#: What ranks do -> what is said of it, by some rank at least.
PROGRAMS = {
    "a branch": (
        "if rank == 0:\n    a += 1\nprint(a.sum().item())",
        r"got add \(1000,\) on rank 0 \(program.py line 9: print.*, create \(\) on rank [12]",
    ),
    "a size": (
        "print(a[rank:].sum().item())",
        r"sum \((1000|999),\) on rank [01] \(program.py line 7: .*, sum \((999|998),\) on rank [12]",
    ),
    "a read by one rank alone": (
        "if rank == 0:\n    print(a)\nprint(a.sum().item())",
        r"got fetch \(1000,\) on rank 0 \(program.py line 8: print.*, create \(\) on rank [12] \(program.py line 9: print",
    ),
    "an end": (
        "if rank == 1:\n    sys.exit()\nprint(a.sum().item())",
        r"the end of the program on rank 1, while rank [02] waits at program.py line 9: print",
    ),
    "one operation for another": (
        "b = a + 1 if rank == 2 else a * 3\nprint(b.sum().item())",
        r"multiply \(1000,\) on rank [01] .*, add \(1000,\) on rank 2",
    ),
    "an error that each rank catches": (
        "try:\n    a.local if rank == 1 else print((a + 1).sum().item())\n    print(a.sum().item())\n"
        "except BaseException as error:\n    print(f'{rank} got {error!r}.', flush=True)\nraise SystemExit(1)",
        r"(?s)(?=.*0 got EngineError)(?=.*1 got EngineError)(?=.*2 got EngineError)",
    ),
    "a read more": (
        "if rank == 0:\n    print((a * 2).sum().item())\nprint(a.sum().item())",
        r"on rank 0 \(program.py line 8: print.*on rank [12] \(program.py line 9: print",
    ),
    "an array of another size": (
        "print(dnb.ones(10 + rank).sum().item())",
        r"create \(1[01],\) on",
    ),
    "a move": (
        "b = a.redistribute('cyclic') if rank == 0 else a * 3\nprint(b.sum().item())",
        r"got copy \(1000,\) on rank 0 .*, multiply \(1000,\) on rank [12]",
    ),
    "an error": (
        "if rank == 1:\n    raise ValueError('this rank alone')\nprint(a.sum().item())",
        r"the end of the program on rank 1, while rank [02] waits",
    ),
    "an argument": (
        "print(dnb.cumsum(dnb.ones((6, 6), dist='block'), axis=rank % 2).to_numpy())",
        r"scan \(6, 6\) given 'add', 0 on rank [02] \(program.py line 7: .*scan \(6, 6\) given 'add', 1 on rank 1",
    ),
    "a number": (
        "a += rank\nprint(a.sum().item())",
        r"add \(1000,\) given [01] on rank [01] .*, add \(1000,\) given [12] on rank [12]",
    ),
    "a layout": (
        "b = dnb.ones(9, dist=['block', 'cyclic', 'cyclic'][rank])\nprint(b.sum().item())",
        r"create \(9,\) with arguments of its own on rank 0 .* with arguments of its own on rank [12]",
    ),
    "a dtype": (
        "b = a.astype('f4' if rank else float)\nprint((b + 1).sum().item())",
        r"create \(1000,\) given float64 on rank 0 .*create \(1000,\) given float32 on rank [12]",
    ),
    "an error that is caught": (
        "try:\n    print((a[rank:] * a[:1000 - rank])[:7 - rank].to_numpy())\n"
        "except dnb.EngineError:\n    print(a.sum().item())",
        r"EngineError: SPMD: got .*on rank [01]",
    ),
}


def run(program, folder):
    """Run a program on three ranks; return what it wrote, and the exit code (None if it hung)."""
    path = folder / "program.py"
    path.write_text(BEGIN + program)
    command, environment = under_mpiexec(str(path))
    process = subprocess.Popen(
        command,
        env=environment | {"DISTNB_CUTOFF": "0"},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=120)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], None


@pytest.mark.ways("openmpi")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=LATE if k > 3 else ()) for k, n in enumerate(PROGRAMS)]
)
def test_ranks_that_differ_are_told_of(name, tmp_path):
    program, said = PROGRAMS[name]
    text, code = run(program, tmp_path)
    assert code, text  # neither a hang nor a good end
    assert re.search(said, text), text
    assert "expected the same commands on all ranks; let no branch" in text


@LATE
@pytest.mark.ways("openmpi")
def test_names_that_differ_are_told_of(tmp_path):
    """What one rank does for all is told of before it is done, and all go on."""
    program = """
import os
session["a"] = a
dnb.checkpoint("run")
session[f"b{rank}"] = a
def fails(function, *names, **arrays):
    try:
        function(*names, **arrays)
    except dnb.EngineError as error:
        print(f"{str(error).partition(',')[0]}.", flush=True)
fails(dnb.save, f"x{rank}.npy", a)
fails(dnb.savez, "x.npz", **{f"a{rank}": a})
fails(dnb.checkpoint, "run")
fails(dnb.restore, f"run{rank or ''}")
dnb.save("y.npy", a)
print(f"all {dnb.restore('run')['a'].sum().item()} {[x for x in os.listdir() if 'x' in x]}")
session.close()
"""
    text, code = run(program, tmp_path)
    assert not code, text
    for told in ("x0.npy' on rank 0", "'a0.npy' on rank 0", "'b0' on rank 0", "'run' on rank 0"):
        assert text.count(f"{told} (program.py line 14: function(*names") == 3, text
    assert text.count("all 1000.0 []") == 3, text


@pytest.mark.ways("openmpi")
def test_who_waits_long_for_the_same_is_left_alone(tmp_path):
    """One rank computes for long, in a batch and on its own, and others wait for it."""
    program = """
import gc, time
def slow(x):
    from mpi4py import MPI
    time.sleep(2.5 if MPI.COMM_WORLD.rank == 1 else 0)
    return x
b = dnb.map_blocks(slow, a, dtype=float)
if rank == 1:
    time.sleep(2.5)
for k in range(20):
    c, d = a + k, a * k
    if rank == k % 3:  # deletions come at other places
        del c, d
        gc.collect()
print(f"all {(a + b).sum().item()}")
session.close()
"""
    text, code = run(program, tmp_path)
    assert not code, text
    assert text.count("all 2000.0") == 3

"""The contract suite under ``mpiexec``: every rank runs it, and is an engine."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from distnb.client.transport.mpiexec import engine_environment, find_mpiexec, mpi_family
from tests.tiers import SCALE, TIER

ROOT = Path(__file__).resolve().parents[2]
SUITE = "tests/contract"
SCALAPACK = f"{SUITE}/test_scalapack.py"  # test_scalapack.py here runs it
LOCAL_ACCESS = Path(__file__).with_name("local_access.py")

#: Seconds for one run of the whole suite; a rank that waits for ever fails it. In all its ways the
#: suite takes four ranks twelve minutes on two cores that do other things as well.
LIMIT = 1800 if TIER == "test-all" else 600


def environment(launcher, ranks):
    """Return what the ranks get: as engines do, and the same examples on all of them."""
    outer = os.environ | {"DISTNB_ALLOW_ROOT": "1"}
    found = engine_environment(outer, mpi_family(launcher), ranks)
    # More ranks than cores take turns: fewer examples there.
    share = min(SCALE, 0.15 if ranks < 3 else 0.1)
    return found | {
        "DISTNB_TEST_EXAMPLES": str(share),
        "DISTNB_TEST_CASES": "2",
        "DISTNB_TEST_SESSION": f"spmd:{ranks}",
        "PYTEST_ADDOPTS": "",
        "COLUMNS": "120",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def run(ranks, folder, *arguments, limit=LIMIT):
    """Run pytest on some ranks; return the exit code (None if it hung) and the ranks' outputs."""
    launcher = find_mpiexec()
    # Each rank writes a file of its own: mpiexec would mix the lines.
    rank = "\n".join(
        (
            "import os, sys",
            "from mpi4py import MPI",
            "out = os.open(f'{sys.argv[1]}/{MPI.COMM_WORLD.rank}.txt', os.O_WRONLY | os.O_CREAT)",
            "os.dup2(out, 1); os.dup2(out, 2)",
            "import pytest",
            "code = pytest.main(sys.argv[2:])",
            "sys.stdout.flush()",
            "if code: MPI.COMM_WORLD.Abort(int(code))",
        )
    )
    command = [launcher, "-n", str(ranks), sys.executable, "-c", rank, str(folder)]
    command += ["-q", "-x", "-p", "no:cacheprovider", "--tb=short", f"--basetemp={folder}/base"]
    process = subprocess.Popen(
        [*command, *arguments],
        env=environment(launcher, ranks),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        rest, _ = process.communicate(timeout=limit)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        rest, _ = process.communicate()
        code = None
    texts = [p.read_text(errors="replace") for p in sorted(folder.glob("[0-9]*.txt"))]
    return code, [*texts, rest]


def report(code, outputs):
    """Return the end of what the ranks wrote, first those in which something failed."""
    wrong = [t for t in outputs[:-1] if "FAILED" in t or "ERROR" in t or " passed" not in t]
    shown = "\n\n".join(f"--- rank output\n{t[-6000:]}" for t in wrong[:2] or outputs[:-1])
    return f"exit code {code if code is not None else 'none: it hung'}\n{shown}\n--- mpiexec\n{outputs[-1][-3000:]}"


#: Three find what two and four hide.
RANKS = [
    pytest.param(1, marks=pytest.mark.tier("test-all")),
    pytest.param(2, marks=pytest.mark.tier("test-all")),
    pytest.param(3, marks=pytest.mark.ways("openmpi")),
    pytest.param(4, marks=pytest.mark.tier("test-all")),
]


@pytest.mark.timeout(LIMIT + 30)
@pytest.mark.parametrize("ranks", RANKS)
def test_contract(ranks, tmp_path):
    code, outputs = run(ranks, tmp_path, SUITE, f"--ignore={SCALAPACK}")
    assert code == 0, report(code, outputs)
    assert len(outputs) == ranks + 1
    assert all(" passed" in text for text in outputs[:-1]), report(code, outputs)


@pytest.mark.ways("openmpi")
def test_a_rank_that_fails_alone_ends_the_run(tmp_path):
    """What the tests above rely on: one failing rank fails all, though others wait for it."""
    test = tmp_path / "test_alone.py"
    test.write_text(
        "import distnb as dnb\n"
        "def test_alone():\n"
        "    with dnb.spmd() as session:\n"
        "        assert session.transport.rank == 0\n"
        "        dnb.ones(9).sum().item()\n"
    )
    code, outputs = run(2, tmp_path, str(test), limit=250)
    assert code != 0
    assert code is not None
    assert "assert 1 == 0" in report(code, outputs)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("ranks", RANKS[2:])
def test_local_access(ranks, tmp_path):
    code, outputs = run(ranks, tmp_path, str(LOCAL_ACCESS), limit=100)
    assert code == 0, report(code, outputs)

"""The notebooks run headless; `%px` reaches the chunks; a plain `ipcluster` works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.contract.support import entry_points_in

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def root(monkeypatch):
    """Open MPI refuses to run as root unless it is asked to; test machines are often like that."""
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")


def run_notebook(name: str, out: Path) -> str:
    command = [sys.executable, str(ROOT / "notebooks" / "run.py"), name, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def execute(tmp_path: Path, *cells: str, fails: int = -1) -> list[str]:
    """Run cells, one of which fails, in a kernel of this interpreter; return what each shows."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    if fails >= 0:
        notebook.cells[fails].metadata["tags"] = ["raises-exception"]
    client = NotebookClient(notebook, timeout=250, resources={"metadata": {"path": str(tmp_path)}})
    client.create_kernel_manager()
    client.km.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    client.km.transport = "ipc"  # of ports that were free somebody else may take one meanwhile
    with tempfile.TemporaryDirectory() as sockets:  # names of sockets have 107 characters at most
        client.km.ip = str(Path(sockets, "kernel"))
        client.execute()
    return ["".join(map(text_of, cell.outputs)) for cell in notebook.cells]


def text_of(output: nbformat.NotebookNode) -> str:
    if output.output_type == "error":
        return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output.traceback))
    return output.get("text", "") or output.get("data", {}).get("text/plain", "")


@pytest.mark.mpich_only  # the tour runs on both
@pytest.mark.parametrize("sweeps", [20, pytest.param(200, marks=pytest.mark.tier("test-all"))])
def test_the_demo_agrees_with_numpy_exactly(tmp_path, sweeps):
    shipped = (ROOT / "notebooks" / "heat.ipynb").read_text(encoding="utf-8")
    assert "n, sweeps = 2048, 200" in shipped
    notebook = tmp_path / "heat.ipynb"
    notebook.write_text(shipped.replace("2048, 200", f"2048, {sweeps}"), encoding="utf-8")
    text = run_notebook(str(notebook.with_suffix("")), tmp_path)
    assert "largest difference to NumPy: 0\n" in text
    assert "ms per sweep" in text
    assert "report.details() has all numbers" in text
    assert "largest difference to NumPy: 0" in notebook.read_text(encoding="utf-8")
    assert {"map.png", "layout.png", "time.png"} <= {p.name for p in tmp_path.iterdir()}


@pytest.mark.tier("test-all")
def test_the_tour_runs(tmp_path):
    text = run_notebook("tour", tmp_path)
    assert "local part of tiles on rank 2 of 3" in text
    assert "ValueError - shapes: got (9, 12) and (5, 5)" in text
    assert "100 elements of b are read one by one" in text


GALLERY = {
    "stocks": "300 months",
    "images": "median       is off by 0.04",
    "climate": "the world warms by 0.13 degrees a decade",
    "regression": "R2 0.",
    "text": "random, fractions",
}


@pytest.mark.mpich_only
@pytest.mark.tier("test-all")
@pytest.mark.parametrize("name", GALLERY)
def test_the_gallery(tmp_path, monkeypatch, name):
    for each in ("xarray", "zarr", "tifffile", "sklearn", "pyarrow"):
        pytest.importorskip(each)
    paths = [entry_points_in(tmp_path), os.environ.get("PYTHONPATH", str(ROOT))]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    assert GALLERY[name] in run_notebook(name, tmp_path)
    assert "image/png" in (tmp_path / f"{name}.ipynb").read_text(encoding="utf-8")


@pytest.mark.tier("test-all")
@pytest.mark.mpich_only  # the tour runs on both
def test_seeing_mends_a_slow_program(tmp_path):
    text = run_notebook("seeing", tmp_path)
    assert "all values agree with NumPy's: True" in text
    assert len(re.findall(r"^(as|one|equal|rows).* True$", text, re.MULTILINE)) == 4
    assert "300 elements of hours are read one by one" in text
    assert "each call moves a result that follows terrain from * x block" in text
    assert "nothing to mend" in text


def test_px_reaches_the_chunks_and_errors_come_in_their_cell(tmp_path):
    shown = execute(
        tmp_path,
        "import distnb as dnb, numpy as np\n%load_ext distnb\n%distnb start -n 3",
        "A = dnb.arange(10.0, dist='cyclic')\nB = A[::-1]",
        "%px A.local += 100 * A.comm.Get_rank()",
        "A.to_numpy().tolist()",
        "%px said = repr((A.global_slices, A.shape, A.layout, B.local))\n"
        "dnb.session().transport.client[:]['said']",  # of what is printed %px waits for a second
        "del B\nA = A + 1",
        "%px A.comm.Barrier(); said = 'B' in globals(), float(A.local[0])\n"
        "dnb.session().transport.client[:]['said']",
        "%%distlocal\nA *= 2\nprint(type(A).__name__, A.shape)",
        "%px said = type(A).__name__, A.local_keys[0].tolist()\n"
        "dnb.session().transport.client[:]['said']",
        "(A / 2).to_numpy().tolist()",
        FAIL,
        "B = A * 2\nfloat(B.sum())",
        "%distnb stop",
        fails=11,
    )
    assert "rank 2" in shown[0]
    assert eval(shown[3]) == [i + 100 * (i % 3) for i in range(10)]
    assert "slice(1, 8, 3)" in shown[4]
    assert "cyclic on 3 engines" in shown[4]
    assert shown[6].count("False") == 3
    assert "102.0" in shown[6]
    assert shown[7].count("ndarray (3,)") == 2
    assert shown[8].count("LocalArray") == 3
    assert "[2, 5, 8]" in shown[8]
    assert eval(shown[9]) == [i + 100 * (i % 3) + 1 for i in range(10)]
    for part in ("FloatingPointError", "on purpose", "line 1: B = A * 2", "rank 1 of 3"):
        assert part in shown[11], shown[11]
    assert "no session" in shown[12]


@pytest.mark.mpich_only
def test_code_that_communicates_beside_looks_at_what_has_moved(tmp_path):
    """Engines get the names once for all: else one would be in a batch while others are in code."""
    shown = execute(
        tmp_path,
        "import distnb as dnb\n%load_ext distnb\n%distnb start -n 2",
        "G = dnb.zeros((6, 4), dist='cyclic')\nA = G.reshape(-1)",
        "%px G.local[...] = G.comm.allreduce(2)",
        "A[0] = 5\nA.sum().item(), G.sum().item()",
        "%px said = G.comm.allreduce(float(G.local.sum()))\n"
        "dnb.session().transport.client[:]['said']",
        "%distnb stop",
    )
    assert eval(shown[3]) == (97.0, 97.0)
    assert "[97.0, 97.0]" in shown[4]


#: Lets the second engine fail in each command from now on.
FAIL = """
name = dnb.session().transport._session
dnb.session().transport.client[1].execute(
    'import distnb.engines.server.entry as e\\ndef fail(command):\\n'
    '    raise FloatingPointError("on purpose")\\n'
    f'e.worker({name!r}).executor.fault = fail', block=True)
"""


@pytest.mark.mpich_only  # the tour runs on both
@pytest.mark.tier("test-all")
def test_packages_finds_what_debian_stands_on(tmp_path):
    text = run_notebook("packages", tmp_path)
    assert "libc6 is needed by 21,8" in text
    assert "3,227 components" in text

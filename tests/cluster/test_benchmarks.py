"""The benchmarks run, and everyone's results are NumPy's; times are not looked at."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.workloads import CASES, HOLDOUT

ROOT = Path(__file__).resolve().parents[2]
NAMES = [n for n in ("NumPy", "distnb", "mpi4py+NumPy", "mpi4py+Numba") if not peers.missing(n)]


@pytest.mark.tier("test-all")
def test_small_benchmarks_agree_with_numpy(tmp_path):
    command = [sys.executable, "-m", "benchmarks.run", "--scale", "small", "--rounds", "1"]
    command += ["--holdout", "--peers", ",".join(NAMES), "--out", str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"DISTNB_ALLOW_ROOT": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    rows = {row["name"]: row["peers"] for row in results["cases"]}
    assert list(rows) == [case.name for case in CASES + HOLDOUT]
    for case, row in rows.items():
        assert list(row) == NAMES
        for name, one in row.items():
            assert one.get("seconds", 0) > 0 or "without" in one, (name, one)
        assert row["NumPy"]["equal"] or case == "F1"  # SciPy's transform there
        assert "seconds" in row["distnb"] or row["distnb"]["without"].endswith("yet")
    assert rows["W1"]["distnb"]["equal"]
    assert all(one["value"] > 0 for one in results["micro"])
    assert (tmp_path / "speed.png").stat().st_size > 0


_SMALL = {
    "graphs": "--scale 8 --graphs 8 --paths 8 --side 128 --rounds 1",
    "files": "--megabytes 16 --side 500 --rounds 1 --rounds-cold 1",
    "long_session": "--batches 100 --samples 10 --out {folder}",
}


@pytest.mark.tier("test-all")
@pytest.mark.parametrize("module", sorted(_SMALL))
def test_other_benchmarks_run(module, tmp_path):
    command = [
        sys.executable,
        "-m",
        f"benchmarks.{module}",
        *_SMALL[module].format(folder=tmp_path).split(),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"DISTNB_ALLOW_ROOT": "1", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) > 8

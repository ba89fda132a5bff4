"""The contract of ScaLAPACK under ``mpiexec``: one row of ranks, and a grid."""

from importlib import metadata

import pytest

from tests.mpi.test_spmd import SCALAPACK, report, run

#: In `make test` the engines of tests/failures are a row.
ROW = [pytest.param(ranks, marks=pytest.mark.tier("test-all")) for ranks in (2, 3)]


@pytest.mark.parametrize("ranks", [*ROW, 4])
def test_contract(ranks, tmp_path):
    try:
        metadata.version("mkl")
    except metadata.PackageNotFoundError:
        pytest.skip("ScaLAPACK is not installed: make test-scalapack installs it")
    code, outputs = run(ranks, tmp_path, SCALAPACK)
    assert code == 0, report(code, outputs)
    assert all(" passed" in text and "skipped" not in text for text in outputs[:-1])

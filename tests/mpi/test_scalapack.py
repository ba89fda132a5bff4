"""The contract of ScaLAPACK under ``mpiexec``: one row of ranks, and a grid."""

from importlib import metadata

import pytest

from tests.mpi.test_spmd import report, run


@pytest.mark.parametrize("ranks", [2, 4])
def test_contract(ranks, tmp_path):
    try:
        metadata.version("mkl")
    except metadata.PackageNotFoundError:
        pytest.skip("ScaLAPACK is not installed: make test-scalapack installs it")
    code, outputs = run(ranks, tmp_path, "tests/contract/test_scalapack.py")
    assert code == 0, report(code, outputs)
    assert all(" passed" in text and "skipped" not in text for text in outputs[:-1])

"""Libraries that take any array of the array API standard take distributed ones.

SciPy decides at its import whether it does, so the checks run in a process of their own.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.contract.support import entry_points_in
from tests.tiers import ROOT

PROGRAM = """
import numpy as np, sklearn
from scipy import stats
from scipy.cluster.vq import whiten
from sklearn.decomposition import PCA
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler
import distnb as dnb

rng = np.random.default_rng(0)
x = rng.random((60, 5))

def same(found, expected):
    if isinstance(expected, np.ndarray):
        assert isinstance(found, dnb.DistArray), type(found)
        found = found.to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

with dnb.inprocess(3), sklearn.config_context(array_api_dispatch=True):
    d = dnb.array(x)
    same(r2_score(d[:, 0], d[:, 1]), r2_score(x[:, 0], x[:, 1]))
    same(mean_squared_error(d[:, 0], d[:, 1]), mean_squared_error(x[:, 0], x[:, 1]))
    for make in (StandardScaler, MinMaxScaler):
        same(make().fit_transform(d), make().fit_transform(x))
    for solver in ("full", "covariance_eigh"):
        ours, theirs = (PCA(2, svd_solver=solver).fit(a) for a in (d, x))
        same(ours.explained_variance_, theirs.explained_variance_)
        same(ours.transform(d), theirs.transform(x))
    for f in (stats.skew, stats.zscore, stats.gmean, whiten):
        same(f(d), f(x))
    same(stats.pearsonr(d[:, 0], d[:, 1]).statistic[()], stats.pearsonr(x[:, 0], x[:, 1]).statistic)
print("all is well")
"""


@pytest.mark.tier("test")
@pytest.mark.skipif(not (find_spec("scipy") and find_spec("sklearn")), reason="not installed")
def test_scikit_learn_and_scipy():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env=os.environ | {"SCIPY_ARRAY_API": "1", "DISTNB_CUTOFF": "0"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "all is well\n"


@pytest.mark.tier("test-all")
def test_xarrays_own_tests_of_other_arrays(tmp_path):
    pytest.importorskip("xarray")
    path = [entry_points_in(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.xarray_suite"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) > 100

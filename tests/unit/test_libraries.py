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
from scipy.spatial.transform import Rotation
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
    for f in (lambda a: Rotation.from_rotvec(a[:, :3]), lambda a: Rotation.from_quat(a[:, :4])):
        same(f(d).apply(d[:, 1:4]), f(x).apply(x[:, 1:4]))
    same(stats.pearsonr(d[:, 0], d[:, 1]).statistic[()], stats.pearsonr(x[:, 0], x[:, 1]).statistic)
print("all is well")
"""


#: Every function that SciPy wraps, and all that is no ufunc: results stay, and are SciPy's own.
SPECIAL = """
import inspect
import numpy as np, scipy.special
import distnb as dnb

p, n = np.linspace(2.1, 2.9, 24).reshape(4, 6), np.full((4, 6), 2)
number = {"multigammaln": (p, 2), "polygamma": (2, p), "sinc": (p,), "zeta": (p, p)}
wrapped = 0

def inputs(f):
    kinds = next((k for k in f.types if "d" in k), f.types[0])
    return [n if k in "lpqi" else p for k in kinds[: f.nin]]

def there(x):
    return dnb.array(x) if isinstance(x, np.ndarray) else x

with dnb.inprocess(2):
    for name in dir(dnb.special):
        ours, scipys = getattr(dnb.special, name), getattr(scipy.special, name)
        if ours is scipys or getattr(ours, "signature", None):
            continue
        args = number.get(name) or inputs(ours)
        with np.errstate(all="ignore"):
            expected = inspect.unwrap(scipys)(*args)
        dnb.config.gather_budget = 10
        found = [f(*map(there, args)) for f in (ours, scipys)]
        dnb.config.gather_budget = 2**20
        for x in found:
            assert isinstance(x, dnb.DistArray), (name, type(x))
            np.testing.assert_array_equal(x.to_numpy(), expected)
        wrapped += 1
assert wrapped > 60, wrapped
assert dnb.special.zeta(2.0, 1.0) == scipy.special.zeta(2.0, 1.0)
assert not hasattr(dnb.special, "nonsense")
print("all is well")
"""


#: The calls of SciPy's and scikit-learn's that docs/libraries.md tells of.
PAGE = """
import importlib, re
import scipy
import sklearn
import distnb as dnb

page = open("docs/libraries.md", encoding="utf-8").read().partition("## By the array API")[2]
rows = re.findall(r"^\\| `(s.*)` \\| (stays|gathers|refuses) \\|$", page, re.MULTILINE)
assert len(rows) > 30 and page.count("\\n| ") == len(rows) + 1
dnb.config.place = "engines"
with dnb.inprocess(2), sklearn.config_context(array_api_dispatch=True):
    names = {"A": dnb.random.default_rng(1).random((300, 100)), "x": dnb.arange(3000) * 0.5}
    names |= {"scipy": scipy, "sklearn": sklearn}
    for call, outcome in rows:
        importlib.import_module(call.partition("(")[0].rpartition(".")[0])
        dnb.config.gather_budget = 1000
        try:
            found = eval(call, names)
        except dnb.GatherError:
            dnb.config.gather_budget = 2**30
            try:
                eval(call, names)
            except ValueError:
                assert outcome == "refuses", call
            else:
                assert outcome == "gathers", call
        else:
            assert outcome == "stays", call
            assert isinstance(found, dnb.DistArray), (call, type(found))
print("all is well")
"""


@pytest.mark.tier("test")
@pytest.mark.skipif(not (find_spec("scipy") and find_spec("sklearn")), reason="not installed")
def test_scikit_learn_and_scipy():
    code = "import sys\nfor program in sys.argv[1:]:\n    exec(program, {})"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, PROGRAM, SPECIAL, PAGE],
        cwd=ROOT,
        env=os.environ | {"SCIPY_ARRAY_API": "1", "DISTNB_CUTOFF": "0"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "all is well\n" * 3


@pytest.mark.skipif(not (find_spec("scipy") and find_spec("sklearn")), reason="not installed")
@pytest.mark.parametrize(
    ("every", "passed"),
    [
        pytest.param(1, 145, marks=pytest.mark.tier("test-all")),
        pytest.param(20, 8, marks=pytest.mark.tier("test")),
    ],
)
def test_what_scikit_learn_lists_as_supporting_the_array_api(every, passed):
    done = subprocess.run(
        [sys.executable, "-m", "tests.scikit_learn", str(every)],
        cwd=ROOT,
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-3000:]
    assert int(done.stdout.split()[0]) >= passed


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


@pytest.mark.parametrize(
    "lines",
    [
        "import distnb; from numpy.polynomial import polynomial",
        "from numpy.polynomial import polynomial; import distnb",
        "import distnb; distnb.polynomial; from numpy.polynomial import polynomial",
    ],
)
def test_whoever_comes_first_numpys_series_know_our_points(lines):
    code = f"{lines}; print(polynomial.polyval.__distnb_made__, polynomial.polyval(2.0, [1, 2]))"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "True 5.0\n"

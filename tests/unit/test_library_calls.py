"""The table of docs/libraries.md: what calls of other libraries do with a distributed array."""

import re
import sys
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import known_to_xarray, setting

pytestmark = pytest.mark.tier("test")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "libraries.md"
ROW = re.compile(r"^\| (\w[\w-]*) \| `(.*)` \| (stays|number|gathers|refuses) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))
_SCIPY = ("fft", "ndimage", "linalg", "integrate", "sparse.linalg", "optimize", "signal")
#: Library -> what its calls need, under the names that they use.
NEEDS = {
    "Python": {name: name for name in ("copy", "math", "pickle", "datetime", "fractions", "time")},
    "NumPy": {},
    "SciPy": {
        "scipy": "scipy",
        **{f"_{m}": f"scipy.{m}" for m in _SCIPY},
    },
    "pandas": {"pd": "pandas"},
    "Arrow": {"pa": "pyarrow"},
    "NetworkX": {"nx": "networkx"},
    "SymPy": {"sympy": "sympy"},
    "sparse": {"sparse": "sparse"},
    "Polars": {"pl": "polars", "pa": "pyarrow"},
    "JAX": {"jnp": "jax.numpy"},
    "PyTorch": {"torch": "torch"},
    "xarray": {"xr": "xarray"},
    "h5py": {"h5py": "h5py"},
    "Zarr": {"zarr": "zarr"},
    "tifffile": {"tifffile": "tifffile"},
    "Pillow": {"Image": "PIL.Image"},
    "Matplotlib": {"plt": "matplotlib.pyplot"},
    "scikit-learn": {"_sk": "sklearn.linear_model"},
}


def test_there_are_as_many_as_are_told():
    assert len(ROWS) >= 40
    first = PAGE.read_text(encoding="utf-8").partition("## By the array API")[0]
    rows = [row for row in first.splitlines() if row.startswith("| ")]
    assert len(rows) == len(ROWS) + 1


@pytest.fixture
def arrays(tmp_path, monkeypatch):
    """A matrix and a vector on engines, in a folder to write to."""
    monkeypatch.chdir(tmp_path)
    before = {*vars(np)}
    monkeypatch.setenv("MPLBACKEND", "Agg")
    known = nullcontext()
    if find_spec("xarray"):
        known = known_to_xarray(tmp_path, monkeypatch)
    with setting(cutoff=0, place="engines"), dnb.inprocess(2), known:
        yield {
            "A": dnb.random.default_rng(1).random((300, 100)),
            "x": dnb.arange(50_000) * 0.5,
            "dnb": dnb,
            "np": np,
        }
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    for name in {*vars(np)} - before:  # Numexpr adds functions
        if not isinstance(getattr(np, name), ModuleType):
            delattr(np, name)


#: Modules of scikit-learn, and what calls take from them.
SCIKITS = {
    "sklearn.linear_model": "GammaRegressor LinearRegression",
    "sklearn.utils.class_weight": "compute_class_weight",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", NEEDS)
def test_calls_do_what_the_page_says(arrays, library):
    names = arrays | {as_: pytest.importorskip(name) for as_, name in NEEDS[library].items()}
    if library == "SciPy":
        import_module("scipy.special")
    if library == "xarray":
        names["T"] = names["xr"].DataArray(names["A"], dims=("t", "x"))
    if library == "scikit-learn":
        for module, word in SCIKITS.items():
            names |= {name: getattr(import_module(module), name) for name in word.split()}
    for of, call, outcome in ROWS:
        if of == library:
            assert (call, _outcome(call, names)) == (call, outcome)


def _outcome(call, names):
    """Return what a call does."""
    found, refused = None, False
    try:
        with setting(gather_budget=1000):
            found = eval(call, names)
    except Exception as error:
        over = dnb.GatherError
        refused = not (isinstance(error, over) or isinstance(error.__context__, over))
        if refused and not isinstance(error, TypeError | ValueError):
            raise
    else:
        kept = getattr(found, "data", found) if hasattr(found, "dims") else found
        return "stays" if isinstance(kept, dnb.DistArray) else "number"
    if not refused:
        eval(call, names)
    return "refuses" if refused else "gathers"


ASSERTIONS = (
    *("assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_array_max_ulp"),
    *("assert_array_almost_equal_nulp", "assert_equal", "assert_almost_equal"),
)


@pytest.mark.parametrize("name", ASSERTIONS)
def test_assertions_of_numpy_take_distributed_arrays(name):
    x = np.arange(12.0).reshape(3, 4)
    numpys, ours = getattr(np.testing, name), getattr(dnb.testing, name)
    with setting(cutoff=0, place="engines"), dnb.inprocess(2):
        a = dnb.array(x)
        pairs = [(a, x), (x, a)] + (
            [] if name in ("assert_equal", "assert_almost_equal") else [(a, a)]
        )
        for one, other in pairs:
            numpys(one, other)
            with pytest.raises(AssertionError):
                numpys(one + 1, other)
        ours(a, a)
        with pytest.raises(AssertionError):
            ours(a + 1, a)

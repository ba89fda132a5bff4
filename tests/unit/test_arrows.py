"""Imports point one way: in the files of the package, and when it is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import arrows

ROOT = Path(__file__).resolve().parents[2]


def tree(folder, **sources):
    """Write a package with all modules of the order; sources name theirs by ``__`` for a dot."""
    package = folder / arrows.PACKAGE
    names = [f"{above}.{name}" for above, below in arrows.ORDER.items() for name in below.split()]
    modules = {name.removeprefix("distnb."): "" for name in names if name not in arrows.ORDER}
    packages = {f"{name.removeprefix('distnb.')}.__init__": "" for name in arrows.ORDER}
    packages = {name.removeprefix("distnb."): text for name, text in packages.items()}
    given = {
        name if name == "__init__" or "." in name else name.replace("__", "."): source
        for name, source in sources.items()
    }
    for name, source in {**modules, **packages, **given}.items():
        path = package / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return package


@pytest.mark.tier("test-all")  # `make check` does it
def test_the_package_has_no_forbidden_arrow():
    assert arrows.violations(ROOT / arrows.PACKAGE) == []


ALLOWED = [
    (
        "geometry__slices",
        "import math\nimport numpy as np\nfrom distnb.common.errors import explain",
    ),
    ("geometry__slices", "from distnb.common import errors"),
    ("geometry__slices", "from ..common import errors"),
    ("wire__encoding", "from .protocol import Batch"),
    ("engines__worker__worker", "from mpi4py import MPI\nfrom distnb.ops import table"),
    ("engines__worker__worker", "from ..runtime import store\nfrom . import local"),
    ("engines__worker__worker", "def f():\n    import numba\n    import scipy.linalg"),
    ("client__record__operations", "import numpy.linalg\nfrom ..session.session import Session"),
    ("client__transport__launch", "def f():\n    from ipyparallel import Cluster"),
    ("client__session__session", "start = 'distnb.engines.worker.worker:main'"),
    ("magics__engines", "from IPython.core.magic import x\nimport distnb.client.session.session"),
    ("widgets__times__timing", "import ipywidgets, matplotlib.pyplot"),
    ("widgets__times__timing", "from distnb.measure.events import Event"),
    ("strategies", "import mpi4py, distnb.client.session.session, distnb.engines.worker.worker"),
    ("__init__", "from .client.array import distarray\nfrom distnb.magics import cells"),
    ("client.math.__init__", "from distnb.client.math import scans"),
]

FORBIDDEN = [
    ("common__errors", "from distnb.geometry import slices", "distnb.geometry.slices"),
    ("common__errors", "from ..geometry.slices import section", "distnb.geometry.slices"),
    ("wire__protocol", "import distnb.wire.encoding", "distnb.wire.encoding"),
    ("wire__protocol", "from . import encoding", "distnb.wire.encoding"),
    ("geometry__slices", "from distnb import anything", "distnb"),
    ("geometry__slices", "import scipy", "scipy"),
    ("geometry__layout", "def f():\n    import matplotlib", "matplotlib"),
    ("geometry__layout", "class C:\n    async def f(self):\n        import mpi4py", "mpi4py"),
    ("geometry__layout", "import importlib\nimportlib.import_module('mpi4py.MPI')", "mpi4py.MPI"),
    ("ops__table", "from ..engines.runtime import store", "distnb.engines.runtime.store"),
    (
        "ops__table",
        "if TYPE_CHECKING:\n    from distnb.client.array.distarray import A",
        "distnb.client.array.distarray",
    ),
    ("engines__worker__worker", "import numba", "numba"),
    ("engines__worker__worker", "try:\n    import scipy\nexcept ImportError:\n    pass", "scipy"),
    ("engines__worker__worker", "from ...client.session import x", "distnb.client.session"),
    ("engines__worker__worker", "import ipyparallel.engine", "ipyparallel.engine"),
    ("engines__worker__worker", "def f():\n    import IPython", "IPython"),
    ("engines__worker__worker", "from distnb import widgets", "distnb.widgets"),
    ("engines__runtime__store", "from distnb.engines.worker import local", "distnb.engines.worker"),
    ("client__handle__array", "import ipyparallel", "ipyparallel"),
    ("client__handle__array", "def f():\n    from ..math import scans", "distnb.client.math.scans"),
    ("client__transport__contract", "from mpi4py import MPI", "mpi4py"),
    ("client__transport__launch", "import distnb.engines.worker.worker", "distnb.engines.worker"),
    ("client__transport__launch", "__import__('distnb.engines')", "distnb.engines"),
    ("client__handle__array", "from distnb import strategies", "distnb.strategies"),
    ("client__math__scans", "from distnb.client import math", "distnb.client.math"),
    ("magics__cells", "import ipyparallel", "ipyparallel"),
    ("magics__cells", "from distnb.engines.worker import worker", "distnb.engines.worker.worker"),
    ("widgets__times__timing", "import IPython", "IPython"),
    ("widgets__times__timing", "from ...magics import cells", "distnb.magics.cells"),
    ("__init__", "from .engines.worker import worker", "distnb.engines.worker.worker"),
    ("__init__", "def f():\n    from . import strategies", "distnb.strategies"),
]


@pytest.mark.cases(6)
@pytest.mark.parametrize(("module", "source"), ALLOWED)
def test_allowed(tmp_path, module, source):
    assert arrows.violations(tree(tmp_path, **{module: source})) == []


@pytest.mark.cases(10)
@pytest.mark.parametrize(("module", "source", "target"), FORBIDDEN)
def test_forbidden(tmp_path, module, source, target):
    (found,) = arrows.violations(tree(tmp_path, **{module: source}))
    assert f" imports {target}" in found


def test_a_module_that_the_order_does_not_list_is_an_error(tmp_path):
    (found,) = arrows.violations(tree(tmp_path, geometry__helpers=""))
    assert "distnb.geometry.helpers has no place in the order" in found


def test_a_module_that_is_listed_and_not_there_is_an_error(tmp_path):
    package = tree(tmp_path)
    (package / "common" / "lazy.py").unlink()
    (found,) = arrows.violations(package)
    assert "there is no distnb.common.lazy" in found


def test_the_script_names_the_line_and_fails(tmp_path, capsys):
    package = tree(tmp_path, common__errors="import math\n\nimport IPython\n")
    assert arrows.main([str(package)]) == 1
    assert (
        f"{package / 'common' / 'errors.py'}:3: distnb.common.errors imports IPython"
        in capsys.readouterr().out
    )
    assert arrows.main([str(tree(tmp_path / "good", common__errors="import math\n"))]) == 0
    assert arrows.main([str(tmp_path / "nowhere")]) == 1


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"IPython", "ipyparallel", "ipywidgets", "matplotlib", "mpi4py", "numba", "zmq"}
    code = "import sys, distnb; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert heavy & set(run.stdout.split()) == set()

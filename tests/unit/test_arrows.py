"""Imports point one way: in the files of the package, and when it is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import arrows

ROOT = Path(__file__).resolve().parents[2]


def tree(folder, **sources):
    """Write a package with every module that the sources name by ``__`` for a dot."""
    package = folder / arrows.PACKAGE
    for name, source in {"__init": "", **sources}.items():
        stem = "__init__" if name == "__init" else name.replace("__", "/")
        path = package / f"{stem}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return package


def test_the_package_has_no_forbidden_arrow():
    assert arrows.violations(ROOT / arrows.PACKAGE) == []


ALLOWED = [
    ("slices", "import math\nimport numpy as np\nfrom distnb.errors import explain"),
    ("slices", "from distnb import errors"),
    ("slices", "from . import errors"),
    ("events", "from .protocol import Batch"),
    ("engines__worker", "from mpi4py import MPI\nfrom distnb import ops\nfrom . import store"),
    ("engines__worker", "def f():\n    import numba\n    import scipy.linalg"),
    ("client__array", "import numpy.linalg\nfrom .session import Session\nfrom ..ops import x"),
    ("client__transport", "import ipyparallel as ipp"),
    ("client__launch", "def f():\n    from ipyparallel import Cluster"),
    ("client__session", "start = 'distnb.engines.worker:main'"),
    ("magics__words", "from IPython.core.magic import magics_class\nimport distnb.client.session"),
    ("widgets__time", "import ipywidgets, matplotlib.pyplot\nfrom distnb.events import Event"),
    ("testing", "import mpi4py, ipyparallel, distnb.client.session, distnb.engines.worker"),
    ("__init", "from .client import array\nfrom distnb.magics import words"),
]

FORBIDDEN = [
    ("errors", "from distnb import slices", "distnb.slices"),
    ("errors", "from . import slices", "distnb.slices"),
    ("errors", "from .slices import section", "distnb.slices"),
    ("protocol", "import distnb.events", "distnb.events"),
    ("slices", "from distnb import anything", "distnb"),
    ("slices", "import scipy", "scipy"),
    ("layout", "def f():\n    import matplotlib", "matplotlib"),
    ("layout", "class C:\n    async def f(self):\n        from mpi4py import MPI", "mpi4py"),
    ("layout", "import importlib\nimportlib.import_module('mpi4py.MPI')", "mpi4py.MPI"),
    ("ops", "from .engines import store", "distnb.engines.store"),
    ("ops", "if TYPE_CHECKING:\n    from distnb.client.array import A", "distnb.client.array"),
    ("engines__worker", "import numba", "numba"),
    ("engines__worker", "try:\n    import scipy\nexcept ImportError:\n    pass", "scipy"),
    ("engines__worker", "from ..client.session import Session", "distnb.client.session"),
    ("engines__worker", "import ipyparallel.engine", "ipyparallel.engine"),
    ("engines__worker", "def f():\n    import IPython", "IPython"),
    ("engines__worker", "from distnb import widgets", "distnb.widgets"),
    ("client__array", "import ipyparallel", "ipyparallel"),
    ("client__transporter", "import ipyparallel", "ipyparallel"),
    ("client__transport", "from mpi4py import MPI", "mpi4py"),
    ("client__launch", "import distnb.engines.worker", "distnb.engines.worker"),
    ("client__launch", "__import__('distnb.engines')", "distnb.engines"),
    ("client__array", "from distnb import testing", "distnb.testing"),
    ("magics__words", "import ipyparallel", "ipyparallel"),
    ("magics__words", "from distnb.engines import worker", "distnb.engines.worker"),
    ("widgets__time", "import IPython", "IPython"),
    ("widgets__time", "from ..magics import words", "distnb.magics.words"),
    ("__init", "from .engines import worker", "distnb.engines.worker"),
    ("__init", "def f():\n    from . import testing", "distnb.testing"),
]

#: Modules that the sources above import.
OTHERS = dict.fromkeys(
    [
        *(name.removeprefix("distnb.") for name in arrows.ROOT),
        *("client__array", "client__session", "engines__store", "engines__worker"),
        *("magics__words", "testing", "widgets__time"),
    ],
    "",
)


@pytest.mark.parametrize(("module", "source"), ALLOWED)
def test_allowed(tmp_path, module, source):
    assert arrows.violations(tree(tmp_path, **{**OTHERS, module: source})) == []


@pytest.mark.parametrize(("module", "source", "target"), FORBIDDEN)
def test_forbidden(tmp_path, module, source, target):
    (found,) = arrows.violations(tree(tmp_path, **{**OTHERS, module: source}))
    assert f" imports {target}" in found.removesuffix(" inside a function")
    assert found.removesuffix(" inside a function").endswith(f" {target}")


def test_a_module_without_a_rule_is_an_error(tmp_path):
    (found,) = arrows.violations(tree(tmp_path, helpers=""))
    assert "distnb.helpers has no rule" in found


def test_the_script_names_the_line_and_fails(tmp_path, capsys):
    package = tree(tmp_path, errors="import math\n\nimport IPython\n")
    assert arrows.main([str(package)]) == 1
    assert f"{package / 'errors.py'}:3: distnb.errors imports IPython" in capsys.readouterr().out
    assert arrows.main([str(tree(tmp_path / "good", errors="import math\n"))]) == 0
    assert arrows.main([str(tmp_path / "nowhere")]) == 1


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"IPython", "ipyparallel", "ipywidgets", "matplotlib", "mpi4py", "numba", "zmq"}
    code = "import sys, distnb; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert heavy & set(run.stdout.split()) == set()

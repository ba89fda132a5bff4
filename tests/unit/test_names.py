"""Every public name of NumPy's array modules is offered, or says why it is not."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import distnb as dnb
from distnb.left_out import LEFT_OUT

RULES = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
#: Modules of NumPy and of distnb, by what follows the root.
MODULES = (
    *("", "random", "linalg", "fft", "testing"),
    *("lib", "lib.scimath", "lib.stride_tricks", "lib.array_utils", "lib.mixins", "lib.format"),
)


def names_of(module: str) -> list[str]:
    """Return the public names of one of NumPy's modules: those that it lists, and its modules."""
    numpys = importlib.import_module(f"numpy.{module}".rstrip("."))
    listed = set(getattr(numpys, "__all__", ()))
    found = listed | {n for n in dir(numpys) if not module and not n.startswith("_")}
    return sorted(n for n in found if not n.startswith("_"))


#: Before any test: Numexpr, which pandas imports, adds to NumPy's names.
NAMES = {module: names_of(module) for module in MODULES}


def left_out(module: str) -> set[str]:
    ours = f"distnb.{module}".rstrip(".")
    return {name for row in LEFT_OUT if row.module == ours for name in row.names.split()}


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_there_or_left_out(module):
    ours = importlib.import_module(f"distnb.{module}".rstrip("."))
    gone = {name for name in NAMES[module] if not hasattr(ours, name)}
    assert gone - left_out(module) == set()
    assert {name for name in left_out(module) if hasattr(ours, name)} == set()
    if not module:  # what there is, editors and `import *` find
        assert {name for name in NAMES[module] if hasattr(ours, name)} <= set(ours.__all__)


@pytest.mark.parametrize("module", ["distnb", "distnb.linalg", "distnb.fft", "distnb.sparse"])
def test_functions_are_pickled_by_name(module):
    """So are those that have another name in their module, where it would hide one of Python's."""
    ours = importlib.import_module(module)
    for name in ours.__all__:
        value = getattr(ours, name)
        if callable(value):
            assert pickle.loads(pickle.dumps(value)) is value, name


@pytest.mark.parametrize("row", LEFT_OUT, ids=lambda row: row.names.split()[0])
def test_what_is_left_out_says_why_and_what_to_do(row):
    module = pkgutil.resolve_name(row.module)
    for name in row.names.split():
        with pytest.raises(AttributeError) as raised:
            getattr(module, name)
        for words in (f"{row.module}.{name}: got", row.why, row.do):
            assert words in str(raised.value)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        module.nonsense  # noqa: B018


def test_the_page_lists_what_is_left_out():
    text = RULES.read_text(encoding="utf-8")
    head = "| module | names | why | what to do |\n|---|---|---|---|\n"
    listed = text.partition(head)[2].partition("\n\n")[0].splitlines()
    told = [
        f"| `{row.module}` | {', '.join(f'`{n}`' for n in row.names.split())} | {row.why} | {row.do} |"
        for row in LEFT_OUT
    ]
    assert listed == told


def test_numpys_own_objects_are_numpys():
    for name in ("intp", "dtype", "errstate", "typecodes", "newaxis", "issubdtype", "s_", "poly1d"):
        assert getattr(dnb, name) is getattr(np, name)
    for name in dnb.numpys.__all__:
        assert getattr(dnb, name) is getattr(np, name)


def test_arguments_of_functions_are_numpys():
    """Those of the functions that have no array-like argument to stand for NumPy's."""
    for name in ("zeros", "ones", "full", "eye", "linspace", "require", "asanyarray", "indices"):
        ours = inspect.signature(getattr(dnb, name)).parameters
        theirs = [p.lower() for p in inspect.signature(getattr(np, name)).parameters]
        given = [p.lower() for p in ours if p not in ("dist", "grid", "session")]
        assert set(theirs) - set(given) == set(), name


def test_importing_distnb_imports_little_else():
    """What few need is imported when they do: a notebook starts as quickly as with NumPy."""
    heavy = "IPython ipyparallel zmq matplotlib scipy cloudpickle logging shutil numpy.polynomial"
    code = f"import sys, distnb; print([m for m in {heavy.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

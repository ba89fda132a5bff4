"""What editors and type checkers are told is what there is."""

from __future__ import annotations

import ast
import importlib
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import distnb as dnb
from tests.unit import typed_use
from tools import make_stub

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=make_stub.MODULES)
def written(request):
    """Return a module and what its stub says: name -> node."""
    text = make_stub.path_of(request.param).read_text(encoding="utf-8")
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname: node for a in node.names if a.asname}
    return importlib.import_module(request.param), found


@pytest.mark.parametrize("module", make_stub.MODULES)
def test_the_stub_is_what_the_tool_writes(module):
    assert make_stub.path_of(module).read_text(encoding="utf-8") == make_stub.stub(module)


def test_the_stub_has_every_public_name_and_no_other(written):
    module, found = written
    own = {n for n in found if not n.startswith("_")}
    hooks = {"load_ipython_extension", "unload_ipython_extension"} if module is dnb else set()
    assert own == set(module.__all__) | hooks


def test_functions_have_the_arguments_that_the_stub_says(written):
    module, found = written
    functions = {n: node for n, node in found.items() if isinstance(node, ast.FunctionDef)}
    assert functions
    for name, node in functions.items():
        check_signature(node.args, getattr(module, name))


def test_methods_of_generators_have_the_arguments_that_the_stub_says():
    tree = ast.parse(make_stub.path_of("distnb.random").read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    expected = {
        "Generator": {"normal", "shuffle", "bit_generator"},
        "RandomState": {"seed", "rand"},
    }
    for name, some in expected.items():
        methods = [node for node in classes.pop(name).body if isinstance(node, ast.FunctionDef)]
        assert {"__init__", *some} <= {m.name for m in methods}
        for node in methods:
            real = getattr(getattr(dnb.random, name), node.name)
            told = [ast.unparse(d) for d in node.decorator_list]
            assert told == (["property"] if isinstance(real, property) else [])
            check_signature(node.args, real.fget if isinstance(real, property) else real)
    assert not classes


def check_signature(told: ast.arguments, function: object) -> None:
    """Compare names, kinds and defaults; a default that a stub cannot tell is ``...``."""
    real = inspect.signature(function).parameters
    names = [a.arg for a in (*told.posonlyargs, *told.args)]
    names += [told.vararg.arg] if told.vararg else []
    names += [a.arg for a in told.kwonlyargs] + ([told.kwarg.arg] if told.kwarg else [])
    assert names == list(real), function
    kinds = [p.kind for p in real.values()]
    assert kinds.count(inspect.Parameter.POSITIONAL_ONLY) == len(told.posonlyargs), function
    assert kinds.count(inspect.Parameter.KEYWORD_ONLY) == len(told.kwonlyargs), function
    defaults = [ast.unparse(d) for d in (*told.defaults, *told.kw_defaults) if d is not None]
    values = [p.default for p in real.values() if p.default is not p.empty]
    assert len(defaults) == len(values), function
    for text, value in zip(defaults, values, strict=True):
        assert text in ("...", repr(value)), function


def test_ufuncs_have_the_arguments_and_methods_that_the_stub_says():
    text = make_stub.path_of("distnb").read_text(encoding="utf-8")
    tree = ast.parse(text)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    told = {
        node.target.id: node.annotation.id
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Name)
    }
    things = {n: getattr(dnb, n) for n in dnb.__all__}
    ufuncs = {n for n, f in things.items() if hasattr(f, "nin") and hasattr(f, "at")}
    assert ufuncs == {n for n, kind in told.items() if kind in classes}
    for name in ufuncs:
        function, kind = getattr(dnb, name), classes[told[name]]
        (call,) = (n for n in kind.body if isinstance(n, ast.FunctionDef))
        call.args.posonlyargs = call.args.posonlyargs[1:]  # self
        check_signature(call.args, function)
        call.args.posonlyargs.insert(0, ast.arg("self"))
        results = 1 if isinstance(call.returns, ast.Name) else len(call.returns.slice.elts)
        assert results == function.nout
        for node in classes["_Ufunc"].body:
            assert isinstance(node, ast.Expr) or hasattr(function, name_of(node))


def name_of(node: ast.AST) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else node.target.id


def test_methods_of_ufuncs_have_the_arguments_of_numpys():
    tree = ast.parse(make_stub.UFUNC)
    for node in tree.body[0].body:
        if isinstance(node, ast.FunctionDef):
            real = inspect.signature(getattr(np.add, node.name)).parameters.values()
            names = [p.name for p in real if p.kind is not p.VAR_KEYWORD]
            given = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
            assert given == ["self", *names], node.name


def is_ours(thing):
    return inspect.isroutine(thing) and str(thing.__module__).startswith("distnb.")


def test_every_method_and_function_shows_its_arguments_and_what_it_does():
    methods = {n: getattr(dnb.DistArray, n) for n in dir(dnb.DistArray) if not n.startswith("_")}
    functions = {n: getattr(dnb, n) for n in dnb.__all__ if is_ours(getattr(dnb, n))}
    for name, thing in (methods | functions).items():
        if inspect.isroutine(thing):
            assert inspect.getdoc(thing), name
            assert inspect.signature(thing), name


@pytest.mark.tier("test")
def test_a_users_code_runs():
    rng = np.random.default_rng(0)
    with dnb.inprocess(2):
        assert typed_use.heat(6)[0].sum() == 600
        assert len(typed_use.made()) == 8
        assert typed_use.named(dnb.ones((2, 2)), np.dtype("f4")).shape == (6, 2)
        assert typed_use.reduced(dnb.ones((3, 4))) > 0
        typed_use.elementwise(dnb.arange(3.0), np.ones(3))
        assert typed_use.chosen(dnb.arange(4)).dtype == int
        assert typed_use.matrices(dnb.array(rng.random((3, 3))))[0].shape == (3, 2)
        assert "cyclic" in typed_use.moved(dnb.ones((4, 4)))


@pytest.mark.tier("test")  # `make check` is a part of `make quick`
def test_pyright_takes_the_stub_and_a_users_code():
    """``mypy`` takes them, too: ``make check``."""
    pyright = shutil.which("pyright", path=Path(sys.executable).parent) or shutil.which("pyright")
    if pyright is None:
        pytest.skip("there is no pyright")
    stubs = [str(make_stub.path_of(m)) for m in make_stub.MODULES]
    files = [*stubs, str(ROOT / "tests" / "unit" / "typed_use.py")]
    command = [pyright, "--pythonpath", sys.executable, *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

"""Compiled modules: found only if they are of the sources that are here, and the same as these."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from distnb.common import native

ROOT = Path(__file__).resolve().parents[2]
NAMES = [f"{k.replace('/', '.')}.{name}" for k, v in native.MODULES.items() for name in v]

#: Prints where small steps come from, and what they do.
PROGRAM = """
import numpy as np, distnb as dnb
from distnb.client.reach import small_steps
a = dnb.arange(12.0).reshape(3, 4)
a[1] += 2 * a[0]
print(small_steps.__file__.rpartition(".")[2], (a[1] * a[2, 3] - np.sqrt(a[2])).sum())
"""


#: Presses Ctrl-C just before a window hears of garbage, and prints whether it comes.
PRESSED = """
import ctypes, gc, signal, sys, distnb as dnb
signal.signal(signal.SIGINT, signal.default_int_handler)  # a child of pytest may ignore it
dnb.inprocess(1)
press = ctypes.pythonapi.PyErr_SetInterrupt
press.argtypes = [ctypes.py_object] * 2  # and it looks at neither
with dnb.profile():
    sys.setswitchinterval(60)  # no other thread leaves garbage between the two collections:
    gc.collect()  # what has a finalizer of Python's would look at signals, too
    gc.callbacks.insert(0, press)
    try:
        gc.collect(0)
        print("lost")
    except KeyboardInterrupt:
        print("raised")
    gc.callbacks.remove(press)
"""


def run(program=PROGRAM, **settings):
    """Return what the program prints in a process of its own."""
    environment = os.environ | {"DISTNB_ENGINES": "1", "DISTNB_ALLOW_ROOT": "1"} | settings
    command = [sys.executable, "-c", program.replace("a = dnb", "dnb.inprocess(1)\na = dnb", 1)]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_it_is_interpreted_if_that_is_asked_for():
    kind, value = run(DISTNB_NATIVE="0")
    assert kind == "py"
    assert float(value) == pytest.approx(374 - sum(x**0.5 for x in (8, 9, 10, 11)))


@pytest.mark.tier("test")
def test_the_suite_runs_on_what_was_compiled():
    """If this machine can: ``make native`` says why it cannot."""
    if not native.folders(native.FOLDER / native.digest()):
        pytest.skip("nothing was compiled here")
    assert run()[0] == "so"
    assert run()[1] == run(DISTNB_NATIVE="0")[1]


@pytest.mark.tier("test")
def test_an_interrupt_as_a_window_hears_of_garbage_is_raised():
    if not native.folders(native.FOLDER / native.digest()):
        pytest.skip("nothing was compiled here")
    assert run(PRESSED) == ["raised"]


@pytest.mark.tier("test")
def test_the_way_of_an_operation_is_the_one_that_is_told():
    """Compiled functions do not tell of their calls: its tests run on what is interpreted."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/unit/test_way.py",
    ]
    done = subprocess.run(
        command,
        env=os.environ | {"DISTNB_NATIVE": "0", "DISTNB_TEST_TIER": "test"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+ passed", done.stdout, re.MULTILINE), done.stdout
    assert "skipped" not in done.stdout


def test_what_is_of_other_sources_is_not_found(tmp_path, monkeypatch):
    monkeypatch.delenv("DISTNB_NATIVE", raising=False)
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    assert native._compiled() == {}
    made = tmp_path / native.digest()
    for folder, names in native.MODULES.items():
        (made / folder).mkdir(parents=True)
        for name in names:
            (made / folder / f"{name}{native.EXTENSION_SUFFIXES[0]}").touch()
    folders = (*native.MODULES, *native.EXTRA)
    assert native._compiled() == {k: [str(made / k)] for k in folders}
    monkeypatch.setattr(native, "digest", lambda: "another")
    assert native._compiled() == {}
    monkeypatch.undo()
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    next(made.rglob("fields*")).unlink()
    assert native._compiled() == {}  # for they go together


def test_the_digest_is_that_of_sources_and_types(tmp_path, monkeypatch):
    found = {path.name for path in native.sources()}
    assert {"fields.py", "fields.pxd", "small_steps.py", "ndarrays.pxd"} <= found
    before = native.digest()
    copies = [tmp_path / path.name for path in native.sources()]
    for path, copy in zip(native.sources(), copies, strict=True):
        copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(native, "sources", lambda: copies)
    assert native.digest() == before
    copies[-1].write_bytes(copies[-1].read_bytes() + b"\n")
    assert native.digest() != before


@pytest.mark.parametrize("name", NAMES)
def test_types_are_told_of_what_there_is(name):
    """Each function that a ``.pxd`` tells of is one of the module's, with as many arguments."""
    path = ROOT / "distnb" / (name.replace(".", "/") + ".pxd")
    if not path.exists():
        return
    source = path.with_suffix(".py").read_text(encoding="utf-8")
    told = [line for line in path.read_text().splitlines() if line.startswith(("cdef ", "cpdef "))]
    for line in told:
        word = line.partition("(")[0].split()[-1].rstrip(":")
        there = (f"def {word}(", f"class {word}", f"\n{word} = ")
        assert any(text in source for text in there), line


def test_methods_that_are_compiled_tell_what_they_are():
    import distnb as dnb

    for name in ("__getitem__", "__setitem__", "__add__", "__iadd__", "sum", "reshape"):
        method = getattr(dnb.DistArray, name)
        assert inspect.signature(method).parameters
        assert method.__module__.startswith("distnb.")
    assert str(inspect.signature(dnb.sqrt)).startswith("(x, /, out=None")
    assert dnb.sqrt.__module__.startswith("distnb.")
    assert dnb.sqrt.reduce.__qualname__ == "sqrt.reduce"
    assert inspect.isfunction(dnb.DistArray.sum)  # users' own are what Python makes
    assert inspect.isfunction(dnb.sum)

"""A plugin of pytest: reads NumPy's test files through the doors, and writes down what happens.

Settings are in the environment: ``SUITE_LIBRARY`` (``distnb`` or ``numpy``), ``SUITE_OUT`` (a file
of JSON lines), ``SUITE_ONLY`` (a JSON list of ids) and ``SUITE_MOST`` (cases of one test).
"""

from __future__ import annotations

import ast
import functools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import numpy
import pytest

from tools.numpy_suite.doors import Doors
from tools.numpy_suite.scope import edited, out_of_scope
from tools.numpy_suite.verdicts import source_of

HERE = Path(numpy.__file__).parent
OUT = Path(os.environ["SUITE_OUT"])
ON_DISTNB = os.environ["SUITE_LIBRARY"] == "distnb"
#: Exit code of a run that has to go on in another process: its session may be broken.
BROKEN = 77

hypothesis.settings.register_profile(
    "suite",
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=20,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("suite")


class _Run:
    """What tests run on: the doors, the session, and how many arrays were made."""

    def __init__(self) -> None:
        self.made = 0
        self.session: Any = None
        self.doors = Doors(self._library(), self.wait)

    def _library(self) -> ModuleType | None:
        if not ON_DISTNB:
            return None
        import distnb
        from distnb.client.session.bases import Base

        self.session = distnb.inprocess(3)
        self._count(Base)
        return distnb

    def _count(self, base: Any) -> None:
        """Count the bases that are made, in whatever way."""
        first, reached = base.__init__, base.reached.__func__

        def init(made: Any, *args: Any, **options: Any) -> None:
            self.made += 1
            first(made, *args, **options)

        def of_notebook(kind: Any, *args: Any, **options: Any) -> Any:
            self.made += 1
            return reached(kind, *args, **options)

        base.__init__, base.reached = init, classmethod(of_notebook)

    def wait(self) -> None:
        """Wait for engines; raise what they raised."""
        if self.session is not None and not self.session.closed:
            self.session.flush()

    @property
    def broken(self) -> bool:
        """Whether no other test can run in this process."""
        return self.session is not None and (self.session.closed or self.session.connection.dead)


RUN = _Run()


def write(line: dict[str, Any]) -> None:
    """Write down what happened to a test."""
    with OUT.open("a") as file:
        file.write(json.dumps(line, default=str) + "\n")


# -- reading the files ---------------------------------------------------------------------------


class _Module(pytest.Module):
    """A test file of NumPy's, whose imports go through the doors."""

    def _getobj(self) -> ModuleType:
        inner = self.path.relative_to(HERE).with_suffix("").parts
        name = ".".join(["numpy", *inner])
        module = ModuleType(name)
        module.__dict__.update(
            __file__=str(self.path),
            __package__=name.rpartition(".")[0],
            __builtins__=RUN.doors.builtins,
        )
        sys.modules[name] = module  # where pickle looks
        source = edited("/".join(inner), self.path.read_text())
        exec(compile(ast.parse(source), str(self.path), "exec"), module.__dict__)
        RUN.doors.leave(module)
        return module


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> _Module:
    """Read a file in our way."""
    return _Module.from_parent(parent, path=module_path)


def pytest_configure(config: pytest.Config) -> None:
    """Know NumPy's marks."""
    names = "valgrind_error leaks_references slow slow_pypy parallel_threads iterations"
    for name in (*names.split(), "parallel_threads_limit", "thread_unsafe"):
        config.addinivalue_line("markers", f"{name}: NumPy's")


def id_of(item: pytest.Item) -> str:
    """Return the name of a test, the same on all machines."""
    return f"{item.path.relative_to(HERE)}::{item.nodeid.partition('::')[2]}"


def pytest_collection_finish(session: pytest.Session) -> None:
    """All files are read."""
    RUN.doors.reading = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep some cases of each test, evenly chosen, and what is asked for; drop what was done."""
    most = int(os.environ["SUITE_MOST"])
    only = os.environ.get("SUITE_ONLY")
    wanted = None if only is None else set(json.loads(Path(only).read_text()))
    done = {json.loads(line)["id"] for line in OUT.open()} if OUT.exists() else set()
    count = Counter(id_of(item).partition("[")[0] for item in items)
    seen: Counter[str] = Counter()
    kept = []
    for item in items:
        base, name = id_of(item).partition("[")[0], id_of(item)
        seen[base] += 1
        chosen = (seen[base] - 1) % -(-count[base] // most) == 0
        if wanted is None:
            chosen = chosen and item.get_closest_marker("slow") is None
        else:
            chosen = name in wanted
        if not chosen or name in done:
            continue
        if ON_DISTNB and out_of_scope(name, source_of(base)):  # it would tell nothing
            write({"id": name, "outcome": "skipped", "made": 0, "seconds": 0})
        else:
            kept.append(item)
    items[:] = kept


# -- running ---------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin with nothing under way."""
    OUT.with_suffix(".now").write_text(id_of(item))
    RUN.made = 0
    with_nothing_left()


def with_nothing_left() -> None:
    """Let what earlier tests left behind come out here."""
    try:
        RUN.wait()
    except Exception:  # it was theirs
        RUN.made = 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Wait for the engines at the end of a test: what they raise is part of it."""
    yield
    RUN.wait()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Write down how a test ended."""
    report: Any = yield
    if report.when == "call" or report.outcome != "passed":
        line = {"id": id_of(item), "outcome": report.outcome, "made": RUN.made}
        line["seconds"] = round(report.duration, 3)
        if call.excinfo is not None and report.outcome == "failed":
            line |= _failure(call.excinfo)
        write(line)
        if report.outcome == "failed" and ("Timeout (>" in line["text"] or RUN.broken):
            sys.stdout.flush()
            os._exit(BROKEN)
    return report


def _failure(info: Any) -> dict[str, Any]:
    """Return what is told of an exception: its type and text, and the lines where it was."""
    text, place = str(info.value), {}
    for entry in info.traceback:
        path = str(entry.path)
        if "/tests/test_" in path:
            place["test"] = f"{entry.lineno + 1}: {_line(path, entry.lineno)}"
        elif "/distnb/" in path:
            place["ours"] = f"{path.rpartition('/distnb/')[2]}:{entry.lineno + 1} {entry.name}"
    return {"type": type(info.value).__name__, "text": text[:400], **place}


def _line(path: str, number: int) -> str:
    lines = _lines(path)
    return lines[number].strip() if number < len(lines) else ""


@functools.cache
def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()

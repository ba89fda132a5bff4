"""The page of conformance, and its JSON: what of NumPy's names and tests holds."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import array_api_strict
import numpy

from distnb.left_out import LEFT_OUT
from tools.numpy_suite.doors import PUBLIC
from tools.numpy_suite.scope import MESSAGES, NAMES, PLACES, SOURCES
from tools.numpy_suite.verdicts import KINDS, counts, verdict

__all__ = ["as_json", "as_page"]

_KINDS = {kind.name: kind.what for kind in KINDS if kind.what}

_HEAD = """# Conformance

What of NumPy holds for distributed arrays, counted. This page is made by `make numpy-suite`.

## NumPy's own tests

NumPy's wheel carries its tests. Those about arrays of numbers run here on distnb: NumPy
{numpy}, three engines, {place}. No public name of NumPy's stands in for one of distnb's. A test
applies if NumPy passes it in the same way, if it makes a distributed array, and if it is about
what arrays of engines can be: the table below tells what is out of scope, and why. Of a test with
many cases {most} run, evenly chosen; each has {seconds} seconds.
"""

#: What peers publish of themselves: names of NumPy's that Heat has, by module.
_HEAT = {"numpy": "218 of 460", "numpy.linalg": "14 of 33", "numpy.fft": "18 of 19"}
_HEAT["numpy.random"] = "13 of 63"
#: Tests of the array API's public suite that libraries leave out, as their lists had it in 2026.
_LEFT_OUT_BY = [
    ["NumPy, by array-api-compat", 33, ""],
    ["PyTorch, by array-api-compat", 116, ""],
    ["CuPy, by array-api-compat", 178, ""],
    ["Dask, by array-api-compat", 112, "few examples of each"],
    ["JAX", 94, "nearly all of special values, and of mutation"],
    ["Cubed", 92, "without linalg, and shapes that depend on data"],
    ["Heat", 361, "without linalg; run by hand"],
    ["cuPyNumeric", 64, "of which 13 are whole modules"],
]

_WHERE = {
    "engines": "all arrays on the engines, which compute (cutoff 0)",
    "default": "arrays where they are by default",
}


def as_json(lines: dict[str, list[dict[str, Any]]], options: dict[str, Any]) -> str:
    """Return the counts by file, why what is out of scope, and all that fails, as JSON."""
    files = {file: dict(counts(found)) for file, found in lines.items()}
    told = [(line["id"], *verdict(line)) for found in lines.values() for line in found]
    failing: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for test, kind, _ in told:
        if kind in failing:
            failing[kind].append(test)
    report = {
        "numpy": numpy.__version__,
        "options": options,
        "total": dict(sum((Counter(c) for c in files.values()), Counter())),
        "files": files,
        "out of scope": dict(Counter(why for _, kind, why in told if kind == "out")),
        "failing": failing,
        "names": names(),
        "array API": array_api(),
    }
    return json.dumps(report, indent=1) + "\n"


def as_page(report: dict[str, Any]) -> str:
    """Return the page of a report, in Markdown."""
    options = report["options"]
    head = _HEAD.format(numpy=report["numpy"], place=_WHERE[options["place"]], **_numbers(options))
    rows = [_row(file.replace("tests/test_", ""), c) for file, c in report["files"].items()]
    out = report["out of scope"]
    parts = [
        head,
        _table(["file", "applies", "passed", "%", *_KINDS, "out of scope", "no array"], rows),
        f"In all: {_row('', report['total'])[2]} of {report['total']['applies']} that apply pass,"
        f" {_share(report['total'])} %.\n",
        "What a failure is:\n",
        "\n".join(f"- *{kind}*: {what}" for kind, what in _KINDS.items()) + "\n",
        "### Out of scope\n",
        _table(
            ["tests", "they are about", "known by"],
            [[out.get(row.why, 0), row.why, by] for by, row in _scope()],
        ),
        "### What fails\n",
        *_failing(report["failing"]),
        "## Names\n",
        "Of NumPy's public names; those left out say why when they are touched.\n",
        "Beside them what Heat publishes of itself, of NumPy's names then.\n",
        _table(
            ["module", "names", "offered", "left out", "Heat offers"],
            [[*row, _HEAT.get(row[0], "")] for row in report["names"]],
        ),
        "## The array API standard\n",
        "Functions of the standard that are there: {found} of {all}.\n".format(
            **report["array API"]
        ),
        "Of its public suite (data-apis/array-api-tests, which no registry of packages has, so that"
        "\nit does not run here) other libraries leave out, by their own lists:\n",
        _table(["library", "tests left out", "and"], _LEFT_OUT_BY),
    ]
    return "\n".join(parts)


def names() -> list[list[Any]]:
    """Return for each module of NumPy's how many of its names are offered, and left out."""
    found = []
    for module in PUBLIC:
        ours = module.replace("numpy", "distnb", 1)
        there, mine = importlib.import_module(module), importlib.import_module(ours)
        out = {name for row in LEFT_OUT if row.module == ours for name in row.names.split()}
        public = {n for n in getattr(there, "__all__", dir(there)) if not n.startswith("_")}
        offered = sum(n not in out and hasattr(mine, n) for n in public)
        found.append([module, len(public), offered, len(public & out)])
    return found


def array_api() -> dict[str, int]:
    """Return how many functions of the standard there are."""
    ours = importlib.import_module("distnb")
    words = ("strict", "Strict", "Device")
    public = [n for n in array_api_strict.__all__ if not n.startswith("_")]
    wanted = [n for n in public if not any(word in n for word in words)]
    return {"found": sum(hasattr(ours, n) for n in wanted), "all": len(wanted)}


def _numbers(options: dict[str, Any]) -> dict[str, int]:
    return {name: options[name] for name in ("most", "seconds")}


def _scope() -> list[tuple[str, Any]]:
    tables = {"refusal": MESSAGES, "name": NAMES, "source": SOURCES, "line": PLACES}
    return [(by, row) for by, rows in tables.items() for row in rows]


def _share(c: dict[str, int]) -> str:
    return f"{100 * c.get('passed', 0) / max(1, c.get('applies', 0)):.1f}"


def _row(file: str, c: dict[str, int]) -> list[Any]:
    kinds = [c.get(kind, 0) for kind in _KINDS]
    rest = [c.get("out", 0), c.get("idle", 0)]
    return [file, c.get("applies", 0), c.get("passed", 0), _share(c), *kinds, *rest]


def _failing(found: dict[str, list[str]]) -> list[str]:
    """Return lists of tests, without their cases."""
    parts = []
    for kind, tests in found.items():
        grouped = Counter(test.partition("[")[0] for test in tests)
        if grouped:
            parts.append(f"{kind}:\n")
            parts.append("\n".join(f"- `{test}` ({n})" for test, n in grouped.items()) + "\n")
    return parts


def _table(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(x) for x in row)} |" for row in lines) + "\n"


def write(build: Path, page: Path, lines: dict[str, Any], options: dict[str, Any]) -> None:
    """Write both."""
    text = as_json(lines, options)
    (build / "results.json").write_text(text)
    page.write_text(as_page(json.loads(text)))

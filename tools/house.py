"""Measure the order of the house, and fail where it gets worse.

``python -m tools.house [package folder]`` reads every file with ``ast`` and prints its packages and
figures: imports against the grain, circles, islands, reads of the registry of functions, lengths of
functions and modules, the share of ``Any``. A figure may be as large as the committed one in
``tools/house.json``, and no larger; ``--write`` commits those of now. What is wrong is listed.
"""

from __future__ import annotations

import ast
import io
import json
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools import arrows

ROOT = Path(__file__).resolve().parent.parent
COMMITTED = ROOT / "tools" / "house.json"

#: How many modules a package may have, packages of packages apart.
FEWEST, MOST = 5, 14
FUNCTION_LONG, MODULE_LONG = 50, 500
#: What has a docstring that does not make a module long.
DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: A module with fewer lines that one other imports could be a part of that one.
ISLAND = 60
#: Why such a module is one of its own nevertheless.
ISLANDS: dict[str, str] = {
    "distnb.client.handle.living": "what the garbage collector knows, for sessions and resizing",
    "distnb.client.reports.memory_bandwidth": "a measurement of its own, beside what is reported",
    "distnb.engines.parts.tickets": "what the system does at once, apart from what is drawn for",
    "distnb.engines.runtime.user_functions": "the end of what client.batching.user_functions sends",
    "distnb.engines.worker.survey": "the answer to %distmem, and no part of running batches",
    "distnb.magics.expressions": "parsing alone, tested without a shell",
    "distnb.measure.garbage": "compiled, apart from a clock that tests set",
}
#: The registry of what stands for NumPy's functions, and who may read it: NumPy's protocols.
REGISTRY = "FUNCTIONS"
OWNER = "distnb.client.record.namespace"
READERS = {OWNER, "distnb.client.array.distarray"}

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


class Module(NamedTuple):
    """One file of the package."""

    name: str
    path: Path
    source: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__`` of a package."""
        return self.path.name == "__init__.py"

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.source.count("\n")

    def at(self, node: ast.AST, what: str) -> str:
        """Return a line that says what is wrong where."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {what}"


class Figure(NamedTuple):
    """A number that may only fall, and where it comes from."""

    name: str
    value: float
    unit: str = ""
    places: tuple[str, ...] = ()


def read(folder: Path) -> list[Module]:
    """Return all modules of the package in ``folder``."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source, str(path))
        name = arrows.module_name(path, folder)
        found.append(Module(name, path, source, tree, tuple(ast.walk(tree))))
    return found


def figures(folder: Path, modules: list[Module]) -> list[Figure]:
    """Measure the package in ``folder``."""
    graph = imported(modules)
    sizes = sorted(size for m in modules for size in functions(m))
    long_functions = [f"{where}: {n} lines" for n, where in sizes if n > FUNCTION_LONG]
    return [
        counted("imports against the grain", arrows.violations(folder)),
        counted("circles", (" -> ".join(circle) for circle in circles(graph))),
        counted("packages of the wrong size", wrong_sizes(modules)),
        counted("modules beside their plural", plurals(modules)),
        counted("islands without a reason", islands(modules, graph)),
        counted("reads of the registry", registry_reads(modules)),
        counted("attributes set on classes", class_attributes(modules)),
        counted("uses of globals()", global_names(modules)),
        Figure("median function", sizes[len(sizes) // 2][0], "lines"),
        Figure("longest function", sizes[-1][0], "lines", tuple(long_functions)),
        counted("long modules", long_modules(modules)),
        Figure("Any among the client's parameters", any_share(modules), "%"),
    ]


def counted(name: str, places: Iterator[str] | list[str]) -> Figure:
    """Return a figure that counts places."""
    found = tuple(places)
    return Figure(name, len(found), "", found)


# -- packages --------------------------------------------------------------------------------------


def packages(modules: list[Module]) -> dict[str, list[str]]:
    """Return the modules directly in each package that holds no packages."""
    below: dict[str, list[str]] = {m.name: [] for m in modules if m.is_package}
    for m in modules:
        above, _, last = m.name.rpartition(".")
        if not m.is_package:
            below[above].append(last)
    return {p: names for p, names in below.items() if not any(q.startswith(f"{p}.") for q in below)}


def wrong_sizes(modules: list[Module]) -> Iterator[str]:
    """Yield the packages with too few or too many modules."""
    for name, inside in packages(modules).items():
        if not FEWEST <= len(inside) <= MOST:
            yield f"{name}: {len(inside)} modules, expected {FEWEST} to {MOST}"


def plurals(modules: list[Module]) -> Iterator[str]:
    """Yield the modules whose plural is beside them, too."""
    names = {m.name for m in modules}
    for name in sorted(names):
        if f"{name}s" in names:
            yield f"{name} is beside its plural"


# -- imports ---------------------------------------------------------------------------------------


def imported(modules: list[Module]) -> dict[str, set[str]]:
    """Return what each module imports of the package, also in functions and for type checkers."""
    names = {m.name for m in modules}
    graph = {}
    for m in modules:
        found = arrows.imports(m.tree, m.name, m.is_package, names)
        graph[m.name] = {item.target for item in found} & names - {m.name}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, whatever the way.

    >>> circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})
    [['a', 'b', 'c']]
    """
    reached = {name: reachable(graph, name) for name in graph}
    groups = {tuple(sorted(o for o in reached[n] if n in reached[o])) for n in graph}
    return sorted(list(group) for group in groups if group)


def reachable(graph: dict[str, set[str]], name: str) -> set[str]:
    """Return all that a module imports, and what these import."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def islands(modules: list[Module], graph: dict[str, set[str]]) -> Iterator[str]:
    """Yield small modules that one other module imports, without a reason in the table.

    A package's ``__init__`` lists what there is, so what it imports is no island. Reasons for
    modules that are none are yielded, too.
    """
    users = defaultdict(list)
    for user, targets in graph.items():
        for target in targets:
            users[target].append(user)
    lists = {m.name for m in modules if m.is_package}
    for m in modules:
        one = users[m.name][0] if len(users[m.name]) == 1 else ""
        is_one = one and one not in lists and m.lines < ISLAND
        if is_one and m.name not in ISLANDS:
            yield f"{m.path}: {m.lines} lines, imported by {one} alone"
        if not is_one and m.name in ISLANDS:
            yield f"{m.path}: has a reason to be an island, and is none"


# -- hidden doors ----------------------------------------------------------------------------------


def registry_reads(modules: list[Module]) -> Iterator[str]:
    """Yield where the registry is read but in NumPy's protocols: import what is used instead."""
    for m in modules:
        if m.name in READERS or REGISTRY not in taken_from(m, OWNER):
            continue
        entered = {id(name) for node in m.nodes for name in entries(node)}
        for node in m.nodes:
            if isinstance(node, ast.Name) and node.id == REGISTRY and id(node) not in entered:
                yield m.at(node, f"reads {REGISTRY}")


def taken_from(module: Module, source: str) -> set[str]:
    """Return the names that a module imports from another one."""
    found = (n for n in module.nodes if isinstance(n, ast.ImportFrom) and n.module == source)
    return {alias.name for node in found for alias in node.names}


def entries(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the registry where a node enters something: ``R[x] = f``, ``R.update(...)``."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        yield node.value
    if isinstance(node, ast.Attribute) and node.attr == "update":
        yield node.value


def class_attributes(modules: list[Module]) -> Iterator[str]:
    """Yield where attributes are put on classes, where no reader sees them."""
    for m in modules:
        for node in m.nodes:
            if called(node) == "setattr":
                first = getattr(node, "args", [None])[0]
                if isinstance(first, ast.Name) and first.id[:1].isupper():
                    yield m.at(node, f"sets an attribute of {first.id}")


def global_names(modules: list[Module]) -> Iterator[str]:
    """Yield where names are found or made by ``globals()``."""
    for m in modules:
        yield from (m.at(n, "uses globals()") for n in m.nodes if called(n) == "globals")


def called(node: ast.AST) -> str:
    """Return the name of the function that a node calls, nothing if it is no name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    return ""


# -- sizes and types -------------------------------------------------------------------------------


def functions(module: Module) -> list[tuple[int, str]]:
    """Return lines of code and name of every function: no docstring, comments, blank lines."""
    code = code_lines(module.source)
    found = []
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = set(range(node.lineno, (node.end_lineno or node.lineno) + 1)) & code
            where = f"{module.path}:{node.lineno} {node.name}"
            found.append((len(own - docstring(node)), where))
    return found


def long_modules(modules: list[Module]) -> Iterator[str]:
    """Yield the modules that should be split: docstrings do not count, as in functions."""
    for m in modules:
        own = m.lines - sum(len(docstring(n)) for n in m.nodes if isinstance(n, DOCUMENTED))
        if own > MODULE_LONG:
            yield f"{m.path}: {own} lines"


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> set[int]:
    """Return the numbers of the lines of a docstring of a function or class."""
    if ast.get_docstring(node, clean=False) is None:
        return set()
    return set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))


def any_share(modules: list[Module]) -> float:
    """Return the percentage of the client's annotated parameters that may be anything."""
    found = [
        ast.unparse(arg.annotation)
        for m in modules
        if arrows.within(m.name, "distnb.client")
        for arg in m.nodes
        if isinstance(arg, ast.arg) and arg.annotation is not None
    ]
    loose = sum(text in {"Any", "Any | None", "None | Any"} for text in found)
    return round(100 * loose / max(1, len(found)), 1)


# -- the command -----------------------------------------------------------------------------------


def table(modules: list[Module]) -> Iterator[str]:
    """Yield a line for each side of the package: its packages, and how many modules each has."""
    sides = defaultdict(list)
    for name, inside in packages(modules).items():
        side, _, rest = name.removeprefix("distnb.").partition(".")
        sides[side].append(f"{rest} {len(inside)}".strip())
    total = sum(len(found) for found in sides.values())
    yield f"{total} packages, {sum(not m.is_package for m in modules)} modules:"
    for side, found in sides.items():
        yield f"  {side:10} {', '.join(found)}"


def main(arguments: list[str]) -> int:
    """Print the figures; return the exit status."""
    folders = [word for word in arguments if word != "--write"]
    folder = Path(folders[0]) if folders else ROOT / arrows.PACKAGE
    if not any(folder.rglob("*.py")):
        print(f"{folder}: no Python files", file=sys.stderr)
        return 1
    modules = read(folder)
    found = figures(folder, modules)
    if "--write" in arguments:
        values = {figure.name: figure.value for figure in found}
        COMMITTED.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    print(*table(modules), sep="\n")
    for figure in found:
        print(*told(figure, committed.get(figure.name, 0)), sep="\n")
    return any(figure.value > committed.get(figure.name, 0) for figure in found)


def told(figure: Figure, limit: float) -> Iterator[str]:
    """Yield a figure for reading; its places too where it is worse, or small."""
    word = f" {figure.unit}" if figure.unit else ""
    change = f", committed {limit:g}" if figure.value != limit else ""
    worse = ": WORSE" if figure.value > limit else ""
    yield f"{figure.name}: {figure.value:g}{word}{change}{worse}"
    if worse or len(figure.places) <= 3:
        yield from (f"  {place}" for place in figure.places)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

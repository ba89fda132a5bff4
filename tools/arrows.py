"""Check that imports inside the package point one way only.

``python tools/arrows.py [package folder]`` reads every file with ``ast``, imports inside functions
and under ``TYPE_CHECKING`` included, prints each import that no rule allows, and exits with 1 if
there is one. To allow an arrow, edit the table below, and say why in the review.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "distnb"


class Rule(NamedTuple):
    """What a module, and the modules below it, may import.

    ``anywhere`` are names of modules (those below them included); ``inside`` are optional packages
    that may be imported inside functions only. The standard library is always allowed.
    """

    anywhere: tuple[str, ...]
    inside: tuple[str, ...] = ()


#: Root modules, in order: each may import those before it.
ROOT = (
    "distnb.errors",
    "distnb.config",
    "distnb.interrupts",
    "distnb.lazy",
    "distnb.calling",
    "distnb.slices",
    "distnb.philox",
    "distnb.samplers",
    "distnb.filling",
    "distnb.axes",
    "distnb.layout",
    "distnb.boxes",
    "distnb.views",
    "distnb.shares",
    "distnb.transfer",
    "distnb.traffic",
    "distnb.picks",
    "distnb.matrices",
    "distnb.ops",
    "distnb.protocol",
    "distnb.temporaries",
    "distnb.encoding",
    "distnb.forecast",
    "distnb.channel",
    "distnb.stream",
    "distnb.replay",
    "distnb.comparison",
    "distnb.metrics",
    "distnb.advice",
    "distnb.events",
    "distnb.records",
    "distnb.replies",
    "distnb.live",
)
SHARED = ("numpy", *ROOT)
ANYTHING = ("*",)

#: Module -> rule. The rule of the longest matching name holds; a module without a rule is an error.
RULES: dict[str, Rule] = {
    **{name: Rule(("numpy", *ROOT[:i])) for i, name in enumerate(ROOT)},
    "distnb.engines": Rule(
        (*SHARED, "distnb.engines", "mpi4py"), inside=("numba", "scipy", "threadpoolctl")
    ),
    **{
        f"distnb.engines.{name}": Rule((*SHARED, "distnb.engines", "zmq"))
        for name in ("guard", "road", "sideroad")
    },
    "distnb.client": Rule((*SHARED, "distnb.client")),
    "distnb.client.direct": Rule((*SHARED, "distnb.client", "zmq")),
    "distnb.client.launch": Rule((*SHARED, "distnb.client", "ipyparallel")),
    "distnb.client.pickling": Rule((*SHARED, "distnb.client", "cloudpickle")),
    "distnb.client.road": Rule((*SHARED, "distnb.client", "zmq")),
    "distnb.client.sideroad": Rule((*SHARED, "distnb.client", "zmq")),
    "distnb.client.transport": Rule((*SHARED, "distnb.client", "ipyparallel")),
    "distnb.magics": Rule((*SHARED, "distnb.client", "distnb.magics", "distnb.widgets", "IPython")),
    "distnb.widgets": Rule(
        (*SHARED, "distnb.client", "distnb.widgets", "ipywidgets", "matplotlib"),
        inside=("IPython",),
    ),
    "distnb.widgets.timeline": Rule((*SHARED, "distnb.widgets", "anywidget", "traitlets")),
    "distnb.testing": Rule(ANYTHING),
}
#: ``distnb/__init__.py`` itself.
TOP = Rule((*SHARED, "distnb.client", "distnb.magics", "distnb.widgets"))


class Import(NamedTuple):
    """One module that a line imports."""

    line: int
    target: str
    in_function: bool


def violations(folder: Path) -> list[str]:
    """Return ``path:line: message`` for each import below ``folder`` that no rule allows."""
    files = {module_name(path, folder): path for path in sorted(folder.rglob("*.py"))}
    modules = set(files) | {name.rpartition(".")[0] for name in files}
    found = []
    for name, path in files.items():
        rule = rule_of(name)
        if rule is None:
            found.append(f"{path}:1: {name} has no rule; add it to tools/arrows.py")
            continue
        is_package = path.name == "__init__.py"
        for item in imports(ast.parse(path.read_bytes(), str(path)), name, is_package, modules):
            if not allowed(rule, item):
                where = " inside a function" if item.in_function else ""
                found.append(f"{path}:{item.line}: {name} imports {item.target}{where}")
    return found


def module_name(path: Path, folder: Path) -> str:
    """Return the dotted name of a file of the package in ``folder``."""
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join((PACKAGE, *parts)).removesuffix(".__init__")


def rule_of(name: str) -> Rule | None:
    """Return the rule of a module, or None."""
    if name == PACKAGE:
        return TOP
    matching = [key for key in RULES if within(name, key)]
    return RULES[max(matching, key=len)] if matching else None


def within(name: str, above: str) -> bool:
    """Tell whether module ``name`` is ``above`` or below it."""
    return name == above or name.startswith(above + ".")


def allowed(rule: Rule, item: Import) -> bool:
    """Tell whether a rule allows an import."""
    if rule.anywhere == ANYTHING or item.target.partition(".")[0] in sys.stdlib_module_names:
        return True
    names = rule.anywhere + (rule.inside if item.in_function else ())
    return any(within(item.target, name) for name in names)


def imports(
    tree: ast.AST, name: str, is_package: bool, modules: set[str], in_function: bool = False
) -> Iterator[Import]:
    """Yield every import below ``tree``, the source of module ``name``."""
    for node in ast.iter_child_nodes(tree):
        for target in targets(node, name, is_package, modules):
            yield Import(node.lineno, target, in_function)  # type: ignore[attr-defined]
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(node, name, is_package, modules, in_function or function)


def targets(node: ast.AST, name: str, is_package: bool, modules: set[str]) -> list[str]:
    """Return the modules that one node imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        source = absolute(node, name, is_package)
        names = (f"{source}.{alias.name}" for alias in node.names)
        # What is no module is an attribute of the source.
        return [each if each in modules else source for each in names]
    if isinstance(node, ast.Call):
        return named_by_string(node, name, is_package)
    return []


def absolute(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    """Return the absolute name of the module that ``from ... import`` names."""
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, *filter(None, [node.module])])


def named_by_string(node: ast.Call, name: str, is_package: bool) -> list[str]:
    """Return the module in ``import_module("...")`` or ``__import__("...")``."""
    function = node.func.attr if isinstance(node.func, ast.Attribute) else None
    function = node.func.id if isinstance(node.func, ast.Name) else function
    if function not in {"import_module", "__import__"} or not node.args:
        return []
    first = node.args[0]
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
        return []
    text = first.value
    level = len(text) - len(text.lstrip("."))
    return [absolute(ast.ImportFrom(text[level:] or None, [], level), name, is_package)]


def main(arguments: list[str]) -> int:
    """Print the violations; return the exit status."""
    default = Path(__file__).resolve().parent.parent / PACKAGE
    folder = Path(arguments[0]) if arguments else default
    count = sum(1 for _ in folder.rglob("*.py"))
    if not count:
        print(f"{folder}: no Python files", file=sys.stderr)
        return 1
    found = violations(folder)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"arrows: {count} modules, {len(found)} imports that no rule allows")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

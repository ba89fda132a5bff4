"""Print how long functions and modules are, so that growth is seen.

``python tools/sizes.py [folder]`` counts the lines of code of every function (no docstring, no
comments, no blank lines), and all the lines of every module. It exits with 1 when too many
functions or any module is too long.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

FUNCTION_LONG = 50
MODULE_LONG = 500
MODULE_MAX = 700
#: Share of long functions above which the check fails.
SHARE_MAX = 0.07

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


class Size(NamedTuple):
    """The length of a function or of a module."""

    lines: int
    where: str


def functions(path: Path, source: str) -> list[Size]:
    """Return the size of every function in a file."""
    code = code_lines(source)
    sizes = []
    for node in ast.walk(ast.parse(source, str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = set(range(node.lineno, (node.end_lineno or node.lineno) + 1)) & code
            sizes.append(Size(len(own - docstring(node)), f"{path}:{node.lineno} {node.name}"))
    return sizes


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[int]:
    """Return the numbers of the lines of a function's docstring."""
    if ast.get_docstring(node, clean=False) is None:
        return set()
    return set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))


def percentile(ordered: list[int], share: float) -> int:
    """Return the nearest-rank percentile of ordered numbers."""
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def main(arguments: list[str]) -> int:
    """Print the sizes; return the exit status."""
    default = Path(__file__).resolve().parent.parent / "distnb"
    folder = Path(arguments[0]) if arguments else default
    sources = {path: path.read_text() for path in sorted(folder.rglob("*.py"))}
    sizes = [size for path, source in sources.items() for size in functions(path, source)]
    modules = [Size(source.count("\n"), str(path)) for path, source in sources.items()]
    if not sizes:
        print(f"{folder}: no functions", file=sys.stderr)
        return 1
    lengths = sorted(size.lines for size in sizes)
    long_functions = [size for size in sizes if size.lines > FUNCTION_LONG]
    share = len(long_functions) / len(sizes)
    print(
        f"sizes: {len(lengths)} functions, median {percentile(lengths, 0.5)}, "
        f"p90 {percentile(lengths, 0.9)}, max {lengths[-1]} lines; "
        f"{len(long_functions)} ({share:.1%}) over {FUNCTION_LONG}"
    )
    for size in sorted(long_functions, reverse=True):
        print(f"  function of {size.lines} lines: {size.where}")
    for size in sorted(modules, reverse=True):
        if size.lines > MODULE_LONG:
            print(f"  module of {size.lines} lines: {size.where}")
    return share > SHARE_MAX or any(size.lines > MODULE_MAX for size in modules)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

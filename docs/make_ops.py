"""Write ``docs/ops.md``: every function of the array namespace, and which names of NumPy it covers.

``python docs/make_ops.py`` takes signatures and rules from the functions themselves. A test tells
when the page is not what it would write.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import distnb as dnb
from distnb import namespace
from distnb.client.record.namespace import FUNCTIONS
from distnb.ops import table

PAGE = Path(__file__).parent / "ops.md"

HEAD = """# Operations

Made by `docs/make_ops.py` from the functions themselves. Names and arguments are NumPy's, and what
is not said to differ is as there: values, dtypes, shapes and exceptions. Where the Python array API
standard has another name or argument, it is taken, too. Results of operations whose operands all
live in the notebook (below the cutoff) stay there.
"""

ELEMENTWISE = """## Elementwise

One pass over the elements, in groups with the operations around it. The result stays where the
largest operand is. What lies elsewhere is sent there; an aligned operation sends nothing.
No differences from NumPy.

"""

#: What distributed arrays have no use for: NumPy's own machinery, files, text, and types.
_APART = re.compile(
    r"""
    .*(str|repr|print|err|buf|doc|file|txt|save|load|char|datetime|busday|memory|pickle).*
    |_.*|[A-Z].*|.*_|as_strided|asmatrix|bmat|matrix|mat|recarray|record|rec|core|ma|lib|test.*
    |show_.*|info|get_include|typename|typecodes|sctypes|may_share.*|require|asfortran.*|byte.*
    |from(buffer|iter|regex|pyfunc|pickle)|frompyfunc|nditer|ndenumerate|nested_iters|ndindex
    |iterable|isscalar|isfortran|mintypecode|common_type|min_scalar_type|promote_types|issubdtype
    |s_|c_|r_|index_exp|mgrid|ogrid|broadcast|flatiter|vectorize|piecewise|packbits|unpackbits
    |put.*byte|set_.*|get.*|base_repr|binary_repr|isdtype|dtype|ndarray|generic|poly1d|ufunc
    """,
    re.VERBOSE,
)


def _public(module: ModuleType) -> list[str]:
    """Return the names of a module's functions that are about arrays."""
    return sorted(
        name
        for name in getattr(module, "__all__", dir(module))
        if not _APART.fullmatch(name)
        and callable(getattr(module, name))
        and not isinstance(getattr(module, name), type)
    )


def _signature(function: Callable[..., Any]) -> str:
    """Return a signature without types."""
    found = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    text = str(inspect.Signature(bare))
    return re.sub(r"<class '(\w+)'>", r"\1", text.replace("<no value>", "..."))


def _prose(function: Callable[..., Any]) -> str:
    """Return what a docstring says besides parameters and examples."""
    doc = inspect.cleandoc(function.__doc__ or "")
    parts = re.split(r"^(\w+)\n-{3,}\n", doc, flags=re.MULTILINE)
    notes = [parts[i + 1] for i in range(1, len(parts), 2) if parts[i] == "Notes"]
    text = "\n\n".join(p.strip() for p in (parts[0], *notes))
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    return text.replace("``", "`")


def _is_elementwise(name: str, function: Any) -> bool:
    numpys = getattr(getattr(np, name, None), "__name__", None)
    return function.__module__.endswith(".ufuncs") and numpys in table.ELEMENTWISE


def _sections(namespace: dict[str, Any]) -> Iterator[str]:
    """Yield a section for each module that defines functions."""
    modules: dict[str, list[str]] = {}
    for name, f in sorted(namespace.items()):
        if callable(f) and f.__module__.startswith("distnb") and not _is_elementwise(name, f):
            modules.setdefault(f.__module__, []).append(name)
    for module, names in sorted(modules.items()):
        intro = (inspect.getmodule(namespace[names[0]]).__doc__ or "").split("\n\n")[0]
        yield f"## {module.rpartition('.')[2].replace('_', ' ').capitalize()}\n\n{intro}\n"
        for name in names:
            f = namespace[name]
            yield f"**`{name}{_signature(f)}`**\n\n{_prose(f)}\n"


def _coverage() -> Iterator[str]:
    """Yield the table of NumPy's names."""
    yield "## NumPy's names\n"
    yield "| module | names | here | not here |\n|---|---:|---:|---|"
    for module, ours in (
        (np, dnb),
        (np.linalg, getattr(dnb, "linalg", None)),
        (np.fft, getattr(dnb, "fft", None)),
        (np.random.Generator, dnb.random.Generator),
    ):
        names = _public(module)
        gone = [n for n in names if not hasattr(ours, n) and getattr(module, n) not in FUNCTIONS]
        listed = ", ".join(f"`{n}`" for n in gone) or "-"
        title = module.__name__ if module is not np.random.Generator else "numpy.random.Generator"
        yield f"| `{title}` | {len(names)} | {len(names) - len(gone)} | {listed} |"
    yield "\nNames are counted that are functions of arrays: not types, files, text and settings.\n"


def page() -> str:
    """Return the page."""
    names = {n: getattr(namespace, n) for n in namespace.__all__}
    simple = {n: f for n, f in sorted(names.items()) if callable(f) and _is_elementwise(n, f)}
    rows = [f"- `{name}{_signature(f)}`" for name, f in simple.items()]
    parts = [HEAD, ELEMENTWISE + "\n".join(rows) + "\n", *_sections(names)]
    for extension in ("linalg", "fft"):
        found = getattr(dnb, extension, None)
        if found is not None:
            parts += _sections({n: getattr(found, n) for n in found.__all__})
    return "\n".join([*parts, *_coverage()])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

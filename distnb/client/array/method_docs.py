"""What the docstrings of methods say, of which functions of the same name do the work."""

from __future__ import annotations

import inspect
import re
from types import FunctionType

__all__ = ["complete_docstrings"]

#: How a method names the function that it is.
_NAMED = re.compile(r"(?:;|,)? ?see :func:`distnb\.(\w+)`")
#: The section of a function's parameters, and the entries in it.
_SECTION = re.compile(r"Parameters\n-+\n((?:\S.*\n|[ \t].*\n|\n(?=[ \t]))*)")
_ENTRY = re.compile(r"^\S.*(?:\n+[ \t].*)*\n", re.MULTILINE)


def complete_docstrings(cls: type, functions: object) -> None:
    """Give methods what the docstrings of their functions say, but for the array itself.

    ``functions`` is the module that has them. So Shift-Tab on a method tells as much as on the
    function, and one text is kept of both. Such a method has its function's name as
    ``documented_by``.

    Examples
    --------
    >>> import inspect
    >>> from types import SimpleNamespace
    >>> def total(x, axis=None):
    ...     \"\"\"Return a sum.
    ...
    ...     Parameters
    ...     ----------
    ...     x : array
    ...         What to add.
    ...     axis : int, optional
    ...         Along which axis.
    ...     \"\"\"
    >>> class Array:
    ...     def total(self, axis=None):
    ...         \"\"\"Return the sum; see :func:`distnb.total`.\"\"\"
    >>> complete_docstrings(Array, SimpleNamespace(total=total))
    >>> inspect.getdoc(Array.total).splitlines()[-2:]
    ['axis : int, optional', '    Along which axis.']
    """
    for method in vars(cls).values():
        named = isinstance(method, FunctionType) and _NAMED.search(method.__doc__ or "")
        function = getattr(functions, named.group(1), None) if named else None
        if function is None or "\n\n" in (method.__doc__ or ""):
            continue
        _, _, rest = (inspect.getdoc(function) or "").partition("\n\n")
        method.__doc__ = f"{inspect.cleandoc(method.__doc__)}\n\n{_for(method, rest)}".rstrip()
        method.documented_by = function.__name__


def _for(method: FunctionType, text: str) -> str:
    """Return a function's docstring with the parameters alone that the method has."""
    there = {name.strip("*") for name in inspect.signature(method).parameters}

    def own(entry: str) -> str:
        head, end, text = entry.partition("\n")
        names, colon, kind = head.partition(" :")
        kept = [name for name in names.split(", ") if name.strip("*") in there]
        return ", ".join(kept) + colon + kind + end + text if kept else ""

    def section(found: re.Match[str]) -> str:
        entries = "".join(own(entry) for entry in _ENTRY.findall(found.group(1)))
        return f"Parameters\n----------\n{entries}" if entries else ""

    return _SECTION.sub(section, f"{text}\n")

"""What is to be done about floating point errors: ``np.errstate`` as it was when a command came."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy._core import umath

__all__ = ["DEFAULT", "SETTINGS", "ErrorState", "Place", "error_state", "tell", "warn_at"]

#: File and line of the user's, and the warnings that were given there.
Place = tuple[str, int, dict[Any, Any] | None]
#: What NumPy calls an error -> its name in ``np.errstate``, and its flag for ``np.seterrcall``.
_KINDS = {
    "divide by zero": ("divide", 1),
    "overflow": ("over", 2),
    "underflow": ("under", 4),
    "invalid value": ("invalid", 8),
}


class ErrorState(NamedTuple):
    """What ``np.geterr`` and ``np.geterrcall`` say."""

    divide: str = "warn"
    over: str = "warn"
    under: str = "ignore"
    invalid: str = "warn"
    handler: Any = None

    @property
    def waits(self) -> bool:
        """Whether each command is waited for: an error is told at the line that made it."""
        return not {*self[:4]} <= {"warn", "ignore"}


DEFAULT = ErrorState()
#: What NumPy says in which an error was, where commands have other names.
_SPELLED = {
    **dict.fromkeys(("astype", "copy", "file.parse", "full"), "cast"),
    **dict.fromkeys(("sum", "prod"), "reduce"),
    **dict.fromkeys(("scan", "cumsum", "cumprod"), "accumulate"),
    "contract": "multiply",
    "scatter": "at",
}
#: What NumPy says where ``np.seterrcall`` was not told of a function, or of a file.
_NO_HANDLER = {
    "call": "python callback specified for {} (in {}) but no function found.",
    "log": "log specified for {} (in {}) but no object with write method found.",
}
#: Where NumPy keeps its settings: another object whenever they change; None if it does not tell.
SETTINGS: Any = getattr(umath, "_extobj_contextvar", None)


def error_state() -> ErrorState:
    """Return the state of now."""
    found = ErrorState(**np.geterr())
    return found._replace(handler=np.geterrcall()) if found.waits else found


def tell(state: ErrorState, kinds: Iterable[str], what: str, place: Callable[[], Place]) -> None:
    """Do about errors in ``what`` what a state says; each is told of once."""
    for kind in dict.fromkeys(kinds):
        if kind not in _KINDS:  # a warning of a function, whatever the state
            warn_at(place(), kind, RuntimeWarning)
            continue
        name, flag = _KINDS[kind]
        how, text = getattr(state, name), f"{kind} encountered in {_SPELLED.get(what, what)}"
        if how == "raise":
            raise FloatingPointError(text)
        if how == "warn":
            warn_at(place(), text, RuntimeWarning)
        elif how == "print":
            print(f"Warning: {text}")
        elif how in ("call", "log") and state.handler is None:
            raise NameError(_NO_HANDLER[how].format(kind, text.partition(" in ")[2]))
        elif how == "call":
            state.handler(kind, flag)
        elif how == "log":
            state.handler.write(f"Warning: {text}\n")


def warn_at(place: Place, text: str, category: type[Warning]) -> None:
    """Warn as if a line of the user's did."""
    name, line, registry = place
    warnings.warn_explicit(text, category, name, line, registry=registry)

"""What the magics share: options, how they are read, and what becomes of a value."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, parse_argstring

from distnb.client.array.distarray import DistArray
from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.common.errors import DistnbError

__all__ = [
    "Semicolons",
    "arrays_of",
    "deliver",
    "identifier",
    "parse",
    "plain_errors",
    "session_of",
    "storing",
]


class Semicolons:
    """Lets a semicolon follow the name of a magic at once, as it may follow its arguments.

    Parameters
    ----------
    shell : InteractiveShell
        Takes ``%distmem;`` for the name of a magic.
    names : sequence of str
        Those of the magics of a line.
    """

    def __init__(self, shell: Any, names: Iterable[str]) -> None:
        self._shell = shell
        self._named = re.compile(rf"^(\s*)([\w.]+\s*=\s*)?(%(?:{'|'.join(names)}));(\s*)$")
        shell.input_transformers_cleanup.append(self)

    def __call__(self, lines: list[str]) -> list[str]:
        """Return the lines of a cell as IPython reads them: nothing silences an assignment."""
        return [self._named.sub(_apart, line) for line in lines]

    def remove(self) -> None:
        """Take it away."""
        with suppress(ValueError):
            self._shell.input_transformers_cleanup.remove(self)


def _apart(found: re.Match[str]) -> str:
    indent, assigns, magic, end = found.groups(default="")
    return f"{indent}{assigns}{magic}{'' if assigns else ' ;'}{end}"


def identifier(text: str) -> str:
    """Return a name under which a value can be stored."""
    if not text.isidentifier():
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a name such as r")
    return text


def storing(what: str) -> Callable[[Any], Any]:
    """Return a decorator that adds ``-o`` and ``-q`` to a magic with ``@magic_arguments``."""
    name = argument(
        "-o", dest="name", type=identifier, default=None, help=f"store the {what} under this name"
    )
    quiet = argument("-q", dest="quiet", action="store_true", help=f"do not show the {what}")
    return lambda function: name(quiet(function))


def parse(magic: Any, line: str) -> Any:
    """Return the arguments of a magic; a semicolon at the end silences, and is none of them."""
    return parse_argstring(magic, line.rstrip().removesuffix(";"))


def deliver(shell: Any, args: Any, value: Any) -> Any:
    """Store a value if that was asked for; return it unless it is not to be shown."""
    if args.name:
        shell.user_ns[args.name] = value
    return None if args.quiet else value


@contextmanager
def plain_errors(magic: str) -> Iterator[None]:
    """Turn errors that the user can mend into usage errors, which IPython shows in one line."""
    try:
        yield
    except (DistnbError, OSError, TypeError, ValueError) as error:
        raise UsageError(f"{magic}: {error}") from error


def session_of(magic: str, arrays: Iterable[DistArray] = ()) -> Session:
    """Return the session of arrays, by default of those that the last cell was about."""
    found = next((x.session for x in arrays), current.in_use())
    if found is None:
        raise UsageError(f"{magic}: got no session, expected one; run %distnb start first")
    return found


def arrays_of(shell: Any, session: Session) -> list[tuple[str, DistArray]]:
    """Return the arrays of a session that have names in the notebook."""
    return [
        (name, value)
        for name, value in list(shell.user_ns.items())
        if isinstance(value, DistArray) and value.session is session and not name.startswith("_")
    ]

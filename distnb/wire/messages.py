"""What travels: batches of commands, as they are and normalised, and what engines answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from distnb.geometry.layout import Ints
from distnb.wire.protocol import Command

__all__ = ["FUNCTION", "Batch", "Failure", "Packed", "Param", "Reply"]


class Batch(NamedTuple):
    """The commands of one flush, in program order.

    ``epoch`` rises after an abort: engines then take a fresh communicator, so that no message of
    an abandoned command can meet one of a later command. ``fuse``: whether elementwise commands
    may run in groups, one pass over memory each.
    """

    number: int
    epoch: int
    commands: tuple[Command, ...]
    fuse: bool = True


#: The kind of a Param that stands for the number of a function.
FUNCTION = "function"


class Param(NamedTuple):
    """Stands in a normalised batch for its value ``index``.

    ``kind`` tells what it is: the dtype of a NumPy scalar, the type of a Python scalar, a field, or
    FUNCTION.
    """

    kind: str
    index: int  # type: ignore[assignment]  # not tuple.index


class Packed(NamedTuple):
    """A batch as it travels: what is the same when a loop comes round again, and the rest.

    ``normalised`` are the encoded commands, where bases are numbered in the order in which they
    appear, and Params stand for scalars. ``handles`` are those of the bases, ``values`` of the
    Params.
    """

    number: int
    epoch: int
    normalised: bytes
    handles: Ints
    values: tuple[Any, ...]
    fuse: bool


class Failure(NamedTuple):
    """What went wrong in one command on one rank.

    ``kinds`` are the names of the exception's class and its bases, the nearest first, and
    ``shapes`` the local shapes of the arrays involved. ``packed`` is the exception itself, if it
    can be sent (:mod:`distnb.wire.exceptions`).
    """

    index: int  # type: ignore[assignment]  # not tuple.index
    rank: int
    kinds: tuple[str, ...]
    message: str
    traceback: str
    shapes: tuple[Ints | None, ...]
    packed: bytes = b""


class Reply(NamedTuple):
    """What one rank answers to a batch.

    ``lost``: bases whose content is undefined after a failure. ``warnings``: (command index, text)
    of floating point warnings. ``values``: slot -> array, bytes or None. ``times``: an
    :class:`distnb.measure.records.Times` of the commands. ``aborted``: this rank gave up.
    ``failed``: a command failed on some rank; ``warned``: some rank has warnings. All ranks say the
    same of these two. ``young``: loops ran that are not compiled, and will be if they go on.
    """

    rank: int
    failures: tuple[Failure, ...]
    lost: Ints
    warnings: tuple[tuple[int, str], ...]
    values: dict[int, Any]
    times: Any
    aborted: bool
    failed: bool = False
    warned: bool = False
    young: bool = False

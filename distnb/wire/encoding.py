"""Batches as bytes, and back.

They are encoded with pickle's compact format, but decoded by an unpickler that can build the
classes of the protocol and nothing else, so a message cannot carry code.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np

from distnb.geometry import axes
from distnb.geometry.layout import Grid, Layout
from distnb.geometry.views import View
from distnb.ops.scalars import NUMBERS, PYTHON_SCALARS
from distnb.wire.messages import FUNCTION, Batch, Failure, Packed, Param
from distnb.wire.protocol import (
    Apply,
    Ask,
    Bind,
    Collective,
    Command,
    Create,
    Fetch,
    Free,
    Function,
    InNotebook,
    Lay,
    Local,
    Operand,
    Reduce,
    Typed,
)

__all__ = ["commands_of", "compared", "decode", "encode", "filled", "unpack"]


_ALLOWED: dict[tuple[str, str], Any] = {
    (cls.__module__, cls.__qualname__): cls
    for cls in (
        *(
            Operand,
            InNotebook,
            Typed,
            Param,
            Create,
            Apply,
            Reduce,
            Fetch,
            Lay,
            Free,
            Bind,
            Ask,
            Local,
            Collective,
            Batch,
            Failure,
        ),
        *(Layout, Grid, View),
        *axes.KINDS.values(),
        *NUMBERS,
        str,  # which words are that are NumPy's
    )
}


class _Sealed(type):
    """Classes that stand for those of the protocol while a message is read.

    A pickle may set attributes of what it names, of a class as of an instance: one that named the
    class itself could change it for all who use it.
    """

    def __setattr__(cls, name: str, value: object) -> None:
        raise pickle.UnpicklingError(
            f"message: got {cls.__name__}.{name}, expected commands of distnb; send data only"
        )


def _sealed(cls: Any) -> Any:
    """Return what makes instances of a class."""

    def new(_: type, *args: Any) -> Any:
        return cls.__new__(cls, *args)

    return _Sealed(cls.__name__, (), {"__slots__": (), "__new__": new})


class _Word(metaclass=_Sealed):
    """What messages get for ``str``: text is as it is, for that of anything else may be endless."""

    __slots__ = ()

    def __new__(cls, text: str) -> Any:
        if type(text) is not str:
            raise pickle.UnpicklingError(
                f"message: got {type(text).__name__}, expected text; send data only"
            )
        return text


#: What messages get for the names of classes.
_NAMED = {name: cls if cls in NUMBERS else _sealed(cls) for name, cls in _ALLOWED.items()}
_NAMED["builtins", "str"] = _Word


class _DataUnpickler(pickle.Unpickler):
    """Builds the classes of the protocol and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        found = _NAMED.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(
                f"message: got {module}.{name}, expected commands of distnb; send data only"
            )
        return found


class _PlainPickler(pickle.Pickler):
    """Writes NumPy's scalars, which may be among lengths, indices and words, as Python's."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, np.generic):
            value = obj.item()
            return type(value), (value,)
        return NotImplemented


def _dumps(message: object) -> bytes:
    data = pickle.dumps(message, protocol=5)
    if b"numpy" not in data:
        return data
    out = io.BytesIO()
    _PlainPickler(out, protocol=5).dump(message)
    return out.getvalue()


def encode(message: object) -> bytes:
    """Return a message as bytes. Engines need no sites, so the commands of a batch lose theirs.

    >>> decode(encode(Batch(1, 0, (Free((7,)),))))
    Batch(number=1, epoch=0, commands=(Free(bases=(7,)),), fuse=True)
    """
    if isinstance(message, Batch):
        message = tuple(_pack(message))
    return _dumps(message)


def decode(data: bytes) -> Any:
    """Return the message that :func:`encode` made; raise UnpicklingError on anything else."""
    found = _load(data)
    if type(found) is not tuple:
        return found
    batch = _packed(found)
    try:
        commands = [c.renumbered(batch.handles) for c in commands_of(batch.normalised)]
        bound = tuple([filled(c, batch.values) for c in commands])
    except Exception as error:  # whatever its parts make of what they are given
        raise _no_batch(found) from error
    return Batch(batch.number, batch.epoch, bound, batch.fuse)


def unpack(data: bytes) -> Packed:
    """Return a batch with its commands as they came, so that it can be looked up."""
    return _packed(_load(data))


def commands_of(normalised: bytes) -> tuple[Command, ...]:
    """Return the commands of a normalised batch, with numbers for bases, and Params.

    >>> commands_of(unpack(encode(Batch(1, 0, (Free((7,)), Ask(12, 'clocks'))))).normalised)
    (Free(bases=(0,)), Ask(slot=Param(kind='slot', index=0), what='clocks', args=()))
    """
    try:
        return tuple([_round(c) for c in _load(normalised)])
    except (LookupError, TypeError, ValueError) as error:
        raise _no_batch(normalised) from error


def _load(data: bytes) -> Any:
    try:
        return _DataUnpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, MemoryError):
        raise
    except Exception as error:  # whatever bytes that are no message make of pickle
        raise _no_batch(data) from error


def _packed(found: Any) -> Packed:
    try:
        batch = Packed(*found)
        if not (
            type(batch.normalised) is bytes and type(batch.handles) is type(batch.values) is tuple
        ):
            raise TypeError(f"commands of {type(batch.normalised).__name__}")
        return batch
    except TypeError as error:
        raise _no_batch(found) from error


def _no_batch(found: Any) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        # not what is in it, which may be as deep, and as long, as whoever sent it likes
        f"message: got {type(found).__name__}, expected a batch; send data only"
    )


# A normalised batch is the key under which engines keep what they found out of it. So it holds
# nothing that changes from one turn of a loop to the next. And pickle writes plain tuples several
# times faster than named ones: the commands that come by the thousand are plain tuples there, with
# a letter in front, and their operands are pairs.


class _Numbers(dict[int, int]):
    """Handle -> number of the base in a batch."""

    # Commands that come by the thousand call setdefault, which is faster.

    def __missing__(self, handle: int) -> int:
        found = self[handle] = len(self)
        return found


def _pack(batch: Batch) -> Packed:
    numbers, values = _Numbers(), list[Any]()
    flat = [_FLAT.get(type(c), _flat)(c, numbers, values) for c in batch.commands]
    data = _dumps(flat)
    return Packed(batch.number, batch.epoch, data, tuple(numbers), tuple(values), batch.fuse)


def _flat_apply(command: Apply, numbers: _Numbers, values: list[Any]) -> Any:
    op, outs, ins, where, options, _ = command
    targets, pairs = [], list[Any]()
    for handle, view in outs:
        targets.append((numbers.setdefault(handle, len(numbers)), view))
    for x in ins:
        if type(x) is Operand:
            pairs.append((numbers.setdefault(x[0], len(numbers)), x[1]))
        else:
            pairs.append(_param(x, values))
    mask = None if where is None else (numbers[where[0]], where[1])
    return ("a", op, targets, pairs, mask, options)


def _flat_create(command: Create, numbers: _Numbers, values: list[Any]) -> Any:
    base, shape, dtype, layout, how, _ = command
    if len(how) > 1:
        values.append(how[1:])
        how = (how[0], len(values) - 1)
    return ("c", numbers.setdefault(base, len(numbers)), shape, dtype, layout, how)


def _flat_reduce(command: Reduce, numbers: _Numbers, values: list[Any]) -> Any:
    op, out, (base, view), axes, dtype, _ = command
    return ("r", op, numbers[out], (numbers[base], view), axes, dtype)


def _flat_fetch(command: Fetch, numbers: _Numbers, values: list[Any]) -> Any:
    slot, (base, view), _, place = command
    values.append(slot)
    if place:
        values.append(place)
        return ("p", len(values) - 1, (numbers[base], view))
    if not view.shape:  # loops read one element after the other
        values.append(view.fixed)
        return ("e", len(values) - 1, numbers[base])
    return ("g", len(values) - 1, (numbers[base], view))


def _flat_free(command: Free, numbers: _Numbers, values: list[Any]) -> Any:
    return ("f", [numbers.setdefault(h, len(numbers)) for h in command[0]])


_FLAT: dict[type, Any] = {
    Apply: _flat_apply,
    Create: _flat_create,
    Reduce: _flat_reduce,
    Fetch: _flat_fetch,
    Free: _flat_free,
}


def _flat(command: Command, numbers: _Numbers, values: list[Any]) -> Any:
    """Return any other command: as it is, but for numbers and values."""
    if isinstance(command, Ask):
        values += [command.slot, command.args]
        asked: Any = Param("slot", len(values) - 2)
        command = command._replace(slot=asked, args=())
    if isinstance(command, Lay):
        values += [command.slot, command.place]
        slot: Any = Param("slot", len(values) - 2)
        command = command._replace(slot=slot, place=0)
    if isinstance(command, Collective):
        values.append(command.args)
        command = command._replace(args=Param("args", len(values) - 1))
    # What is no command is for the other side to refuse.
    return command.renumbered(numbers) if isinstance(command, Command) else command


def _param(x: Any, values: list[Any]) -> tuple[str, int]:
    """Put a scalar aside, or the number of a function; return what stands for it."""
    kind = type(x)
    if kind is Typed:
        name, x = x
    elif kind is Function:
        name, x = FUNCTION, x.number
    else:
        name = kind.__name__
    values.append(x)
    return (name, len(values) - 1)


def _round(command: Any) -> Command:
    """Undo what made a command flat, but for numbers and values."""
    if type(command) is not tuple:
        return command
    kind, *fields = command
    make = Operand._make
    if kind == "a":
        op, outs, pairs, mask, options = fields
        ins = tuple([Param(*x) if type(x[0]) is str else make(x) for x in pairs])
        where = None if mask is None else make(mask)
        return Apply(op, tuple([make(o) for o in outs]), ins, where, options, 0)
    if kind == "c":
        base, shape, dtype, layout, how = fields
        if len(how) > 1:
            how = (how[0], Param("how", how[1]))
        return Create(base, shape, dtype, layout, how, 0)
    if kind == "r":
        op, out, operand, axes, dtype = fields
        return Reduce(op, out, make(operand), axes, dtype, 0)
    if kind == "g":
        index, operand = fields
        return Fetch(Param("slot", index), make(operand), 0)  # type: ignore[arg-type]
    if kind == "p":
        index, operand = fields
        place: Any = Param("place", index)
        return Fetch(Param("slot", index - 1), make(operand), 0, place)  # type: ignore[arg-type]
    if kind == "e":
        index, base = fields
        element: Any = Param("fixed", index)
        return Fetch(Param("slot", index - 1), Operand(base, element), 0)  # type: ignore[arg-type]
    if kind == "f":
        return Free(tuple(fields[0]))
    raise ValueError(f"got a command {kind!r}")


#: Creations of whose arguments each rank has its own: elements, and places in memory.
_OWN = frozenset(("data", "local", "at", "room", "same", "lost"))


def compared(commands: Iterable[Any], values: tuple[Any, ...]) -> list[Any]:
    """Return those values of Params that all ranks give alike where they record the same."""
    found: list[Any] = []
    for command in commands:
        params: tuple[Any, ...] = ()
        if isinstance(command, Apply):
            params = command.ins
        elif isinstance(command, Collective):
            params = (command.args,)
        elif isinstance(command, Create) and command.how[0] not in _OWN:
            params = command.how[1:]
        found.append([values[x.index] for x in params if isinstance(x, Param)])
    return found


def filled(command: Any, values: tuple[Any, ...]) -> Any:
    """Return a command with the values of its Params."""
    if isinstance(command, Apply):
        return command._replace(ins=tuple([_value(x, values) for x in command.ins]))
    if isinstance(command, Create) and len(command.how) > 1:
        return command._replace(how=(command.how[0], *values[command.how[1].index]))
    if isinstance(command, Collective):
        args: Any = command.args
        return command._replace(args=values[args.index])
    if isinstance(command, Fetch):
        slot: Any = command.slot
        base, view = command.operand
        view = View((), (), values[view.index]) if isinstance(view, Param) else view
        place = values[command.place.index] if isinstance(command.place, Param) else 0
        return Fetch(values[slot.index], Operand(base, view), command.site, place)
    if isinstance(command, Lay):
        at: Any = command.slot
        return command._replace(slot=values[at.index], place=values[at.index + 1])
    if isinstance(command, Ask):
        asked: Any = command.slot
        return command._replace(slot=values[asked.index], args=values[asked.index + 1])
    return command


def _value(x: Any, values: tuple[Any, ...]) -> Any:
    if type(x) is not Param:
        return x
    value = values[x.index]
    if x.kind == FUNCTION:
        return Function(value)
    return value if x.kind in PYTHON_SCALARS else Typed(x.kind, value)

"""What engines make of messages: batches, and what stands before them."""

import pickle
from contextlib import contextmanager

import numpy as np

from distnb.engines.server.batch_server import BatchServer
from distnb.geometry import axes
from distnb.geometry.layout import Grid, Layout
from distnb.geometry.views import View
from distnb.measure.records import Times
from distnb.wire.encoding import _ALLOWED, decode, encode
from distnb.wire.messages import Batch, Reply
from distnb.wire.protocol import (
    Apply,
    Ask,
    Bind,
    Create,
    Fetch,
    Free,
    Function,
    Lay,
    Operand,
    Reduce,
    Typed,
)
from tests.fuzz.mutation import mutated

_BLOCK = Layout(Grid.of((2,)), (axes.Block(), axes.Block()), (0, -1))
_A, _B = (Operand(k, View.whole((4, 3))) for k in (11, 12))
_COMMANDS = (
    Create(11, (4, 3), "<f8", _BLOCK, ("fill", 1.5), 3),
    Create(12, (4, 3), "<f8", _BLOCK, ("empty",), 3),
    Apply("add", (_B,), (_A, Typed("float32", 2.0), 3), None, (("casting", "same_kind"),), 5),
    Apply("map", (_B,), (Function(3), _A, 2j, True), _A, (), 5),
    Reduce("sum", 12, _A, (0,), "<f8", 6),
    Fetch(1, _B, 7),
    Fetch(2, _B, 7, 1 << 20),
    Lay(3, _A, 65536, 7),
    Ask(4, "clocks", (1, "x")),
    Bind((("a", 11),)),
    Free((11, 12)),
)


def _encoded():
    """Return messages, each with another number of commands."""
    found = []
    for k in range(len(_COMMANDS)):
        for commands in (_COMMANDS[: k + 1], (*_COMMANDS[:2], _COMMANDS[k])):
            found.append(encode(Batch(k, 1, commands, bool(k % 2))))
    return found


@contextmanager
def batches():
    """Batches: they are data, or refused, and change nothing."""
    real = _encoded()
    assert [decode(message).number for message in real]
    before = {name: dict(vars(cls)) for name, cls in _ALLOWED.items()}

    def one(chance):
        try:
            decode(mutated(chance, chance.choice(real), real))
        except pickle.UnpicklingError:
            return "refused"
        except MemoryError:
            return "no memory"
        return "taken"

    yield one
    assert {name: dict(vars(cls)) for name, cls in _ALLOWED.items()} == before


class _Answers(list):
    """As a channel: notes what is sent."""

    def send(self, head, arrays=()):
        self.append(bytes(head))


@contextmanager
def heads():
    """What stands before a batch: it is answered with its number, or dropped."""
    real = [b"%d session\n" % k + message for k, message in enumerate(_encoded())]
    server = BatchServer.__new__(BatchServer)
    empty = Reply(0, (), (), (), {}, Times(0, (), b"", b"", b""), False)

    def run(session, message, buffers):
        decode(message)
        return empty

    server._run, server._done = run, 0

    def one(chance):
        message = mutated(chance, chance.choice(real), real)
        answers = _Answers()
        server._answer(answers, message, [np.zeros(3, np.uint8)])
        if not answers:
            return "dropped"
        (answer,) = answers
        number, state = answer.partition(b"\n")[0].rsplit(b" ", 1)
        assert message.startswith(number), answer
        return state.decode()

    yield one

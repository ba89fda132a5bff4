"""What random numbers follow from: a seed, and how many arrays were drawn; several may share it."""

from __future__ import annotations

import operator
import os
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.scalars import numbers_in
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.errors import explain

__all__ = ["NAME", "PhiloxBitGenerator", "Seed"]

#: The way in which numbers follow from a seed.
NAME = "Philox4x64-10"
#: What numbers follow from: a number, several, or what NumPy's generators are made of.
Seed: TypeAlias = (
    "ArrayLike | np.random.SeedSequence | np.random.BitGenerator | PhiloxBitGenerator | None"
)


class PhiloxBitGenerator:
    """A seed, and how many arrays were drawn so far; generators that are made of it share both."""

    def __init__(self, seed: Seed, session: Session | None = None) -> None:
        self._session = session
        self.begin(seed)

    def begin(self, seed: Seed, stream: int = 0) -> None:
        """Go on with a seed; without one, a fresh one is drawn when it is needed."""
        drawn = isinstance(seed, np.random.BitGenerator | PhiloxBitGenerator)
        self._given = None if drawn else seed
        self._sequence: np.random.SeedSequence | None = None
        self._number = None if seed is None else _number_of(seed)
        self.stream = stream

    @property
    def seed(self) -> int:
        """The number that the seed stands for."""
        if self._number is None:
            fresh = int.from_bytes(os.urandom(8), "little") >> 1
            transport = need(self._session).transport
            # under SPMD it is that of rank 0: each rank records the same
            self._number = fresh if transport.rank is None else transport.share(fresh)[0]
        return self._number

    @property
    def seed_seq(self) -> np.random.SeedSequence:
        """The seed as NumPy's object, which spawns others."""
        if self._sequence is None:
            given: Any = self.seed if self._given is None else self._given
            given = np.asarray(given) if isinstance(given, Array) else given
            known = isinstance(given, np.random.SeedSequence)
            self._sequence = given if known else np.random.SeedSequence(given)
        return self._sequence

    @property
    def state(self) -> dict[str, Any]:
        """What the next numbers follow from; nothing is sent."""
        return {"bit_generator": NAME, "state": {"seed": self.seed, "stream": self.stream}}

    @state.setter
    def state(self, value: object) -> None:
        if not isinstance(value, dict):
            kind = type(value).__name__
            raise TypeError(explain("state", kind, "a dict", "assign what .state was before"))
        name = value.get("bit_generator")
        if name != NAME:
            raise ValueError(explain("state", f"that of {name}", NAME, "assign one of distnb's"))
        number, stream = value["state"]["seed"], value["state"]["stream"]
        self._number, self.stream = _number_of(number), operator.index(stream)


def _number_of(seed: Any) -> int:
    """Return the number that a seed stands for."""
    if isinstance(seed, PhiloxBitGenerator):
        return seed.seed
    seed = np.asarray(seed) if isinstance(seed, Array) else numbers_in(seed)
    if isinstance(seed, np.random.BitGenerator):
        return int(seed.random_raw())
    if not isinstance(seed, np.random.SeedSequence) and not np.ndim(seed):
        value = operator.index(seed)
        if value < 0:
            raise ValueError(explain("seed", value, "a number from 0 on", "pass another"))
        if value < 1 << 64:
            return value
    words = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return int(words.generate_state(1, np.uint64)[0])

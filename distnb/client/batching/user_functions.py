"""Which functions of the user's the engines of a session have.

Batches carry no code. A function takes the way of ``%px``, once, and commands name its number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from distnb.common.interrupts import deferred_interrupts

__all__ = ["Functions"]

#: Bytes and number of the functions that engines keep.
_MOST_BYTES, _MOST = 1 << 24, 256


class Functions:
    """The functions that the engines of a session have: those that were used last.

    Their numbers are negative, so that they are no handles of arrays; they are dropped as these.

    Parameters
    ----------
    define : callable
        Gives all engines a text under a number, before any later batch.
    delete : callable
        Records a deletion.
    """

    def __init__(self, define: Callable[[int, bytes], None], delete: Callable[[int], None]) -> None:
        self._define = define
        self._delete = delete
        #: Digest of a text -> number, and the text.
        self._known: OrderedDict[bytes, tuple[int, bytes]] = OrderedDict()
        #: Those that were dropped, until engines have done what names them: number -> text.
        self.leaving: dict[int, bytes] = {}
        self._last = self._bytes = 0

    def number(self, text: bytes) -> int:
        """Return the number under which engines have a function; send it if it is new."""
        from hashlib import blake2b  # who sends no functions need not load it

        key = blake2b(text, digest_size=16).digest()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key][0]
        with deferred_interrupts():
            self._last -= 1
            # First noted: new engines, which another thread may just tell, lack none of them.
            self._known[key] = self._last, text
            self._bytes += len(text)
            try:
                self._define(self._last, text)
            except BaseException:
                self._bytes -= len(self._known.pop(key)[1])
                raise
        return self._last

    def trim(self) -> None:
        """Drop those that were not used for longest, and any that is too large, after its use."""
        while self._bytes > _MOST_BYTES or len(self._known) > _MOST:
            newest = next(reversed(self._known.values()))
            number, text = self._known.popitem(last=len(newest[1]) > _MOST_BYTES)[1]
            self._bytes -= len(text)
            self.leaving[number] = text
            self._delete(number)

    def dropped(self, numbers: Iterable[int]) -> None:
        """Forget functions that engines have dropped, and all that was to be done before."""
        for number in numbers:
            self.leaving.pop(number, None)

    def tell_again(self) -> None:
        """Give new engines all functions that those before them had, or were to use once more."""
        for number, text in [*self.leaving.items(), *self._known.values()]:
            self._define(number, text)

"""Bytes that were damaged at random."""

import struct

#: Numbers at which sizes go wrong.
_SIZES = [0, 1, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32]
_SIZES += [2**40, 2**48, 2**61, 2**63 - 1, 2**63, 2**64 - 1]


def mutated(chance, raw, others=()):
    """Return bytes with some changes, of which some are parts of others."""
    data = bytearray(raw)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        at = chance.randrange(len(data) + 1)
        length = chance.choice((1, 1, 2, 4, 8, 16, 100))
        chance.choice(_CHANGES)(chance, data, at, length, others)
    return bytes(data)


def _set(chance, data, at, length, others):
    data[at : at + 1] = bytes([chance.randrange(256)])


def _flip(chance, data, at, length, others):
    if at < len(data):
        data[at] ^= 1 << chance.randrange(8)


def _size(chance, data, at, length, others):
    size = chance.choice(_SIZES)
    number = struct.pack("<Q", size + chance.randrange(-1, 2) & 2**64 - 1)
    width = chance.choice((1, 2, 4, 8))
    data[at : at + width] = number[:width]


def _drop(chance, data, at, length, others):
    del data[at : at + length]


def _insert(chance, data, at, length, others):
    data[at:at] = chance.randbytes(length)


def _repeat(chance, data, at, length, others):
    data[at:at] = data[at : at + length] * chance.choice((1, 2, 50))


def _cut(chance, data, at, length, others):
    del data[at:]


def _splice(chance, data, at, length, others):
    if others:
        other = chance.choice(others)
        start = chance.randrange(len(other) + 1)
        data[at : at + length] = other[start : start + length]


_CHANGES = [_set, _set, _flip, _flip, _size, _size, _drop, _insert, _repeat, _cut, _splice]

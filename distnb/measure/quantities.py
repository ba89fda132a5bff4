"""Numbers for reading: three significant digits, in the unit that fits."""

from __future__ import annotations

__all__ = ["counted", "duration", "percent", "size_text", "three"]

#: What a time and a number of bytes are counted in, the largest first.
_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
_SIZES = (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))


def three(value: float) -> str:
    """Return three significant digits, without zeros at the end; of large numbers, the integer.

    >>> three(2741.7), three(138.59), three(8.0), three(0.0123)
    ('2,742', '139', '8', '0.0123')
    """
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def _in_units(value: float, units: tuple[tuple[str, float], ...]) -> str:
    unit, per = next((each for each in units if value >= 0.9995 * each[1]), units[-1])
    return f"{three(value / per)} {unit}"


def duration(seconds: float) -> str:
    """Return a time for reading; no time has no unit.

    >>> duration(1.31), duration(0.07), duration(2e-6), duration(0)
    ('1.31 s', '70 ms', '2 us', '0')
    """
    return _in_units(seconds, _TIMES) if seconds >= 0.5e-9 else "0"


def size_text(count: float) -> str:
    """Return a number of bytes for reading.

    >>> size_text(999), size_text(204_800), size_text(8_000_000)
    ('999 B', '205 kB', '8 MB')
    """
    return _in_units(count, _SIZES) if count >= 1 else "0 B"


def percent(share: float) -> str:
    """Return a share for reading: below ten percent with one decimal, if it has one.

    >>> percent(0.345), percent(0.0021), percent(0.05)
    ('34 %', '0.2 %', '5 %')
    """
    return f"{round(100 * share, 1 if share < 0.0995 else None):,g} %"


def counted(n: int, word: str) -> str:
    """Return a number of things.

    >>> counted(1, "engine"), counted(2000, "batch")
    ('1 engine', '2,000 batches')
    """
    return f"{n:,} {word}" + ("" if n == 1 else "es" if word.endswith("ch") else "s")

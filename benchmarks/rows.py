"""What all that reads the results of a run needs of its rows."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
BASIS, OURS = "NumPy", "distnb"


def seconds(row: Row, name: str) -> float | None:
    """Return the median of a peer that ran, and was right."""
    found: float | None = row["peers"].get(name, {}).get("seconds")
    return found if found and "error" not in row["peers"][name] else None


def ratio(row: Row, name: str, to: str = BASIS) -> float | None:
    """Return how many times as fast as another a peer is."""
    mine, other = seconds(row, name), seconds(row, to)
    return other / mine if mine and other else None


def names(results: Row) -> list[str]:
    return list(results["cases"][0]["peers"]) if results["cases"] else []

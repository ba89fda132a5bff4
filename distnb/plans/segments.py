"""Segments of an axis that overlap or lie anywhere, dealt to lanes in which they rise."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

__all__ = ["Lane", "lanes"]


class Lane(NamedTuple):
    """Segments one after the other.

    Attributes
    ----------
    begins : ndarray of int64
        Where they begin, and where what lies between two of them does.
    end : int
        Where the last one ends.
    segments, places : ndarray of int64
        Which of all segments they are, and at which place each is among ``begins``.
    """

    begins: np.ndarray
    end: int
    segments: np.ndarray
    places: np.ndarray


def lanes(at: np.ndarray, n: int) -> Iterator[Lane]:
    """Deal the segments of ``ufunc.reduceat`` to as few lanes as there are at most in one place.

    A segment that begins where the next one does, or after it, is one element. Each goes to a lane
    whose last one has ended, in the order in which they begin (interval partitioning: Kleinberg and
    Tardos, Algorithm Design, 2005, section 4.1).

    Parameters
    ----------
    at : ndarray of int64
        Where segments begin; each ends where the next one begins.
    n : int
        Elements of the axis.

    Examples
    --------
    >>> for lane in lanes(np.array([0, 4, 2, 6]), 8):
    ...     lane.begins.tolist(), lane.end, lane.segments.tolist(), lane.places.tolist()
    ([0, 4, 5, 6], 8, [0, 1, 3], [0, 1, 3])
    ([2], 6, [2], [0])
    """
    if (np.diff(at) > 0).all():
        every = np.arange(len(at))
        yield Lane(at, n, every, every)
        return
    following = np.append(at[1:], n)
    ends = np.where(following > at, following, at + 1)
    found: list[list[int]] = []
    free: list[tuple[int, int]] = []
    for i in np.argsort(at, kind="stable").tolist():
        if free and free[0][0] <= at[i]:
            lane = heappop(free)[1]
        else:
            lane = len(found)
            found.append([])
        found[lane].append(i)
        heappush(free, (int(ends[i]), lane))
    for members in found:
        yield _lane(np.array(members), at[members], ends[members])


def _lane(segments: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> Lane:
    """Return a lane of segments that rise."""
    gaps = np.flatnonzero(begins[1:] > ends[:-1])
    places = np.arange(len(begins)) + np.searchsorted(gaps, np.arange(len(begins)))
    return Lane(np.insert(begins, gaps + 1, ends[gaps]), int(ends[-1]), segments, places)

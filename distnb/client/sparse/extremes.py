"""The least and the greatest of sparse arrays, and where they are."""

from __future__ import annotations

from typing import Any

from distnb.client.handle.arguments import Axes
from distnb.client.sparse.arithmetic import Arithmetic
from distnb.common.errors import explain

__all__ = ["Extremes"]


def no_out(out: object) -> None:
    """Raise ValueError if the result is to be written into an array, as SciPy's does."""
    if out is not None:
        raise ValueError(explain("out", type(out).__name__, "None", "assign the result"))


class Extremes(Arithmetic):
    """Extremes of all formats; how they are found is for each to say."""

    def _extremes(self, name: str, axis: Axes, explicit: bool) -> Any:
        """Return the least or greatest elements, of all or along an axis."""
        raise NotImplementedError

    def _where(self, name: str, axis: Axes, explicit: bool) -> Any:
        """Return where they are."""
        raise NotImplementedError

    def max(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the greatest element, or along an axis as a ``coo_array`` of one axis.

        Of rows of CSR and of columns of CSC nothing is sent; across them the array is brought into
        the other format first, and COO into CSR.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count.

        Returns
        -------
        DistArray or coo_array
            A number, or the elements that are not zero of one axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).max(axis=1).toarray().to_numpy()
        array([2, 3])
        """
        no_out(out)
        return self._extremes("max", axis, explicit)

    def min(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the least element, or along an axis as a ``coo_array`` of one axis.

        Of rows of CSR and of columns of CSC nothing is sent; across them the array is brought into
        the other format first, and COO into CSR.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count.

        Returns
        -------
        DistArray or coo_array
            A number, or the elements that are not zero of one axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).min(axis=1).toarray().to_numpy()
        array([0, 1])
        """
        no_out(out)
        return self._extremes("min", axis, explicit)

    def nanmax(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the greatest element that is not NaN, or along an axis as a ``coo_array``.

        Layout and messages are those of :meth:`max`.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count.

        Returns
        -------
        DistArray or coo_array
            A number, or the elements that are not zero of one axis; NaN where all are NaN.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     A = dnb.sparse.csr_array([[dnb.nan, 2], [3, 1]])
        ...     A.nanmax(axis=1).toarray().to_numpy()
        array([2., 3.])
        """
        no_out(out)
        return self._extremes("nanmax", axis, explicit)

    def nanmin(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the least element that is not NaN, or along an axis as a ``coo_array``.

        Layout and messages are those of :meth:`min`.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count.

        Returns
        -------
        DistArray or coo_array
            A number, or the elements that are not zero of one axis; NaN where all are NaN.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     A = dnb.sparse.csr_array([[dnb.nan, 2], [3, 1]])
        ...     A.nanmin(axis=1).toarray().to_numpy()
        array([2., 1.])
        """
        no_out(out)
        return self._extremes("nanmin", axis, explicit)

    def argmax(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return where along an axis the greatest elements are, as a dense array.

        Of rows of CSR and of columns of CSC nothing is sent; across them the array is brought into
        the other format first, and COO into CSR. Of all
        elements, in C order, the place is read: this waits.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count. Of all elements it is then returned which of those
            that are stored it is, in C order; where none is stored along an axis, 0.

        Returns
        -------
        DistArray or int
            Positions, int64.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).argmax(axis=1).to_numpy()
        array([1, 0])
        """
        no_out(out)
        return self._where("argmax", axis, explicit)

    def argmin(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return where along an axis the least elements are, as a dense array.

        Of rows of CSR and of columns of CSC nothing is sent; across them the array is brought into
        the other format first, and COO into CSR. Of all
        elements, in C order, the place is read: this waits.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count. Of all elements it is then returned which of those
            that are stored it is, in C order; where none is stored along an axis, 0.

        Returns
        -------
        DistArray or int
            Positions, int64.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).argmin(axis=1).to_numpy()
        array([0, 1])
        """
        no_out(out)
        return self._where("argmin", axis, explicit)

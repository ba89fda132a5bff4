"""``distnb.lib.mixins``: NumPy's operators for classes with ``__array_ufunc__``."""

from numpy.lib.mixins import NDArrayOperatorsMixin

__all__ = ["NDArrayOperatorsMixin"]

"""``distnb.lib.array_utils``: NumPy's checks of axes."""

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from distnb.left_out import refusal

__all__ = ["normalize_axis_index", "normalize_axis_tuple"]

__getattr__ = refusal(__name__)

"""What an array is: a base and a view, at home, on engines or in reach, and how it comes and goes.

Operations on arrays belong in :mod:`distnb.client.record`, what NumPy does on those in reach in
:mod:`distnb.client.reach`.
"""

from distnb.common.native import first

__path__ = first(__name__, __path__)

"""What the notebook does itself: who computes, and NumPy's steps on arrays in reach.

Operations that engines are asked for belong in :mod:`distnb.client.record`, which may import it, as
may the rooms after that one.
"""

from distnb.common.native import first

__path__ = first(__name__, __path__)

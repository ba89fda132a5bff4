"""What every room may use: errors, settings, interrupts, calls of the user's functions.

Nothing about arrays belongs here. Everybody may import it; it imports only NumPy.
"""

from distnb.common.native import first

__path__ = first(__name__, __path__)

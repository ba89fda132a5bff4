"""What all functions are made of: how operations on arrays are checked and recorded.

Public functions belong in the rooms after this one (but creation), which may all import it.
"""

from distnb.common.native import first

__path__ = first(__name__, __path__)

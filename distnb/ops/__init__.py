"""What operations compute, whoever computes it.

The table of operations and their dtypes; elements by global index: constants, ranges, random
numbers.

Nothing about messages or memory belongs here. Everybody may import it but ``common`` and
``geometry``.
"""

from distnb.common.native import first

__path__ = first(__name__, __path__)

"""Functions that look at elements in another shape or order, or join and repeat them.

What computes elements belongs in ``client.math``. Rooms of the client after it may import it.
"""

"""Functions that compute elements one by one, along an axis, or from their neighbours.

Products of matrices belong in ``client.linalg``. Rooms of the client after it may import it.
"""

"""Commands whose engines exchange elements: reductions, scans, sorts, gathers, Fourier transforms.

Linear algebra belongs in ``engines.linalg``. Rooms of the engines after it may import it.
"""

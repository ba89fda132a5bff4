"""Linear algebra: products, contractions, factorizations, norms.

A module that ends in ``_commands`` is the mechanism of the public functions beside it. Rooms of the
client after it may import it.
"""

"""What an array is: a base and a view, at home, on engines or in reach, and how it comes and goes.

Operations on arrays belong in :mod:`distnb.client.record`; NumPy computes here what is small.
"""

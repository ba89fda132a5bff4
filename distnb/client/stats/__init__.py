"""Statistics and random numbers.

Rooms of the client after it may import it.
"""

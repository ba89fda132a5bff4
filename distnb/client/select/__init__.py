"""Functions that gather, place, sort, search and count elements.

Rooms of the client after it may import it.
"""

"""Groups of elementwise commands: which run together, and their loops, compiled or not.

Rooms of the engines after it may import it.
"""

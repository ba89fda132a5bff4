"""A session on a set of engines: all that is known of it in one object, and what was measured.

Nothing about operations belongs here. All rooms of the client after it may import it.
"""

"""One connection to a set of engines: the pending batch, replies, failures, and what was measured.

Nothing about operations belongs here. All rooms of the client after it may import it.
"""

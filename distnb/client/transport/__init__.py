"""The way of bytes to the engines: how they are started and reached, and the transports.

Nothing about arrays belongs here. ``client.batching`` and ``client.session`` may import it.
"""

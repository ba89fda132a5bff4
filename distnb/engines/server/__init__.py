"""Where the client comes in: sockets, their authentication, the monitor, and the entry points.

Nobody imports it; the client names ``entry`` and ``kernels`` by string.
"""

"""Sessions as they are now: status, memory, dashboard, findings.

``magics`` and :mod:`distnb` may import it.
"""

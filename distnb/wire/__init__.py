"""What travels between client and engines: commands, batches, replies, and the channels they take.

Only data, never code or pickles. Client and engines may import it, and ``plans``' forecasts.
"""

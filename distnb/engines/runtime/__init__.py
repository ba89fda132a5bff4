"""What every command stands on: communicator, exchange, memory, threads.

Nothing about one kind of operation belongs here. All rooms of the engines may import it.
"""

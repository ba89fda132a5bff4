"""What runs on the engines: local blocks, kernels, and the messages between ranks."""

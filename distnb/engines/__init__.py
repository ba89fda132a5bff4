"""The engines' side: holds blocks, sends messages, computes.

Never imports ``client``, ipyparallel or IPython. The client names it by string only.
"""

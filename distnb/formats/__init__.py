"""What is in files: formats, and how boxes of elements are read from them and written to them.

Each module knows one format, for one process that reads or writes its own boxes. Nothing about
engines, messages or layouts belongs here: who reads what is for ``engines.files``, and what users
call for ``client.files``.
"""

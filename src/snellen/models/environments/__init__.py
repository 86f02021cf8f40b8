"""One-file servers: a model's own versions of libraries in the header, `load` and `answer` below.

`files/` holds those that come with Snellen. `chat_server.py` serves any of them over HTTP; it runs
in the environment of the file, where Snellen is not installed, so neither imports anything of it.
"""

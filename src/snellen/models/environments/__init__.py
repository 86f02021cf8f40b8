"""One-file servers: a model's own versions of libraries in the header, `load` and `answer` below.

Those that come with Snellen are in the folder `zoo`. `chat_server.py` serves any of them over HTTP;
it runs in the environment of the file, where Snellen is not installed, so neither imports anything
of it.
"""

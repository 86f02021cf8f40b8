"""Images and videos that rows name: where their bytes are, which frames are sampled, subtitles.

What of them a model is sent is decided in `prompts`.
"""

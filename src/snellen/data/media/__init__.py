"""Images and videos that rows name.

Where their bytes are, which frames are sampled, subtitles; prompts decide what of them a model is
shown.
"""

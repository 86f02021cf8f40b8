"""Videos of requests as frames with their times, as processors of models take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.errors import MediaError
from snellen.core.media import Source, decode_clip, decode_image
from snellen.models.split_batch import Unsupported
from snellen.settings import max_image_pixels

if TYPE_CHECKING:
    import numpy
    from PIL.Image import Image as PILImage

_TICKS = 1000
"""Frames per second of the video of which a clip's frames are said to be: times are whole
milliseconds."""


class VideoFrames(NamedTuple):
    """Frames of one video, decoded, all of one size."""

    images: tuple[PILImage, ...]
    times: tuple[float, ...]
    """Seconds from the beginning of the video."""
    duration: float
    """Seconds that the frames stand for."""

    def pixels(self) -> numpy.ndarray[Any, Any]:
        """Values 0 to 255, shape (frames, height, width, 3)."""
        import numpy as np

        return np.stack([np.asarray(image) for image in self.images])

    def metadata(self) -> dict[str, Any]:
        """Where the frames were in the video, with the fields of transformers' `VideoMetadata`.

        From them processors compute times: `frames_indices` / `fps`, and the rate of the sampled
        frames as their number per `total_num_frames` / `fps` seconds.
        """
        indices = [round(time * _TICKS) for time in self.times]
        total = max(round(self.duration * _TICKS), indices[-1] + 1 if len(indices) < 2 else 1)
        return {
            "total_num_frames": total,
            "fps": float(_TICKS),
            "width": self.images[0].width,
            "height": self.images[0].height,
            "duration": self.duration,
            "video_backend": "snellen",
            "frames_indices": indices,
        }


def load_frames(digest: str, sources: Mapping[str, Source]) -> VideoFrames:
    """The frames of a video of a request. Raises MediaError, and Unsupported for a video file."""
    source = sources.get(digest)
    if source is None:
        raise MediaError(f"the bytes of video {digest[:12]} did not come with the request")
    clip = decode_clip(source.read())
    if clip is None:
        raise Unsupported(
            "the model takes sampled frames as one video, not a video file; have the benchmark sample them (video=clip)"
        )
    images = tuple(decode_image(frame, max_image_pixels()) for frame in clip.frames)
    if len({image.size for image in images}) > 1:
        raise MediaError("the frames of a video are of unlike size, so that they are not one video")
    return VideoFrames(images, clip.times, clip.duration)

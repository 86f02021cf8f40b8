"""Embeddings of pictures by a CLIP model, and pairs whose cosine is large.

Embeddings find what hashes cannot: crops, collages, another photograph of the same scene. How large
a cosine means a copy depends on the model; the default threshold is not calibrated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from snellen.core.errors import MediaError, UsageError
from snellen.core.media import Source, decode_image
from snellen.core.output import Failure
from snellen.curate.duplicates.hash_index import HashIndex
from snellen.curate.duplicates.index_format import Array
from snellen.models.clip import ClipModel
from snellen.models.naming.registry import open_model
from snellen.settings import max_image_pixels

_ROWS = 4096
"""Rows of each side whose cosines are computed at once: 64 MB."""
_DECODED = 64
"""Pictures that are decoded before they are embedded."""


class PictureEmbedder:
    """A CLIP model that embeds pictures. Raises UsageError for a model that does not."""

    def __init__(self, spec: str) -> None:
        model = open_model(spec)
        if not isinstance(model, ClipModel):
            raise UsageError(
                f"--clip {spec}: it embeds no pictures; expected clip/<hub id or folder>"
            )
        self.spec = spec
        self._model = model

    def embed(self, sources: Sequence[Source | None]) -> Array | None:
        """Embeddings (n, features) in float16, with zeros for what is broken or not there; None if
        all are."""
        rows: dict[int, Any] = {}
        for start in range(0, len(sources), _DECODED):
            images, places = [], []
            for place in range(start, min(start + _DECODED, len(sources))):
                source = sources[place]
                try:
                    if source is not None:
                        images.append(decode_image(source.read(), max_image_pixels()))
                        places.append(place)
                except MediaError:
                    continue  # Recorded by the hashes.
            for place, features in zip(places, self._model.embed(images), strict=True):
                if not isinstance(features, Failure):
                    rows[place] = features.numpy()
        if not rows:
            return None
        embeddings = np.zeros((len(sources), len(next(iter(rows.values())))), np.float16)
        for place, vector in rows.items():
            embeddings[place] = vector
        return embeddings


def near_embeddings(
    queries: Array, index: HashIndex, threshold: float
) -> Iterator[tuple[int, int, float]]:
    """Pairs of a query and a row of the index whose cosine is at least `threshold`, with it."""
    for first, shard in index.shards():
        stored = shard.get("embeddings")
        if stored is None:
            continue
        for low in range(0, len(stored), _ROWS):
            some = stored[low : low + _ROWS].astype(np.float32)
            for start in range(0, len(queries), _ROWS):
                cosines = queries[start : start + _ROWS].astype(np.float32) @ some.T
                near = np.nonzero(cosines >= threshold)
                for query, row in zip(*(places.tolist() for places in near), strict=True):
                    yield start + query, first + low + row, float(cosines[query, row])

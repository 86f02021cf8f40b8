"""Tiles of pictures for InternVL and models like it, as their model cards cut them.

Chen et al., How Far Are We to GPT-4V? (arXiv 2404.16821), Section 3.3: the picture is resized to
the grid of square tiles whose shape is nearest to its own, and a thumbnail of the whole is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage
    from torch import Tensor

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
SIGLIP_HALF = (0.5, 0.5, 0.5)
"""Mean and deviation of SigLIP's pictures."""
_TOTAL_TILES = 24
"""Tiles that several pictures of one prompt share; VLMEvalKit's limit for image benchmarks."""


class TileSettings(NamedTuple):
    """How pictures are cut."""

    size: int
    """Edge of a tile in pixels."""
    fewest: int = 1
    most: int = 12
    thumbnail: bool = True
    second: tuple[int, int] | None = None
    """Fewest and most tiles of a second grid, whose lines the first one does not have."""
    mean: tuple[float, float, float] = IMAGENET_MEAN
    deviation: tuple[float, float, float] = IMAGENET_STD

    @classmethod
    def of_config(cls, config: Any, changes: dict[str, Any]) -> TileSettings:
        """As the configuration of an InternVL checkpoint says, with an adapter's changes."""
        vision = getattr(config, "vision_config", None)
        size: Any = getattr(config, "force_image_size", None)
        settings = cls(int(size or getattr(vision, "image_size", 448)), 1, 1, False)
        if getattr(vision, "model_type", "") == "siglip_vision_model":
            settings = settings._replace(mean=SIGLIP_HALF, deviation=SIGLIP_HALF)
        if getattr(config, "dynamic_image_size", True):
            settings = settings._replace(
                fewest=int(getattr(config, "min_dynamic_patch", 1)),
                most=int(getattr(config, "max_dynamic_patch", 12)),
                thumbnail=bool(getattr(config, "use_thumbnail", True)),
            )
        return settings._replace(**changes)


class TiledImages(NamedTuple):
    """The tiles of all pictures, shape (tiles, 3, size, size), and how many each picture has."""

    pixels: Tensor
    counts: list[int]


def tile_images(images: Sequence[PILImage], settings: TileSettings, dtype: Any, device: str) -> TiledImages:
    """Cut and normalise pictures. Several of them share `_TOTAL_TILES`."""
    import torch

    most = max(1, min(settings.most, _TOTAL_TILES // len(images)))
    settings = settings._replace(most=most, fewest=min(settings.fewest, most))
    rows = [[_normalise(tile, settings) for tile in cut_tiles(image, settings)] for image in images]
    pixels = torch.stack([tile for tiles in rows for tile in tiles])
    return TiledImages(pixels.to(device, dtype=dtype), [len(tiles) for tiles in rows])


def cut_tiles(image: PILImage, settings: TileSettings) -> Iterator[PILImage]:
    """The tiles of a picture row by row, those of a second grid if there is one, then its thumbnail
    if there are several."""
    from PIL import Image

    grid = choose_grid(image.width, image.height, settings)
    image = image.convert("RGB")
    yield from _cut_grid(image, grid, settings.size)
    if settings.second is not None:
        fewest, most = settings.second
        finer = settings._replace(fewest=fewest, most=most)
        second = choose_grid(image.width, image.height, finer, besides=grid)
        yield from _cut_grid(image, second, settings.size)
    if settings.thumbnail and grid != (1, 1):
        yield image.resize((settings.size, settings.size), Image.Resampling.BICUBIC)


def _cut_grid(image: PILImage, grid: tuple[int, int], size: int) -> Iterator[PILImage]:
    """The tiles of the picture resized to a grid of columns and rows."""
    from PIL import Image

    columns, rows = grid
    resized = image.resize((size * columns, size * rows), Image.Resampling.BICUBIC)
    for row in range(rows):
        for column in range(columns):
            left, top = column * size, row * size
            yield resized.crop((left, top, left + size, top + size))


def choose_grid(
    width: int, height: int, settings: TileSettings, besides: tuple[int, int] | None = None
) -> tuple[int, int]:
    """Columns and rows of tiles: the ratio nearest to the picture's; of two that are equally near
    the one of more tiles, if the picture has more than half of their pixels.

    `besides` is a first grid: those that divide it are left out (Huang et al., Mini-Monkey, arXiv
    2408.02034, Section 3.1).
    """
    ratio = width / height
    grids = sorted(
        {
            (columns, rows)
            for columns in range(1, settings.most + 1)
            for rows in range(1, settings.most + 1)
            if settings.fewest <= columns * rows <= settings.most
            and not (besides and besides[0] % columns == 0 and besides[1] % rows == 0)
        },
        key=lambda grid: grid[0] * grid[1],
    )
    best, smallest = (1, 1), float("inf")
    for columns, rows in grids:
        difference = abs(ratio - columns / rows)
        half = 0.5 * settings.size**2 * columns * rows
        if difference < smallest or (difference == smallest and width * height > half):
            best, smallest = (columns, rows), difference
    return best


def _normalise(tile: PILImage, settings: TileSettings) -> Tensor:
    """Pixels of shape (3, size, size), scaled by mean and deviation."""
    import numpy as np
    import torch

    values = np.asarray(tile, dtype=np.float32) / 255.0
    mean, deviation = np.asarray(settings.mean), np.asarray(settings.deviation)
    normalised = ((values - mean) / deviation).astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(normalised.transpose(2, 0, 1)))

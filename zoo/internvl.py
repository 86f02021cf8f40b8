# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = [
#     "transformers==4.37.2",
#     "torch==2.13.0",
#     "torchvision",
#     "accelerate==0.34.2",
#     "einops==0.8.0",
#     "numpy<2",
#     "pillow",
#     "sentencepiece==0.2.0",
#     "timm==0.9.16",
# ]
# ///
"""InternVL-Chat 1.5, InternVL2 and InternVL2.5 with InternLM2 or Phi-3, whose code does not run
with later versions of transformers.

Asked by `chat` of the checkpoint's own code, with tiles as the model card cuts them
(https://huggingface.co/OpenGVLab/InternVL2-8B); several pictures share 24 tiles, as in VLMEvalKit.
"""

from typing import Any

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ALL_TILES = 24


def load(checkpoint: Any) -> Any:
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(
        checkpoint.folder, torch_dtype=checkpoint.dtype, trust_remote_code=checkpoint.own_code
    )
    tokenizer = AutoTokenizer.from_pretrained(
        checkpoint.folder, trust_remote_code=checkpoint.own_code, use_fast=False
    )
    return model.to(checkpoint.device).eval(), tokenizer


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    model, tokenizer = model
    mark = "<image>\n" if len(chat.images) < 2 else "Image-{n}: <image>\n"
    turns = [text for _, text in chat.turns(mark, ("<image>", "<IMG_CONTEXT>"))]
    tiles = [cut_tiles(image, model.config, len(chat.images)) for image in chat.images]
    pixels = torch.cat(tiles).to(model.device, model.dtype) if tiles else None
    with torch.inference_mode():
        return model.chat(
            tokenizer,
            pixels,
            turns[-1],
            settings.generation(),
            history=list(zip(turns[:-1:2], turns[1::2], strict=True)) or None,
            num_patches_list=[len(one) for one in tiles],
        )


def cut_tiles(image: Any, config: Any, images: int) -> Any:
    """The tiles of a picture, with a thumbnail for several: shape (tiles, 3, size, size)."""
    import numpy as np
    import torch

    size = config.force_image_size or config.vision_config.image_size
    most = max(1, min(config.max_dynamic_patch, ALL_TILES // images))
    fewest = min(config.min_dynamic_patch, most)
    if not config.dynamic_image_size:
        fewest = most = 1
    columns, rows = choose_grid(image.width, image.height, size, fewest, most)
    large = image.resize((columns * size, rows * size), 3)
    tiles = [
        large.crop((x * size, y * size, (x + 1) * size, (y + 1) * size))
        for y in range(rows)
        for x in range(columns)
    ]
    if len(tiles) > 1 and config.use_thumbnail:
        tiles.append(image.resize((size, size), 3))
    values = (np.stack([np.asarray(tile) for tile in tiles]) / 255.0 - MEAN) / STD
    return torch.from_numpy(values).permute(0, 3, 1, 2)


def choose_grid(width: int, height: int, size: int, fewest: int, most: int) -> tuple[int, int]:
    """The columns and rows whose shape is nearest to the picture's. Of several with the same shape
    it is the larger one if the picture has more than half of its pixels."""
    grids = [
        (columns, rows)
        for columns in range(1, most + 1)
        for rows in range(1, most + 1)
        if fewest <= columns * rows <= most
    ]
    best, nearest = (1, 1), float("inf")
    for columns, rows in sorted(grids, key=lambda grid: grid[0] * grid[1]):
        distance = abs(width / height - columns / rows)
        is_filled = width * height > 0.5 * size * size * columns * rows
        if distance < nearest or (distance == nearest and is_filled):
            best, nearest = (columns, rows), distance
    return best

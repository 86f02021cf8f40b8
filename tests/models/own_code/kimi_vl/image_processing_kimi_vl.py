"""The image processor of a small stand-in for Kimi-VL: patches of 14 pixels, merged by fours."""

from typing import ClassVar

import numpy as np
import torch
from transformers.image_processing_utils import BaseImageProcessor, BatchFeature


class KimiVLImageProcessor(BaseImageProcessor):
    model_input_names: ClassVar = ["pixel_values", "image_grid_hws"]

    def __init__(self, patch_size=14, in_token_limit=4096, merge_kernel_size=(2, 2), **kwargs):
        super().__init__(**kwargs)
        self.patch_size = patch_size
        self.in_token_limit = in_token_limit
        self.merge_kernel_size = tuple(merge_kernel_size)

    def preprocess(self, images, return_tensors=None, **kwargs):
        patches, grids, side = [], [], self.patch_size
        for image in images:
            rows = 2 * max(1, min(2, round(image.height / side / 2)))
            columns = 2 * max(1, min(4, round(image.width / side / 2)))
            resized = image.convert("RGB").resize((columns * side, rows * side))
            pixels = torch.from_numpy(np.asarray(resized, np.float32) / 255)
            grid = pixels.reshape(rows, side, columns, side, 3).permute(0, 2, 4, 1, 3)
            patches.append(grid.reshape(rows * columns, 3, side, side))
            grids.append([rows, columns])
        return BatchFeature({"pixel_values": torch.cat(patches), "image_grid_hws": torch.tensor(grids)})

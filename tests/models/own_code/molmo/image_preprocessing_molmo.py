"""The image processor of a small stand-in for Molmo: one crop of four patches a picture."""

from typing import ClassVar

import numpy as np
import torch
from transformers.image_processing_utils import BaseImageProcessor


class MolmoImageProcessor(BaseImageProcessor):
    model_input_names: ClassVar = ["images", "image_input_idx", "image_masks"]

    def __init__(self, max_crops=12, **kwargs):
        super().__init__(**kwargs)
        self.max_crops = max_crops

    def multimodal_preprocess(self, images, tokens, patch, start, end):
        crops = [torch.from_numpy(np.asarray(one.convert("RGB").resize((2, 2), 0), np.float32) / 255) for one in images]
        places = [[6 * index + 1 + patch_ for patch_ in range(4)] for index in range(len(images))]
        tokens = [token for _ in images for token in (start, *[patch] * 4, end)] + tokens
        pixels = torch.stack([crop.reshape(4, 3) for crop in crops])
        return tokens, pixels, torch.tensor(places)

"""The image processor of a small stand-in for MiniCPM-V: one slice of 28 pixels a picture."""

from typing import ClassVar

import numpy as np
import torch
from transformers.image_processing_utils import BaseImageProcessor, BatchFeature


class MiniCPMVImageProcessor(BaseImageProcessor):
    model_input_names: ClassVar = ["pixel_values"]

    def __init__(self, max_slice_nums=9, image_feature_size=4, patch_size=14, **kwargs):
        super().__init__(**kwargs)
        self.max_slice_nums = max_slice_nums
        self.image_feature_size = image_feature_size
        self.patch_size = patch_size

    def preprocess(self, images, max_slice_nums=None, return_tensors=None, **kwargs):
        pixels = [torch.from_numpy(np.asarray(one.convert("RGB").resize((28, 28)), np.float32) / 255) for one in images]
        return BatchFeature({"pixel_values": [one.permute(2, 0, 1) for one in pixels]})

"""A small stand-in for Ovis-U1: the signatures of `preprocess_inputs` and `generate` and places of
pictures are those that its users call; the layers are not."""

import numpy as np
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.modeling_utils import PreTrainedModel

from .configuration_ovis_u1 import OvisU1Config

VISUAL_ATOM_ID = -300
ROLES = {"human": "user", "gpt": "assistant", "system": "system"}


class OvisU1(PreTrainedModel):
    config_class = OvisU1Config

    def __init__(self, config):
        super().__init__(config)
        self.llm = AutoModelForCausalLM.from_config(config.llm_config)
        self.text_tokenizer = AutoTokenizer.from_pretrained(config.name_or_path, trust_remote_code=True)
        self.patch = config.visual_tokenizer_config["patch_size"]
        self.visual_tokenizer = nn.Linear(3 * self.patch**2, config.hidden_size)
        self.post_init()

    def get_text_tokenizer(self):
        return self.text_tokenizer

    def get_visual_tokenizer(self):
        return self.visual_tokenizer

    def preprocess_inputs(
        self,
        text_or_conversations,
        images=None,
        min_pixels=448 * 448,
        max_pixels=1344 * 1792,
        generation_preface="",
        return_labels=False,
        frame_selector=None,
        enable_thinking=False,
    ):
        assert (min_pixels, max_pixels) == (200704, 2408448)
        conversations = text_or_conversations
        if isinstance(text_or_conversations, str):
            conversations = [{"from": "human", "value": text_or_conversations}]
        prompt = "".join(f"<|im_start|>{ROLES[each['from']]}\n{each['value']}<|im_end|>\n" for each in conversations)
        prompt += "<|im_start|>assistant\n" + ("<think>\n" if enable_thinking else "")
        chunks = prompt.split("<image>")
        assert len(chunks) - 1 == len(images or ())
        input_ids, patches, grids = [], [], []
        for index, chunk in enumerate(chunks):
            if index:
                pixels, grid = self._cut(images[index - 1])
                input_ids += [VISUAL_ATOM_ID] * len(pixels)
                patches.append(pixels)
                grids.append(grid)
            input_ids += self.text_tokenizer(chunk, add_special_tokens=False).input_ids
        pixel_values = torch.cat(patches) if patches else None
        grid_thws = torch.tensor(grids) if grids else None
        return prompt, torch.tensor(input_ids, dtype=torch.long), pixel_values, grid_thws

    def _cut(self, image):
        rows = max(1, min(4, round(image.height / self.patch)))
        columns = max(1, min(4, round(image.width / self.patch)))
        resized = image.convert("RGB").resize((columns * self.patch, rows * self.patch))
        pixels = torch.from_numpy(np.asarray(resized, np.float32) / 255)
        patches = pixels.reshape(rows, self.patch, columns, self.patch, 3).permute(0, 2, 1, 3, 4)
        return patches.reshape(rows * columns, -1), [1, rows, columns]

    def generate(self, inputs=None, **kwargs):
        pixel_values, grid_thws = kwargs.pop("pixel_values", None), kwargs.pop("grid_thws", None)
        mask = kwargs.pop("attention_mask")
        embeds = self.llm.get_input_embeddings()(inputs.clamp(min=0))
        if pixel_values is not None:
            assert int(grid_thws.prod(1).sum()) == len(pixel_values)
            embeds[inputs == VISUAL_ATOM_ID] = self.visual_tokenizer(pixel_values)
        return self.llm.generate(inputs=None, inputs_embeds=embeds, attention_mask=mask, **kwargs)

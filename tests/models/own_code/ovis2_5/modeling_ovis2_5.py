"""A small stand-in for Ovis 2.5: the files, classes, signatures of `preprocess_inputs` and
`generate` and places of pictures are those of the original repositories; the layers are not."""

import numpy as np
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.modeling_utils import PreTrainedModel

from .configuration_ovis2_5 import Ovis2_5_Config

IMAGE_PLACEHOLDER, IMAGE_PLACEHOLDER_ID = "<image>", -200
VISUAL_ATOM_ID, INDICATOR_IDS = -300, [-301, -302, -303, -304]


class VisualTokenizer(nn.Module):
    def __init__(self, config, vocab_size):
        super().__init__()
        self.patch = config["patch_size"]
        self.head = nn.Linear(3 * self.patch**2, vocab_size)

    def preprocess(self, image=None, video=None, min_pixels=None, max_pixels=None):
        rows = max(1, min(4, round(image.height / self.patch)))
        columns = max(1, min(4, round(image.width / self.patch)))
        resized = image.convert("RGB").resize((columns * self.patch, rows * self.patch))
        pixels = torch.from_numpy(np.asarray(resized, np.float32) / 255)
        patches = pixels.reshape(rows, self.patch, columns, self.patch, 3).permute(0, 2, 1, 3, 4)
        return patches.reshape(rows * columns, -1), torch.tensor([[1, rows, columns]])

    def forward(self, pixel_values, grid_thws):
        assert int(grid_thws.prod(1).sum()) == len(pixel_values)
        return self.head(pixel_values).softmax(-1)


class Ovis2_5(PreTrainedModel):
    config_class = Ovis2_5_Config
    base_model_prefix = "ovis2_5"

    def __init__(self, config):
        super().__init__(config)
        self.llm = AutoModelForCausalLM.from_config(config.llm_config)
        self.text_tokenizer = AutoTokenizer.from_pretrained(config.name_or_path, trust_remote_code=True)
        size = config.visual_vocab_size
        self.visual_tokenizer = VisualTokenizer(config.vit_config, size - len(INDICATOR_IDS))
        self.vte = nn.Embedding(size, config.hidden_size)
        self.post_init()

    def preprocess_inputs(
        self, messages, min_pixels=448 * 448, max_pixels=1344 * 1792, add_generation_prompt=True, enable_thinking=False
    ):
        text = self.text_tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=add_generation_prompt, enable_thinking=enable_thinking
        )
        images = [
            item["image"]
            for message in messages
            if isinstance(message["content"], list)
            for item in message["content"]
            if item.get("image") is not None
        ]
        visual = [self.visual_tokenizer.preprocess(one, None, min_pixels, max_pixels) for one in images]
        chunks = text.split(IMAGE_PLACEHOLDER)
        assert len(chunks) == len(visual) + 1
        input_ids = []
        for index, chunk in enumerate(chunks):
            if index:
                atoms = len(visual[index - 1][0])
                input_ids += [INDICATOR_IDS[0], *[VISUAL_ATOM_ID] * atoms, INDICATOR_IDS[1]]
            input_ids += self.text_tokenizer(chunk, add_special_tokens=False).input_ids
        pixel_values = torch.cat([pixels for pixels, _ in visual]) if visual else None
        grid_thws = torch.cat([grid for _, grid in visual]) if visual else None
        return torch.tensor(input_ids, dtype=torch.long).unsqueeze(0), pixel_values, grid_thws

    def generate(self, inputs=None, **kwargs):
        mask = torch.ne(inputs, self.text_tokenizer.pad_token_id)
        pixel_values, grid_thws = kwargs.pop("pixel_values", None), kwargs.pop("grid_thws", None)
        embeds = self.llm.get_input_embeddings()(inputs.clamp(min=0))
        if pixel_values is not None:
            features = self.visual_tokenizer(pixel_values, grid_thws)
            embeds[inputs == VISUAL_ATOM_ID] = features @ self.vte.weight[: features.shape[-1]]
            for row, indicator in zip(self.vte.weight[-len(INDICATOR_IDS) :], INDICATOR_IDS, strict=True):
                embeds[inputs == indicator] = row
        for name in ("enable_thinking", "enable_thinking_budget", "thinking_budget"):
            kwargs.pop(name, None)
        return self.llm.generate(inputs=None, inputs_embeds=embeds, attention_mask=mask, **kwargs)

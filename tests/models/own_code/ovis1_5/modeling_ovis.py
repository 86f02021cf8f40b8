"""A small stand-in for Ovis 1.5: the files, classes, signatures of the conversation formatter, the
visual tokenizer and `generate` are those of the original repositories; the layers are not."""

import numpy as np
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationMixin
from transformers.modeling_utils import PreTrainedModel

from .configuration_ovis import OvisConfig

IMAGE_TOKEN, IMAGE_TOKEN_INDEX = "<image>", -200


class Llama3ConversationFormatter:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.from2role = {"system": "<|system|>", "human": "<|user|>", "gpt": "<|assistant|>"}

    def format(self, conversations, generation_preface=None):
        if conversations[0]["from"] != "system":
            conversations.insert(0, {"from": "system", "value": "You are a helpful assistant."})
        if generation_preface is not None:
            conversations.append({"from": "gpt", "value": generation_preface})
        prompt = "".join(self.from2role[each["from"]] + each["value"].strip() + "<|end|>" for each in conversations)
        prompt = prompt if generation_preface is None else prompt.removesuffix("<|end|>")
        input_ids = []
        for index, chunk in enumerate(prompt.split(IMAGE_TOKEN)):
            input_ids += [IMAGE_TOKEN_INDEX] if index else []
            input_ids += self.tokenizer(chunk, add_special_tokens=False).input_ids
        input_ids = torch.tensor(input_ids, dtype=torch.long)
        return prompt, input_ids, torch.full_like(input_ids, -100)

    def format_query(self, query, generation_preface=""):
        prompt, input_ids, _ = self.format([{"from": "human", "value": query}], generation_preface=generation_preface)
        return prompt, input_ids


class SiglipVisualTokenizer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.side = config["image_size"]
        self.head = nn.Conv2d(3, config["vocab_size"], self.side // 2, self.side // 2)

    def preprocess_image(self, image, convert_to_rgb=True):
        resized = image.convert("RGB").resize((self.side, self.side))
        pixels = torch.from_numpy(np.asarray(resized, np.float32) / 255)
        return pixels.permute(2, 0, 1).unsqueeze(0)

    def forward(self, pixel_values):
        return self.head(pixel_values).flatten(2).transpose(1, 2).softmax(-1)


class Ovis(PreTrainedModel, GenerationMixin):
    config_class = OvisConfig

    def __init__(self, config):
        super().__init__(config)
        self.llm = AutoModelForCausalLM.from_config(config.llm_config)
        self.text_tokenizer = AutoTokenizer.from_pretrained(config.name_or_path, trust_remote_code=True)
        self.visual_tokenizer = SiglipVisualTokenizer(config.visual_tokenizer_config)
        self.vte = nn.Linear(config.visual_tokenizer_config["vocab_size"], config.hidden_size, bias=False)
        self.post_init()

    def get_text_tokenizer(self):
        return self.text_tokenizer

    def get_visual_tokenizer(self):
        return self.visual_tokenizer

    def get_conversation_formatter(self):
        assert self.config.conversation_formatter_class == "Llama3ConversationFormatter"
        return Llama3ConversationFormatter(self.text_tokenizer)

    def generate(self, inputs=None, **kwargs):
        mask, (pixels,) = kwargs.pop("attention_mask"), kwargs.pop("pixel_values")
        assert mask.shape == inputs.shape
        embeds = self.llm.get_input_embeddings()(inputs[0].clamp(min=0))
        places = (inputs[0] == IMAGE_TOKEN_INDEX).nonzero().flatten().tolist()
        visual = [] if pixels is None else self.vte(self.visual_tokenizer(pixels))
        parts, last = [], 0
        for place, features in zip(places, visual, strict=True):
            parts += [embeds[last:place], features]
            last = place + 1
        embeds = torch.cat([*parts, embeds[last:]]).unsqueeze(0)
        mask = torch.ones(embeds.shape[:2], dtype=torch.bool)
        return self.llm.generate(inputs=None, inputs_embeds=embeds, attention_mask=mask, **kwargs)

"""A small stand-in for Ovis 1.6 and 2: the files, classes, signatures of `preprocess_inputs` and
`generate` and places of pictures are those of the original repositories; the layers are not."""

import numpy as np
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationMixin
from transformers.modeling_utils import PreTrainedModel

from .configuration_ovis import (
    IMAGE_ATOM_ID,
    IMAGE_INDICATOR_IDS,
    IMAGE_TOKEN_ID,
    OvisConfig,
    QwenConversationFormatter,
)


class VisualTokenizer(nn.Module):
    def __init__(self, config, vocab_size):
        super().__init__()
        self.side = config["image_size"]
        self.head = nn.Conv2d(3, vocab_size - len(IMAGE_INDICATOR_IDS), self.side // 2, self.side // 2)

    def preprocess_image(self, image, max_partition=9, covering_threshold=0.9, convert_to_rgb=True):
        columns = max(1, min(max_partition, round(image.width / image.height)))
        resized = image.convert("RGB").resize((self.side * columns, self.side))
        pixels = torch.from_numpy(np.asarray(resized, np.float32) / 255).permute(2, 0, 1)
        begin, end, column, separator, stop = IMAGE_INDICATOR_IDS
        placeholders = [begin, IMAGE_ATOM_ID]
        for index in range(1, columns):
            placeholders += [column if index > 1 else separator, IMAGE_ATOM_ID]
        placeholders += [end if columns == 1 else stop]
        return torch.stack(pixels.split(self.side, dim=2)), placeholders

    def forward(self, pixel_values):
        return self.head(pixel_values).flatten(2).transpose(1, 2).softmax(-1)


class VisualEmbedding(nn.Embedding):
    def forward(self, visual_tokens):
        if visual_tokens.dtype == torch.long:
            return super().forward(visual_tokens)
        return visual_tokens @ self.weight[: visual_tokens.shape[-1]]


class Ovis(PreTrainedModel, GenerationMixin):
    config_class = OvisConfig
    base_model_prefix = "ovis"

    def __init__(self, config):
        super().__init__(config)
        self.llm = AutoModelForCausalLM.from_config(config.llm_config)
        self.text_tokenizer = AutoTokenizer.from_pretrained(config.name_or_path, trust_remote_code=True)
        self.vocab = config.visual_tokenizer_config["vocab_size"]
        self.visual_tokenizer = VisualTokenizer(config.visual_tokenizer_config, self.vocab)
        self.vte = VisualEmbedding(self.vocab, config.hidden_size)
        self.post_init()

    def get_text_tokenizer(self):
        return self.text_tokenizer

    def get_visual_tokenizer(self):
        return self.visual_tokenizer

    def get_conversation_formatter(self):
        assert self.config.conversation_formatter_class == "QwenConversationFormatter"
        return QwenConversationFormatter(self.text_tokenizer)

    def preprocess_inputs(
        self,
        text_or_conversations,
        images,
        max_partition=9,
        generation_preface="",
        return_labels=False,
        propagate_exception=True,
    ):
        conversations = text_or_conversations
        if isinstance(text_or_conversations, str):
            conversations = [{"from": "human", "value": text_or_conversations}]
        prompt, raw_input_ids, _ = self.get_conversation_formatter().format(
            conversations, generation_preface=generation_preface
        )
        assert raw_input_ids.count(IMAGE_TOKEN_ID) == len(images)
        remaining, input_ids, pixel_values = list(images), [], []
        for token in raw_input_ids:
            if token != IMAGE_TOKEN_ID:
                input_ids.append(token)
                continue
            pixels, placeholders = self.visual_tokenizer.preprocess_image(remaining.pop(0), max_partition=max_partition)
            input_ids += placeholders
            pixel_values.append(pixels)
        pixel_values = torch.cat(pixel_values) if pixel_values else None
        return prompt, torch.tensor(input_ids, dtype=torch.long), pixel_values

    def merge_multimodal(self, text_input_ids, pixel_values):
        (input_ids,), (pixels,) = text_input_ids, pixel_values
        embeds = self.llm.get_input_embeddings()(input_ids.clamp(min=0))
        indicators = torch.arange(self.vocab - len(IMAGE_INDICATOR_IDS), self.vocab)
        for row, indicator in zip(self.vte(indicators), IMAGE_INDICATOR_IDS, strict=True):
            embeds[input_ids == indicator] = row
        parts, last = [], 0
        visual = [] if pixels is None else self.vte(self.visual_tokenizer(pixels))
        places = (input_ids == IMAGE_ATOM_ID).nonzero().flatten().tolist()
        for place, features in zip(places, visual, strict=True):
            parts += [embeds[last:place], features]
            last = place + 1
        return torch.cat([*parts, embeds[last:]]).unsqueeze(0)

    def generate(self, inputs=None, **kwargs):
        mask = kwargs.pop("attention_mask")
        embeds = self.merge_multimodal(inputs, kwargs.pop("pixel_values"))
        assert mask.shape == inputs.shape
        mask = torch.ones(embeds.shape[:2], dtype=torch.bool)
        return self.llm.generate(inputs=None, inputs_embeds=embeds, attention_mask=mask, **kwargs)

"""A small stand-in for Ristretto: the file, classes, signature of `chat` and marks in the text are
those of the original repository; the layers are not. Like the original it does not call
`post_init`, and it has a buffer that no file holds."""

import torch
from torch import nn
from transformers import Qwen2ForCausalLM
from transformers.modeling_utils import PreTrainedModel

from .configuration_internvl_chat import InternVLChatConfig
from .modeling_internvl_chat import InternVLChatModel


class RistrettoConfig(InternVLChatConfig):
    model_type = "ristretto"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)


class RistrettoModel(PreTrainedModel):
    config_class = RistrettoConfig
    generate = InternVLChatModel.generate

    def __init__(self, config):
        super().__init__(config)
        width = config.llm_config.hidden_size
        self.vision_model = nn.Conv2d(3, width, 7, 7)
        self.language_model = Qwen2ForCausalLM(config.llm_config)
        self.system_message = "You are a helpful assistant."
        self.register_buffer("scale", torch.linspace(0.5, 1.5, width), persistent=False)

    def extract_feature(self, pixel_values):
        features = self.vision_model(pixel_values).flatten(2)
        features = nn.functional.adaptive_avg_pool1d(features, self.tokens).transpose(1, 2)
        return features * self.scale.to(features.dtype)

    def chat(
        self,
        tokenizer,
        pixel_values,
        question,
        generation_config,
        num_image_token=None,
        history=None,
        return_history=False,
        num_patches_list=None,
        IMG_START_TOKEN="<img>",
        IMG_END_TOKEN="</img>",
        IMG_CONTEXT_TOKEN="<IMG_CONTEXT>",
        verbose=False,
    ):
        self.tokens = num_image_token
        return InternVLChatModel.chat(
            self,
            tokenizer,
            pixel_values,
            question,
            generation_config,
            history,
            return_history,
            num_patches_list,
            IMG_START_TOKEN,
            IMG_END_TOKEN,
            IMG_CONTEXT_TOKEN,
            verbose,
        )

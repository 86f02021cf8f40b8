"""A small stand-in for InternVL-Chat: the files, class, signature of `chat` and marks in the text
are those of the original repositories; the layers are not."""

import torch
from torch import nn
from transformers import Qwen2ForCausalLM
from transformers.modeling_utils import PreTrainedModel

from .configuration_internvl_chat import InternVLChatConfig

TURN = "<|im_start|>{role}\n{text}<|im_end|>\n"


class InternVLChatModel(PreTrainedModel):
    config_class = InternVLChatConfig
    main_input_name = "pixel_values"

    def __init__(self, config):
        super().__init__(config)
        self.patch = config.vision_config.patch_size
        self.tokens = int((config.force_image_size // self.patch) ** 2 * config.downsample_ratio**2)
        width = config.llm_config.hidden_size
        self.vision_model = nn.Conv2d(3, width, 2 * self.patch, 2 * self.patch)
        self.mlp1 = nn.Linear(width, width)
        self.language_model = Qwen2ForCausalLM(config.llm_config)
        self.system_message = "You are a helpful assistant."
        self.img_context_token_id = None
        self.post_init()

    def extract_feature(self, pixel_values):
        features = self.vision_model(pixel_values)
        return self.mlp1(features.flatten(2).transpose(1, 2))

    def chat(
        self,
        tokenizer,
        pixel_values,
        question,
        generation_config,
        history=None,
        return_history=False,
        num_patches_list=None,
        IMG_START_TOKEN="<img>",
        IMG_END_TOKEN="</img>",
        IMG_CONTEXT_TOKEN="<IMG_CONTEXT>",
        verbose=False,
    ):
        if history is None and pixel_values is not None and "<image>" not in question:
            question = "<image>\n" + question
        if num_patches_list is None:
            num_patches_list = [pixel_values.shape[0]] if pixel_values is not None else []
        assert pixel_values is None or len(pixel_values) == sum(num_patches_list)
        self.img_context_token_id = tokenizer.convert_tokens_to_ids(IMG_CONTEXT_TOKEN)
        history = [] if history is None else history
        query = TURN.format(role="system", text=self.system_message)
        for old_question, old_answer in history:
            query += TURN.format(role="user", text=old_question)
            query += TURN.format(role="assistant", text=old_answer)
        query += TURN.format(role="user", text=question) + "<|im_start|>assistant\n"
        for count in num_patches_list:
            tokens = IMG_START_TOKEN + IMG_CONTEXT_TOKEN * self.tokens * count + IMG_END_TOKEN
            query = query.replace("<image>", tokens, 1)
        assert "<image>" not in query, "more marks than pictures"
        inputs = tokenizer(query, return_tensors="pt")
        generation_config["eos_token_id"] = tokenizer.convert_tokens_to_ids("<|im_end|>")
        output = self.generate(
            pixel_values=pixel_values,
            input_ids=inputs["input_ids"].to(self.device),
            attention_mask=inputs["attention_mask"].to(self.device),
            **generation_config,
        )
        response = tokenizer.batch_decode(output, skip_special_tokens=True)[0].strip()
        history.append((question, response))
        return (response, history) if return_history else response

    @torch.no_grad()
    def generate(self, pixel_values=None, input_ids=None, attention_mask=None, **settings):
        embeddings = self.language_model.get_input_embeddings()(input_ids)
        if pixel_values is not None:
            selected = input_ids == self.img_context_token_id
            features = self.extract_feature(pixel_values)
            embeddings[selected] = features.reshape(-1, embeddings.shape[-1])
        return self.language_model.generate(
            inputs_embeds=embeddings, attention_mask=attention_mask, use_cache=True, **settings
        )

"""A small stand-in for MiniCPM-V: the files, class, signature of `chat` and messages are those of
the original repositories; the layers are not."""

from copy import deepcopy

import torch
from PIL import Image
from torch import nn
from transformers import AutoProcessor, Qwen2ForCausalLM, Qwen2PreTrainedModel

from .configuration_minicpm import MiniCPMVConfig


class MiniCPMV(Qwen2PreTrainedModel):
    config_class = MiniCPMVConfig

    def __init__(self, config):
        super().__init__(config)
        self.llm = Qwen2ForCausalLM(config)
        self.vpm = nn.Conv2d(3, config.hidden_size, config.patch_size, config.patch_size)
        self.processor = None
        self.post_init()

    def get_input_embeddings(self):
        return self.llm.get_input_embeddings()

    def chat(
        self,
        image,
        msgs,
        tokenizer,
        processor=None,
        vision_hidden_states=None,
        max_new_tokens=2048,
        min_new_tokens=0,
        sampling=True,
        max_inp_length=8192,
        system_prompt="",
        stream=False,
        max_slice_nums=None,
        use_image_id=None,
        **kwargs,
    ):
        if processor is None:
            processor = AutoProcessor.from_pretrained(self.config._name_or_path)
        messages, images = deepcopy(msgs), []
        if image is not None and isinstance(messages[0]["content"], str):
            messages[0]["content"] = [image, messages[0]["content"]]
        for index, message in enumerate(messages):
            assert message["role"] in ("user", "assistant")
            assert index or message["role"] == "user", "the first role is the user's"
            content = message["content"]
            parts = [content] if isinstance(content, str) else content
            images += [part for part in parts if isinstance(part, Image.Image)]
            message["content"] = "\n".join(part if isinstance(part, str) else "(<image>./</image>)" for part in parts)
        if system_prompt:
            messages = [{"role": "system", "content": system_prompt}, *messages]
        prompt = processor.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        inputs = processor([prompt], [images], max_length=max_inp_length).to(self.device)
        drawn = {"top_p": 0.8, "top_k": 100, "temperature": 0.7, "do_sample": True}
        settings = (drawn if sampling else {"num_beams": 3}) | kwargs
        with torch.inference_mode():
            embeddings = self.llm.get_input_embeddings()(inputs["input_ids"]).clone()
            if images:
                selected = inputs["input_ids"] == tokenizer.convert_tokens_to_ids("<unk>")
                features = self.vpm(inputs["pixel_values"]).flatten(2).transpose(1, 2)
                embeddings[selected] = features.reshape(-1, embeddings.shape[-1])
            output = self.llm.generate(
                inputs_embeds=embeddings,
                attention_mask=inputs["attention_mask"],
                eos_token_id=tokenizer.convert_tokens_to_ids("<|im_end|>"),
                pad_token_id=0,
                max_new_tokens=max_new_tokens,
                **settings,
            )
        return tokenizer.decode(output[0], skip_special_tokens=True).strip()

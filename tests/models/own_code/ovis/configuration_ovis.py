"""Configuration and conversation formatter of a small stand-in for Ovis 1.6 and 2, with the names,
fields and marks of the original."""

from transformers import AutoConfig
from transformers.configuration_utils import PretrainedConfig

IMAGE_TOKEN = "<image>"
IMAGE_TOKEN_ID = -200
IMAGE_ATOM_ID = -300
IMAGE_INDICATOR_IDS = [-301, -302, -303, -304, -305]


class OvisConfig(PretrainedConfig):
    model_type = "ovis"

    def __init__(
        self,
        llm_config=None,
        visual_tokenizer_config=None,
        multimodal_max_length=8192,
        hidden_size=None,
        conversation_formatter_class=None,
        **kwargs,
    ):
        if isinstance(llm_config, dict):
            llm_config = AutoConfig.for_model(**llm_config)
        self.llm_config = llm_config
        self.visual_tokenizer_config = visual_tokenizer_config
        self.multimodal_max_length = multimodal_max_length
        self.hidden_size = hidden_size
        self.conversation_formatter_class = conversation_formatter_class
        super().__init__(**kwargs)


class QwenConversationFormatter:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.from2role = {
            "system": "<|im_start|>system\n",
            "human": "<|im_start|>user\n",
            "gpt": "<|im_start|>assistant\n",
        }

    def _tokenize_with_image_symbol(self, text):
        token_ids = []
        for index, chunk in enumerate(text.split(IMAGE_TOKEN)):
            token_ids += [IMAGE_TOKEN_ID] if index else []
            token_ids += self.tokenizer(chunk, add_special_tokens=False).input_ids
        return token_ids

    def format(self, conversations, generation_preface=None):
        if conversations[0]["from"] != "system":
            conversations.insert(0, {"from": "system", "value": "You are a helpful assistant."})
        if generation_preface is not None:
            conversations.append({"from": "gpt", "value": generation_preface})
        prompt, input_ids = "", []
        for index, conversation in enumerate(conversations):
            text = self.from2role[conversation["from"]] + conversation["value"]
            if index < len(conversations) - 1 or generation_preface is None:
                text += "<|im_end|>\n"
            prompt += text
            input_ids += self._tokenize_with_image_symbol(text)
        return prompt, input_ids, [-100] * len(input_ids)

    def format_query(self, query, generation_preface=""):
        prompt, input_ids, _ = self.format([{"from": "human", "value": query}], generation_preface=generation_preface)
        return prompt, input_ids

"""Configuration of a small stand-in for Ovis 1.5, with the fields of the original."""

from transformers import AutoConfig
from transformers.configuration_utils import PretrainedConfig


class OvisConfig(PretrainedConfig):
    model_type = "ovis"

    def __init__(
        self,
        llm_config=None,
        visual_tokenizer_config=None,
        multimodal_max_length=2048,
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

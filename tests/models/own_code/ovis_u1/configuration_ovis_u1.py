"""Configuration of a small stand-in for Ovis-U1, with the fields of the original."""

from transformers import AutoConfig
from transformers.configuration_utils import PretrainedConfig


class OvisU1Config(PretrainedConfig):
    model_type = "ovis_u1"

    def __init__(self, llm_config=None, visual_tokenizer_config=None, hidden_size=None, **kwargs):
        if isinstance(llm_config, dict):
            llm_config = AutoConfig.for_model(**llm_config)
        self.llm_config = llm_config
        self.visual_tokenizer_config = visual_tokenizer_config
        self.hidden_size = hidden_size
        super().__init__(**kwargs)

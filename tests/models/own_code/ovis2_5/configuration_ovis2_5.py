"""Configuration of a small stand-in for Ovis 2.5, with the fields of the original."""

from transformers import AutoConfig
from transformers.configuration_utils import PretrainedConfig


class Ovis2_5_Config(PretrainedConfig):
    model_type = "ovis2_5"

    def __init__(self, llm_config=None, vit_config=None, visual_vocab_size=64, hidden_size=None, **kwargs):
        if isinstance(llm_config, dict):
            llm_config = AutoConfig.for_model(**llm_config)
        self.llm_config = llm_config
        self.vit_config = vit_config
        self.visual_vocab_size = visual_vocab_size
        self.hidden_size = hidden_size
        super().__init__(**kwargs)

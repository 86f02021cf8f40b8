"""A small stand-in for moondream2: the file, classes and the arguments and values of `query` are
those of the original repository; the layers are not. Like the original it does not call
`post_init`, and it has a mask that no file holds."""

import torch
from transformers import PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

from .small_parts import SmallModel, chatml, pixels_of


class HfConfig(Qwen2Config):
    model_type = "moondream1"


class HfMoondream(PreTrainedModel):
    config_class = HfConfig
    see = SmallModel.see
    write = SmallModel.write

    def __init__(self, config):
        super().__init__(config)
        self.vision = torch.nn.Conv2d(3, config.hidden_size, 14, 14)
        self.language_model = Qwen2ForCausalLM(config)
        self.register_buffer("attn_mask", torch.tril(torch.ones(32, 32)), persistent=False)

    @torch.no_grad()
    def query(self, image=None, question=None, reasoning=False, spatial_refs=None, stream=False, settings=None):
        assert settings["variant"] is None
        assert not stream
        assert torch.equal(self.attn_mask, torch.tril(torch.ones(32, 32)))
        settings = {"temperature": 0.5, "top_p": 0.3, "max_tokens": 768} | settings
        drawn = {name: settings[name] for name in ("temperature", "top_p")}
        parts = [] if image is None else [pixels_of(image)]
        answer = self.write(
            self.own_tokenizer(),
            [*parts, chatml("", [], question)],
            max_new_tokens=settings["max_tokens"],
            **({"do_sample": True} | drawn if settings["temperature"] else {"do_sample": False}),
        )
        return {"answer": answer}

    def own_tokenizer(self):
        from transformers import PreTrainedTokenizerFast

        return PreTrainedTokenizerFast.from_pretrained(self.config._name_or_path)

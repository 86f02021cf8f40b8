"""A small stand-in for MiniMonkey: the arguments of `chat` are those which its demo gives and the
marks in the text those of InternVL; the layers are not."""

from .configuration_internvl_chat import InternVLChatConfig
from .modeling_internvl_chat import InternVLChatModel


class MiniMonkeyConfig(InternVLChatConfig):
    model_type = "minimonkey"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)


class MiniMonkeyChatModel(InternVLChatModel):
    config_class = MiniMonkeyConfig

    def chat(
        self,
        tokenizer,
        pixel_values,
        target_aspect_ratio,
        question,
        generation_config,
        history=None,
        return_history=False,
        num_patches_list=None,
        verbose=False,
    ):
        assert len(target_aspect_ratio) == 2
        return super().chat(
            tokenizer, pixel_values, question, generation_config, history, return_history, num_patches_list
        )

"""Configuration of a small stand-in for InternVL-Chat, with the fields of the original."""

from transformers import Qwen2Config
from transformers.configuration_utils import PretrainedConfig


class InternVLChatConfig(PretrainedConfig):
    model_type = "internvl_chat"
    is_composition = True

    def __init__(
        self,
        vision_config=None,
        llm_config=None,
        downsample_ratio=0.5,
        template="internvl2_5",
        dynamic_image_size=True,
        use_thumbnail=True,
        min_dynamic_patch=1,
        max_dynamic_patch=12,
        force_image_size=28,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vision_config = PretrainedConfig(**(vision_config or {}))
        self.llm_config = Qwen2Config(**(llm_config or {}))
        self.downsample_ratio = downsample_ratio
        self.template = template
        self.dynamic_image_size = dynamic_image_size
        self.use_thumbnail = use_thumbnail
        self.min_dynamic_patch = min_dynamic_patch
        self.max_dynamic_patch = max_dynamic_patch
        self.force_image_size = force_image_size

    def to_dict(self):
        return super().to_dict() | {
            "vision_config": self.vision_config.to_dict(),
            "llm_config": self.llm_config.to_dict(),
        }

"""More families with a vision tower, a projector and a language model."""

from __future__ import annotations

import transformers as hf
from family_llava_like import CLIP, llava_next
from family_parts import Family, Made, resizer, square, template, text, vision, with_video, words
from family_plain import shaken


def llava_next_video() -> Made:
    made = llava_next()
    given = made.model.config
    tokenizer = words("<image>", "<video>")
    config = hf.LlavaNextVideoConfig(
        vision_config=given.vision_config,
        text_config=text(tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=given.image_grid_pinpoints,
        image_seq_length=16,
    )
    film = "LlavaNextVideoVideoProcessor"
    processor = with_video(
        hf.LlavaNextVideoProcessor,
        film,
        made.processor.image_processor,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template(),
    )
    return Made(hf.LlavaNextVideoForConditionalGeneration(config), processor, film)


def video_llava() -> Made:
    tokenizer = words("<image>", "<video>")
    config = hf.VideoLlavaConfig(
        vision_config=vision("clip_vision_model"),
        text_config=text(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_seq_length=16,
    )
    film = "VideoLlavaVideoProcessor"
    processor = with_video(
        hf.VideoLlavaProcessor,
        film,
        hf.VideoLlavaImageProcessor(**CLIP),
        tokenizer,
        patch_size=8,
        chat_template=template(),
    )
    return Made(hf.VideoLlavaForConditionalGeneration(config), processor, film)


def deepseek_hybrid() -> Made:
    tokenizer = words(image_token="<image_placeholder>")
    config = hf.DeepseekVLHybridConfig(
        vision_config=vision("siglip_vision_model", vision_use_head=False),
        high_res_vision_config={
            "model_type": "sam_vision_model",
            "hidden_size": 32,
            "output_channels": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 8,
            "initializer_range": 0.3,
            "window_size": 4,
            "global_attn_indexes": [1],
            "mlp_dim": 48,
        },
        text_config=text(tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image_placeholder>"),
        tie_word_embeddings=False,
    )
    pictures = resizer(
        "deepseek_vl_hybrid", "DeepseekVLHybridImageProcessor", size=square(), high_res_size=square(64), min_size=8
    )
    processor = hf.DeepseekVLHybridProcessor(
        pictures, tokenizer, chat_template=template("<image_placeholder>"), num_image_tokens=16
    )
    return Made(hf.DeepseekVLHybridForConditionalGeneration(config), processor)


def lighton_ocr() -> Made:
    named = {"image_token": "[IMG]", "image_break_token": "[BREAK]", "image_end_token": "[END]"}
    tokenizer = words(**named)
    config = hf.LightOnOcrConfig(
        vision_config=vision("pixtral", head_dim=16),
        text_config=text(tokenizer, "qwen3"),
        image_token_id=tokenizer.convert_tokens_to_ids("[IMG]"),
        tie_word_embeddings=False,
    )
    processor = hf.LightOnOcrProcessor(
        resizer("pixtral", "PixtralImageProcessor", size={"longest_edge": 32}, patch_size=8),
        tokenizer,
        patch_size=8,
        chat_template=template("[IMG]"),
    )
    return Made(hf.LightOnOcrForConditionalGeneration(config), processor)


def granite_vision() -> Made:
    tokenizer = words("<image>")
    grid = [[32, 64], [64, 32], [64, 64]]
    config = hf.Granite4VisionConfig(
        vision_config=vision("siglip_vision_model", hidden_size=64, vision_use_head=False),
        text_config=text(tokenizer, "granite4_vision_text"),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=grid,
        image_seq_length=16,
        vision_feature_select_strategy="full",
        downsample_rate="1/2",
        deepstack_layer_map=[[-1, 0]],
    )
    processor = hf.Granite4VisionProcessor(
        resizer("llava_next", "LlavaNextImageProcessor", **CLIP, image_grid_pinpoints=grid),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="full",
        downsample_rate="1/2",
        chat_template=template(),
    )
    return Made(shaken(hf.Granite4VisionForConditionalGeneration(config)), processor)


def qianfan_ocr() -> Made:
    named = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>"}
    tokenizer = words(**named)
    config = hf.QianfanOCRConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": [32, 32],
            "patch_size": [8, 8],
            "initializer_range": 0.3,
        },
        text_config=text(tokenizer, "qwen3"),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    pictures = resizer("got_ocr2", "GotOcr2ImageProcessor", size=square(), crop_to_patches=True, max_patches=3)
    processor = hf.QianfanOCRProcessor(pictures, tokenizer, image_seq_length=4, chat_template=template())
    return Made(hf.QianfanOCRForConditionalGeneration(config), processor)


def perception() -> Made:
    named = {"image_token": "<|image|>", "video_token": "<|video|>"}
    tokenizer = words(**named)
    image, video = tokenizer.convert_tokens_to_ids(list(named.values()))
    config = hf.PerceptionLMConfig(
        vision_config={
            "model_type": "timm_wrapper",
            "architecture": "vit_pe_core_large_patch14_336",
            "do_pooling": False,
            "num_classes": 0,
            "global_pool": "",
            "initializer_range": 0.3,
            "model_args": {
                "embed_dim": 32,
                "depth": 2,
                "num_heads": 2,
                "img_size": [32, 32],
                "patch_size": 8,
                "ref_feat_shape": [4, 4],
                "use_post_transformer_norm": True,
            },
        },
        text_config=text(tokenizer),
        projector_pooling_ratio=2,
        image_token_id=image,
        video_token_id=video,
        tie_word_embeddings=False,
    )
    pictures = resizer("perception_lm", "PerceptionLMImageProcessor", tile_size=32, max_num_tiles=4)
    film = "PerceptionLMVideoProcessor"
    processor = with_video(
        hf.PerceptionLMProcessor,
        film,
        pictures,
        tokenizer,
        patch_size=8,
        pooling_ratio=2,
        chat_template=template("<|image|>"),
    )
    return Made(hf.PerceptionLMForConditionalGeneration(config), processor, film)


def fast_vlm() -> Made:
    tokenizer = words("<image>")
    config = hf.FastVlmConfig(
        vision_config={
            "model_type": "timm_wrapper",
            "architecture": "fastvit_mci3",
            "do_pooling": True,
            "global_pool": "avg",
            "hidden_size": 64,
            "initializer_range": 0.3,
            "model_args": {"layers": (1, 1, 1, 1, 1), "embed_dims": (8, 8, 8, 32, 32)},
        },
        text_config=text(tokenizer, "qwen2"),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    processor = hf.LlavaProcessor(
        resizer("clip", "CLIPImageProcessor", size=square(128), crop_size=square(128)),
        tokenizer,
        patch_size=64,
        vision_feature_select_strategy="full",
        chat_template=template(),
    )
    return Made(hf.FastVlmForConditionalGeneration(config), processor)


FAMILIES = (
    Family("LLaVA-NeXT-Video", llava_next_video),
    Family("Video-LLaVA", video_llava),
    Family("DeepSeek-VL (hybrid)", deepseek_hybrid),
    Family("LightOnOCR", lighton_ocr, torchvision=True, needs="LightOnOcrConfig"),
    Family("Granite Vision 4", granite_vision, needs="Granite4VisionConfig"),
    Family("Qianfan-OCR", qianfan_ocr, needs="QianfanOCRConfig"),
    Family("PerceptionLM", perception, torchvision=True, library="timm"),
    Family("FastVLM", fast_vlm, torchvision=True, needs="FastVlmConfig", library="timm"),
)

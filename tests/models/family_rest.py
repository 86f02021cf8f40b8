"""Further families: visual tokens from a codebook, experts for pictures, grids with seams."""

from __future__ import annotations

import transformers as hf
from family_parts import Family, Made, resizer, square, template, text, vision, with_video, words
from family_plain import shaken
from family_qwen_like import QWEN, QWEN_TEMPLATE, SIZE, tower


def janus() -> Made:
    named = {"image_token": "<image>", "boi_token": "<boi>", "eoi_token": "<eoi>"}
    tokenizer = words(bos="<begin>", **named)
    config = hf.JanusConfig(
        text_config=text(tokenizer),
        vision_config=vision("janus_vision_model", projection_dim=32, num_image_tokens=16),
        vq_config={
            "embed_dim": 8,
            "num_embeddings": 16,
            "latent_channels": 32,
            "base_channels": 32,
            "channel_multiplier": [1, 1],
            "num_res_blocks": 1,
            "num_patches": 4,
            "projection_dim": 32,
            "image_token_embed_dim": 32,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=False,
    )
    pictures = resizer("janus", "JanusImageProcessor", size=square(), min_size=8)
    processor = hf.JanusProcessor(pictures, tokenizer, chat_template=template(), num_image_tokens=16)
    return Made(shaken(hf.JanusForConditionalGeneration(config)), processor)


def video_llama3() -> Made:
    tokenizer = words(*QWEN)
    config = hf.VideoLlama3Config(
        vision_config=vision("video_llama_3_vision"),
        text_config=text(tokenizer, "qwen2"),
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
    )
    pictures = resizer("video_llama_3", "VideoLlama3ImageProcessor", patch_size=8, merge_size=1, size=SIZE)
    video = "VideoLlama3VideoProcessor"
    processor = with_video(hf.VideoLlama3Processor, video, pictures, tokenizer, chat_template=QWEN_TEMPLATE)
    return Made(hf.VideoLlama3ForConditionalGeneration(config), processor, video)


def ernie() -> Made:
    named = {
        "image_token": "<|IMAGE_PLACEHOLDER|>",
        "image_start_token": "<|IMAGE_START|>",
        "image_end_token": "<|IMAGE_END|>",
        "video_token": "<|VIDEO_PLACEHOLDER|>",
        "video_start_token": "<|VIDEO_START|>",
        "video_end_token": "<|VIDEO_END|>",
    }
    tokenizer = words(**named)
    settings = text(
        tokenizer,
        "ernie4_5_vl_moe_text",
        moe_intermediate_size=[32, 16],
        moe_num_experts=4,
        moe_k=2,
        moe_num_shared_experts=1,
        mlp_layer_types=["dense", "sparse"],
        rope_parameters={"rope_type": "default", "mrope_section": [2, 2, 4], "rope_theta": 10000.0},
    )
    ids = {f"{name}_id": tokenizer.convert_tokens_to_ids(sign) for name, sign in named.items()}
    config = hf.Ernie4_5_VLMoeConfig(
        text_config=settings,
        vision_config=tower(intermediate_size=48, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}),
        tie_word_embeddings=False,
        **ids,
    )
    pictures = resizer("ernie4_5_vl_moe", "Ernie4_5_VLMoeImageProcessor", patch_size=8, merge_size=2, size=SIZE)
    video = "Ernie4_5_VLMoeVideoProcessor"
    processor = with_video(
        hf.Ernie4_5_VLMoeProcessor,
        video,
        pictures,
        tokenizer,
        chat_template=template(named["image_token"], "<|IMAGE_START|>", "<|IMAGE_END|>"),
    )
    return Made(hf.Ernie4_5_VLMoeForConditionalGeneration(config), processor, video)


def hunyuan() -> Made:
    named = {"image_token": "<image>", "image_start_token": "<img_start>", "image_end_token": "<img_end>"}
    tokenizer = words("<newline>", **named)
    image, start, end = tokenizer.convert_tokens_to_ids(list(named.values()))
    config = hf.HunYuanVLConfig(
        text_config=text(
            tokenizer,
            "hunyuan_vl_text",
            rope_parameters={
                "rope_type": "xdrope",
                "factor": 1.0,
                "alpha": 1000.0,
                "xdrope_section": [2, 2, 2, 2],
                "rope_theta": 10000.0,
            },
        ),
        vision_config=vision(
            "hunyuan_vl_vision",
            out_hidden_size=32,
            text_hidden_size=32,
            max_image_size=64,
            min_image_size=16,
            img_max_token_num=64,
        ),
        image_token_id=image,
        im_start_id=start,
        im_end_id=end,
        im_newline_id=tokenizer.convert_tokens_to_ids("<newline>"),
        tie_word_embeddings=False,
    )
    pictures = resizer("hunyuan_vl", "HunYuanVLImageProcessor", patch_size=8, merge_size=2, size=SIZE)
    processor = hf.HunYuanVLProcessor(
        pictures, tokenizer, chat_template=template("<image>", "<img_start>", "<img_end>")
    )
    return Made(hf.HunYuanVLForConditionalGeneration(config), processor)


def minicpmv() -> Made:
    tokenizer = words(
        image_token="<image_pad>",
        video_token="<video_pad>",
        image_start_token="<image>",
        image_end_token="</image>",
        slice_start_token="<slice>",
        slice_end_token="</slice>",
        image_id_start_token="<image_id>",
        image_id_end_token="</image_id>",
    )
    config = hf.MiniCPMV4_6Config(
        text_config=text(tokenizer, "qwen3"),
        vision_config=vision("minicpmv4_6_vision", insert_layer_id=0, image_size=64),
        insert_layer_id=0,
        image_size=64,
        image_token_id=tokenizer.convert_tokens_to_ids("<image_pad>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<video_pad>"),
    )
    pictures = resizer("minicpmv4_6", "MiniCPMV4_6ImageProcessor", patch_size=8, scale_resolution=64)
    video = "MiniCPMV4_6VideoProcessor"
    processor = with_video(hf.MiniCPMV4_6Processor, video, pictures, tokenizer, chat_template=template("<image_pad>"))
    return Made(hf.MiniCPMV4_6ForConditionalGeneration(config), processor, video)


def emu3() -> Made:
    named = {
        "image_token": "<image>",
        "boi_token": "<|image start|>",
        "eoi_token": "<|image end|>",
        "image_wrapper_token": "<|image token|>",
        "eof_token": "<|extra_201|>",
    }
    tokenizer = words("<|extra_200|>", bos="<|begin|>", **named)
    codes = [f"<|visual token {number:06d}|>" for number in range(16)]
    tokenizer.add_tokens([*codes, *(f"<unused{number}>" for number in range(20))])
    settings = text(tokenizer, "emu3_text_model", attention_dropout=0.0, bos_token_id=tokenizer.bos_token_id)
    config = hf.Emu3Config(
        text_config=settings,
        vq_config={
            "codebook_size": 16,
            "embed_dim": 4,
            "latent_channels": 4,
            "base_channels": 32,
            "channel_multiplier": [1, 1, 1, 1],
            "num_res_blocks": 1,
            "hidden_size": 32,
            "attn_resolutions": [],
            "temporal_downsample_factor": 1,
        },
        vocabulary_map=tokenizer.get_vocab(),
    )
    pictures = resizer("emu3", "Emu3ImageProcessor", min_pixels=32 * 32, max_pixels=48 * 48, spatial_factor=8)
    processor = hf.Emu3Processor(pictures, tokenizer, chat_template=template())
    return Made(shaken(hf.Emu3ForConditionalGeneration(config)), processor)


def llama4() -> Made:
    tokenizer = words(
        "<|image_start|>",
        "<|image_end|>",
        "<|image|>",
        "<|patch|>",
        "<|tile_x_separator|>",
        "<|tile_y_separator|>",
        bos="<|begin|>",
    )
    start, end, patch = tokenizer.convert_tokens_to_ids(["<|image_start|>", "<|image_end|>", "<|patch|>"])
    config = hf.Llama4Config(
        text_config=text(
            tokenizer,
            "llama4_text",
            intermediate_size_mlp=48,
            num_local_experts=2,
            interleave_moe_layer_step=1,
            bos_token_id=tokenizer.bos_token_id,
        ),
        vision_config=vision(
            "llama4_vision_model",
            intermediate_size=128,
            vision_output_dim=32,
            projector_input_dim=32,
            projector_output_dim=32,
        ),
        image_token_index=patch,
        boi_token_index=start,
        eoi_token_index=end,
    )
    pictures = resizer("llama4", "Llama4ImageProcessor", size=square(), max_patches=3)
    processor = hf.Llama4Processor(pictures, tokenizer, patch_size=8, chat_template="<|begin|>" + template("<|image|>"))
    return Made(hf.Llama4ForConditionalGeneration(config), processor)


FAMILIES = (
    Family("Janus", janus),
    Family("VideoLLaMA 3", video_llama3),
    Family("ERNIE 4.5 VL", ernie),
    Family("Hunyuan VL", hunyuan),
    Family("MiniCPM-V 4.6", minicpmv, torchvision=True),
    Family("Emu3", emu3),
    Family("Llama 4", llama4, torchvision=True),
)

"""Families that cut pictures into tiles, or look at them through a resampler or cross-attention."""

from __future__ import annotations

from typing import Any

import transformers as hf
from family_parts import Family, Made, resizer, square, template, text, vision, with_video, words

FAKE = "<fake_token_around_image>"


def internvl() -> Made:
    named = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = words(**named)
    config = hf.InternVLConfig(
        vision_config=vision("internvl_vision", image_size=[32, 32], patch_size=[8, 8]),
        text_config=text(tokenizer, "qwen2"),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    pictures = resizer("got_ocr2", "GotOcr2ImageProcessor", size=square(), crop_to_patches=True, max_patches=3)
    video = "InternVLVideoProcessor"
    processor = with_video(
        hf.InternVLProcessor, video, pictures, tokenizer, image_seq_length=4, chat_template=template("<IMG_CONTEXT>")
    )
    return Made(hf.InternVLForConditionalGeneration(config), processor, video)


def idefics2() -> Made:
    tokenizer = words("<image>", FAKE)
    config = hf.Idefics2Config(
        vision_config=vision("idefics2_vision"),
        perceiver_config={
            "model_type": "idefics2",
            "hidden_size": 32,
            "resampler_n_latents": 4,
            "resampler_depth": 1,
            "resampler_n_heads": 2,
            "resampler_head_dim": 16,
            "num_key_value_heads": 1,
        },
        text_config=text(tokenizer, "mistral"),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    edges = {"longest_edge": 32, "shortest_edge": 16}
    pictures = resizer("idefics2", "Idefics2ImageProcessor", size=edges)
    processor = hf.Idefics2Processor(pictures, tokenizer, image_seq_len=4, chat_template=template())
    return Made(hf.Idefics2ForConditionalGeneration(config), processor)


def tiles(family: str, name: str) -> Any:
    edge = {"longest_edge": 32}
    return resizer(family, name, size={"longest_edge": 64}, max_image_size=edge, do_image_splitting=True)


def idefics3() -> Made:
    tokenizer = words("<image>", FAKE, "<global-img>")
    config = hf.Idefics3Config(
        vision_config=vision("idefics3_vision"),
        text_config=text(tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        tie_word_embeddings=False,
    )
    processor = hf.Idefics3Processor(
        tiles("idefics3", "Idefics3ImageProcessor"), tokenizer, image_seq_len=4, chat_template=template()
    )
    return Made(hf.Idefics3ForConditionalGeneration(config), processor)


def smolvlm() -> Made:
    tokenizer = words(
        fake_image_token=FAKE,
        image_token="<image>",
        end_of_utterance_token="<end_of_utterance>",
        global_image_token="<global-img>",
        video_token="<video>",
    )
    config = hf.SmolVLMConfig(
        vision_config=vision("smolvlm_vision"),
        text_config=text(tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        tie_word_embeddings=False,
    )
    video = "SmolVLMVideoProcessor"
    processor = with_video(
        hf.SmolVLMProcessor,
        video,
        tiles("smolvlm", "SmolVLMImageProcessor"),
        tokenizer,
        image_seq_len=4,
        chat_template=template(),
    )
    return Made(hf.SmolVLMForConditionalGeneration(config), processor, video)


GEMMA = {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}
WINDOWS = ["sliding_attention", "full_attention"]


def gemma3() -> Made:
    tokenizer = words(**GEMMA)
    soft, start, end = tokenizer.convert_tokens_to_ids(list(GEMMA.values()))
    config = hf.Gemma3Config(
        vision_config=vision("siglip_vision_model", vision_use_head=False),
        text_config=text(tokenizer, "gemma3_text", sliding_window=512, layer_types=WINDOWS),
        mm_tokens_per_image=4,
        tie_word_embeddings=False,
        image_token_index=soft,
        boi_token_index=start,
        eoi_token_index=end,
    )
    processor = hf.Gemma3Processor(
        resizer("gemma3", "Gemma3ImageProcessor", size=square()),
        tokenizer,
        image_seq_length=4,
        chat_template=template(GEMMA["boi_token"]),
    )
    return Made(hf.Gemma3ForConditionalGeneration(config), processor)


SOUNDS = {"audio_token": "<audio_soft_token>", "boa_token": "<boa>", "eoa_token": "<eoa>"}


def gemma4() -> Made:
    named = GEMMA | SOUNDS | {"video_token": "<video>"}
    tokenizer = words(**named)
    soft, start, end, sound, before, after, film = tokenizer.convert_tokens_to_ids(list(named.values()))
    config = hf.Gemma4Config(
        vision_config=vision(
            "gemma4_vision", num_key_value_heads=1, head_dim=16, position_embedding_size=64, pooling_kernel_size=2
        ),
        text_config=text(
            tokenizer,
            "gemma4_text",
            sliding_window=512,
            layer_types=WINDOWS,
            hidden_size_per_layer_input=8,
            vocab_size_per_layer_input=len(tokenizer),
            global_head_dim=16,
        ),
        audio_config=None,
        tie_word_embeddings=False,
        image_token_id=soft,
        boi_token_id=start,
        eoi_token_id=end,
        audio_token_id=sound,
        boa_token_id=before,
        eoa_token_index=after,
        video_token_id=film,
    )
    video = "Gemma4VideoProcessor"
    pictures = resizer("gemma4", "Gemma4ImageProcessor", patch_size=8, pooling_kernel_size=2, max_soft_tokens=70)
    processor = with_video(
        hf.Gemma4Processor,
        video,
        pictures,
        tokenizer,
        feature_extractor=hf.Gemma4AudioFeatureExtractor(),
        chat_template=template(GEMMA["image_token"]),
    )
    return Made(hf.Gemma4ForConditionalGeneration(config), processor, video)


def mistral3() -> Made:
    tokenizer = words("[IMG]", "[IMG_BREAK]", "[IMG_END]")
    config = hf.Mistral3Config(
        vision_config=vision("pixtral", head_dim=16),
        text_config=text(tokenizer, "mistral"),
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
        spatial_merge_size=2,
        vision_feature_layer=-1,
        tie_word_embeddings=False,
    )
    processor = hf.PixtralProcessor(
        resizer("pixtral", "PixtralImageProcessor", size={"longest_edge": 32}, patch_size=8),
        tokenizer,
        patch_size=8,
        spatial_merge_size=2,
        chat_template=template("[IMG]"),
    )
    return Made(hf.Mistral3ForConditionalGeneration(config), processor)


def pixtral() -> Made:
    tokenizer = words("[IMG]", "[IMG_BREAK]", "[IMG_END]")
    config = hf.LlavaConfig(
        vision_config=vision("pixtral", head_dim=16),
        text_config=text(tokenizer, "mistral"),
        image_token_id=tokenizer.convert_tokens_to_ids("[IMG]"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=False,
    )
    processor = hf.PixtralProcessor(
        resizer("pixtral", "PixtralImageProcessor", size={"longest_edge": 32}, patch_size=8),
        tokenizer,
        patch_size=8,
        chat_template=template("[IMG]"),
    )
    return Made(hf.LlavaForConditionalGeneration(config), processor)


FAMILIES = (
    Family("InternVL3", internvl),
    Family("Idefics2", idefics2),
    Family("Idefics3", idefics3),
    Family("SmolVLM", smolvlm),
    Family("Gemma 3", gemma3),
    Family("Gemma 4", gemma4),
    Family("Mistral 3", mistral3, torchvision=True),
    Family("Pixtral", pixtral, torchvision=True),
)

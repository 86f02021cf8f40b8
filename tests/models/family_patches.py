"""More families whose pictures keep their shape, each with a tower of its own."""

from __future__ import annotations

import transformers as hf
from family_grids import SPARSE
from family_parts import Family, Made, resizer, template, text, vision, with_video, words
from family_plain import shaken
from family_qwen_like import QWEN, QWEN_TEMPLATE, ROPE, SIZE, pictures_of_qwen, qwen3, signs, tower, tower_of_qwen3
from family_tiled import WINDOWS


def hyperclova() -> Made:
    tokenizer = words(*QWEN)
    config = hf.HyperCLOVAXVisionV2Config(
        text_config=text(tokenizer, "hyperclovax"),
        vision_config=tower(
            model_type="qwen2_5_vl_vision",
            intermediate_size=48,
            out_hidden_size=32,
            fullatt_block_indexes=[1],
            window_size=32,
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
        tie_word_embeddings=False,
    )
    film = "Qwen2VLVideoProcessor"
    processor = with_video(
        hf.HyperCLOVAXVisionV2Processor, film, pictures_of_qwen(), tokenizer, chat_template=QWEN_TEMPLATE
    )
    return Made(hf.HyperCLOVAXVisionV2ForConditionalGeneration(config), processor, film)


def lfm3() -> Made:
    tokenizer = words(*QWEN)
    config = hf.Lfm3VlConfig(
        text_config=text(tokenizer, "lfm2", layer_types=["conv", "full_attention"]),
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "patch_size": 8,
            "layer_types": ["conv", "full_attention"],
            "initializer_range": 0.3,
        },
        projector_hidden_size=32,
        tie_word_embeddings=False,
        **signs(tokenizer),
    )
    film = "Qwen3VLVideoProcessor"
    processor = with_video(hf.Lfm3VlProcessor, film, pictures_of_qwen(), tokenizer, chat_template=QWEN_TEMPLATE)
    return Made(hf.Lfm3VlForConditionalGeneration(config), processor, film)


def cosmos_edge() -> Made:
    tokenizer = words(*QWEN)
    config = hf.Cosmos3EdgeConfig(
        text_config=text(tokenizer, "cosmos3_edge_text", rope_parameters=ROPE),
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "patch_size": 8,
            "num_patches": 16,
        },
        projector_hidden_size=32,
        tie_word_embeddings=False,
        **signs(tokenizer),
    )
    pictures = resizer("cosmos3_edge", "Cosmos3EdgeImageProcessor", patch_size=8, size=SIZE)
    film = "Cosmos3EdgeVideoProcessor"
    processor = with_video(hf.Cosmos3EdgeProcessor, film, pictures, tokenizer, chat_template=QWEN_TEMPLATE)
    return Made(shaken(hf.Cosmos3EdgeForConditionalGeneration(config)), processor, film)


def cosmos_omni() -> Made:
    return qwen3("Cosmos3Omni")


def cohere_compass() -> Made:
    marks = ("<|IMAGE_PAD|>", "<|VIDEO_PAD|>", "<|VISION_START|>", "<|VISION_END|>")
    tokenizer = words(*marks)
    image, video, start, end = tokenizer.convert_tokens_to_ids(list(marks))
    config = hf.CohereCompassConfig(
        text_config=text(
            tokenizer,
            "cohere_compass_text",
            sliding_window=512,
            layer_types=WINDOWS,
            logit_scale=1.0,
            rope_parameters=dict.fromkeys(WINDOWS, ROPE),
        ),
        vision_config=tower_of_qwen3(),
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    pictures = resizer("cohere_compass", "CohereCompassImageProcessor", patch_size=8, size=SIZE)
    film = "CohereCompassVideoProcessor"
    processor = with_video(
        hf.CohereCompassProcessor, film, pictures, tokenizer, chat_template=template(marks[0], marks[2], marks[3])
    )
    return Made(hf.CohereCompassForConditionalGeneration(config), processor, film)


def muse_glimmer() -> Made:
    marks = ("<|patch|>", "<|video|>", "<|image_start|>", "<|image_end|>")
    marks += ("<|vid_frame_separator|>", "<|vid_start|>", "<|vid_end|>")
    tokenizer = words(*marks)
    image, video, *_ = tokenizer.convert_tokens_to_ids(list(marks))
    config = hf.MuseGlimmerConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "patch_size": 8,
            "pos_emb_height": 8,
            "pos_emb_width": 8,
        },
        text_config=text(tokenizer, "muse_glimmer_text", sliding_window=512, layer_types=WINDOWS),
        image_token_id=image,
        video_token_id=video,
        out_hidden_size=128,
        projector_hidden_size=32,
    )
    pictures = resizer("muse_glimmer", "MuseGlimmerImageProcessor", patch_size=8, max_image_tokens=16)
    film = "MuseGlimmerVideoProcessor"
    processor = with_video(hf.MuseGlimmerProcessor, film, pictures, tokenizer, chat_template=template("<|patch|>"))
    return Made(shaken(hf.MuseGlimmerForConditionalGeneration(config)), processor, film)


def muse_spark() -> Made:
    marks = ("<|patch|>", "<|video|>", "<|audio|>", "<|image_start|>", "<|image_end|>")
    marks += ("<|vid_frame_separator|>", "<|vid_start|>", "<|vid_end|>", "<|soft_audio_start|>", "<|soft_audio_end|>")
    tokenizer = words(*marks)
    image, video, audio, *_ = tokenizer.convert_tokens_to_ids(list(marks))
    config = hf.MuseSparkConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "patch_size": 8,
            "pos_emb_height": 8,
            "pos_emb_width": 8,
        },
        text_config=text(
            tokenizer,
            "muse_spark_text",
            sliding_window=512,
            layer_types=WINDOWS,
            moe_intermediate_size=32,
            moe_hidden_size=32,
            num_local_experts=4,
            num_experts_per_tok=2,
        ),
        audio_config={
            "patch_sizes": [16, 6],
            "hidden_sizes": [16, 32],
            "depths": [1, 1],
            "num_hidden_layers": 2,
            "out_hidden_size": 32,
        },
        image_token_id=image,
        video_token_id=video,
        audio_token_id=audio,
        out_hidden_size=128,
        projector_hidden_size=32,
    )
    pictures = resizer("muse_glimmer", "MuseGlimmerImageProcessor", patch_size=8, max_image_tokens=16)
    film = "MuseGlimmerVideoProcessor"
    processor = with_video(
        hf.MuseSparkProcessor,
        film,
        pictures,
        tokenizer,
        feature_extractor=hf.MuseSparkFeatureExtractor(),
        chat_template=template("<|patch|>"),
    )
    return Made(shaken(hf.MuseSparkForConditionalGeneration(config)), processor, film)


def minimax() -> Made:
    marks = [
        hf.MiniMaxM3VLProcessor.IMAGE_TOKEN,
        hf.MiniMaxM3VLProcessor.VIDEO_TOKEN,
        hf.MiniMaxM3VLProcessor.VISION_START_TOKEN,
        hf.MiniMaxM3VLProcessor.VISION_END_TOKEN,
    ]
    tokenizer = words(*marks)
    image, video, *_ = tokenizer.convert_tokens_to_ids(marks)
    config = hf.MiniMaxM3VLConfig(
        text_config=text(
            tokenizer,
            "minimax_m3_vl_text",
            num_local_experts=4,
            num_experts_per_tok=2,
            dense_intermediate_size=48,
            shared_intermediate_size=32,
            rotary_dim=8,
            index_n_heads=2,
            index_head_dim=16,
            index_block_size=16,
        ),
        vision_config=vision("minimax_m3_vl_vision", image_size=64),
        image_token_index=image,
        video_token_index=video,
        projector_hidden_size=32,
    )
    pictures = resizer("minimax_m3_vl", "MiniMaxM3VLImageProcessor", patch_size=8, size=SIZE)
    film = "MiniMaxM3VLVideoProcessor"
    processor = with_video(hf.MiniMaxM3VLProcessor, film, pictures, tokenizer, chat_template=template(marks[0]))
    return Made(hf.MiniMaxM3SparseForConditionalGeneration(config), processor, film)


def dots3() -> Made:
    marks = ("<|imgpad|>", "<|video_pad|>", "<|audio_comp_pad|>", "<|img|>", "<|endofimg|>")
    tokenizer = words(*marks)
    image, video, audio, *_ = tokenizer.convert_tokens_to_ids(list(marks))
    config = hf.Dots3NoteConfig(
        text_config=text(
            tokenizer,
            "dots3_note_text",
            **SPARSE,
            kv_lora_rank=16,
            q_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=8,
            v_head_dim=16,
            n_shared_experts=1,
            head_dim=16,
            num_key_value_heads=2,
            index_topk=256,
            index_head_dim=16,
            index_n_heads=2,
            sliding_window=512,
            shared_experts_intermediate_size=32,
        ),
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "patch_size": 8,
            "mlp_layer_types": ["dense", "dense"],
            "adapter_in_dim": 32,
            "adapter_out_dim": 32,
            "initializer_range": 0.3,
        },
        audio_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "adapter_input_size": 32,
            "adapter_out_dim": 32,
            "downsample_hidden_size": 8,
        },
        image_token_id=image,
        video_token_id=video,
        audio_token_id=audio,
    )
    film = "Qwen2VLVideoProcessor"
    processor = with_video(
        hf.Dots3NoteProcessor,
        film,
        pictures_of_qwen(temporal_patch_size=1),
        tokenizer,
        feature_extractor=hf.Dots3NoteFeatureExtractor(),
        chat_template=template("<|imgpad|>", "<|img|>", "<|endofimg|>"),
    )
    return Made(hf.Dots3NoteForConditionalGeneration(config), processor, film)


FAMILIES = (
    Family("HyperCLOVA X V2", hyperclova, needs="HyperCLOVAXVisionV2Config"),
    Family("LFM3-VL", lfm3, needs="Lfm3VlConfig"),
    Family("Cosmos 3 Edge", cosmos_edge, needs="Cosmos3EdgeConfig"),
    Family("Cosmos 3 Omni", cosmos_omni, needs="Cosmos3OmniConfig"),
    Family("Cohere Compass", cohere_compass, needs="CohereCompassConfig"),
    Family("Muse Glimmer", muse_glimmer, torchvision=True, needs="MuseGlimmerConfig"),
    Family("Muse Spark", muse_spark, torchvision=True, needs="MuseSparkConfig"),
    Family("MiniMax M3", minimax, torchvision=True, needs="MiniMaxM3VLConfig", since=(5, 23)),
    Family("dots.note 3", dots3, needs="Dots3NoteConfig"),
)

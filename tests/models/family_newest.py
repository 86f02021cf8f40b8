"""More families that see tiles, crops or one token per patch."""

from __future__ import annotations

import transformers as hf
from family_grids import SPARSE
from family_parts import Family, Made, resizer, square, template, text, vision, with_video, words
from family_plain import shaken
from family_tiled import GEMMA, SOUNDS, WINDOWS


def molmo2() -> Made:
    marks = ("<im_start>", "<low_res_im_start>", "<im_end>", "<im_patch>", "<frame_start>")
    marks += ("<frame_end>", "<im_col>", "<im_low>", "<|video|>", "<|image|>")
    tokenizer = words(*marks, bos="<|begin|>")
    start, low, end, patch, first, last, *_ = tokenizer.convert_tokens_to_ids(list(marks))
    settings = text(tokenizer, additional_vocab_size=4)
    del settings["model_type"]
    config = hf.Molmo2Config(
        vision_config=vision("molmo2_vision", image_size=[32, 32], head_dim=16, num_key_value_heads=2),
        adapter_config={
            "vision_feature_layer": [-1, 0],
            "hidden_size": 32,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "intermediate_size": 48,
            "text_hidden_size": 32,
            "initializer_range": 0.3,
        },
        text_config=settings,
        image_start_token_id=start,
        low_res_image_start_token_id=low,
        image_end_token_id=end,
        image_patch_id=patch,
        frame_start_token_id=first,
        frame_end_token_id=last,
    )
    pictures = resizer(
        "molmo2", "Molmo2ImageProcessor", size=square(), patch_size=8, max_crops=2, overlap_margins=[1, 1]
    )
    film = "Molmo2VideoProcessor"
    processor = with_video(hf.Molmo2Processor, film, pictures, tokenizer, chat_template=template("<|image|>"))
    return Made(hf.Molmo2ForConditionalGeneration(config), processor, film)


def step3p7() -> Made:
    marks = ("<im_patch>", "<im_start>", "<im_end>", "<patch_start>", "<patch_end>")
    tokenizer = words(*marks, "<patch_newline>")
    config = hf.Step3p7Config(
        vision_config=vision("step3p5_vision", image_size=64, mlp_ratio=2.0, max_position_embeddings=64),
        text_config=text(
            tokenizer,
            "step3p5",
            sliding_window=512,
            layer_types=WINDOWS,
            n_routed_experts=4,
            num_experts_per_tok=2,
            num_local_experts=4,
            moe_intermediate_size=32,
            share_expert_dim=32,
            mlp_layer_types=["dense", "sparse"],
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<im_patch>"),
    )
    pictures = resizer(
        "step3p7", "Step3p7ImageProcessor", size=square(64), patch_size=32, vision_patch_size=8, max_image_size=128
    )
    processor = hf.Step3p7Processor(pictures, tokenizer, chat_template=template("<im_patch>"))
    return Made(shaken(hf.Step3p7ForConditionalGeneration(config)), processor)


def mistral_large() -> Made:
    tokenizer = words("[IMG]", "[IMG_BREAK]", "[IMG_END]")
    config = hf.MistralLarge4Config(
        vision_config=vision("pixtral", head_dim=16),
        text_config=text(
            tokenizer,
            "mistral_large4_text",
            **SPARSE,
            kv_lora_rank=16,
            qk_rope_head_dim=8,
            v_head_dim=16,
            qk_nope_head_dim=8,
            n_shared_experts=1,
            num_key_value_heads=2,
            head_dim=8,
            index_topk=256,
            index_head_dim=16,
            index_n_heads=2,
        ),
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
        spatial_merge_size=2,
    )
    processor = hf.PixtralProcessor(
        resizer("pixtral", "PixtralImageProcessor", size={"longest_edge": 32}, patch_size=8),
        tokenizer,
        patch_size=8,
        spatial_merge_size=2,
        chat_template=template("[IMG]"),
    )
    return Made(hf.MistralLarge4ForConditionalGeneration(config), processor)


def granite_docling() -> Made:
    tokenizer = words("<image>", "<fake_token_around_image>", "<global-img>")
    config = hf.GraniteDoclingConfig(
        vision_config=vision(
            "granite_docling_vision", out_hidden_size=32, scale_factor=2, deepstack_visual_indexes=[0]
        ),
        text_config=text(
            tokenizer,
            "granite_docling_text",
            embedding_multiplier=1.0,
            residual_multiplier=1.0,
            attention_multiplier=0.25,
            logits_scaling=1.0,
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=False,
        pad_token_id=tokenizer.pad_token_id,
    )
    pictures = resizer("granite_docling", "GraniteDoclingImageProcessor", size=square(), max_patches=3)
    processor = hf.GraniteDoclingProcessor(pictures, tokenizer, image_seq_len=4, chat_template=template())
    return Made(shaken(hf.GraniteDoclingForConditionalGeneration(config)), processor)


def gemma3n() -> Made:
    named = GEMMA | SOUNDS
    tokenizer = words(**named)
    soft, start, end, sound, before, after = tokenizer.convert_tokens_to_ids(list(named.values()))
    size = len(tokenizer)
    config = hf.Gemma3nConfig(
        vision_config={
            "model_type": "gemma3n_vision",
            "architecture": "mobilenetv5_base",
            "model_args": {"channel_multiplier": 0.1},
            "hidden_size": 2048,
            "vocab_size": 8,
            "vocab_offset": size,
            "initializer_range": 0.3,
        },
        text_config=text(
            tokenizer,
            "gemma3n_text",
            sliding_window=512,
            layer_types=WINDOWS,
            hidden_size_per_layer_input=8,
            vocab_size_per_layer_input=size,
            num_kv_shared_layers=0,
            laurel_rank=4,
        ),
        audio_config={
            "hidden_size": 32,
            "conf_num_attention_heads": 2,
            "conf_num_hidden_layers": 1,
            "vocab_size": 8,
            "vocab_offset": size + 8,
            "sscp_conv_channel_size": [8, 8],
        },
        vision_soft_tokens_per_image=256,
        image_token_id=soft,
        boi_token_id=start,
        eoi_token_id=end,
        audio_token_id=sound,
        boa_token_id=before,
        eoa_token_id=after,
    )
    processor = hf.Gemma3nProcessor(
        hf.Gemma3nAudioFeatureExtractor(),
        resizer("siglip", "SiglipImageProcessor", size=square(256)),
        tokenizer,
        chat_template=template(GEMMA["image_token"]),
    )
    return Made(shaken(hf.Gemma3nForConditionalGeneration(config)), processor)


def gemma4_unified() -> Made:
    named = GEMMA | SOUNDS
    tokenizer = words("<|video|>", **named)
    soft, start, end, sound, before, after = tokenizer.convert_tokens_to_ids(list(named.values()))
    config = hf.Gemma4UnifiedConfig(
        vision_config={
            "model_type": "gemma4_unified_vision",
            "patch_size": 8,
            "pooling_kernel_size": 2,
            "mm_embed_dim": 32,
            "mm_posemb_size": 64,
            "output_proj_dims": 32,
            "initializer_range": 0.3,
        },
        text_config=text(tokenizer, "gemma4_unified_text", sliding_window=512, layer_types=WINDOWS, global_head_dim=16),
        audio_config=None,
        tie_word_embeddings=False,
        image_token_id=soft,
        boi_token_id=start,
        eoi_token_id=end,
        audio_token_id=sound,
        boa_token_id=before,
        eoa_token_index=after,
        video_token_id=tokenizer.convert_tokens_to_ids("<|video|>"),
    )
    film = "Gemma4UnifiedVideoProcessor"
    pictures = resizer(
        "gemma4_unified", "Gemma4UnifiedImageProcessor", patch_size=8, pooling_kernel_size=2, max_soft_tokens=70
    )
    processor = with_video(
        hf.Gemma4UnifiedProcessor,
        film,
        pictures,
        tokenizer,
        feature_extractor=hf.Gemma4UnifiedAudioFeatureExtractor(),
        chat_template=template(GEMMA["image_token"]),
    )
    return Made(shaken(hf.Gemma4UnifiedForConditionalGeneration(config)), processor, film)


def t5gemma2() -> Made:
    tokenizer = words(**GEMMA)
    soft, start, end = tokenizer.convert_tokens_to_ids(list(GEMMA.values()))
    inner = text(
        tokenizer,
        "t5gemma2_text",
        query_pre_attn_scalar=1,
        sliding_window=512,
        layer_types=WINDOWS,
        bos_token_id=tokenizer.pad_token_id,
    )
    config = hf.T5Gemma2Config(
        tie_word_embeddings=False,
        encoder={
            "text_config": inner,
            "vision_config": vision("siglip_vision_model", vision_use_head=False),
            "mm_tokens_per_image": 4,
            "image_token_index": soft,
            "boi_token_index": start,
            "eoi_token_index": end,
        },
        decoder=inner | {"model_type": "t5gemma2_decoder"},
        image_token_index=soft,
        eoi_token_index=end,
    )
    processor = hf.Gemma3Processor(
        resizer("gemma3", "Gemma3ImageProcessor", size=square()),
        tokenizer,
        image_seq_length=4,
        chat_template=template(GEMMA["boi_token"]),
    )
    return Made(shaken(hf.T5Gemma2ForConditionalGeneration(config)), processor)


FAMILIES = (
    Family("Molmo2", molmo2, torchvision=True, needs="Molmo2Config"),
    Family("Step-3.7", step3p7, torchvision=True, needs="Step3p7Config"),
    Family("Mistral Large 4", mistral_large, torchvision=True, needs="MistralLarge4Config"),
    Family("Granite Docling", granite_docling, needs="GraniteDoclingConfig"),
    Family("Gemma 3n", gemma3n, torchvision=True, library="timm"),
    Family("Gemma 4 (unified)", gemma4_unified, torchvision=True, needs="Gemma4UnifiedConfig"),
    Family("T5Gemma 2", t5gemma2, needs="T5Gemma2Config"),
)

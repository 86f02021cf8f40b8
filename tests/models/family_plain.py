"""Families without a chat template: how they are asked comes from their profile."""

from __future__ import annotations

from typing import Any

import transformers as hf
from family_parts import Family, Made, resizer, square, text, vision, words

VISION = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
    "initializer_range": 0.3,
}
QFORMER = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "encoder_hidden_size": 32,
    "initializer_range": 0.3,
}


def opt(tokenizer: Any) -> dict[str, Any]:
    settings = text(tokenizer, "opt", ffn_dim=48, word_embed_proj_dim=32, init_std=0.4)
    return settings | {"bos_token_id": tokenizer.eos_token_id}


def t5(tokenizer: Any) -> dict[str, Any]:
    return {
        "model_type": "t5",
        "vocab_size": len(tokenizer),
        "d_model": 32,
        "d_kv": 16,
        "d_ff": 48,
        "num_layers": 2,
        "num_heads": 2,
        "initializer_factor": 2.0,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "decoder_start_token_id": tokenizer.pad_token_id,
        "tie_word_embeddings": False,
    }


def blip2(language: Any = opt) -> Made:
    tokenizer = words("<image>")
    config = hf.Blip2Config(
        vision_config=VISION,
        qformer_config=QFORMER,
        text_config=language(tokenizer),
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    pictures = resizer("blip", "BlipImageProcessor", size=square())
    processor = hf.Blip2Processor(pictures, tokenizer, num_query_tokens=4)
    return Made(shaken(hf.Blip2ForConditionalGeneration(config)), processor)


def blip2_t5() -> Made:
    return blip2(t5)


def instructblip(language: Any = opt) -> Made:
    tokenizer = words("<image>")
    config = hf.InstructBlipConfig(
        vision_config=VISION,
        qformer_config=QFORMER | {"vocab_size": len(tokenizer)},
        text_config=language(tokenizer),
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    processor = hf.InstructBlipProcessor(
        resizer("blip", "BlipImageProcessor", size=square()), tokenizer, words(), num_query_tokens=4
    )
    return Made(shaken(hf.InstructBlipForConditionalGeneration(config)), processor)


def instructblip_t5() -> Made:
    return instructblip(t5)


def shaken(model: Any) -> Any:
    """Queries start at 0 and some layers almost so: pictures would change nothing."""
    import torch

    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1 and float(weights.std()) < 0.05:
                weights.normal_(0, 0.3)
    return model


def paligemma() -> Made:
    tokenizer = words(bos="<bos>", image_token="<image>")
    pictures = resizer("siglip", "SiglipImageProcessor", size=square())
    pictures.image_seq_length = 16
    processor = hf.PaliGemmaProcessor(pictures, tokenizer)
    config = hf.PaliGemmaConfig(
        vision_config=vision("siglip_vision_model", vision_use_head=False),
        text_config=text(tokenizer, "gemma"),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        projection_dim=32,
        hidden_size=32,
        tie_word_embeddings=False,
    )
    return Made(hf.PaliGemmaForConditionalGeneration(config), processor)


def chameleon() -> Made:
    tokenizer = words(bos="<s>", image_token="<image>", boi_token="<racm3:break>", eoi_token="<eoss>")
    tokenizer.add_special_tokens({"sep_token": "<reserved08706>"})
    digits = str.maketrans("0123456789", "ABCDEFGHIJ")
    tokenizer.add_tokens([f"IMGIMG{str(code).translate(digits)}Z" for code in range(16)])
    settings = text(tokenizer, "chameleon")
    del settings["head_dim"], settings["model_type"]
    config = hf.ChameleonConfig(
        **settings | {"num_key_value_heads": 2, "vocab_size": len(tokenizer)},
        vocabulary_map=tokenizer.get_vocab(),
        vq_config={
            "embed_dim": 8,
            "num_embeddings": 16,
            "latent_channels": 8,
            "resolution": 32,
            "base_channels": 32,
            "channel_multiplier": [1, 1],
            "num_res_blocks": 1,
        },
    )
    pictures = resizer("chameleon", "ChameleonImageProcessor", size={"shortest_edge": 8}, crop_size=square(8))
    processor = hf.ChameleonProcessor(pictures, tokenizer, image_seq_length=16)
    return Made(hf.ChameleonForConditionalGeneration(config), processor)


def kosmos2() -> Made:
    tokenizer = words("<unk>", bos="<s>")
    tokenizer.unk_token = "<unk>"
    pictures = resizer("clip", "CLIPImageProcessor", size=square(), crop_size=square())
    processor = hf.Kosmos2Processor(pictures, tokenizer, num_patch_index_tokens=4)
    config = hf.Kosmos2Config(
        vision_config=VISION,
        text_config={
            "vocab_size": len(tokenizer),
            "max_position_embeddings": 512,
            "embed_dim": 32,
            "layers": 2,
            "ffn_dim": 48,
            "attention_heads": 2,
            "init_std": 0.4,
            "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
        },
        latent_query_num=64,
    )
    return Made(shaken(hf.Kosmos2ForConditionalGeneration(config)), processor)


def kosmos2_5() -> Made:
    tokenizer = words(bos="<s>", image_token="<s>", boi_token="<image>", eoi_token="</image>")
    pictures = resizer("kosmos2_5", "Kosmos2_5ImageProcessor", patch_size=square(8))
    # 4096 patches of the smallest picture, whatever the checkpoint says, take half a minute.
    settings = getattr(hf.Kosmos2_5Processor, "images_kwargs", {})
    settings |= {"max_patches": 64}
    processor = hf.Kosmos2_5Processor(pictures, tokenizer, num_image_tokens=8)
    config = hf.Kosmos2_5Config(
        vision_config={
            "hidden_size": 8,
            "patch_embed_hidden_size": 192,
            "intermediate_size": 8,
            "head_dim": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 1,
            "max_num_patches": 4096,
        },
        text_config={
            "vocab_size": len(tokenizer),
            "max_position_embeddings": 512,
            "embed_dim": 32,
            "layers": 2,
            "ffn_dim": 48,
            "attention_heads": 2,
            "init_std": 0.4,
            "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
        },
        latent_query_num=8,
    )
    return Made(shaken(hf.Kosmos2_5ForConditionalGeneration(config)), processor)


def florence2() -> Made:
    tokenizer = words(bos="<s>", image_token="<image>")
    pictures = resizer("clip", "CLIPImageProcessor", size=square(64), crop_size=square(64))
    pictures.image_seq_length = 5
    processor = hf.Florence2Processor(pictures, tokenizer)
    config = hf.Florence2Config(
        vision_config={
            "depths": [1, 1],
            "patch_size": [7, 3],
            "patch_stride": [8, 4],
            "patch_padding": [3, 1],
            "patch_prenorm": [False, True],
            "embed_dim": [16, 32],
            "num_heads": [2, 2],
            "num_groups": [2, 2],
            "window_size": 2,
            "projection_dim": 32,
            "initializer_range": 0.3,
        },
        text_config={
            "model_type": "bart",
            "vocab_size": len(tokenizer),
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "max_position_embeddings": 512,
            "init_std": 0.4,
            "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "decoder_start_token_id": tokenizer.eos_token_id,
            "forced_eos_token_id": None,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    return Made(shaken(hf.Florence2ForConditionalGeneration(config)), processor)


FAMILIES = (
    Family("BLIP-2 (OPT)", blip2, pictures=1, words_alone=False),
    Family("BLIP-2 (Flan-T5)", blip2_t5, pictures=1, words_alone=False),
    Family("InstructBLIP (Vicuna)", instructblip, pictures=1, words_alone=False),
    Family("InstructBLIP (Flan-T5)", instructblip_t5, pictures=1, words_alone=False),
    Family("PaliGemma", paligemma, words_alone=False),
    Family("Chameleon", chameleon),
    Family("Kosmos-2", kosmos2, pictures=1, words_alone=False),
    Family("Kosmos-2.5", kosmos2_5, pictures=1, words_alone=False),
    Family("Florence-2", florence2, pictures=1, words_alone=False),
)

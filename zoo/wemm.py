# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = [
#     "torch==2.13.0",
#     "transformers==4.37.2",
#     "accelerate==0.27.2",
#     "einops==0.8.0",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "torchvision",
# ]
# ///
"""WeMM, by the checkpoint's own code, which takes the file of one picture.

Asked as vlmeval/vlm/wemm.py of VLMEvalKit.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from transformers import AutoModel

    model = AutoModel.from_pretrained(
        checkpoint.folder, torch_dtype=checkpoint.dtype, trust_remote_code=checkpoint.own_code
    )
    return model.to(checkpoint.device).eval()


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import tempfile
    from pathlib import Path

    import torch
    from transformers import GenerationConfig

    image = chat.only_image()
    if image is None:
        raise ValueError("its own code takes no question without a picture")
    tokenizer = model.tokenizer
    pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=pad, **settings.generation()
    )
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        file = Path(folder) / "picture.png"
        image.save(file)
        return model.mm_generate(str(file), chat.question(""), config)

# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = [
#     "torch==2.13.0",
#     "transformers==4.27.1",
#     "SwissArmyTransformer==0.4.4",
#     "accelerate==0.20.3",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "torchvision",
# ]
# ///
"""VisualGLM 6B, by the checkpoint's own code, which takes the file of one picture.

Asked as its model card and vlmeval/vlm/visualglm.py of VLMEvalKit.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(
        checkpoint.folder, trust_remote_code=checkpoint.own_code
    )
    model = AutoModel.from_pretrained(checkpoint.folder, trust_remote_code=checkpoint.own_code)
    if checkpoint.device != "cpu":
        model = model.half()
    return model.to(checkpoint.device).eval(), tokenizer


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import tempfile
    from pathlib import Path

    import torch

    model, tokenizer = model
    image = chat.only_image()
    if image is None:
        raise ValueError("its own code takes no question without a picture")
    turns = [text for _, text in chat.turns("")]
    history = list(zip(turns[:-1:2], turns[1::2], strict=True))
    # It counts the prompt among the tokens of its limit.
    prompt = len(tokenizer("".join(turns)).input_ids) + 100
    limits = settings.generation("max_length")
    limits["max_length"] += prompt
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        file = Path(folder) / "picture.png"
        image.save(file)
        text, _ = model.chat(
            tokenizer=tokenizer, image_path=str(file), query=turns[-1], history=history, **limits
        )
    return text

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = [
#     "transformers==4.46.3",
#     "torch==2.13.0",
#     "accelerate==1.1.1",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
# ]
# ///
"""IDEFICS 9B and 80B Instruct: pictures stand in the list of texts that the processor takes.

Asked as the model card says (https://huggingface.co/HuggingFaceM4/idefics-9b-instruct).
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from transformers import AutoProcessor, IdeficsForVisionText2Text

    model = IdeficsForVisionText2Text.from_pretrained(
        checkpoint.folder, torch_dtype=checkpoint.dtype
    )
    processor = AutoProcessor.from_pretrained(checkpoint.folder)
    return model.to(checkpoint.device).eval(), processor


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    model, processor = model
    tokenizer = processor.tokenizer
    prompt: list[Any] = []
    for message in chat.messages:
        speaker = "Assistant" if message["role"] == "assistant" else "User"
        prompt.append(f"{speaker}:" if not prompt else f"\n{speaker}:")
        prompt += [part.get("text") or part.get("image") for part in message["content"]]
        prompt.append("<end_of_utterance>")
    inputs = processor(
        [*prompt, "\nAssistant:"], add_end_of_utterance_token=False, return_tensors="pt"
    ).to(model.device, model.dtype)
    end = tokenizer("<end_of_utterance>", add_special_tokens=False).input_ids
    marks = ["<image>", "<fake_token_around_image>"]
    with torch.inference_mode():
        made = model.generate(
            **inputs,
            eos_token_id=end,
            bad_words_ids=tokenizer(marks, add_special_tokens=False).input_ids,
            **settings.generation(),
        )
    length = inputs["input_ids"].shape[1]
    return settings.reply(tokenizer, made[0, length:], length)

"""What small stand-ins share: a picture as a few tokens, and a reply of a small Qwen2."""

import numpy as np
import torch
from torch import nn
from transformers import Qwen2ForCausalLM
from transformers.modeling_utils import PreTrainedModel

SIDE = 28
TURN = "<|im_start|>{role}\n{text}<|im_end|>\n"


def pixels_of(image):
    """A picture as pixels of shape (3, SIDE, SIDE)."""
    values = np.asarray(image.convert("RGB").resize((SIDE, SIDE)), np.float32) / 255
    return torch.from_numpy(values).permute(2, 0, 1)


def chatml(system, history, question):
    """The prompt of a conversation, up to where the answer begins."""
    text = TURN.format(role="system", text=system) if system else ""
    for old_question, old_answer in history or []:
        text += TURN.format(role="user", text=old_question)
        text += TURN.format(role="assistant", text=old_answer)
    return text + TURN.format(role="user", text=question) + "<|im_start|>assistant\n"


class SmallModel(PreTrainedModel):
    """Four tokens a picture, in front of a small Qwen2."""

    def __init__(self, config):
        super().__init__(config)
        self.vision = nn.Conv2d(3, config.hidden_size, SIDE // 2, SIDE // 2)
        self.language_model = Qwen2ForCausalLM(config)
        self.post_init()

    def see(self, pixels):
        """Tokens of pictures, shape (pictures x 4, width), of pixels (pictures, 3, SIDE, SIDE)."""
        features = self.vision(pixels.to(self.device, self.dtype))
        return features.flatten(2).transpose(1, 2).flatten(0, 1)

    def write(self, tokenizer, parts, **settings):
        """The reply to texts and pictures (pixels of shape (3, SIDE, SIDE)) in their order."""
        pieces = []
        for part in parts:
            if isinstance(part, str):
                ids = tokenizer(part, add_special_tokens=False, return_tensors="pt")["input_ids"]
                pieces.append(self.language_model.get_input_embeddings()(ids[0].long().to(self.device)))
            else:
                pieces.append(self.see(part[None]))
        embeddings = torch.cat(pieces)[None]
        output = self.language_model.generate(
            inputs_embeds=embeddings,
            attention_mask=torch.ones(embeddings.shape[:2], dtype=torch.long),
            eos_token_id=tokenizer.convert_tokens_to_ids("<|im_end|>"),
            pad_token_id=0,
            **settings,
        )
        return tokenizer.decode(output[0], skip_special_tokens=True).strip()


def split_pictures(text, mark, pictures):
    """Texts and pictures in their order; the pictures stand where the mark is."""
    texts = text.split(mark)
    assert len(texts) == len(pictures) + 1, f"{len(pictures)} pictures, {len(texts) - 1} marks"
    parts = [texts[0]]
    for picture, following in zip(pictures, texts[1:], strict=True):
        parts += [picture, following]
    return [part for part in parts if not isinstance(part, str) or part]

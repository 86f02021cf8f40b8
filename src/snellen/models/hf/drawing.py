"""Pictures drawn token by token by any-to-any transformers models: the Janus family.

The same model ranks or generates text and draws. What it is shown may hold pictures among the
text; the drawing loop is the one of Janus (arXiv 2410.13848, Sec. 3.3, classifier-free guidance of
5, sampling at temperature 1), with a generator of the request's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.output import Drawn
from snellen.core.request import Draw
from snellen.models.drawn_images import as_drawn, not_honoured, seed_of
from snellen.models.hf.loaded import Loaded
from snellen.models.hf.prompt import Prompt, adds_special_tokens, check_length
from snellen.models.split_batch import Unsupported

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from torch import Tensor

GUIDANCE = 5.0

Pick = Callable[["Tensor"], "Tensor"]
"""From logits (1, codes) to a code (1,)."""


class _Shown(NamedTuple):
    """The prompt as embeddings, with what was asked and with it blanked out: (2, tokens, size)."""

    embeddings: Tensor
    mask: Tensor


def draw(loaded: Loaded, request: Draw, prompt: Prompt) -> Drawn:
    """One picture after a rendered prompt. Raises Unsupported for settings it has no use for."""
    import torch

    settings = request.settings
    lacking = not_honoured(settings, "a model that draws token by token", ("guidance", "seed"))
    if lacking:
        raise Unsupported(lacking)
    generator = torch.Generator(loaded.device)
    generator.manual_seed(seed_of(request))

    def sampled(logits: Tensor) -> Tensor:
        return torch.multinomial(logits.float().softmax(-1), 1, generator=generator).squeeze(-1)

    guidance = GUIDANCE if settings.guidance is None else settings.guidance
    codes = draw_codes(loaded, prompt, guidance, sampled)
    with torch.inference_mode():
        pixels = loaded.model.decode_image_tokens(codes).float().cpu()
    return as_drawn([_picture(loaded, pixels[0])])


def _picture(loaded: Loaded, pixels: Tensor) -> Picture:
    """The decoder's values, (height, width, 3), as the image processor's inverse."""
    from PIL import Image

    how = loaded.processor.image_processor
    colours = pixels * pixels.new_tensor(how.image_std) + pixels.new_tensor(how.image_mean)
    scaled = (colours / how.rescale_factor).round().clamp(0, 255)
    return Image.fromarray(scaled.byte().numpy())


def draw_codes(loaded: Loaded, prompt: Prompt, guidance: float, pick: Pick) -> Tensor:
    """The picture's codes, (1, codes): each from the logits with and without the prompt."""
    import torch

    model = loaded.model
    count = model.model.vision_model.config.num_image_tokens
    with torch.inference_mode():
        shown = _shown(loaded, prompt, count)
        embeddings, mask, past, codes = shown.embeddings, shown.mask, None, []
        for _ in range(count):
            step = model.model.language_model(
                inputs_embeds=embeddings, attention_mask=mask, past_key_values=past, use_cache=True
            )
            past = step.past_key_values
            asked, blank = model.model.generation_head(step.last_hidden_state[:, -1]).chunk(2)
            code = pick(blank + guidance * (asked - blank))
            codes.append(code)
            embeddings = model.prepare_embeddings_for_image_generation(code.repeat(2)[:, None])
            mask = torch.cat([mask, mask.new_ones(2, 1)], 1)
    return torch.stack(codes, 1)


def _shown(loaded: Loaded, prompt: Prompt, count: int) -> _Shown:
    import torch

    model, tokenizer = loaded.model, loaded.tokenizer
    inputs: Any = loaded.processor(
        text=[prompt.text],
        images=[list(prompt.images)] if prompt.images else None,
        generation_mode="image",
        return_tensors="pt",
        add_special_tokens=adds_special_tokens(loaded, prompt.text),
    ).to(loaded.device, dtype=model.dtype)
    asked = inputs["input_ids"]
    check_length(loaded, [asked.shape[1] + count])
    begin = tokenizer.convert_tokens_to_ids(loaded.processor.image_start_token)
    start = -1 if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    kept = (asked == begin) | (asked == start)
    blank = asked.masked_fill(~kept, tokenizer.pad_token_id)
    embeddings = model.get_input_embeddings()(torch.cat([asked, blank]))
    if prompt.images:
        features = model.model.get_image_features(inputs["pixel_values"]).pooler_output
        places = asked[0] == model.config.image_token_id
        embeddings[0, places] = features.reshape(-1, features.shape[-1]).to(embeddings.dtype)
    return _Shown(embeddings, inputs["attention_mask"].repeat(2, 1))

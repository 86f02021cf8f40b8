"""Images drawn token by token by any-to-any models of transformers: the Janus family (for Emu3 see
`drawing_rows`).

The same model generates text, ranks and draws. Its prompt may contain images among the text. The
drawing loop is that of Janus (arXiv 2410.13848, Sec. 3.3: classifier-free guidance of 5, sampling
at temperature 1), with one random generator for each request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.output import Drawn
from snellen.core.request import Draw
from snellen.models.drawn_images import as_drawn, request_seed, unsupported_settings
from snellen.models.hf.kv_cache import cache_argument, cache_of
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.prompt import Prompt, adds_special_tokens, check_length
from snellen.models.split_batch import Unsupported

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage
    from torch import Tensor

DEFAULT_GUIDANCE = 5.0

CodePicker = Callable[["Tensor"], "Tensor"]
"""Picks an image code, (1,), from logits (1, codebook size)."""


class _PromptEmbeddings(NamedTuple):
    """The prompt, and the same prompt with its text blanked out, as a batch of two.

    Embeddings are (2, tokens, hidden size), the mask is (2, tokens).
    """

    embeddings: Tensor
    mask: Tensor


def draw(loaded: LoadedModel, request: Draw, prompt: Prompt) -> Drawn:
    """Draw one image after a rendered prompt. Raises Unsupported for settings it cannot honour."""
    import torch

    settings = request.settings
    unsupported = unsupported_settings(settings, "a model that draws token by token", ("guidance", "seed"))
    if unsupported:
        raise Unsupported(unsupported)
    generator = torch.Generator(loaded.device)
    generator.manual_seed(request_seed(request))

    def sample_code(logits: Tensor) -> Tensor:
        return torch.multinomial(logits.float().softmax(-1), 1, generator=generator).squeeze(-1)

    guidance = DEFAULT_GUIDANCE if settings.guidance is None else settings.guidance
    codes = draw_codes(loaded, prompt, guidance, sample_code)
    with torch.inference_mode():
        pixels = loaded.model.decode_image_tokens(codes).float().cpu()
    return as_drawn([_to_image(loaded, pixels[0])])


def _to_image(loaded: LoadedModel, pixels: Tensor) -> PILImage:
    """Turn decoded values, (height, width, 3), into an image, undoing the image processor."""
    from PIL import Image

    processor = loaded.processor.image_processor
    colours = pixels * pixels.new_tensor(processor.image_std) + pixels.new_tensor(processor.image_mean)
    scaled = (colours / processor.rescale_factor).round().clamp(0, 255)
    return Image.fromarray(scaled.byte().numpy())


def draw_codes(loaded: LoadedModel, prompt: Prompt, guidance: float, pick: CodePicker) -> Tensor:
    """Generate the codes of an image, (1, codes), by classifier-free guidance.

    Both rows of the batch, with the prompt and without, are continued by the same codes. Each code
    is picked from the unconditional logits plus `guidance` times the difference to the conditional.
    """
    import torch

    model = loaded.model
    count = model.model.vision_model.config.num_image_tokens
    name = cache_argument(model.model.language_model)
    with torch.inference_mode():
        embedded = _embed_prompt(loaded, prompt, count)
        embeddings, mask, past, codes = embedded.embeddings, embedded.mask, None, []
        for _ in range(count):
            step = model.model.language_model(
                inputs_embeds=embeddings, attention_mask=mask, use_cache=True, **{name: past}
            )
            past = cache_of(step)
            conditional, unconditional = model.model.generation_head(step.last_hidden_state[:, -1]).chunk(2)
            code = pick(unconditional + guidance * (conditional - unconditional))
            codes.append(code)
            embeddings = model.prepare_embeddings_for_image_generation(code.repeat(2)[:, None])
            mask = torch.cat([mask, mask.new_ones(2, 1)], 1)
    return torch.stack(codes, 1)


def _embed_prompt(loaded: LoadedModel, prompt: Prompt, count: int) -> _PromptEmbeddings:
    """Embed a prompt, which `count` codes will follow, with text and blanked out."""
    import torch

    model, tokenizer = loaded.model, loaded.tokenizer
    inputs: Any = loaded.processor(
        text=[prompt.text],
        images=[list(prompt.images)] if prompt.images else None,
        generation_mode="image",
        return_tensors="pt",
        add_special_tokens=adds_special_tokens(loaded, prompt.text),
    ).to(loaded.device, dtype=model.dtype)
    prompt_ids = inputs["input_ids"]
    check_length(loaded, [prompt_ids.shape[1] + count])
    image_start = tokenizer.convert_tokens_to_ids(loaded.processor.image_start_token)
    start = -1 if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    # The unconditional row keeps its start tokens; everything else in it is padding.
    kept = (prompt_ids == image_start) | (prompt_ids == start)
    blank_ids = prompt_ids.masked_fill(~kept, tokenizer.pad_token_id)
    embeddings = model.get_input_embeddings()(torch.cat([prompt_ids, blank_ids]))
    if prompt.images:
        features = model.model.get_image_features(inputs["pixel_values"]).pooler_output
        # Image features take the place of their tokens, in the conditional row only.
        is_image = prompt_ids[0] == model.config.image_token_id
        embeddings[0, is_image] = features.reshape(-1, features.shape[-1]).to(embeddings.dtype)
    return _PromptEmbeddings(embeddings, inputs["attention_mask"].repeat(2, 1))

"""Images drawn token by token and row by row by Emu3 (arXiv 2409.18869), from text alone.

One layout has two kinds of checkpoints: Emu3-Gen was trained to draw, Emu3-Chat to write. Nothing
in their files says which is which, so that the option `draws=yes` does.

The prompt is not put into a chat template. Its ending, the words that the unconditional row has in
its place, the guidance and the sampling are those of the authors' own example for Emu3-Gen
(github.com/baaivision/Emu3, image_generation.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.output import Drawn
from snellen.core.request import Draw
from snellen.models.drawn_images import as_drawn, request_seed, unsupported_settings
from snellen.models.hf.drawing import CodePicker
from snellen.models.hf.kv_cache import cache_argument, cache_of
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.prompt import check_length
from snellen.models.split_batch import Unsupported

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage
    from torch import Tensor

DEFAULT_GUIDANCE = 3.0
TOP_K = 2048
_PROMPT_END = " masterpiece, film grained, best quality."
_UNWANTED = (
    "lowres, bad anatomy, bad hands, text, error, missing fingers, extra digit, fewer digits, "
    "cropped, worst quality, low quality, normal quality, jpeg artifacts, signature, watermark, "
    "username, blurry."
)


class GridSize(NamedTuple):
    """Height and width of an image in codes."""

    height: int
    width: int


def draw_rows(loaded: LoadedModel, request: Draw) -> Drawn:
    """Draw one image after the text of a request. Raises Unsupported for images in the prompt, and
    for settings that it does not have."""
    import torch

    if any(message.media() for message in request.messages):
        raise Unsupported("the model draws from text alone; the prompt contains images")
    settings = request.settings
    unsupported = unsupported_settings(settings, "a model that draws row by row", ("size", "guidance", "seed"))
    if unsupported:
        raise Unsupported(unsupported)
    generator = torch.Generator(loaded.device)
    generator.manual_seed(request_seed(request))

    def sample_code(logits: Tensor) -> Tensor:
        likely = logits.float().topk(min(TOP_K, logits.shape[-1]))
        place = torch.multinomial(likely.values.softmax(-1), 1, generator=generator)
        return likely.indices.gather(-1, place).squeeze(-1)

    size = _grid_size(loaded, settings.width, settings.height)
    guidance = DEFAULT_GUIDANCE if settings.guidance is None else settings.guidance
    tokens = row_tokens(loaded, request.text(), size, guidance, sample_code)
    return as_drawn([_to_image(loaded, tokens, size)])


def row_tokens(loaded: LoadedModel, text: str, size: GridSize, guidance: float, pick: CodePicker) -> Tensor:
    """Generate the tokens of an image, (1, height x (width + 1)): after each row of codes stands
    the token that ends it.

    The batch of two, with the prompt and with what is unwanted, is continued by the same tokens. A
    code is picked among the codes alone, from the unconditional logits plus `guidance` times the
    difference to the conditional.
    """
    import torch

    codes = torch.tensor(_mapping(loaded).image_tokens, device=loaded.device)
    row_end = torch.tensor([_mapping(loaded).eol_token_id], device=loaded.device)
    ids, mask = _prompt_ids(loaded, text, size)
    check_length(loaded, [ids.shape[1] + size.height * (size.width + 1)])
    tokens: list[Tensor] = []
    name, past = cache_argument(loaded.model), None
    with torch.inference_mode():
        for place in range(size.height * (size.width + 1)):
            if place % (size.width + 1) == size.width:
                # Read together with the next code, which is the first of a row.
                tokens.append(row_end)
                ids = torch.cat([ids, row_end.repeat(2)[:, None]], 1)
                mask = torch.cat([mask, mask.new_ones(2, 1)], 1)
                continue
            step = loaded.model(input_ids=ids, attention_mask=mask, use_cache=True, logits_to_keep=1, **{name: past})
            past = cache_of(step)
            conditional, unconditional = step.logits[:, -1, codes].chunk(2)
            code = codes[pick(unconditional + guidance * (conditional - unconditional))]
            tokens.append(code)
            ids = code.repeat(2)[:, None]
            mask = torch.cat([mask, mask.new_ones(2, 1)], 1)
    return torch.stack(tokens, 1)


def _grid_size(loaded: LoadedModel, width: int | None, height: int | None) -> GridSize:
    """The grid of a size in pixels; of the processor's own size without one."""
    processor = loaded.processor
    factor = processor.downsample_ratio
    if width is None or height is None:
        return GridSize(*processor.calculate_generate_size(processor.ratio, processor.image_area, factor))
    if width % factor or height % factor:
        raise Unsupported(f"the model draws sizes that are multiples of {factor}; got {width} x {height}")
    return GridSize(height // factor, width // factor)


def _prompt_ids(loaded: LoadedModel, text: str, size: GridSize) -> tuple[Tensor, Tensor]:
    """Token ids and mask of the prompt and of what is unwanted, padded on the left: (2, tokens)."""
    processor, tokenizer = loaded.processor, loaded.tokenizer
    start = f"{processor.image_start_token}{size.height}*{size.width}{processor.fake_token_around_image}"
    prompts = [f"{processor.bos_token}{one}{start}" for one in (text + _PROMPT_END, _UNWANTED)]
    inputs = tokenizer(prompts, padding=True, padding_side="left", return_tensors="pt", add_special_tokens=False).to(
        loaded.device
    )
    return inputs["input_ids"], inputs["attention_mask"]


def _to_image(loaded: LoadedModel, tokens: Tensor, size: GridSize) -> PILImage:
    """The picture of the tokens, undoing the image processor."""
    import torch

    # Its last three tokens end the image, and are cut off unread.
    ended = torch.cat([tokens, tokens.new_zeros(1, 3)], 1)
    with torch.inference_mode():
        pixels = loaded.model.decode_image_tokens(image_tokens=ended, height=size.height, width=size.width)
    images: Any = loaded.processor.postprocess(list(pixels.float().cpu()), return_tensors="PIL.Image.Image")
    picture: PILImage = images["pixel_values"][0]
    return picture


def _mapping(loaded: LoadedModel) -> Any:
    return loaded.model.model.vocabulary_mapping

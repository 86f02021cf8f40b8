"""`snellen/...`: the models that come with the package, run by the `hf` backend."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from snellen.core.errors import UnknownName, UsageError
from snellen.core.model import Model
from snellen.models.hf.checkpoint import find_checkpoint
from snellen.models.hf.loading import require
from snellen.models.hf.model import OPTIONS, open_checkpoint
from snellen.models.naming.provider import ModelListing, Provider, read_options

MODELS = (
    ModelListing("snellen/tiny", "The bundled vision-language model: shapes, colours, counting."),
    ModelListing("snellen/tiny-early", "An early checkpoint of it, with a strong position bias."),
)
WEIGHTS = Path(__file__).parents[1] / "weights"
_DEFAULTS = {"dtype": "float32"}
_BATCH_SIZE = 16
BUNDLED_OPTIONS = tuple(option for option in OPTIONS if option.name not in ("revision", "trust_remote_code"))


def open_bundled(name: str, options: Mapping[str, str]) -> Model:
    """Open a bundled model, in float32 on every device unless requested otherwise, so that one name
    means the same model everywhere. Raises UnknownName, UsageError and MissingExtra."""
    names = [listing.name for listing in MODELS]
    if f"snellen/{name}" not in names:
        raise UnknownName("model", f"snellen/{name}", names)
    values = {**_DEFAULTS, **read_options("snellen", options, BUNDLED_OPTIONS)}
    require(f"snellen/{name}", "torch", "transformers")
    folder = WEIGHTS / name
    if not folder.is_dir():
        raise UsageError(f"this copy of Snellen lacks the weights of snellen/{name} ({folder})")
    return open_checkpoint(find_checkpoint(str(folder)), "snellen", name, values, _BATCH_SIZE)


PROVIDER = Provider(name="snellen", open=open_bundled, options=BUNDLED_OPTIONS, models=MODELS)

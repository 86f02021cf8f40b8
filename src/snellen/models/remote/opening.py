"""The doors of models behind servers: `openai/<model>`, `http://host:8000/v1#<model>`, ..."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from snellen.core.model import Model
from snellen.models.known import KnownModel
from snellen.models.remote.options import OPTIONS as OPTIONS
from snellen.models.remote.profile import URLS, Profile, profiles


def open_named(provider: str, name: str, options: Mapping[str, str]) -> Model:
    """Raises as `connect`, which is imported here: to list models is to load no client."""
    from snellen.models.remote.connecting import connect

    return connect(provider, name, options)


def _known() -> tuple[KnownModel, ...]:
    url = KnownModel("http://<host>:<port>/v1#<model>", "A model behind an OpenAI-like server.")
    named = (
        KnownModel(f"{name}/<model>", _title(profile))
        for name, profile in profiles().items()
        if name not in URLS
    )
    return (url, *named)


def _title(profile: Profile) -> str:
    key = f"; key in {' or '.join(profile.key_env)}" if profile.key_needed else ""
    return f"{profile.title}{key}."


KNOWN = _known()

anthropic = partial(open_named, "anthropic")
azure = partial(open_named, "azure")
dashscope = partial(open_named, "dashscope")
deepseek = partial(open_named, "deepseek")
doubao = partial(open_named, "doubao")
fireworks = partial(open_named, "fireworks")
gemini = partial(open_named, "gemini")
google = partial(open_named, "google")
groq = partial(open_named, "groq")
http = partial(open_named, "http")
https = partial(open_named, "https")
hunyuan = partial(open_named, "hunyuan")
llamacpp = partial(open_named, "llamacpp")
lmdeploy = partial(open_named, "lmdeploy")
minimax = partial(open_named, "minimax")
mistral = partial(open_named, "mistral")
moonshot = partial(open_named, "moonshot")
nvidia = partial(open_named, "nvidia")
ollama = partial(open_named, "ollama")
openai = partial(open_named, "openai")
openrouter = partial(open_named, "openrouter")
sglang = partial(open_named, "sglang")
siliconflow = partial(open_named, "siliconflow")
stepfun = partial(open_named, "stepfun")
together = partial(open_named, "together")
transformers = partial(open_named, "transformers")
vllm = partial(open_named, "vllm")
xai = partial(open_named, "xai")
zhipu = partial(open_named, "zhipu")

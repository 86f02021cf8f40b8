"""The provider of models in vLLM's engine, read with every list of models: vLLM itself is not."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core.errors import UsageError
from snellen.core.model import Identity, Model
from snellen.models.hf.checkpoint import find_checkpoint
from snellen.models.naming.provider import Provider, read_options
from snellen.models.vllm_local.options import MODELS, NAME, OPTIONS, read_vllm_options, vllm_identity_facts


def open_vllm_local(name: str, options: Mapping[str, str]) -> Model:
    """Open `vllm-local/<name>`. Raises UsageError (vLLM, name, folder, option)."""
    if not name:
        raise UsageError(f"{NAME} needs a model: {NAME}/<hub id> or {NAME}/<folder>")
    from snellen.models.vllm_local.engine import require_vllm
    from snellen.models.vllm_local.model import VllmLocal

    values = read_options(NAME, options, OPTIONS)
    require_vllm(f"{NAME}/{name}")
    checkpoint = find_checkpoint(name, values.get("revision"))
    choices = read_vllm_options(values, checkpoint)
    identity = Identity(NAME, checkpoint.name, vllm_identity_facts(checkpoint, choices))
    return VllmLocal(checkpoint, choices, identity)


PROVIDER = Provider(name=NAME, open=open_vllm_local, options=OPTIONS, models=MODELS)

"""Which of temperature, top_p and seed a server accepts."""

from __future__ import annotations

from snellen.core.request import Sampling
from snellen.models.remote.dialect import RemoteModelConfig
from snellen.models.remote.profile import has_fixed_sampling


def cannot_sample(config: RemoteModelConfig, sampling: Sampling) -> str | None:
    """Why a setting would not reach the model and what to do, as a clause; None if all do."""
    profile, setup = config.profile, config.setup
    if setup.endpoint == "images":
        return "it draws pictures; leave out temperature, top_p and seed"
    google, anthropic = profile.dialect == "google", profile.dialect == "anthropic"
    if sampling.seed is not None and not (google or profile.seed):
        return "its server takes no seed; leave seed out, and the draws differ by themselves"
    requested = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    names = [name for name, value in requested.items() if value is not None]
    if not names:
        return None
    if not setup.sampling:
        return f"sampling=no sends no {' and no '.join(names)}; leave out one or the other"
    if not google and has_fixed_sampling(profile, config.model):
        return f"the model sets its {' and '.join(names)} itself; leave {_pronoun(names)} out"
    if not (google or anthropic):
        supported = {"temperature": profile.temperature, "top_p": profile.top_p}
        unsupported = [name for name in names if not supported[name]]
        return f"its server takes no {' and no '.join(unsupported)}" if unsupported else None
    return _anthropic_objection(config, sampling) if anthropic else None


def _anthropic_objection(config: RemoteModelConfig, sampling: Sampling) -> str | None:
    if config.setup.effort:
        return "it takes no temperature while it thinks; leave out reasoning_effort, or these"
    if sampling.temperature is not None and sampling.temperature > 1:
        return f"its temperature goes from 0 to 1; got {sampling.temperature:g}"
    # Only one of the two is sent, and with top_p the temperature is 1.
    if sampling.top_p is not None and sampling.top_p != 1 and sampling.temperature != 1:
        return "it takes a temperature or a top_p; give top_p with temperature=1"
    return None


def _pronoun(names: list[str]) -> str:
    return "them" if len(names) > 1 else "it"

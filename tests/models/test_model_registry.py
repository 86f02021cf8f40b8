from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from snellen.core.errors import UnknownName, UsageError
from snellen.models.naming.builtin import builtin_names, builtin_provider
from snellen.models.naming.provider import ModelListing
from snellen.models.naming.registry import ModelSpec, describe_model, open_model, registered_models, split_spec

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("random", ModelSpec("random", "", {})),
        ("random:seed=3", ModelSpec("random", "", {"seed": "3"})),
        ("hf/org/model", ModelSpec("hf", "org/model", {})),
        (
            "hf/org/model:dtype=bfloat16,device=cuda:1",
            ModelSpec("hf", "org/model", {"dtype": "bfloat16", "device": "cuda:1"}),
        ),
        ("hf/C:/models/x", ModelSpec("hf", "C:/models/x", {})),
        ("http://host:8000/v1#name", ModelSpec("http", "http://host:8000/v1#name", {})),
        ("replay/out:1.csv", ModelSpec("replay", "out:1.csv", {})),
        ("./my_model", ModelSpec("hf", "./my_model", {})),
        ("~/m:images=first", ModelSpec("hf", "~/m", {"images": "first"})),
    ],
)
def test_split_spec(spec: str, parts: ModelSpec) -> None:
    assert split_spec(spec) == parts


def test_a_folder_with_a_config_is_a_local_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_model").mkdir()
    (tmp_path / "my_model" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert split_spec("my_model") == ModelSpec("hf", "my_model", {})


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("randon", "did you mean random"),
        ("snellen/tinny", "did you mean snellen/tiny"),
        ("random/x", "did you mean random?"),
        ("random:sed=3", "no option 'sed'; known options: seed"),
        ("random:seed=x", "expected a whole number"),
        ("random:seed=", "not of the form key=value"),
        ("", "is empty"),
        ("hf", "hf needs a model: hf/<hub id> or hf/<folder>"),
        ("replay/x.csv", "x.csv: there is no such file"),
        ("hf/x:dtype=float99", "expected one of auto, float32, bfloat16, float16"),
        ("hf/x:batch_size=0", "expected a whole number above 0"),
    ],
)
def test_a_wrong_name_gets_one_sentence(spec: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)) as caught:
        open_model(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["127.0.0.1:8000/v1#name", "gpu-7:8000", "localhost:1234/v1"])
def test_address_without_scheme_suggests_the_full_address(spec: str) -> None:
    with pytest.raises(UnknownName, match=re.escape(f"its whole address: http://{spec}")):
        open_model(spec)


def test_an_unknown_provider_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName, match="hf/<hub id or folder>"):
        open_model("gpt-9000")


def test_options_of_the_call_win_over_those_in_the_name() -> None:
    assert open_model("random:seed=1", {"seed": "2"}).identity.facts == {"seed": "2"}


def test_every_builtin_name_is_that_of_its_provider() -> None:
    assert {name: builtin_provider(name).name for name in builtin_names()} == {name: name for name in builtin_names()}


def test_nothing_built_in_is_an_entry_point() -> None:
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    assert "entry-points" not in declared["project"]


def test_known_models_lists_every_provider() -> None:
    known = registered_models()
    assert {"random", "snellen/tiny", "snellen/tiny-early", "hf/<hub id>", "replay/<file>"} <= {
        model.name for model in known
    }
    assert all(isinstance(model, ModelListing) and model.title for model in known)


def test_describing_a_model_loads_no_library() -> None:
    program = (
        "import sys\n"
        "from snellen.models.naming.registry import describe_model, open_model, registered_models\n"
        "open_model('random'); describe_model('random'); registered_models()\n"
        "print({'torch', 'transformers', 'PIL', 'numpy', 'huggingface_hub'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_describe_model() -> None:
    info = describe_model("random:seed=5")
    assert info.identity.facts == {"seed": "5"}
    assert info.capabilities.log_likelihood

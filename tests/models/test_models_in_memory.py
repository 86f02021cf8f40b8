"""A transformers model in memory answers as `hf/FOLDER` does, and stays as it was."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer, pipeline

import snellen
from snellen.core.errors import UsageError
from snellen.models.hf.bundled import WEIGHTS
from snellen.models.hf.in_memory import InMemoryModel, wrap_checkpoint
from snellen.models.hf.weights_digest import combine_hashes, hash_tensors, hash_weights, sums_by_numpy, sums_by_torch
from snellen.models.naming.registry import open_model

FOLDER = str(WEIGHTS / "tiny")


@pytest.fixture(scope="module")
def processor() -> Any:
    return AutoProcessor.from_pretrained(FOLDER)


@pytest.fixture
def model() -> Any:
    return AutoModelForImageTextToText.from_pretrained(FOLDER)


def run(model: Any, out: Path, **changes: Any) -> Any:
    options = {"out": out, "limit": 6, "html": False, **changes}
    (folder,) = snellen.evaluate(model, "eyechart", **options).runs
    return folder


def replies(folder: Any) -> dict[str, str]:
    return {record.id: record.passes[0].output.text for record in folder.records()}


def requests(folder: Any) -> dict[str, tuple[str, ...]]:
    return {record.id: record.requests for record in folder.records()}


def test_replies_and_requests_are_those_of_the_folder(model: Any, processor: Any, tmp_path: Path) -> None:
    by_name = run(f"hf/{FOLDER}", tmp_path / "by-name")
    in_memory = run(snellen.wrap_model(model, processor=processor), tmp_path / "in-memory")
    assert in_memory.info.status == "complete"
    assert replies(in_memory) == replies(by_name)
    assert requests(in_memory) == requests(by_name)
    assert in_memory.info.config.identity == by_name.info.config.identity
    assert in_memory.info.remarks == by_name.info.remarks == ()
    assert in_memory.info.model == "tiny"


@pytest.fixture(scope="module")
def text_generation() -> Any:
    return pipeline("image-text-to-text", model=FOLDER)


def test_a_pipeline_and_a_tuple_are_the_same_model(model: Any, processor: Any, text_generation: Any) -> None:
    expected = open_model(f"hf/{FOLDER}").identity
    for form in (model, (model, processor), text_generation):
        wrapped = snellen.wrap_model(form)
        assert wrapped.identity == expected
        assert "image" in wrapped.capabilities.inputs


def test_the_model_stays_as_it_was(model: Any, processor: Any, tmp_path: Path) -> None:
    model.train()
    model.model.vision_tower.eval()
    model.generation_config.do_sample = True
    model.generation_config.temperature = 0.7
    model.config.use_cache = False
    model.lm_head.weight.requires_grad_(False)
    processor.tokenizer.padding_side = "right"
    modes = {name: module.training for name, module in model.named_modules()}
    pointers = {name: weight.data_ptr() for name, weight in model.named_parameters()}
    buffers = {name: (id(buffer), buffer.clone()) for name, buffer in model.named_buffers()}
    generation, config = model.generation_config, copy.deepcopy(model.config.to_dict())
    fields = copy.deepcopy(generation.to_dict())
    public = {name for name in vars(model) if not name.startswith("_")}
    threads = torch.get_num_threads()

    assert run((model, processor), tmp_path).info.status == "complete"

    assert {name: module.training for name, module in model.named_modules()} == modes
    assert {name: weight.data_ptr() for name, weight in model.named_parameters()} == pointers
    assert model.generation_config is generation
    assert generation.to_dict() == fields
    assert model.config.to_dict() == config
    assert {name for name in vars(model) if not name.startswith("_")} == public
    assert processor.tokenizer.padding_side == "right"
    assert torch.is_grad_enabled()
    assert torch.get_num_threads() == threads
    assert [name for name, weight in model.named_parameters() if not weight.requires_grad] == [
        name for name, weight in model.named_parameters() if weight is model.lm_head.weight
    ]
    for name, buffer in model.named_buffers():
        assert (id(buffer), buffer.is_inference()) == (buffers[name][0], False)
        assert torch.equal(buffer, buffers[name][1])


def test_the_model_can_be_trained_on(model: Any, processor: Any, tmp_path: Path) -> None:
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-2)
    wrapped = snellen.wrap_model(model, "mine", processor=processor)
    before = run(wrapped, tmp_path)
    ids = torch.tensor([[7, 8, 9, 10]])
    model.train()(input_ids=ids, labels=ids).loss.backward()
    optimiser.step()
    after = run(wrapped, tmp_path)
    assert after.info.counts.sent == 6
    assert after.info.config.identity.name == before.info.config.identity.name == "mine"
    assert after.path != before.path
    assert run(wrapped, tmp_path).path == after.path


def test_nothing_of_a_run_stays_in_memory(model: Any, processor: Any, tmp_path: Path) -> None:
    def asked() -> weakref.ref[InMemoryModel]:
        wrapped = wrap_checkpoint(model, processor=processor)
        wrapped.load()
        return weakref.ref(wrapped)

    reference = asked()
    run((model, processor), tmp_path)
    gc.collect()
    assert reference() is None
    assert not [each for each in gc.get_objects() if type(each) is InMemoryModel]


def change_a_weight(model: Any, processor: Any) -> None:
    with torch.no_grad():
        model.model.language_model.layers[2].mlp.up_proj.weight[3, 5] += 1e-4


def change_the_end(model: Any, processor: Any) -> None:
    model.generation_config.eos_token_id = [4, 9]


def change_the_size(model: Any, processor: Any) -> None:
    processor.image_processor.size = {"height": 32, "width": 32}


def change_the_template(model: Any, processor: Any) -> None:
    processor.chat_template = "{{ messages[0].content }}"


def change_the_configuration(model: Any, processor: Any) -> None:
    model.config.text_config.rope_parameters["rope_theta"] = 5000.0


def change_the_type(model: Any, processor: Any) -> None:
    model.bfloat16()


@pytest.mark.parametrize(
    "change",
    [change_a_weight, change_the_end, change_the_size, change_the_template, change_the_configuration, change_the_type],
)
def test_whatever_may_change_a_reply_changes_the_identity(
    model: Any, processor: Any, change: Callable[[Any, Any], None]
) -> None:
    own = copy.deepcopy(processor)
    before = wrap_checkpoint(model, processor=own).identity
    change(model, own)
    after = wrap_checkpoint(model, processor=own).identity
    assert before != after
    assert wrap_checkpoint(model, processor=own).identity == after


def test_another_type_of_the_same_weights_is_that_option_of_the_folder(model: Any) -> None:
    expected = open_model(f"hf/{FOLDER}", {"dtype": "bfloat16"}).identity
    assert wrap_checkpoint(model.bfloat16()).identity == expected


def test_a_revision_is_taken_at_its_word(model: Any, processor: Any) -> None:
    identity = wrap_checkpoint(model, "mine", processor, "step-500").identity
    assert (identity.name, identity.facts["revision"]) == ("mine", "step-500")
    with torch.no_grad():
        model.lm_head.weight += 1
    assert wrap_checkpoint(model, "mine", processor, "step-500").identity == identity


def test_a_model_made_from_a_configuration_needs_a_processor(model: Any, processor: Any) -> None:
    fresh = type(model)(copy.deepcopy(model.config))
    fresh.config._name_or_path = ""
    fresh.name_or_path = ""
    with pytest.raises(UsageError, match="has no processor: give it"):
        wrap_checkpoint(fresh)
    wrapped = wrap_checkpoint(fresh, processor=processor)
    assert wrapped.identity.name == "LlavaForConditionalGeneration"
    assert wrapped.identity.facts["revision"].startswith("weights:")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"colour": "red"}, "have no option 'colour'; known options: batch_size, images,"),
        ({"device": "cpu"}, "have no option 'device'"),
        ({"batch_size": 0}, "expected a whole number above 0"),
    ],
)
def test_options_are_those_of_asking(model: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        snellen.wrap_model(model, **options)
    assert sentence in str(caught.value)


def test_options_reach_the_model(model: Any, processor: Any) -> None:
    wrapped = snellen.wrap_model(model, processor=processor, batch_size=3, max_new_tokens=7)
    assert isinstance(wrapped, InMemoryModel)
    assert (wrapped.batch_size, wrapped.batch_limit, wrapped.max_new_tokens) == (3, 3, 7)


def test_a_tokenizer_alone_does_not_do_for_images(model: Any, processor: Any) -> None:
    with pytest.raises(UsageError, match=r"takes images, and .* is a tokenizer alone"):
        snellen.wrap_model(model, processor=processor.tokenizer)
    with pytest.raises(UsageError, match=r"SiglipImageProcessor.*, which has no tokenizer"):
        snellen.wrap_model(model, processor=processor.image_processor)


def test_a_pipeline_that_writes_no_text_is_refused(text_generation: Any) -> None:
    other = copy.copy(text_generation)
    other.task = "image-classification"
    with pytest.raises(UsageError, match="task is image-classification; expected one that writes"):
        snellen.wrap_model(other)


def test_weights_outside_this_process_need_a_revision(model: Any, processor: Any) -> None:
    away = copy.deepcopy(model).to("meta")
    with pytest.raises(UsageError, match="are not all in this process"):
        snellen.wrap_model(away, processor=processor)


def test_a_distributed_model_is_the_model_inside(model: Any) -> None:
    parallel = torch.nn.DataParallel(model)
    assert snellen.wrap_model(parallel).identity == snellen.wrap_model(model).identity


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.bool])
@pytest.mark.parametrize("size", [1, 7, (1 << 18) + 3])
def test_single_element_changes_the_hash(dtype: torch.dtype, size: int) -> None:
    tensor = torch.zeros(size, dtype=dtype)
    (before,) = hash_tensors([tensor])
    for index in {0, size // 2, size - 1}:
        changed = tensor.clone()
        changed[index] = 1
        (after,) = hash_tensors([changed])
        assert after != before
        assert after.shape == (size,)


@pytest.mark.parametrize("size", [0, 1, 1 << 18, (1 << 18) * 33 + 5])
def test_a_gpu_and_a_cpu_hash_alike(size: int) -> None:
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(-(1 << 31), (1 << 31) - 1, (size,), generator=generator).int()
    assert sums_by_torch(words) == sums_by_numpy(words)


def test_swapped_and_reordered_weights_have_another_digest() -> None:
    generator = torch.Generator().manual_seed(0)
    tensor = torch.randn(1000, generator=generator)
    hashes = hash_tensors([tensor, tensor.flip(0), tensor.clone(), -tensor])
    assert hashes[0] == hashes[2]
    assert len(set(hashes)) == 3
    first = {"a": hashes[0], "b": hashes[1]}
    assert combine_hashes(first) != combine_hashes({"a": hashes[1], "b": hashes[0]})


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning")
def test_an_adapter_of_peft_is_part_of_the_model(model: Any, processor: Any) -> None:
    from peft import LoraConfig, get_peft_model

    plain = wrap_checkpoint(model, processor=processor).identity
    config = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    adapted = get_peft_model(model, config)
    active = snellen.wrap_model(adapted, processor=processor).identity
    with adapted.disable_adapter():
        disabled = snellen.wrap_model(adapted, processor=processor).identity
    assert len({plain.digest(), active.digest(), disabled.digest()}) == 3
    assert len(hash_weights(adapted.get_base_model())) > len(hash_weights(model)) // 2


def test_a_tensor_that_is_made_of_others_is_hashed_by_its_parts() -> None:
    from torch.testing._internal.two_tensor import TwoTensor

    module = torch.nn.Module()
    scale = torch.ones(3)
    module.weight = torch.nn.Parameter(TwoTensor(torch.zeros(3), scale))  # type: ignore[no-untyped-call]
    before = hash_weights(module)
    assert set(before) == {"weight.a", "weight.b"}
    with torch.no_grad():
        module.weight.b[1] = 2.0
    after = hash_weights(module)
    assert (after["weight.a"], after["weight.b"] == before["weight.b"]) == (before["weight.a"], False)


class Net(torch.nn.Module):
    """A module of the user's own, with a setting beside its weights."""

    def __init__(self, threshold: float = 0.5) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(3, 2)
        self.threshold = threshold


class Owner:
    def __init__(self, module: Any, processor: Any = None) -> None:
        self.module, self.processor = module, processor

    def answer(self, request: snellen.Generate) -> str:
        return "A"


def test_attributes_of_user_objects_are_part_of_the_identity(processor: Any) -> None:
    owner = Owner(Net(), processor)
    wrapped = snellen.wrap_model(owner)
    assert wrapped.remarks == ()  # type: ignore[attr-defined]
    assert wrapped.identity == snellen.wrap_model(Owner(Net(), processor)).identity
    with torch.no_grad():
        owner.module.layer.weight += 1
    trained = wrapped.refresh()  # type: ignore[attr-defined]
    others = [
        trained,
        snellen.wrap_model(Owner(Net(0.7), processor)),
        snellen.wrap_model(Owner(Net(), None)),
        snellen.wrap_model(Owner(torch.zeros(3), processor)),
        snellen.wrap_model(Owner(torch.zeros(3).numpy(), processor)),
        snellen.wrap_model(Owner(torch.device("cpu"), processor)),
    ]
    digests = {each.identity.digest() for each in (wrapped, *others)}
    assert len(digests) == len(others) + 1
    assert all(each.remarks == () for each in others)  # type: ignore[attr-defined]


def test_a_function_that_uses_a_model_follows_its_weights(model: Any, tmp_path: Path) -> None:
    def answer(request: snellen.Generate) -> str:
        return "A" if model.training else "B"

    before = run(answer, tmp_path)
    assert run(answer, tmp_path).path == before.path
    with torch.no_grad():
        model.lm_head.weight[0, 0] += 1
    assert run(answer, tmp_path).path != before.path


@pytest.mark.parametrize("form", ["pipeline", "model", "model and tokenizer"])
def test_a_text_model_comes_with_its_tokenizer(checkpoint: Callable[[str], Path], form: str, tmp_path: Path) -> None:
    folder = str(checkpoint("llama"))
    text_model = AutoModelForCausalLM.from_pretrained(folder)
    handed = {
        "pipeline": lambda: pipeline("text-generation", model=folder),
        "model": lambda: text_model,
        "model and tokenizer": lambda: (text_model, AutoTokenizer.from_pretrained(folder)),
    }[form]()
    by_name = open_model(f"hf/{folder}")
    wrapped = snellen.wrap_model(handed)
    assert wrapped.identity == by_name.identity
    assert wrapped.capabilities == by_name.capabilities
    results = snellen.evaluate(handed, "eyechart", out=tmp_path, limit=2, html=False)
    assert "needs image input" in results.skipped[0].reason
    blind = snellen.Variant(control="blind", max_new_tokens=3)
    folder_of_run = run(handed, tmp_path, variant=blind, limit=2)
    assert folder_of_run.info.status == "complete"

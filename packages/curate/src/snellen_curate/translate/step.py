"""The step `translate`: a data set's sibling in another language, written or checked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from snellen.api.progress import ProgressChoice
from snellen.core.errors import UsageError
from snellen.core.model import AnyModel
from snellen.data_sets.decisions import FAILED, Action, Decision, Evidence, count_actions
from snellen.data_sets.items import ITEMS_FILE, ItemTable
from snellen.data_sets.step import Step, open_step
from snellen.engine.servers.process import Notify
from snellen.report.document import Block, Column, Document, Line, Table
from snellen.report.format import plural
from snellen.store.runs import write_json
from snellen_curate.asking import Job, Result, model_setting, open_models
from snellen_curate.open_data import open_items
from snellen_curate.step_options import StepOptions
from snellen_curate.translate import siblings
from snellen_curate.translate.instructions import choose_instruction, texts_of
from snellen_curate.translate.pair import Mismatch
from snellen_curate.translate.rules import RULES, check_pair
from snellen_curate.translate.translating import TranslatedItem, TranslationPlan, translate_texts

STEP = "translate"
TRANSLATED, UNCHANGED, MISSING = "translated", "no text", "missing"
"""Rules of decisions: translated and nothing wrong; nothing to translate; no item of this id."""
SOURCE_TEXT = "source text"
"""Name of the evidence that holds the texts of the source."""
TERMS_FILE = "terms.json"


class TranslationSummary(Struct, frozen=True):
    """What a start of the step came to."""

    out: str
    name: str
    """Name of the sibling."""
    source: str
    languages: tuple[str, str]
    items: int
    counts: dict[str, int]
    """Items by action."""
    flagged_wrong: int
    """Items that at least one rule calls wrong, or that have no translation."""
    wrong: dict[str, int]
    """Items that a rule calls wrong, by rule."""
    doubtful: dict[str, int]
    terms: tuple[siblings.TermUse, ...] = ()
    """Options that several items have."""
    abort_reason: str = ""

    @property
    def failures(self) -> int:
        return self.wrong.get(FAILED, 0)

    @property
    def inconsistent(self) -> list[siblings.TermUse]:
        """Terms with more than one translation."""
        return [use for use in self.terms if not use.is_consistent]


def translate_items(
    data: str | Path,
    out: str | Path,
    plan: TranslationPlan,
    models: Mapping[str, AnyModel],
    options: StepOptions | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    progress: ProgressChoice = None,
    notify: Notify | None = None,
) -> TranslationSummary:
    """Translate the items of a data set into the folder `out`.

    `models` by role: `translator`, and `judge` if the plan has it. The same call goes
    on where an earlier one ended. Items whose translation a rule calls wrong after the last attempt
    carry it and are flagged; items for which there is no translation keep their texts and are
    flagged, and the next start asks about them again. Raises UsageError as `open_step` and
    `open_models` do.
    """
    _check_plan(plan)
    table = open_items(data, columns)
    settings = _settings(plan, {role: model_setting(model) for role, model in models.items()})
    with open_step(out, STEP, settings, table) as step:
        if pending := _count_pending(table, plan, step):
            with open_models(models, options or StepOptions(), step.folder, progress=progress, notify=notify) as opened:
                title = f"translating into {plan.target.name}"
                opened.drive(_jobs(table, plan, step), partial(_decide_result, plan, step), title, pending)
                if opened.abort_reason:
                    summary = _summarise(step.decisions.values(), step.folder, table.name, plan, ())
                    return replace(summary, abort_reason=opened.abort_reason)
        texts = _texts_of_decisions(step.decisions.values())
        uses = siblings.term_uses(texts)
        for decision in _flag_displaced(step.decisions, texts, uses):
            step.decide(decision)
        texts_by_id = {each.id: each.target for each in texts}
        step.write_items(siblings.sibling_item(item, texts_by_id[item.id], plan.target) for item in table)
        write_json(step.folder / TERMS_FILE, uses)
        summary = _summarise(step.decisions.values(), step.folder, table.name, plan, uses)
        step.finish(_counts(summary), "waiting" if summary.failures else "complete")
    return summary


def check_sibling(
    data: str | Path,
    sibling: str | Path,
    plan: TranslationPlan,
    out: str | Path | None = None,
    *,
    columns: Mapping[str, str] | None = None,
) -> TranslationSummary:
    """Check an existing translation by the same rules, without asking anything.

    With `out`, the sibling's items are written there with a decision about each, for `curate
    review`. An id that only one of the two has is wrong. Raises UsageError.
    """
    _check_plan(plan)
    table = open_items(data, columns)
    # A data set folder has our columns, whatever those of the source are.
    other = open_items(sibling, None if (Path(sibling).expanduser() / ITEMS_FILE).is_file() else columns)
    pairs = list(siblings.pair_siblings(table, other))
    by_id = {pair.id: _compare(pair, plan) for pair in pairs}
    texts = list(_texts_of_pairs(pairs, plan))
    if not texts:
        raise UsageError(
            f"{table.name} and {other.name} share no id ({_some_ids(pairs)}); expected a data set "
            "and its translation, with the same ids"
        )
    uses = siblings.term_uses(texts)
    by_id |= {each.item: each for each in _flag_displaced(by_id, texts, uses)}
    decisions = list(by_id.values())
    folder = Path(out).expanduser() if out is not None else None
    summary = _summarise(decisions, folder, table.name, plan, uses, other.name)
    if folder is not None:
        settings = _settings(plan, {"check": other.path})
        with open_step(folder, STEP, settings, other, table) as step:
            for decision in decisions:
                if decision.item not in step.decisions:
                    step.decide(decision)
            step.write_items(pair.target for pair in pairs if pair.target)
            write_json(folder / TERMS_FILE, uses)
            step.finish(_counts(summary))
    return summary


def sibling_name(data: str | Path, plan: TranslationPlan, columns: Mapping[str, str] | None = None) -> str:
    """The usual name of a sibling: `eyechart-zh`."""
    return f"{open_items(data, columns).name}-{plan.target.tag}"


def _some_ids(pairs: list[siblings.SiblingPair]) -> str:
    sources = [pair.id for pair in pairs if pair.source][:2]
    targets = [pair.id for pair in pairs if pair.target][:2]
    return f"{', '.join(sources)}, ... and {', '.join(targets)}, ..."


def _check_plan(plan: TranslationPlan) -> None:
    if plan.source.tag == plan.target.tag:
        raise UsageError(
            f"the data are said to be in {plan.target.tag} already; give another language, or "
            "that of the data too: --language FROM:TO"
        )
    if not 1 <= plan.attempts <= 20:
        raise UsageError(f"--limits attempts={plan.attempts}: expected 1 to 20")


def _settings(plan: TranslationPlan, models: Mapping[str, str]) -> dict[str, object]:
    """What decides the result, for `step.json`."""
    instruction = choose_instruction(plan.source, plan.target)
    return {
        "from": plan.source.tag,
        "to": plan.target.tag,
        "fields": list(plan.fields),
        "keep": list(plan.keep),
        "glossary": dict(plan.glossary),
        "attempts": plan.attempts,
        "review": plan.review,
        "version of the prompt": f"{instruction.name} {instruction.digest[:12]}",
        **models,
    }


def _count_pending(table: ItemTable, plan: TranslationPlan, step: Step) -> int:
    """The number of items to ask about. Those without a text are decided here."""
    pending = 0
    for item in table:
        if item.id in step.decisions:
            continue
        texts = texts_of(item.sample, plan.fields)
        if any(character.isalpha() for text in texts.values() for character in text):
            pending += 1
        else:
            reason = "no text that could be translated"
            step.decide(Decision(item.id, "keep", STEP, UNCHANGED, reason))
    return pending


def _jobs(table: ItemTable, plan: TranslationPlan, step: Step) -> Iterator[Job[TranslatedItem]]:
    for item in table:
        if item.id in step.decisions:
            continue
        texts = texts_of(item.sample, plan.fields)
        yield Job(item.id, translate_texts(plan, item.id, texts, item.sample.gold))


def _decide_result(plan: TranslationPlan, step: Step, result: Result[TranslatedItem]) -> None:
    translated = result.value
    if translated is None:
        step.decide(result.failed_decision(STEP))
        return
    changes = {name: (text, translated.texts.get(name, "")) for name, text in translated.source.items()}
    step.decide(_decision(plan, result.id, translated.mismatches, result.asked, changes))


def _decision(
    plan: TranslationPlan,
    name: str,
    mismatches: Sequence[Mismatch],
    evidence: Iterable[Evidence] = (),
    changes: Mapping[str, tuple[str, str]] | None = None,
) -> Decision:
    """The decision about a translation: `fix`, or `flag` if a person is to look at it."""
    rules = list(map(_rule_evidence, mismatches))
    wrong = [each for each in mismatches if each.level == "wrong"]
    reason = "; ".join(map(str, wrong))
    is_flagged = plan.needs_review(mismatches)
    if is_flagged and not reason:
        doubts = [f"doubtful: {each}" for each in mismatches]
        reason = "; ".join(doubts) or "every translation is to be verified"
    rule = mismatches[0].rule if is_flagged and mismatches else TRANSLATED
    if is_flagged and changes:
        rules = [_source_evidence(changes), *rules]
    action: Action = "flag" if is_flagged else "fix" if changes else "keep"
    return Decision(name, action, STEP, rule, reason, (*rules, *evidence), dict(changes or {}))


def _compare(pair: siblings.SiblingPair, plan: TranslationPlan) -> Decision:
    """The decision about an item of an existing translation."""
    if pair.source is None or pair.target is None:
        which = "source" if pair.source is None else "translation"
        return Decision(pair.id, "flag", STEP, MISSING, f"the {which} has no item of this id")
    source, target = pair.source.sample, pair.target.sample
    texts, translation = texts_of(source, plan.fields), texts_of(target, plan.fields)
    mismatches = [*siblings.check_kinship(source, target)]
    mismatches += check_pair(plan.pair(texts, translation, source.gold))
    # Both texts of a flagged item, for whoever reviews it.
    texts_of_both = {name: (text, translation.get(name, "")) for name, text in texts.items()}
    return _decision(plan, pair.id, mismatches, changes=texts_of_both if plan.needs_review(mismatches) else None)


def _texts_of_pairs(pairs: Iterable[siblings.SiblingPair], plan: TranslationPlan) -> Iterator[siblings.ItemTexts]:
    for name, source, target in pairs:
        if source and target:
            texts = (texts_of(item.sample, plan.fields) for item in (source, target))
            yield siblings.ItemTexts(name, *texts)


def _texts_of_decisions(decisions: Iterable[Decision]) -> list[siblings.ItemTexts]:
    return [
        siblings.ItemTexts(
            decision.item,
            {name: before for name, (before, _) in decision.changes.items()},
            {name: after for name, (_, after) in decision.changes.items()},
        )
        for decision in decisions
    ]


def _flag_displaced(
    decisions: Mapping[str, Decision], texts: Sequence[siblings.ItemTexts], uses: Sequence[siblings.TermUse]
) -> Iterator[Decision]:
    """New decisions about items of which the others show that options changed places."""
    displaced: dict[str, list[Mismatch]] = defaultdict(list)
    for name, mismatch in siblings.displaced_options(texts, uses):
        if ("wrong", mismatch.rule) not in map(_alarm, decisions[name].evidence):
            displaced[name].append(mismatch)
    by_id = {each.id: each for each in texts}
    for name, mismatches in displaced.items():
        before, each = decisions[name], by_id[name]
        changes = {field: (text, each.target.get(field, "")) for field, text in each.source.items()}
        rules = [*map(_rule_evidence, mismatches), *before.evidence]
        if before.action != "flag":
            rules = [_source_evidence(changes), *rules]
        reasons = [before.reason] if before.action == "flag" and before.reason else []
        yield replace(
            before,
            action="flag",
            rule=before.rule if before.action == "flag" else mismatches[0].rule,
            reason="; ".join([*reasons, *map(str, mismatches)]),
            evidence=tuple(rules),
            changes=changes,
            at="",
        )


def _source_evidence(changes: Mapping[str, tuple[str, str]]) -> Evidence:
    """The texts of the source, for whoever reviews their translation."""
    # The question and the hint before the options.
    names = sorted(changes, key=lambda name: (len(name) == 1, name))
    return Evidence(SOURCE_TEXT, reply="\n".join(f"{name}: {changes[name][0]}" for name in names))


def _rule_evidence(mismatch: Mismatch) -> Evidence:
    verdict = f"{mismatch.level} ({mismatch.field}): {mismatch.text}"
    return Evidence(f"rule {mismatch.rule}", verdict=verdict)


def _summarise(
    decisions: Iterable[Decision],
    folder: Path | None,
    source: str,
    plan: TranslationPlan,
    uses: Sequence[siblings.TermUse],
    name: str = "",
) -> TranslationSummary:
    """What the decisions come to. `name` is the sibling's; the folder's by default."""
    decisions = list(decisions)
    levels: dict[str, Counter[str]] = {"wrong": Counter(), "doubtful": Counter()}
    for decision in decisions:
        if decision.rule in (FAILED, MISSING):
            levels["wrong"][decision.rule] += 1
        for level, rule in {_alarm(each) for each in decision.evidence}:
            if level in levels:
                levels[level][rule] += 1
    return TranslationSummary(
        out=str(folder) if folder is not None else "",
        name=name or (folder.resolve().name if folder is not None else ""),
        source=source,
        languages=(plan.source.tag, plan.target.tag),
        items=len(decisions),
        counts=count_actions({decision.item: decision for decision in decisions}),
        flagged_wrong=sum(
            any(_alarm(each)[0] == "wrong" for each in decision.evidence) or decision.rule in (FAILED, MISSING)
            for decision in decisions
        ),
        wrong=dict(levels["wrong"].most_common()),
        doubtful=dict(levels["doubtful"].most_common()),
        terms=tuple(uses),
    )


def _alarm(evidence: Evidence) -> tuple[str, str]:
    """Level and rule of a rule's evidence; the level is "" for other evidence."""
    kind, _, rule = evidence.model.partition(" ")
    return (evidence.verdict.partition(" ")[0], rule) if kind == "rule" else ("", "")


def _counts(summary: TranslationSummary) -> dict[str, object]:
    """The figures of `step.json`."""
    return {
        "items": summary.items,
        **summary.counts,
        "wrong": summary.wrong,
        "doubtful": summary.doubtful,
        "terms": len(summary.terms),
        "inconsistent terms": len(summary.inconsistent),
        "sibling of": summary.source,
    }


_TITLES = {
    "failed": "no reply that could be used",
    "missing": "only one of the two data sets has the id",
    "kind": "another kind of question",
    "key": "another right answer",
    "option labels": "other labels of options",
    "media": "other pictures or videos",
    "judge": "the judge sees another meaning",
} | {name: rule.title for name, rule in RULES.items()}
_MAX_TERMS = 10


def summary_document(summary: TranslationSummary) -> Document:
    """The table of rules, the inconsistent terms, and how it goes on."""
    source, target = summary.languages
    title = f"{summary.source} to {summary.name or target} ({source} to {target})"
    rows = [
        (name, about, summary.wrong.get(name, 0), summary.doubtful.get(name, 0))
        for name, about in _TITLES.items()
        if name in summary.wrong or name in summary.doubtful
    ]
    columns = (Column("rule"), Column("is about"), Column("wrong", "count"), Column("doubtful", "count"))
    blocks: list[Block] = [Table(title, columns, rows) if rows else Line(title, "heading")]
    blocks += [Line(text, is_unbroken=True) for text in _sentences(summary)]
    return Document(blocks, summary)


def _sentences(summary: TranslationSummary) -> Iterator[str]:
    yield (
        f"{plural(summary.items, 'item')}: {summary.flagged_wrong} that a rule calls wrong, "
        f"{summary.counts.get('flag', 0)} flagged for review"
    )
    for use in summary.inconsistent[:_MAX_TERMS]:
        words = ", ".join(f"{word} ({count})" for word, count in use.translations.items())
        yield f"not translated alike: {use.term}: {words}"
    more = len(summary.inconsistent) - _MAX_TERMS
    if more > 0:
        yield f"and {plural(more, 'more term')} in terms.json"
    if summary.abort_reason:
        yield f"stopped: {summary.abort_reason}; the same command goes on"
    elif summary.out:
        if summary.failures:
            yield (
                f"{plural(summary.failures, 'item')} without a translation: the same command asks "
                "again, with --fresh NAME the model, too, where its reply could not be used"
            )
        yield f"data: {summary.out}/items.jsonl"

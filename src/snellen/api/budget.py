"""Limits of a command: retries, failures, budget; and the prices that a budget needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snellen.api.resolve_models import UnavailableModel
from snellen.core.errors import UsageError
from snellen.core.model import Model, RemoteModel, abilities
from snellen.core.output import Price
from snellen.engine.limits.abort import MaxFailures
from snellen.engine.limits.retrying import MAX_SENDS, RetryPolicy
from snellen.engine.limits.spending import Budget
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.request_broker import MAIN, RequestLimits
from snellen.engine.servers.managed import ManagedModel
from snellen.models.naming.prices import parse_price, price_in_batches, price_of


def request_limits(
    retries: int | None = None, max_failures: str | None = None, budget: str | None = None
) -> RequestLimits:
    """The limits, from what was typed. Raises UsageError if one cannot be parsed."""
    resends = MAX_SENDS - 1 if retries is None else retries
    if resends < 0:
        raise UsageError(f"--requests retries=is {resends}; expected 0 or more")
    return RequestLimits(
        retries=RetryPolicy(max_sends=resends + 1),
        max_failures=None if max_failures is None else MaxFailures.parse(max_failures),
        budget=None if budget is None else Budget.parse(budget),
    )


class Prices:
    """What models cost: the prices of this command, else the listed ones.

    `overrides` are of the form MODEL:input=2.5,output=10. Raises UsageError if one is not."""

    def __init__(self, overrides: Sequence[str]) -> None:
        self._overrides: dict[str, Price] = {}
        for override in overrides:
            name, _, price = override.rpartition(":")
            if not name:
                raise UsageError(f"--price {override!r}: expected MODEL:input=2.5,output=10 (in Python: prices)")
            # A model named by its server's address goes by the name behind it.
            self._overrides[name.rpartition("#")[2]] = parse_price(price)

    def price(self, model: Model, alias: str = "") -> Price | None:
        """The price of a model, in batches if it is asked so; None if none is known. Models on the user's
        own machine have a price only if the command gives one, which is taken as it stands. `alias` is the
        name the command calls the model."""
        for name in (alias, *_names(model)):
            if name in self._overrides:
                return self._overrides[name]
        if isinstance(model, UnavailableModel):
            price = price_of(model.name)
        elif _is_hosted(model):
            price = price_of(_names(model)[0])
        else:
            return None
        terms = abilities(model).batch_terms
        return price if price is None or terms is None else price_in_batches(price, terms)

    def plan_prices(self, plan: RunPlan) -> dict[str, Price]:
        """The known prices of a run's models, by role."""
        prices = {role: self.price(model) for role, model in plan.roles.items()}
        prices[MAIN] = self.price(plan.model, plan.model_name)
        return {role: price for role, price in prices.items() if price is not None}

    def check(self, models: Iterable[tuple[str, Model]], budget: Budget | None) -> None:
        """Check prices and budget against the `models` of a command, given with their names.

        Raises UsageError if a price is for no model, or if the budget is in money and the price of
        a hosted model is unknown or in another currency."""
        if not self._overrides and (budget is None or not budget.is_money):
            return
        named_models = list(models)
        names = {name for alias, model in named_models for name in (alias, *_names(model))}
        for name in self._overrides:
            if name not in names:
                raise UsageError(f"--price names {name}, and no such model is asked (in Python: prices)")
        if budget is None or not budget.is_money:
            return
        for alias, model in named_models:
            if not _is_hosted(model):
                continue
            price = self.price(model, alias)
            name = alias or _names(model)[0]
            if price is None:
                raise UsageError(
                    f"a budget in USD needs the price of {name}, which is not known; give it in "
                    f"USD per million tokens: --price '{name}:input=2.5,output=10' "
                    "(in Python: prices=[...])"
                )
            if price.currency != "USD":
                raise UsageError(
                    f"a budget in USD cannot be kept with {name}: its price is in "
                    f"{price.currency}; give it in USD: --price '{name}:input=2.5,output=10' "
                    "(in Python: prices=[...])"
                )


def _is_hosted(model: Model) -> bool:
    """Whether the model runs on a server that Snellen did not start."""
    return isinstance(model, RemoteModel) and not isinstance(model, ManagedModel)


def _names(model: Model) -> tuple[str, str]:
    identity = model.identity
    return f"{identity.provider}/{identity.name}", identity.name

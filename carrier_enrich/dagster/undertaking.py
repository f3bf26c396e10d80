"""One enrichment over several steps, runs and attempts: what it spends, and its receipt.

Everything bought for it goes under one name in the ledger, so that one cap holds over all of its
steps, and the receipt is taken from the ledger, which has seen all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Self

from carrier_enrich.accounting import receipt_of
from carrier_enrich.client import CarrierClient
from carrier_enrich.dagster.stages import Request
from carrier_enrich.engine import UNDETERMINED_SECONDS, Engine, Outcome, Tally
from carrier_enrich.engine.courier import ThreadCourier
from carrier_enrich.frames import Crosswalk
from carrier_enrich.ledger import Freshness, Ledger
from carrier_enrich.ledger.history import Bought, History
from carrier_enrich.ledger.states import State
from carrier_enrich.model import Answers
from carrier_enrich.receipt import Receipt
from carrier_enrich.settings import Settings


@dataclass(frozen=True, slots=True)
class Account:
    """The account that is spent from, with its ledger: open for a while."""

    settings: Settings
    client: CarrierClient
    ledger: Ledger
    clock: Callable[[], float]

    @property
    def engine(self) -> Engine:
        """An engine over the ledger and the client."""
        courier = ThreadCourier(self.client, self.clock)
        return Engine(self.ledger, courier, self.settings, self.clock)

    def balance(self) -> int:
        """Micros of USD (spec, Balance)."""
        return self.client.balance()


@contextmanager
def opened(settings: Settings, clock: Callable[[], float]) -> Iterator[Account]:
    """The account of these settings; ledger and client are closed afterwards.

    Raises:
        BadSettings: the service can't be reached with these settings.
        LedgerError: the ledger can't be opened.
    """
    settings = settings.required()
    with (
        closing(CarrierClient(settings.base_url, settings.api_key, clock=clock)) as client,
        Ledger.open(
            settings.ledger_url, service=settings.service, account=settings.account
        ) as ledger,
    ):
        yield Account(settings, client, ledger, clock)


def report(outcome: Outcome) -> dict[str, Any]:
    """What one step sent and bought, as plain values."""
    tally = outcome.tally
    return {
        "requests": dict(tally.requests),
        "refusals": {str(code): times for code, times in tally.refusals.items()},
        "known": tally.known,
        "bought": tally.bought,
        "collected": tally.collected,
        "shared": tally.shared,
        "answered": len(outcome.answers),
        "charged_micros": tally.charged,
        "seconds": tally.ended_at - tally.started_at,
    }


@dataclass(frozen=True, slots=True)
class Undertaking:
    """One enrichment under its name in the ledger.

    Attributes:
        name: the budget's name.
        planned_at: seconds since the epoch at which it was planned.
        balance_before: micros, where the plan has read it.
    """

    name: str
    request: Request
    planned_at: float
    balance_before: int | None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """The undertaking of a plan's facts."""
        return cls(
            facts["undertaking"],
            Request.of(facts["request"]),
            facts["planned_at"],
            facts["plan"]["balance_micros"],
        )

    def recall(self, account: Account, walk: Crosswalk) -> Answers:
        """What the ledger knows of the crosswalk's numbers and was fresh when it was planned."""
        fresh = Freshness(
            answers=self.planned_at - account.settings.max_age_days * 86_400,
            undetermined=self.planned_at - UNDETERMINED_SECONDS,
        )
        return account.ledger.knowledge.recall(walk.numbers, fresh)

    def receipt(
        self,
        account: Account,
        walk: Crosswalk,
        answers: Answers,
        reports: Iterable[Mapping[str, Any]],
    ) -> Receipt:
        """The receipt of all its steps and attempts.

        Args:
            answers: each number once, ascending.
            reports: of the steps, for the requests that they sent.
        """
        history = History(account.ledger)
        origins = history.origins(answers.numbers, self.name, self.planned_at)
        tally = Tally(
            known=origins.known,
            bought=origins.bought,
            collected=origins.collected,
            shared=origins.shared,
            balance_before=self.balance_before,
            balance_after=None if self.balance_before is None else account.balance(),
            started_at=self.planned_at,
            ended_at=account.clock(),
        )
        for purchase in history.of_budget(self.name):
            _count(tally, purchase)
        for sent in reports:
            tally.requests.update(sent["requests"])
            tally.refusals.update({int(code): n for code, n in sent["refusals"].items()})
        outcome = Outcome(answers, tally, tuple(account.ledger.purchases.open()))
        return receipt_of(walk, outcome, account.settings)


def _count(tally: Tally, purchase: Bought) -> None:
    highest, charged = purchase.highest_cost or 0, purchase.charged or 0
    unpriced = purchase.count if purchase.highest_cost is None else 0
    tally.estimated += highest
    match purchase.state:
        case State.COLLECTED:
            tally.charged += charged
            tally.charged_by_kind[purchase.kind] += charged
            tally.refunded += highest - charged
            tally.unpriced += unpriced
        case State.REFUSED | State.FAILED:
            tally.refunded += highest
        case State.CHARGE_UNKNOWN:
            tally.unknown += purchase.count
            tally.unknown_cost += highest
            tally.unpriced += unpriced
        case _:
            tally.still_open += highest
            tally.unpriced += unpriced

"""What a run did, in figures: counted as it happens, frozen at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from carrier_enrich.errors import CarrierEnrichError
from carrier_enrich.ledger import Purchase, State
from carrier_enrich.model import Answers


@dataclass(slots=True)
class Tally:
    """Figures of one run. Amounts are micros of USD, counts of `numbers` are distinct numbers.

    ``estimated`` is ``charged + refunded + unknown_cost + still_open``.

    Attributes:
        known: numbers that the ledger knew before anything was sent.
        bought: numbers answered by purchases of this run.
        collected: wanted numbers answered by purchases that an earlier run had left open.
        shared: numbers that another run bought meanwhile.
        estimated: highest cost of the purchases intended by this run, and of checks that it found
            without an answer.
        charged: what they cost by the service's own counts.
        refunded: what they might have cost and did not: refunded, refused or not charged.
        unpriced: numbers bought at prices that are not known; not in the amounts.
        unknown: numbers in checks whose answer was lost: the service may have charged them.
        unknown_cost: highest cost of those.
        still_open: highest cost of purchases of this run that are not at their end.
        doubled, foreign: rows of result files that were doubled, or never asked for.
    """

    known: int = 0
    bought: int = 0
    collected: int = 0
    shared: int = 0
    estimated: int = 0
    charged: int = 0
    charged_by_kind: Counter[str] = field(default_factory=Counter)
    refunded: int = 0
    unpriced: int = 0
    unknown: int = 0
    unknown_cost: int = 0
    still_open: int = 0
    doubled: int = 0
    foreign: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    refusals: Counter[int] = field(default_factory=Counter)
    balance_before: int | None = None
    balance_after: int | None = None
    started_at: float = 0.0
    ended_at: float = 0.0

    def intended(self, purchase: Purchase) -> None:
        """A purchase of this run is about to be sent."""
        if purchase.highest_cost is None:
            self.unpriced += purchase.count
        else:
            self.estimated += purchase.highest_cost

    def closed(self, purchase: Purchase) -> None:
        """A purchase of this run has come to its end."""
        highest = purchase.highest_cost or 0
        match purchase.state:
            case State.COLLECTED:
                charged = purchase.charged or 0
                self.charged += charged
                self.charged_by_kind[purchase.kind] += charged
                self.refunded += highest - charged
            case State.FAILED | State.REFUSED:
                self.refunded += highest
                self.unpriced -= purchase.count if purchase.highest_cost is None else 0
            case State.CHARGE_UNKNOWN:
                self.lost(purchase)
            case _:
                pass

    def lost(self, purchase: Purchase) -> None:
        """The answer of a check is lost, and nobody can tell whether it was charged."""
        self.unknown += purchase.count
        self.unknown_cost += purchase.highest_cost or 0


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The end of a run.

    Attributes:
        answers: what is known of the numbers asked for; what is absent was not checked.
        open: purchases of the account that are paid for, or may be, and not collected.
        stopped: why the run ended before its work did, None where it did not.
    """

    answers: Answers
    tally: Tally
    open: tuple[Purchase, ...]
    stopped: CarrierEnrichError | None = None

"""The other runs on the ledger: what they left open, what they know, what they are buying."""

from __future__ import annotations

import numpy as np

from carrier_enrich import wire
from carrier_enrich.ascending import without
from carrier_enrich.engine.desk import Desk
from carrier_enrich.engine.errands import Errand, Step
from carrier_enrich.errors import IntentionTooOld
from carrier_enrich.ledger import Purchase, State
from carrier_enrich.model import CallKind
from carrier_enrich.retry import CHECK_SECONDS

#: Seconds between two looks at what others are buying.
LOOK_SECONDS = 0.5
LOOK_SECONDS_MAX = 5.0


def take_over(desk: Desk) -> None:
    """Go on with every purchase that a run which is over has left open (design: settle).

    A check without an answer is closed as charge_unknown. A submit without an answer is sent
    again: same bytes, same key, so the service makes no second task of it; one that is too old
    for that stops the buying, and is raised when all the rest is in. A task is polled.
    """
    now = desk.clock()
    desk.ledger.leases.bury(now)
    for purchase in desk.ledger.purchases.adopt(desk.run_id, sorted(desk.buys)):
        _take_over(desk, purchase, now)


def _take_over(desk: Desk, purchase: Purchase, now: float) -> None:
    purchases = desk.ledger.purchases
    if purchase.kind is not CallKind.BULK_TASK:
        closed = purchases.charge_unknown(
            purchase,
            "the run died before the answer came",
            now,
            shows_at=now + CHECK_SECONDS[purchase.kind],
        )
        desk.tally.intended(closed)
        desk.tally.lost(closed)
        return
    age = now - purchase.created_at
    if purchase.state is State.INTENDED and age > desk.settings.key_trust_seconds:
        desk.stop_buying(
            IntentionTooOld(
                f"a bulk task of {purchase.count:,} numbers was sent {age / 3600:.0f} hours ago "
                "and never confirmed; its idempotency key may have expired, so sending it again "
                "could pay twice. Nothing new was bought. To treat it as lost: "
                f"carrier-enrich settle --give-up {purchase.id}"
            )
        )
        return
    step = Step.SEND if purchase.state is State.INTENDED else Step.POLL
    if step is Step.POLL and not desk.wait_for_tasks:
        # Detached: it stays as it is, for a run that waits.
        return
    numbers = wire.numbers_of_file(purchases.body(purchase))
    desk.errands.append(Errand(purchase, np.sort(numbers), step, now, adopted=True))


def look_again(desk: Desk) -> None:
    """See what became of the awaited numbers; those that nobody buys any more are queued."""
    take_over(desk)
    # Claimed before recalled: whoever released them wrote its answers first.
    claimed = desk.ledger.knowledge.claim(
        desk.awaited, desk.run_id, desk.ledger.purchases.account_id
    )
    known = desk.ledger.knowledge.recall(desk.awaited, desk.fresh).numbers
    desk.tally.shared += len(known)
    desk.awaited = without(desk.awaited, known)
    mine = without(claimed, known)
    desk.awaited = without(desk.awaited, mine)
    if desk.buying:
        desk.queue(mine)


def begin(desk: Desk) -> None:
    """Recall what is known, claim what is not, and queue what is now this run's to buy."""
    knowledge = desk.ledger.knowledge
    desk.recalled = knowledge.recall(desk.numbers, desk.fresh)
    known = desk.recalled.numbers
    desk.tally.known = len(known)
    unknown = without(desk.numbers, known)
    if not len(unknown):
        return
    claimed = knowledge.claim(unknown, desk.run_id, desk.ledger.purchases.account_id)
    # Between the recall and the claim another run may have recorded answers.
    meanwhile = knowledge.recall(unknown, desk.fresh).numbers
    desk.tally.shared += len(meanwhile)
    mine = without(claimed, meanwhile)
    if desk.wait_for_tasks:
        desk.awaited = without(without(unknown, mine), meanwhile)
    desk.queue(mine)

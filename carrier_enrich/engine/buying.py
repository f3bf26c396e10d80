"""From lots to purchases: slots, the balance, the gate, the intention, the request."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from carrier_enrich import retry, wire
from carrier_enrich.engine.courier import Arrival, Job, MultiCheck, ReadBalance, SingleCheck, Submit
from carrier_enrich.engine.desk import Desk
from carrier_enrich.engine.errands import Errand, Step
from carrier_enrich.engine.waiting import Lot
from carrier_enrich.errors import (
    CarrierEnrichError,
    OutOfBalance,
    OverBudget,
    PriceUnknown,
    ServiceError,
)
from carrier_enrich.ledger import Balance, Purchase
from carrier_enrich.ledger.leases import MULTI_SLOT, SINGLE_SLOTS
from carrier_enrich.model import MULTI_CHECK_MAX, CallKind, Int64s, usd
from carrier_enrich.routing import check, fitted, highest_cost

#: Seconds until a slot that was taken by others is asked for again.
SLOT_SECONDS = 0.1


@dataclass(slots=True)
class Buying:
    """The buying side of the loop.

    Attributes:
        armed: slots that are held for checks which only wait for the balance.
        due: when slots or the balance may be asked for again.
        largest: numbers of a check at most; falls where the service finds the balance too low.
        waiting_for_room: a lot did not fit while something that may give room back is out.
    """

    desk: Desk
    armed: list[int] = field(default_factory=list)
    due: float = 0.0
    reading: bool = False
    balance_failures: int = 0
    largest: int = MULTI_CHECK_MAX
    task_limit: int | None = None
    waiting_for_room: bool = False

    def prepare(self, now: float) -> None:
        """Take free slots for waiting checks, and read the balance if anything can be bought.

        Every purchase is judged by a balance that was read after it became possible, so money
        that others spend is noticed before the next call.
        """
        if not self.desk.buying:
            self._disarm()
            self.desk.waiting.clear()
            return
        if self.reading or self.waiting_for_room or now < self.due:
            return
        self._arm(now)
        if self.armed or self._tasks_ready(now):
            self.reading = True
            self.desk.send(None, ReadBalance())

    def next_due(self, now: float) -> float | None:
        """When `prepare` has something to do, None where it waits for an arrival."""
        if self.reading or self.waiting_for_room:
            return None
        soonest = self.desk.waiting.next_due(now)
        return None if soonest is None else max(self.due, soonest)

    def balance_arrived(self, arrival: Arrival) -> None:
        """Buy what the balance, as it was just read, allows."""
        desk, now = self.desk, self.desk.clock()
        self.reading = False
        if arrival.error is not None:
            self._balance_failed(arrival.error, now)
            return
        assert isinstance(arrival.value, int)
        self.balance_failures = 0
        balance = Balance(arrival.value, arrival.started_at)
        desk.ledger.purchases.balance_read(balance, desk.run_id)
        if desk.tally.balance_before is None:
            desk.tally.balance_before = balance.micros
            self._judge_whole(balance)
        desk.tally.balance_after = balance.micros
        if not desk.buying:
            return
        for lot in self._tasks_ready(now):
            self._buy(desk.waiting.take(lot), None, balance, now)
        for slot in self.armed:
            lot_for_slot = self._next_check(slot, now)
            if lot_for_slot is None or not self._buy(lot_for_slot, slot, balance, now):
                desk.ledger.leases.free_slot(desk.run_id, slot)
        self.armed.clear()

    def submit(self, errand: Errand) -> None:
        """Send an intended purchase: for the first time, or once more as it is."""
        self.desk.send(errand, _job(errand.purchase, errand.numbers, self.desk))

    def purchase_ended(self) -> None:
        """Something came back, and with it perhaps money and a place for a task."""
        self.waiting_for_room = False

    def narrow(self, numbers: int) -> None:
        """The service found the balance too low for a check of so many numbers."""
        self.largest = max(1, min(self.largest, numbers // 2))

    def _arm(self, now: float) -> None:
        desk = self.desk
        held = {e.slot for e in desk.errands if e.slot is not None} | set(self.armed)
        enough = MULTI_CHECK_MAX + len(SINGLE_SLOTS)
        waiting = desk.waiting.ready_numbers(now, enough)
        if not waiting:
            return
        wanted = [MULTI_SLOT] if MULTI_SLOT not in held else []
        if desk.rules.singles_beside:
            # The multi check takes its hundred first; singles gain only on what is left.
            beside = max(0, waiting - (MULTI_CHECK_MAX if wanted else 0))
            wanted += [slot for slot in SINGLE_SLOTS if slot not in held][:beside]
        for slot in wanted:
            if desk.ledger.leases.take_slot(desk.run_id, (slot,)) is not None:
                self.armed.append(slot)
        if not self.armed:
            self.due = now + SLOT_SECONDS * (1 + desk.chance.random())

    def _disarm(self) -> None:
        for slot in self.armed:
            self.desk.ledger.leases.free_slot(self.desk.run_id, slot)
        self.armed.clear()

    def _tasks_ready(self, now: float) -> list[Lot]:
        desk = self.desk
        limit = min(desk.settings.bulk_at_once, self.task_limit or desk.settings.bulk_at_once)
        return desk.waiting.ready_tasks(now, limit - sum(not e.is_check for e in desk.errands))

    def _next_check(self, slot: int, now: float) -> Lot | None:
        """The lot for a slot: the next multi check, or one number from the end for a single."""
        waiting = self.desk.waiting
        if slot == MULTI_SLOT:
            lot = waiting.first_check(now)
            return None if lot is None else self._cut(waiting.take(lot), self.largest)
        lot = waiting.last_check(now)
        if lot is None:
            return None
        numbers = waiting.take(lot).call.numbers
        if len(numbers) > 1:
            waiting.add(replace(lot, call=check(numbers[:-1], self.desk.rules)))
        return replace(lot, call=check(numbers[-1:], self.desk.rules))

    def _cut(self, lot: Lot, most: int) -> Lot:
        numbers = lot.call.numbers
        if len(numbers) <= most:
            return lot
        rest = replace(lot, call=check(numbers[most:], self.desk.rules))
        self.desk.waiting.add(rest, first=True)
        return replace(lot, call=check(numbers[:most], self.desk.rules))

    def _buy(self, lot: Lot, slot: int | None, balance: Balance, now: float) -> bool:
        """Make the intention durable, then send it; False where there is no room for it."""
        desk = self.desk
        try:
            purchase = desk.ledger.purchases.intend(
                lot.call,
                wire.task_file(lot.call.numbers),
                run_id=desk.run_id,
                budget=desk.budget,
                balance=balance,
                now=now,
            )
        except (OverBudget, OutOfBalance) as error:
            self._no_room(lot, balance, error)
            return False
        desk.tally.intended(purchase)
        errand = Errand(
            purchase,
            lot.call.numbers,
            Step.SEND,
            now,
            failures=lot.failures,
            slot=slot,
            optional=lot.optional,
        )
        desk.errands.append(errand)
        self.submit(errand)
        return True

    def _judge_whole(self, balance: Balance) -> None:
        """Before the first request that costs: does everything fit, if all of it must?"""
        desk = self.desk
        if desk.partial or not desk.waiting:
            return
        total = highest_cost([lot.call for lot in desk.waiting])
        count = sum(len(lot.call.numbers) for lot in desk.waiting)
        if total is None and desk.budget.cap is not None:
            desk.fall_short(
                PriceUnknown(
                    f"{count:,} numbers are to be bought, and not every price is known, so the "
                    f"cap of {usd(desk.budget.cap)} can't be kept; nothing was sent. Set the "
                    "price (CARRIER_ENRICH_PRICE_MULTI_USD and so on), or give no cap"
                )
            )
        elif total is not None and desk.budget.cap is not None and total > desk.budget.cap:
            desk.fall_short(
                OverBudget(
                    f"{count:,} numbers may cost {usd(total)}, over the cap of "
                    f"{usd(desk.budget.cap)}; nothing was sent. Raise the cap, or take what fits "
                    "with on_limit='partial'"
                )
            )
        elif total is not None and total > balance.micros:
            desk.fall_short(
                OutOfBalance(
                    f"{count:,} numbers may cost {usd(total)}, and the balance is "
                    f"{usd(balance.micros)}; nothing was sent. Top the account up, or take what "
                    "fits with on_limit='partial'"
                )
            )

    def _no_room(self, lot: Lot, balance: Balance, error: CarrierEnrichError) -> None:
        desk = self.desk
        if lot.optional:
            return
        if any(not e.adopted for e in desk.errands):
            # What is out may cost less than feared: judge again when it has come in.
            desk.waiting.add(lot, first=True)
            self.waiting_for_room = True
            return
        if desk.partial:
            part = fitted(lot.call, desk.ledger.purchases.room(desk.budget, balance))
            if part is not None:
                desk.waiting.add(replace(lot, call=part), first=True)
        desk.fall_short(error)

    def _balance_failed(self, error: BaseException, now: float) -> None:
        if not isinstance(error, ServiceError):
            raise error
        self.balance_failures += 1
        decision = retry.decide(
            "balance",
            error,
            attempt=self.balance_failures,
            deadline_left=self.desk.deadline - now,
            jitter=self.desk.chance.random(),
        )
        if isinstance(decision, retry.Wait):
            self.due = now + decision.seconds
        else:
            self.desk.give_up(error)


def _job(purchase: Purchase, numbers: Int64s, desk: Desk) -> Job:
    match purchase.kind:
        case CallKind.SINGLE_CHECK:
            return SingleCheck(int(numbers[0]))
        case CallKind.MULTI_CHECK:
            return MultiCheck(tuple(numbers.tolist()))
        case CallKind.BULK_TASK:
            assert purchase.product is not None
            assert purchase.country is not None
            return Submit(
                purchase.product,
                purchase.country,
                desk.ledger.purchases.body(purchase),
                purchase.idempotency_key,
            )

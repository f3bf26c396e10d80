"""From lots to purchases: slots, the balance, the gate, the intention, the request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from carrier_enrich import retry, wire
from carrier_enrich.engine.affording import judge_whole
from carrier_enrich.engine.courier import Arrival, Job, MultiCheck, ReadBalance, SingleCheck, Submit
from carrier_enrich.engine.desk import Desk
from carrier_enrich.engine.errands import Errand, Step
from carrier_enrich.engine.places import Places
from carrier_enrich.engine.waiting import Lot
from carrier_enrich.errors import (
    CarrierEnrichError,
    OutOfBalance,
    OverBudget,
    ServiceError,
)
from carrier_enrich.ledger import Balance, Purchase
from carrier_enrich.ledger.leases import MULTI_SLOT, SINGLE_SLOTS
from carrier_enrich.model import MULTI_CHECK_MAX, CallKind, Int64s
from carrier_enrich.routing import check, fitted

#: Seconds until a slot that was taken by others is asked for again.
SLOT_SECONDS = 0.1

#: Seconds by which a balance read comes after the moment whose costs it is to show.
MOMENT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Read:
    """A balance read that is out, and what it was made for.

    Attributes:
        slots: slots that are held for the checks which its answer may buy.
        tasks: bulk tasks that it may buy.
    """

    slots: tuple[int, ...]
    tasks: int


@dataclass(slots=True)
class Buying:
    """The buying side of the loop.

    Attributes:
        places: how many bulk tasks may be under way.
        armed: slots that are held for checks, and no balance read is out for them.
        reads: balance reads that are out, by ticket: no lane waits for another one's.
        due: when slots or the balance may be asked for again.
        largest: numbers of a check at most; falls where the service finds the balance too low.
        no_room_for_checks, no_room_for_tasks: a lot did not fit while something that may give
            room back is out.
    """

    desk: Desk
    places: Places = field(init=False)
    armed: list[int] = field(default_factory=list)
    reads: dict[int, Read] = field(default_factory=dict)
    due: float = 0.0
    balance_failures: int = 0
    largest: int = MULTI_CHECK_MAX
    no_room_for_checks: bool = False
    no_room_for_tasks: bool = False

    def __post_init__(self) -> None:
        self.places = Places(self.desk.settings.bulk_at_once)

    def prepare(self, now: float) -> None:
        """Take free slots for waiting checks, and read the balance if anything can be bought.

        Every purchase is judged by a balance that was read after it became possible, so money
        that others spend is noticed before the next call.
        """
        desk = self.desk
        if not desk.buying:
            self._free(self.armed)
            self.armed.clear()
            desk.waiting.clear()
            return
        if now < self.due:
            return
        self._arm(now)
        tasks = len(self._tasks_ready(now)) - sum(read.tasks for read in self.reads.values())
        if self.armed or tasks > 0:
            read = Read(tuple(self.armed), max(0, tasks))
            self.armed.clear()
            self.reads[desk.send(None, ReadBalance())] = read

    def next_due(self, now: float) -> float | None:
        """When `prepare` has something to do, None where it waits for an arrival."""
        waiting = self.desk.waiting
        dues: list[float | None] = [self.due] if self.armed else []
        if not self.no_room_for_checks and self._idle_slots():
            dues.append(waiting.next_check_due(now))
        if not self.no_room_for_tasks and not any(read.tasks for read in self.reads.values()):
            place, lot = self.places.next_due(self.desk.errands, now), waiting.next_task_due(now)
            dues.append(None if place is None or lot is None else max(place, lot))
        known = [due for due in dues if due is not None]
        return max(self.due, min(known)) if known else None

    def balance_arrived(self, arrival: Arrival) -> None:
        """Buy what the balance, as it was just read, allows."""
        desk, now = self.desk, self.desk.clock()
        read = self.reads.pop(arrival.ticket)
        if arrival.error is not None:
            self.armed += read.slots
            self._balance_failed(arrival.error, now)
            return
        assert isinstance(arrival.value, int)
        self.balance_failures = 0
        balance = Balance(arrival.value, desk.clock.of(arrival.started_at))
        desk.ledger.purchases.balance_read(balance, desk.run_id)
        if desk.tally.balance_before is None:
            desk.tally.balance_before = balance.micros
            judge_whole(desk, balance)
        desk.tally.balance_after = balance.micros
        # Checks first: a large task takes a moment to be written down, and a slot is idle so long.
        for slot in read.slots:
            lot = self._next_check(slot, now) if desk.buying else None
            if lot is None or not self._buy(lot, slot, balance, now):
                self._free([slot])
        for lot in self._tasks_ready(now)[: read.tasks]:
            if desk.buying:
                self._buy(desk.waiting.take(lot), None, balance, now)

    def submit(self, errand: Errand) -> None:
        """Send an intended purchase: for the first time, or once more as it is."""
        self.desk.send(errand, _job(errand.purchase, errand.numbers, self.desk))

    def purchase_ended(self) -> None:
        """Something came back, and with it perhaps money and a place for a task."""
        self.no_room_for_checks = self.no_room_for_tasks = False

    def narrow(self, numbers: int) -> None:
        """The service found the balance too low for a check of so many numbers."""
        self.largest = max(1, min(self.largest, numbers // 2))

    def _arm(self, now: float) -> None:
        desk, idle = self.desk, self._idle_slots()
        if self.no_room_for_checks or not idle:
            return
        waiting = desk.waiting.ready_numbers(now, MULTI_CHECK_MAX + len(SINGLE_SLOTS))
        if not waiting:
            return
        wanted = [slot for slot in idle if slot == MULTI_SLOT]
        # The multi check takes its hundred first; singles gain only on what is left.
        beside = max(0, waiting - MULTI_CHECK_MAX * len(wanted))
        wanted += [slot for slot in idle if slot != MULTI_SLOT][:beside]
        for slot in wanted:
            if desk.ledger.leases.take_slot(desk.run_id, (slot,)) is not None:
                self.armed.append(slot)
        if not self.armed:
            self.due = now + SLOT_SECONDS * (1 + desk.chance.random())

    def _idle_slots(self) -> list[int]:
        """The slots that this run may use and does not hold."""
        held = {errand.slot for errand in self.desk.errands} | set(self.armed)
        held |= {slot for read in self.reads.values() for slot in read.slots}
        usable = (MULTI_SLOT, *SINGLE_SLOTS) if self.desk.rules.singles_beside else (MULTI_SLOT,)
        return [slot for slot in usable if slot not in held]

    def _free(self, slots: Iterable[int]) -> None:
        for slot in slots:
            self.desk.ledger.leases.free_slot(self.desk.run_id, slot)

    def _tasks_ready(self, now: float) -> list[Lot]:
        if self.no_room_for_tasks:
            return []
        return self.desk.waiting.ready_tasks(now, self.places.free(self.desk.errands, now))

    def _next_check(self, slot: int, now: float) -> Lot | None:
        """The lot for a slot: the next multi check, or one number from the end for a single."""
        waiting = self.desk.waiting
        if slot == MULTI_SLOT:
            first = waiting.first_check(now)
            return None if first is None else self._filled(waiting.take(first), now)
        lot = waiting.last_check(now)
        if lot is None:
            return None
        numbers = waiting.take(lot).call.numbers
        if len(numbers) > 1:
            waiting.add(replace(lot, call=check(numbers[:-1], self.desk.rules)))
        return replace(lot, call=check(numbers[-1:], self.desk.rules))

    def _filled(self, lot: Lot, now: float) -> Lot:
        """The lot as one multi check: cut where it is too large, joined by others for the rest."""
        waiting, lot = self.desk.waiting, self._cut(lot, self.largest)
        while not lot.apart and (room := self.largest - len(lot.call.numbers)) > 0:
            other = waiting.first_check(now)
            if other is None or other.apart or other.optional != lot.optional:
                break
            more = self._cut(waiting.take(other), room).call.numbers
            together = np.union1d(lot.call.numbers, more)
            lot = replace(lot, call=check(together, self.desk.rules))
        return lot

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

    def _no_room(self, lot: Lot, balance: Balance, error: CarrierEnrichError) -> None:
        desk = self.desk
        if lot.optional:
            return
        if any(not e.adopted for e in desk.errands):
            # What is out may cost less than feared: judge again when it has come in.
            desk.waiting.add(lot, first=True)
            if lot.is_task:
                self.no_room_for_tasks = True
            else:
                self.no_room_for_checks = True
            return
        hidden_until = desk.ledger.purchases.hidden_until(balance)
        if isinstance(error, OutOfBalance) and hidden_until is not None:
            # What stands in the way is over, or will be: a check whose answer was lost.
            desk.waiting.add(lot, first=True)
            self.due = max(self.due, hidden_until + MOMENT_SECONDS)
            return
        if desk.partial:
            part = fitted(lot.call, desk.ledger.purchases.room(desk.budget, balance))
            if part is not None:
                desk.waiting.add(replace(lot, call=part), first=True)
        desk.fall_short(error)

    def _balance_failed(self, error: BaseException, now: float) -> None:
        if not isinstance(error, ServiceError):
            raise error
        if self.balance_failures and now < self.due:
            return  # several reads were out, and one has failed already
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

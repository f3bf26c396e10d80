"""What enriching a frame would send and cost at most: a value to look at before any money goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from carrier_enrich.model import Call, CallKind
from carrier_enrich.routing import highest_cost
from carrier_enrich.tables import (
    Row,
    count,
    counted,
    duration,
    evened,
    html_table,
    money,
    share,
    text_table,
    words,
)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a frame needs. Amounts are micros of USD, None where a price or balance is not known.

    Attributes:
        rows: rows of the frame.
        missing, invalid: cells without a value, and cells that can't be a number, by reason.
        distinct: distinct numbers.
        known: numbers that the ledger knows; they cost nothing.
        paid: numbers in open purchases; they are collected, not bought.
        calls: what is bought, in order.
        balance: the balance now; the only thing that planning asks the service for.
        cap: the cap that applies.
        expected_seconds: how long the calls may take, None where there is no experience yet.
        sandbox: whether the answers come from the sandbox, not from the paid service.
        digest: names the data that this plan is for.
    """

    rows: int
    missing: int
    invalid: Mapping[str, int]
    distinct: int
    known: int
    paid: int
    calls: tuple[Call, ...] = field(repr=False)
    balance: int | None
    cap: int | None
    expected_seconds: float | None
    sandbox: bool
    digest: str

    @property
    def to_buy(self) -> int:
        """Numbers to buy."""
        return sum(len(call.numbers) for call in self.calls)

    @property
    def highest_cost(self) -> int | None:
        """Micros that the calls cost at most; None where a price is not known."""
        return highest_cost(self.calls)

    @property
    def unpriced(self) -> int:
        """Numbers to buy whose price is not known."""
        return sum(len(call.numbers) for call in self.calls if call.highest_cost is None)

    @property
    def fits(self) -> bool:
        """Whether the highest cost is known to be within the cap and the balance."""
        cost = self.highest_cost
        if cost is None:
            return self.cap is None
        limits = [limit for limit in (self.balance, self.cap) if limit is not None]
        return all(cost <= limit for limit in limits)

    def calls_by_kind(self) -> dict[str, dict[str, int | None]]:
        """Per kind of call (and country, for bulk tasks): calls, numbers and highest cost."""
        groups: dict[str, list[Call]] = {}
        for call in self.calls:
            place = f" {call.country}" if call.kind is CallKind.BULK_TASK else ""
            groups.setdefault(f"{call.kind}{place}", []).append(call)
        return {
            name: {
                "calls": len(calls),
                "numbers": sum(len(call.numbers) for call in calls),
                "highest_cost_micros": highest_cost(calls),
            }
            for name, calls in groups.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values for JSON."""
        return {
            "rows": self.rows,
            "missing": self.missing,
            "invalid": dict(self.invalid),
            "distinct": self.distinct,
            "known": self.known,
            "paid": self.paid,
            "to_buy": self.to_buy,
            "requests": dict(Counter(str(call.kind) for call in self.calls)),
            "calls": self.calls_by_kind(),
            "highest_cost_micros": self.highest_cost,
            "unpriced": self.unpriced,
            "balance_micros": self.balance,
            "cap_micros": self.cap,
            "fits": self.fits,
            "expected_seconds": self.expected_seconds,
            "sandbox": self.sandbox,
            "digest": self.digest,
        }

    def lines(self) -> list[Row]:
        """The plan as rows of a table: from the rows down to what is to be paid."""
        return [*self._numbers(), *self._not_numbers(), *self._calls(), *evened(self._money())]

    def __str__(self) -> str:
        return text_table(self._title, self.lines())

    def _repr_html_(self) -> str:
        return html_table(self._title, self.lines())

    def _numbers(self) -> list[Row]:
        most = max(self.rows, self.distinct)

        def row(label: str, number: int) -> Row:
            return Row(label, count(number), share(number, most))

        rows = [
            row("rows", self.rows),
            row("distinct numbers", self.distinct),
            row("known already, free", self.known),
        ]
        if self.paid:
            rows.append(row("paid for, to collect", self.paid))
        return [*rows, row("to buy", self.to_buy)]

    def _not_numbers(self) -> list[Row]:
        cells = [("no value", self.missing), *((words(why), n) for why, n in self.invalid.items())]
        rows = [Row(label, count(number)) for label, number in cells if number]
        return [Row("Cells without a number, never paid for"), *rows] if rows else []

    def _calls(self) -> list[Row]:
        rows = []
        for name, group in self.calls_by_kind().items():
            numbers, calls = group["numbers"] or 0, group["calls"] or 0
            cost = group["highest_cost_micros"]
            price = "price not known" if cost is None else f"at most {money(cost)}"
            told = f"{counted(numbers, 'number')}, {counted(calls, 'call')}, {price}"
            rows.append(Row(words(name), told, share(numbers, self.to_buy)))
        return [Row("How they are bought"), *rows] if rows else []

    def _money(self) -> list[Row]:
        cost = self.highest_cost
        if not self.calls:
            return [Row("What it costs"), Row("at most", f"{money(cost)}: nothing is to be bought")]
        rows = [Row("What it costs")]
        if cost is None:
            priced = highest_cost([c for c in self.calls if c.highest_cost is not None])
            rows.append(Row("at most, as far as known", money(priced)))
            rows.append(Row("at unknown prices", counted(self.unpriced, "number")))
        else:
            rows.append(Row("at most", money(cost)))
        if self.cap is not None:
            rows.append(Row("cap", money(self.cap)))
        rows.append(Row("balance", money(self.balance)))
        if cost is not None and self.balance is not None:
            rows.append(Row("balance after, at least", money(self.balance - cost)))
        if not self.fits:
            rows.append(Row("does not fit", self._misfit(cost)))
        if self.expected_seconds is not None:
            rows.append(Row("expected time", f"about {duration(self.expected_seconds)}"))
        return rows

    def _misfit(self, cost: int | None) -> str:
        if cost is None:
            return "a cap is set, and not every price is known"
        over_cap = self.cap is not None and cost > self.cap
        return "it may cost more than the " + ("cap" if over_cap else "balance")

    @property
    def _title(self) -> str:
        return "Plan" + (" (sandbox: made-up answers, no real money)" if self.sandbox else "")

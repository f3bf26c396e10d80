"""What enriching a frame would send and cost at most: a value to look at before any money goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from carrier_enrich.model import Call, CallKind
from carrier_enrich.routing import highest_cost
from carrier_enrich.tables import Row, count, html_table, money, text_table, words


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
            "balance_micros": self.balance,
            "cap_micros": self.cap,
            "fits": self.fits,
            "expected_seconds": self.expected_seconds,
            "sandbox": self.sandbox,
            "digest": self.digest,
        }

    def lines(self) -> list[Row]:
        """The plan as rows of a table."""
        rows: list[Row] = [
            ("rows", count(self.rows)),
            ("distinct numbers", count(self.distinct)),
            ("already known", count(self.known)),
        ]
        if self.paid:
            rows.append(("paid for, to collect", count(self.paid)))
        rows.append(("to buy", count(self.to_buy)))
        if self.missing:
            rows.append(("cells without a number", count(self.missing)))
        rows += [(f"invalid: {words(why)}", count(cells)) for why, cells in self.invalid.items()]
        rows.append(("How they are bought",))
        for name, group in self.calls_by_kind().items():
            numbers, calls, cost = group["numbers"], group["calls"], group["highest_cost_micros"]
            rows.append(
                (
                    f"{words(name)} × {calls}",
                    f"{count(numbers or 0)} numbers, at most {money(cost)}",
                )
            )
        rows += [
            ("What it costs",),
            ("at most", money(self.highest_cost)),
            ("balance", money(self.balance)),
        ]
        if self.cap is not None:
            rows.append(("cap", money(self.cap)))
        if self.expected_seconds is not None:
            rows.append(("expected time", f"about {self.expected_seconds:,.0f} s"))
        return rows

    def __str__(self) -> str:
        return text_table(self._title, self.lines())

    def _repr_html_(self) -> str:
        return html_table(self._title, self.lines())

    @property
    def _title(self) -> str:
        return "Plan" + (" (sandbox: made-up answers, no real money)" if self.sandbox else "")

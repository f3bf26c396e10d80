"""What happened, in figures that add up: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from carrier_enrich.receipt_rows import rows_of
from carrier_enrich.tables import Row, count, counted, html_table, money, text_table

if TYPE_CHECKING:
    from carrier_enrich.breakdown import Breakdown

_AMOUNTS = frozenset(
    {
        "estimated",
        "charged",
        "not_charged",
        "charge_unknown",
        "still_open",
        "saved",
        "balance_before",
        "balance_after",
        "cap",
    }
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one enrichment did. Amounts are micros of USD, None where not known.

    Attributes:
        rows, phone_columns: of the frame; every row has one status per phone column.
        cells: phone cells by `lookup_status`.
        distinct: distinct numbers.
        known: of them, those that the ledger knew.
        bought: those that this run bought.
        collected: those that an earlier run had paid for and left open.
        shared: those that another run bought meanwhile.
        unanswered: those without an answer.
        requests: requests sent, by kind. `refusals`: answers with an error code, by code (0: no
            code).
        estimated: the highest cost of what was bought; it is
            ``charged + not_charged + charge_unknown + still_open``.
        charged: what it cost by the service's own counts, `charged_by_kind` by kind of call.
        not_charged: refunded, refused, or not charged because not checked successfully.
        charge_unknown: highest cost of checks whose answer was lost, `charge_unknown_numbers`
            their numbers.
        still_open: highest cost of this run's purchases that are not at their end.
        unpriced: numbers bought at prices that are not known, in none of the amounts.
        saved: what the known, shared and repeated numbers would have cost once more, at the
            lowest known price; `saved_cells` how many they are.
        balance_before, balance_after: as read at the first purchase and at the end.
        open_purchases: purchases of the account that are still to be collected.
        stopped: why not everything was bought, None where everything was.
        sandbox: whether the answers come from the sandbox, not from the paid service.
        cap: what might be spent at most, None where no cap was set.
    """

    rows: int
    phone_columns: int
    cells: Mapping[str, int]
    distinct: int
    known: int
    bought: int
    collected: int
    shared: int
    unanswered: int
    requests: Mapping[str, int]
    refusals: Mapping[int, int]
    estimated: int
    charged: int
    charged_by_kind: Mapping[str, int]
    not_charged: int
    charge_unknown: int
    charge_unknown_numbers: int
    still_open: int
    unpriced: int
    saved: int | None
    saved_cells: int
    balance_before: int | None
    balance_after: int | None
    open_purchases: int
    duration_seconds: float
    stopped: str | None
    sandbox: bool
    cap: int | None = None

    def problems(self) -> tuple[str, ...]:
        """What does not add up; empty where everything does."""
        identities = {
            "every phone cell has one status": sum(self.cells.values())
            == self.rows * self.phone_columns,
            "every distinct number has one origin": self.known
            + self.bought
            + self.collected
            + self.shared
            + self.unanswered
            == self.distinct,
            "the estimate is charged, not charged, unknown or open": self.estimated
            == self.charged + self.not_charged + self.charge_unknown + self.still_open,
            "what was charged is the sum over the kinds": self.charged
            == sum(self.charged_by_kind.values()),
            "nothing is less than nothing": all(
                figure >= 0
                for figure in (
                    *self.cells.values(),
                    *self.charged_by_kind.values(),
                    self.saved_cells,
                    self.not_charged,
                    self.still_open,
                    self.unanswered,
                )
            ),
        }
        return tuple(f"not true: {name}" for name, holds in identities.items() if not holds)

    @property
    def adds_up(self) -> bool:
        """Whether all lines agree with each other."""
        return not self.problems()

    @property
    def match_rate(self) -> float | None:
        """Share of the cells with a number whose carrier data was found; None without any."""
        asked = sum(self.cells.values()) - self.cells.get("missing", 0)
        return self.cells.get("found", 0) / asked if asked else None

    @property
    def balance_moved(self) -> int | None:
        """Micros by which the balance fell; others who use the account move it too."""
        if self.balance_before is None or self.balance_after is None:
            return None
        return self.balance_before - self.balance_after

    @property
    def balance_agrees(self) -> bool | None:
        """Whether the balance fell by what was charged; None where that can't be told.

        It can't where nothing was read, prices are not known, answers were lost or tasks are
        open; where it is False, others spent from the account or the prices are wrong.
        """
        moved = self.balance_moved
        if moved is None or self.unpriced or self.charge_unknown_numbers or self.open_purchases:
            return None
        return moved == self.charged

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain values for JSON; amounts end in ``_micros``."""
        plain: dict[str, Any] = {}
        for spec in fields(self):
            value = getattr(self, spec.name)
            if isinstance(value, Mapping):
                value = {str(key): figure for key, figure in value.items()}
            plain[f"{spec.name}_micros" if spec.name in _AMOUNTS else spec.name] = value
        plain["match_rate"] = self.match_rate
        plain["balance_agrees"] = self.balance_agrees
        plain["adds_up"] = self.adds_up
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Receipt:
        """The receipt that `to_dict` made this from; what it does not know is left out.

        ``Receipt.from_dict(out.attrs["carrier_enrich"])`` is the receipt of a pandas frame.
        """
        values = {}
        for spec in fields(cls):
            key = f"{spec.name}_micros" if spec.name in _AMOUNTS else spec.name
            if key in plain:
                values[spec.name] = plain[key]
        refusals = {int(code): times for code, times in values["refusals"].items()}
        return cls(**{**values, "refusals": refusals})

    @property
    def reused(self) -> int:
        """Distinct numbers that had an answer without being bought by this run."""
        return self.known + self.collected + self.shared

    @property
    def headline(self) -> str:
        """The whole run in a sentence or two: what was bought, and what was reused."""
        if self.bought or self.charged:
            bought = f"{counted(self.bought, 'number')} bought for {money(self.charged)}"
        else:
            bought = "Nothing was bought"
        if self.unpriced:
            bought += f", {count(self.unpriced)} of them at prices that are not known"
        saved = "" if self.saved is None else f", {money(self.saved)} saved"
        reused = f"{counted(self.saved_cells, 'cell')} answered without paying again{saved}"
        return f"{bought}. {reused[0].upper()}{reused[1:]}."

    def lines(self) -> list[Row]:
        """The receipt as rows of a table."""
        return rows_of(self)

    def report(
        self, breakdown: Breakdown | None = None, *, title: str = "Carrier lookup", note: str = ""
    ) -> str:
        """A page of its own with pictures: HTML without scripts or outside links.

        Args:
            breakdown: the enriched frame counted, for its carriers, number types and regions.
            title: of the page.
            note: a line under it, such as the names of the files.
        """
        from carrier_enrich.report import html_report

        return html_report(self, breakdown, title=title, note=note)

    def __str__(self) -> str:
        return text_table(self._title, self.lines())

    def _repr_html_(self) -> str:
        return html_table(self._title, self.lines())

    @property
    def _title(self) -> str:
        return "Receipt" + (" (sandbox: made-up answers, no real money)" if self.sandbox else "")

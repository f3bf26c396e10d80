"""A purchase as data, and the limits under which it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from carrier_enrich.ledger.states import State
from carrier_enrich.model import CallKind, Product


@dataclass(frozen=True, slots=True)
class Purchase:
    """One call that is or was bought.

    Amounts are micros of USD, None where the price was not known; moments are seconds since
    the epoch.
    """

    id: int
    run_id: int
    kind: CallKind
    product: Product | None
    country: str | None
    count: int
    generation: int
    idempotency_key: str
    highest_cost: int | None
    charged: int | None
    state: State
    task_id: str | None
    success_count: int | None
    excluded_count: int | None
    created_at: float
    polled_at: float | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Balance:
    """A balance read: micros, and the moment before its request left."""

    micros: int
    read_at: float


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run, or several that share a name, may spend at most.

    Attributes:
        name: purchases under one name count together.
        cap: micros; None for no cap.
    """

    name: str
    cap: int | None = None


_NAMES = tuple(column.name for column in fields(Purchase))

#: The columns that make a Purchase, in its order.
COLUMNS = ", ".join(_NAMES)


def purchase_of(row: Sequence[object]) -> Purchase:
    """A purchase from a row of `COLUMNS`."""
    values = dict(zip(_NAMES, row, strict=True))
    values["kind"] = CallKind(str(values["kind"]))
    values["state"] = State(str(values["state"]))
    values["product"] = Product(str(values["product"])) if values["product"] else None
    return Purchase(**values)  # type: ignore[arg-type]  # the columns are the fields, by name


def quoted(words: Sequence[str]) -> str:
    """Words of our own as a list of SQL."""
    return ", ".join(f"'{word}'" for word in words)

"""The states of a purchase and the only moves between them, as data.

A bulk task:   intended -> submitted -> finished -> collected
A check:       intended -> collected
Refused:       intended -> refused          (no charge; the numbers are free again)
Failed task:   submitted -> failed          (refunded in full; a new generation may be bought)
Answer lost:   intended -> charge_unknown   (the service may have charged; nobody can tell)
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from carrier_enrich.errors import LedgerError


class State(StrEnum):
    """Where a purchase stands."""

    INTENDED = "intended"
    SUBMITTED = "submitted"
    FINISHED = "finished"
    COLLECTED = "collected"
    REFUSED = "refused"
    FAILED = "failed"
    CHARGE_UNKNOWN = "charge_unknown"


MOVES: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.INTENDED: frozenset(
            {State.SUBMITTED, State.COLLECTED, State.REFUSED, State.CHARGE_UNKNOWN}
        ),
        State.SUBMITTED: frozenset({State.FINISHED, State.FAILED}),
        State.FINISHED: frozenset({State.COLLECTED}),
        State.COLLECTED: frozenset(),
        State.REFUSED: frozenset(),
        State.FAILED: frozenset(),
        State.CHARGE_UNKNOWN: frozenset(),
    }
)

#: States in which money is, or may be, out and the answers are not in.
OPEN = tuple(state for state, moves in MOVES.items() if moves)


def origins(target: State) -> tuple[State, ...]:
    """The states from which `target` may be reached."""
    return tuple(state for state, moves in MOVES.items() if target in moves)


def check_move(origin: State, target: State) -> None:
    """Raise LedgerError unless the move is legal."""
    if target not in MOVES[origin]:
        raise LedgerError(f"a purchase can't go from {origin} to {target}")

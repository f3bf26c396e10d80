"""What is known of numbers, and who is about to find out more: lookups and claims."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from carrier_enrich.ascending import are_in, distinct
from carrier_enrich.ledger import arrays
from carrier_enrich.ledger.holds import Holds
from carrier_enrich.ledger.leases import check_alive
from carrier_enrich.model import FIELDS, Answers, Int64s, Lookup, LookupStatus

if TYPE_CHECKING:
    from carrier_enrich.ledger.database import Database
    from carrier_enrich.model import Int32s


@dataclass(frozen=True, slots=True)
class Freshness:
    """From which moment (seconds since the epoch) on knowledge counts.

    "Undetermined" is hardly knowledge: it stops a second question only for a short while.
    """

    answers: float
    undetermined: float


_CONTENT = attrgetter("status", *FIELDS)
_KNOWN = ("lookups.number", "lookups.outcome_id")

#: Up to so many known numbers between the ends of a slice for each that was asked for.
_DENSE = 2

_IS_FRESH = """lookups.answered_at >= CASE WHEN lookups.outcome_id IN
    (SELECT id FROM outcomes WHERE status = :undetermined) THEN :short ELSE :long END"""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Lookups and claims of one service, shared by all accounts of that service."""

    db: Database
    service_id: int
    holds: Holds = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", Holds(self.db, self.service_id))

    def recall(self, numbers: Int64s, fresh: Freshness) -> Answers:
        """What is known and fresh of these numbers (ascending), ascending."""
        values = {
            "service": self.service_id,
            "undetermined": LookupStatus.UNDETERMINED.value,
            "short": fresh.undetermined,
            "long": fresh.answers,
        }
        # Filled slice by slice, so that millions are never there twice.
        found, codes, count = np.empty_like(numbers), np.empty(len(numbers), np.int32), 0
        code_of: dict[int, int] = {}
        with self.db.snapshot():
            for known, ids in self._known(numbers, values):
                order = np.argsort(known)
                own = slice(count, count := count + len(known))
                found[own] = known[order]
                codes[own] = _coded(ids[order], code_of)
            lookups = self.lookups(list(code_of))
        is_all = count == len(numbers)
        return Answers(numbers if is_all else found[:count], codes[:count], lookups)

    def _known(
        self, numbers: Int64s, values: Mapping[str, object]
    ) -> Iterator[tuple[Int64s, Int64s]]:
        """What is known of each slice, in no certain order: numbers, and their outcomes.

        As long as most of what lies between the ends of a slice was asked for, all of it is read,
        which is quicker than a search for each number.
        """
        is_dense = True
        for asked in arrays.slices(numbers):
            dense = self._between(asked, values) if is_dense else None
            is_dense = dense is not None
            yield self._each(asked, values) if dense is None else dense

    def _between(self, asked: Int64s, values: Mapping[str, object]) -> tuple[Int64s, Int64s] | None:
        """The known ones of a slice, by all that lies between its ends; None where that is much."""
        most = _DENSE * len(asked)
        between, ids = self.db.gather(
            _KNOWN,
            f"""FROM lookups WHERE lookups.service_id = :service
                AND lookups.number BETWEEN :low AND :high AND {_IS_FRESH} LIMIT :most""",
            low=int(asked[0]),
            high=int(asked[-1]),
            most=most,
            **values,
        )
        if len(between) == most:
            return None
        is_asked = are_in(between, asked)
        return between[is_asked], ids[is_asked]

    def _each(self, asked: Int64s, values: Mapping[str, object]) -> tuple[Int64s, Int64s]:
        """The known ones of a slice, by a search for each number."""
        known, ids = self.db.select(
            _KNOWN,
            # CROSS JOIN lets SQLite look up each number in turn, in their order.
            f"""CROSS JOIN {{lookups_of_asked}}
                WHERE lookups.service_id = :service AND lookups.number = asked.number
                  AND {_IS_FRESH}""",
            asked,
            **values,
        )
        return known, ids

    def write(self, answers: Answers, *, purchase_id: int, now: float) -> None:
        """Record answers; inside a transaction of the caller's."""
        if not len(answers):
            return
        ids = self._outcome_ids(answers.lookups)
        order = np.argsort(answers.numbers, kind="stable")
        numbers, outcomes = answers.numbers[order], ids[answers.codes[order]]
        # Of a number that is answered twice the last answer counts; a statement takes one.
        last = np.append(numbers[1:] != numbers[:-1], True)
        self.db.upsert(
            "lookups",
            {"service_id": self.service_id, "number": numbers[last]},
            {"outcome_id": outcomes[last], "purchase_id": purchase_id, "answered_at": now},
        )

    def claim(self, numbers: Int64s, run_id: int, account_id: int) -> Int64s:
        """Claim these numbers (ascending) for a run; those that are now its own, ascending.

        What a living run or an open purchase holds stays with it. A number is claimed for a
        service, not for an account: another key would pay for it just the same.

        Raises:
            RunTakenOver: the run has been declared dead.
        """
        with self.db.transaction():
            self.db.lock(self.service_id)
            check_alive(self.db, run_id, account_id)
            taken = self.holds.claimed_by_others(run_id, numbers)
            free = numbers[~(taken | self.holds.claimed_by(run_id, numbers))]
            self.holds.add(free[~self.holds.in_purchases(free)], run_id=run_id)
            return numbers[~(taken | self.holds.in_purchases(numbers))]

    def in_open_purchases(self, numbers: Int64s) -> Int64s:
        """Those of these numbers (ascending) that an open purchase is already buying."""
        with self.db.snapshot():
            return numbers[self.holds.in_purchases(numbers)]

    def release(self, run_id: int) -> None:
        """Give up a run's claims; what its open purchases are buying stays theirs."""
        with self.db.transaction():
            self.db.lock(self.service_id)
            self.db.run("DELETE FROM holds WHERE run_id = :run", run=run_id)

    def lookups(self, ids: list[int]) -> tuple[Lookup, ...]:
        """The outcomes of these ids, in their order; inside a snapshot of the caller's."""
        rows = self.db.run_listed(
            f"SELECT id, status, {', '.join(FIELDS)} FROM outcomes WHERE id {{is_listed}}", ids
        )
        found = {
            row[0]: Lookup(LookupStatus(row[1]), *(text or None for text in row[2:]))
            for row in rows
        }
        return tuple(found[i] for i in ids)

    def _outcome_ids(self, lookups: Sequence[Lookup]) -> Int64s:
        """The ids of these outcomes, which are entered where they are new."""
        contents = [tuple(map(storable, _CONTENT(lookup))) for lookup in lookups]
        digests = [_digest(content) for content in contents]
        known = self._known_ids(digests)
        new = {d: c for d, c in zip(digests, contents, strict=True) if d not in known}
        if new:
            names = ("digest", "status", *FIELDS)
            self.db.run_many(
                f"""INSERT INTO outcomes ({", ".join(names)})
                    VALUES ({", ".join(f":{name}" for name in names)})
                    ON CONFLICT (digest) DO NOTHING""",
                # In one order everywhere: two that enter the same outcomes wait in turn.
                [dict(zip(names, (d, *new[d]), strict=True)) for d in sorted(new)],
            )
            known |= self._known_ids(sorted(new))
        return np.array([known[digest] for digest in digests], np.int64)

    def _known_ids(self, digests: Sequence[str]) -> dict[str, int]:
        rows = self.db.run_listed(
            "SELECT digest, id FROM outcomes WHERE digest {is_listed}", digests
        )
        return {row[0]: row[1] for row in rows}


def storable(value: str | None) -> str:
    """The text, without the characters that no database takes: an answer is never lost to one."""
    return (value or "").replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _digest(content: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _coded(ids: Int64s, code_of: dict[int, int]) -> Int32s:
    """The code of each id; those that are new get the next ones."""
    several = distinct(ids)
    codes = [code_of.setdefault(one, len(code_of)) for one in several.tolist()]
    return np.array(codes, np.int32)[np.searchsorted(several, ids)]

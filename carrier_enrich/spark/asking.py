"""The keys of a spool asked about: known to the ledger, or bought; the figures of the receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from carrier_enrich.ascending import without
from carrier_enrich.engine import UNDETERMINED_SECONDS, Outcome
from carrier_enrich.enricher import Enricher, Watch
from carrier_enrich.frames import Demand
from carrier_enrich.ledger import Freshness
from carrier_enrich.model import Answers, LookupStatus
from carrier_enrich.phones import normalise
from carrier_enrich.spark.executors import INVALID_KEY, MISSING_KEY

if TYPE_CHECKING:
    from carrier_enrich.model import Int32s, Int64s
    from carrier_enrich.settings import Settings
    from carrier_enrich.spark.spool import Spool

#: One thing that can be said of a number: the asked fields, then the status.
Said = tuple[str | None, ...]


@dataclass(slots=True)
class Asking:
    """The keys of a spool and what is said of them, slice by slice.

    Memory holds a slice, the different things that are said, and the numbers to be bought
    (8 bytes each), never all numbers.

    Attributes:
        fields: of `Lookup`, as asked for.
        fresh: from which moment on the ledger's knowledge counts, the same for all slices.
        said: the different things said so far; a code is a position among them.
        cells: phone cells by status; `blank` those of them that hold no number.
        distinct: numbers; `answered` those of them with an answer.
    """

    enricher: Enricher
    spool: Spool
    fields: Sequence[str]
    fresh: Freshness
    said: dict[Said, int] = field(default_factory=dict)
    cells: Counter[str] = field(default_factory=Counter)
    blank: int = 0
    distinct: int = 0
    answered: int = 0

    def buy(self, *, cap: int | None, partial: bool, watch: Watch | None) -> Outcome:
        """Have everything that the ledger does not know bought. Errors as `Engine.run`."""
        unknown: list[Int64s] = [np.empty(0, np.int64)]
        some = np.empty(0, np.int64)
        count = rows = 0
        for keys, cells in self.spool:
            rows += int(cells.sum())
            numbers = keys[keys > MISSING_KEY]
            known = self._recall(numbers).numbers
            count += len(known)
            some = known[:1] if len(known) else some
            unknown.append(without(numbers, known))
        asked = np.sort(np.concatenate(unknown))
        if not len(asked):
            # Asked about one that is known, the engine still collects what is paid for.
            asked, count = some, count - len(some)
        demand = _demand(asked, rows)
        outcome = self.enricher.look_up(demand, cap=cap, partial=partial, watch=watch)
        outcome.tally.known += count
        return outcome

    def answers(self) -> Iterator[tuple[Int64s, Int32s]]:
        """Slices of (keys ascending, codes); a number that nothing is known of is left out."""
        for keys, cells in self.spool:
            numbers = keys[keys > MISSING_KEY]
            answers = self._recall(numbers)
            self.blank += int(cells[keys <= MISSING_KEY].sum())
            self.distinct += len(numbers)
            self.answered += len(answers)
            codes = np.full(len(keys), -1, np.int32)
            codes[keys == MISSING_KEY] = self._code(LookupStatus.MISSING)
            codes[keys == INVALID_KEY] = self._code(LookupStatus.INVALID)
            codes[np.searchsorted(keys, answers.numbers)] = self._codes(answers)
            self._count(codes, cells)
            has_answer = codes >= 0
            yield keys[has_answer], codes[has_answer]

    def _recall(self, numbers: Int64s) -> Answers:
        return self.enricher.open_ledger().knowledge.recall(numbers, self.fresh)

    def _code(self, status: LookupStatus) -> int:
        return self.said.setdefault((*(None for _ in self.fields), status.value), len(self.said))

    def _codes(self, answers: Answers) -> Int32s:
        texts = [
            (*(getattr(lookup, name) or None for name in self.fields), lookup.status.value)
            for lookup in answers.lookups
        ]
        own = [self.said.setdefault(text, len(self.said)) for text in texts]
        return np.array(own, np.int32)[answers.codes]

    def _count(self, codes: Int32s, cells: Int64s) -> None:
        # One more at the end, where code -1, no answer, finds it.
        totals = np.zeros(len(self.said) + 1, np.int64)
        np.add.at(totals, codes, cells)
        statuses = [said[-1] for said in self.said] + [LookupStatus.NOT_CHECKED.value]
        for status, total in zip(statuses, totals.tolist(), strict=True):
            if total:
                self.cells[str(status)] += total


def freshness(settings: Settings, now: float) -> Freshness:
    """What counts as known at a moment (seconds since the epoch)."""
    oldest = settings.max_age_days * 86_400
    return Freshness(now - oldest, now - min(UNDETERMINED_SECONDS, oldest))


def _demand(numbers: Int64s, rows: int) -> Demand:
    """Numbers as the engine takes them, each with its country."""
    texts = pa.compute.binary_join_element_wise("+", pa.array(numbers).cast(pa.string()), "")
    read = normalise(texts)
    return Demand(
        rows=rows,
        numbers=numbers,
        countries=read.regions,
        country_names=read.region_names,
        invalid={},
        missing=0,
        digest="",
    )

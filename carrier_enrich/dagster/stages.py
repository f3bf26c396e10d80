"""The tables that pass between the stages, without Dagster.

What passes is a file with its facts in the schema's metadata, because the stages run in different
processes, perhaps days apart, and must find what an earlier attempt has left.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from carrier_enrich import files, frames
from carrier_enrich.enricher import Enricher
from carrier_enrich.frames import Crosswalk
from carrier_enrich.model import FIELDS, Answers, CallKind, Countries, Int64s, Lookup, LookupStatus
from carrier_enrich.planning import Plan
from carrier_enrich.settings import Settings

_FACTS = b"carrier_enrich.facts"


class Lane(StrEnum):
    """The way that a distinct number takes."""

    KNOWN = "known"
    CHECKS = "checks"
    BULK = "bulk"


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be enriched, and how far it may go.

    Attributes:
        phone: phone columns.
        country: ISO 3166-1 alpha-2 that completes numbers without a country code;
            `country_column` does so row by row.
        columns, prefix: the columns to add, and what stands before their names.
        max_cost: the cap in micros of USD, None for none.
    """

    phone: tuple[str, ...]
    country: str | None = None
    country_column: str | None = None
    columns: tuple[str, ...] = frames.DEFAULT_COLUMNS
    prefix: str = ""
    max_cost: int | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The request whose `asdict` this is, also when it has passed through JSON."""
        lists = {name: tuple(values[name]) for name in ("phone", "columns")}
        return cls(**{**values, **lists})


def readable(export: Any) -> Any:
    """A frame of whatever an asset passes on: a path, an Arrow dataset or reader, or a frame.

    Raises:
        BadInput: a path that is neither Parquet nor CSV, or can't be read.
    """
    match export:
        case str() | Path():
            return files.read_table(export)
        case _ if _is_dataset(export):
            return export.to_table()
        case pa.RecordBatchReader():
            return export.read_all()
        case _:
            return export


def _is_dataset(export: Any) -> bool:
    # Loading pyarrow.dataset costs a second; whoever made one has loaded it.
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(export, module.Dataset)


def crosswalk_of(frame: Any, request: Request) -> Crosswalk:
    """The crosswalk of a frame, after every name of the request was found good.

    Raises:
        BadInput: as `frames.check_request`.
    """
    frames.check_request(
        frames.column_labels(frame),
        request.phone,
        request.country,
        request.country_column,
        request.columns,
        request.prefix,
    )
    return frames.crosswalk(
        frame, request.phone, country=request.country, country_column=request.country_column
    )


def planned(
    walk: Crosswalk, request: Request, settings: Settings, undertaking: str, now: float
) -> tuple[Plan, pa.Table]:
    """The plan, and every distinct number with its country and its lane.

    Numbers that an open purchase is buying already take the bulk lane, whose last stage waits for
    whatever is still out.

    Args:
        now: seconds since the epoch; what is recorded later counts as bought since.
    """
    lanes = np.zeros(len(walk.numbers), np.int8)
    places = {lane: place for place, lane in enumerate(Lane)}
    with Enricher(settings) as enricher:
        plan = enricher.plan_for(walk, request.max_cost)
        paid = enricher.open_ledger().knowledge.in_open_purchases(walk.numbers)
    lanes[np.searchsorted(walk.numbers, paid)] = places[Lane.BULK]
    for call in plan.calls:
        lane = Lane.BULK if call.kind is CallKind.BULK_TASK else Lane.CHECKS
        lanes[np.searchsorted(walk.numbers, call.numbers)] = places[lane]
    table = pa.table(
        {
            "number": pa.array(walk.numbers, pa.int64()),
            "country": pa.array([*walk.country_names, None], pa.string()).take(
                # -1, no country, is the last
                pa.array(walk.countries % (len(walk.country_names) + 1), pa.int32())
            ),
            "lane": pa.array([*Lane], pa.string()).take(pa.array(lanes)),
        }
    )
    facts = {
        "undertaking": undertaking,
        "request": asdict(request),
        "plan": plan.to_dict(),
        "planned_at": now,
    }
    return plan, with_facts(table, facts)


def lane_of(plan: pa.Table, lane: Lane) -> tuple[Int64s, Countries]:
    """The numbers of a lane, ascending, and the country of each."""
    table = plan.filter(pc.equal(plan["lane"], lane.value))
    country = table["country"].combine_chunks().dictionary_encode()
    codes = country.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int16)
    return table["number"].to_numpy(), Countries(codes, tuple(country.dictionary.to_pylist()))


def answers_table(answers: Answers) -> pa.Table:
    """Numbers with what is known of each, one column a field."""
    columns = {"number": pa.array(answers.numbers, pa.int64())}
    codes = pa.array(answers.codes, pa.int32())
    for name in ("status", *FIELDS):
        texts = pa.array([getattr(lookup, name) for lookup in answers.lookups], pa.string())
        columns[name] = texts.take(codes)
    return pa.table(columns)


def answers_of(table: pa.Table) -> Answers:
    """The answers whose table this is."""
    fields = [table[name].to_pylist() for name in ("status", *FIELDS)]
    lookups = (Lookup(LookupStatus(status), *texts) for status, *texts in zip(*fields, strict=True))
    return Answers.of(zip(table["number"].to_pylist(), lookups, strict=True))


def joined(*parts: Answers) -> Answers:
    """All answers together, each number once: as the last part that has it says."""
    offsets = np.cumsum([0, *(len(part.lookups) for part in parts[:-1])])
    numbers = np.concatenate([part.numbers for part in parts])[::-1]
    codes = np.concatenate([part.codes + at for part, at in zip(parts, offsets, strict=True)])[::-1]
    distinct, at = np.unique(numbers, return_index=True)
    lookups = tuple(lookup for part in parts for lookup in part.lookups)
    return Answers(distinct, codes[at].astype(np.int32), lookups)


def with_facts(table: pa.Table, facts: Mapping[str, Any]) -> pa.Table:
    """The table with plain values beside it, which go with it into its file."""
    return table.replace_schema_metadata({_FACTS: json.dumps(facts).encode()})


def facts_of(table: pa.Table) -> dict[str, Any]:
    """The plain values beside a table."""
    facts: dict[str, Any] = json.loads((table.schema.metadata or {})[_FACTS])
    return facts

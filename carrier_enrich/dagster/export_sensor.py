"""A folder that is watched: every export that is put there becomes a partition and a run."""

# No `from __future__ import annotations`: Dagster reads the annotations of sensors as types.

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import dagster as dg

from carrier_enrich.files import CSV_SUFFIXES, PARQUET_SUFFIXES

if TYPE_CHECKING:
    from carrier_enrich.dagster.automation import Job

#: Size, moment of the last change, and whether a run was requested for just this content.
Seen: TypeAlias = tuple[int, int, bool]

_PARQUET_END = b"PAR1"


def build_export_sensor(
    folder: Callable[[], Path],
    job: "Job",
    partitions: dg.DynamicPartitionsDefinition,
    *,
    name: str = "new_crm_export",
    seconds: int = 30,
    quiet_seconds: float = 10.0,
    clock: Callable[[], float] = time.time,
) -> dg.SensorDefinition:
    """The sensor that starts a run for each new or changed export in a folder.

    A file is taken when it was left alone for a while between two looks, and a Parquet file only
    when its end is written. A file that changes later is taken again, as the same partition.

    Args:
        folder: the folder; asked at each look, and it need not be there.
        partitions: of the job; a partition's key is the file's name.
        quiet_seconds: for which a file must not have changed.
        clock: seconds since the epoch, by which files are dated.
    """

    @dg.sensor(
        name=name,
        job=job,
        minimum_interval_seconds=seconds,
        description="Starts a run for every CRM export that is put into the folder, or changed.",
    )
    def new_crm_export(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        before: dict[str, Seen] = {
            k: tuple(v) for k, v in json.loads(context.cursor or "{}").items()
        }
        found = look(folder(), before, clock() - quiet_seconds)
        due = sorted(
            name
            for name, (_, _, asked) in found.items()
            if asked and found[name] != before.get(name)
        )
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(
                    run_key=f"{name}-{found[name][0]}-{found[name][1]}", partition_key=name
                )
                for name in due
            ],
            dynamic_partitions_requests=[partitions.build_add_request(due)] if due else [],
            cursor=json.dumps(found),
            skip_reason=None if due else dg.SkipReason(f"nothing new in {folder()}"),
        )

    return new_crm_export


def look(folder: Path, before: Mapping[str, Seen], quiet_since: float) -> dict[str, Seen]:
    """What is in a folder now, with the third value True where a file is, or was, ready.

    Args:
        before: what the last look has seen.
        quiet_since: a file that changed after this moment is not ready.
    """
    found: dict[str, Seen] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name.startswith((".", "~")) or path.suffix.lower() not in _SUFFIXES:
            continue
        try:
            stat = path.stat()
            same = path.name in before and before[path.name][:2] == (stat.st_size, stat.st_mtime_ns)
            quiet = stat.st_size > 0 and stat.st_mtime_ns <= quiet_since * 1e9
            ready = same and (before[path.name][2] or (quiet and _is_whole(path)))
        except OSError:
            # Gone again, or not to be read yet.
            continue
        found[path.name] = (stat.st_size, stat.st_mtime_ns, ready)
    return found


_SUFFIXES = (*PARQUET_SUFFIXES, *CSV_SUFFIXES)


def _is_whole(path: Path) -> bool:
    if path.suffix.lower() not in PARQUET_SUFFIXES:
        return True
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, len(_PARQUET_END)), 2)
        return file.read() == _PARQUET_END

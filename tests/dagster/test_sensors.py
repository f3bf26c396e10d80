"""Exports as they come: the folder sensor, partitions, and the project's schedule."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrier_enrich.dagster import (
    build_enrichment_assets,
    build_export_asset,
    build_export_sensor,
    build_jobs,
)
from carrier_enrich.dagster.export_sensor import look
from carrier_enrich.files import write_table

NOW = 1_800_000_000.0
OLD = int((NOW - 3_600) * 1e9)
TABLE = pa.table({"phone": ["+447400123456"], "country": ["GB"]})


def put(folder: Path, name: str, data: bytes | None = None, at: int = OLD) -> Path:
    """A file that was last changed at a moment."""
    path = folder / name
    if data is None:
        write_table(TABLE, path)
    else:
        path.write_bytes(data)
    os.utime(path, ns=(at, at))
    return path


def ready(folder: Path, before=None, now: float = NOW):
    """What is ready at a look, and what the look has seen."""
    found = look(folder, before or {}, now - 10)
    return [name for name, (_, _, asked) in found.items() if asked], found


def test_a_file_is_taken_at_the_second_look(tmp_path):
    """A file must stand unchanged from one look to the next before it is taken."""
    put(tmp_path, "a.parquet")
    first, seen = ready(tmp_path)
    second, _ = ready(tmp_path, seen)
    assert (first, second) == ([], ["a.parquet"])


def test_a_file_that_still_grows_is_left_alone(tmp_path):
    """Each change starts the wait anew."""
    put(tmp_path, "a.csv", b"phone\n1")
    _, seen = ready(tmp_path)
    put(tmp_path, "a.csv", b"phone\n12", at=OLD + 1)
    still, seen = ready(tmp_path, seen)
    done, _ = ready(tmp_path, seen)
    assert (still, done) == ([], ["a.csv"])


def test_a_file_that_was_just_written_is_left_alone(tmp_path):
    """A pause between two writes is shorter than the quiet time that is asked for."""
    put(tmp_path, "a.csv", b"phone\n1", at=int((NOW - 1) * 1e9))
    _, seen = ready(tmp_path)
    early, seen = ready(tmp_path, seen, now=NOW + 1)
    later, _ = ready(tmp_path, seen, now=NOW + 60)
    assert (early, later) == ([], ["a.csv"])


@given(cut=st.integers(0, 100))
def test_half_a_parquet_file_is_never_taken(tmp_path_factory, cut):
    """A Parquet file without its end is not taken, however long nobody touches it."""
    folder = tmp_path_factory.mktemp("cut")
    whole = put(folder, "whole.parquet").read_bytes()
    put(folder, "half.parquet", whole[: (len(whole) - 1) * cut // 100])
    _, seen = ready(folder)
    taken, _ = ready(folder, seen)
    assert taken == ["whole.parquet"]


@pytest.mark.parametrize("name", [".a.parquet", "~a.csv", "a.parquet.part", "a.xlsx", "a"])
def test_other_files_are_no_exports(tmp_path, name):
    """Hidden, temporary and foreign files are not looked at."""
    put(tmp_path, name, b"PAR1 something PAR1")
    _, seen = ready(tmp_path)
    assert seen == {}


def test_a_folder_that_is_not_there_is_empty(tmp_path):
    """The sensor may run before anybody has made the folder."""
    assert look(tmp_path / "nowhere", {}, NOW) == {}


@pytest.fixture
def instance(tmp_path):
    # Only an instance of a folder can tell a sensor which partitions there are.
    folder = tmp_path / "instance"
    folder.mkdir()
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}")
    with dg.DagsterInstance.from_config(str(folder)) as made:
        yield made


@pytest.fixture
def watched(tmp_path):
    """A folder, and definitions whose sensor watches it."""
    folder = tmp_path / "exports"
    folder.mkdir()
    files = dg.DynamicPartitionsDefinition(name="files")
    crm_export = build_export_asset(lambda c: folder / c.partition_key, partitions_def=files)
    assets = [
        crm_export,
        *build_enrichment_assets(
            crm_export, "phone", country_column="country", partitions_def=files
        ),
    ]
    whole, detached = build_jobs("enrich", assets[:1] + assets[2:], "By file.")
    sensor = build_export_sensor(lambda: folder, whole, files, clock=lambda: NOW)
    return folder, assets, [whole, detached], sensor


def test_a_new_file_becomes_a_partition_and_a_run(watched, carrier, instance):
    """The sensor adds the partition, the run makes the file, a second look asks for nothing."""
    folder, assets, jobs, sensor = watched
    defs = dg.Definitions(assets, jobs=jobs, sensors=[sensor], resources={"carrier": carrier})

    def tick(cursor):
        context = dg.build_sensor_context(
            instance=instance, instance_ref=instance.get_ref(), definitions=defs, cursor=cursor
        )
        return defs.resolve_sensor_def("new_crm_export").evaluate_tick(context)

    put(folder, "contacts.parquet")
    first = tick(None)
    second = tick(first.cursor)
    third = tick(second.cursor)
    assert (len(first.run_requests), len(second.run_requests), len(third.run_requests)) == (0, 1, 0)
    (request,) = second.run_requests
    assert request.partition_key == "contacts.parquet"

    instance.add_dynamic_partitions("files", [request.partition_key])
    balance = dg.materialize(
        assets[:2], resources={"carrier": carrier}, instance=instance, selection=assets[1:2]
    )
    run = defs.resolve_job_def("enrich").execute_in_process(
        instance=instance, tags={"dagster/partition": request.partition_key}
    )
    assert balance.success
    assert run.success
    assert instance.get_materialized_partitions(dg.AssetKey("crm_enriched")) == {"contacts.parquet"}

    put(folder, "contacts.parquet", at=OLD + 5)
    changed = tick(third.cursor)
    again = tick(changed.cursor)
    assert [r.partition_key for r in again.run_requests] == ["contacts.parquet"]
    assert again.run_requests[0].run_key != request.run_key


def test_a_run_repeated_by_the_daemon_keeps_its_key(watched, carrier, instance):
    """The same content gives the same run key: a crash between tick and launch doubles nothing."""
    folder, assets, jobs, sensor = watched
    defs = dg.Definitions(assets, jobs=jobs, sensors=[sensor], resources={"carrier": carrier})

    put(folder, "a.parquet")
    _, seen = ready(folder)
    context = dg.build_sensor_context(
        instance=instance,
        instance_ref=instance.get_ref(),
        definitions=defs,
        cursor=json.dumps(seen),
    )
    keys = {sensor.evaluate_tick(context).run_requests[0].run_key for _ in range(2)}
    assert len(keys) == 1


@pytest.mark.slow
def test_thirty_days_buy_every_number_once(carrier, instance, sandbox, tmp_path):
    """A month of overlapping exports pays for each number on the first day that has it."""
    days = dg.DailyPartitionsDefinition(start_date="2026-03-01")
    numbers = [f"+4474001{23000 + i}" for i in range(350)]

    def export(context):
        at = datetime.fromisoformat(context.partition_key).day
        path = tmp_path / f"{context.partition_key}.parquet"
        write_table(pa.table({"phone": numbers[at * 10 : at * 10 + 50]}), path)
        return path

    crm_export = build_export_asset(export, partitions_def=days)
    assets = [crm_export, *build_enrichment_assets(crm_export, "phone", partitions_def=days)]
    keys = [f"2026-03-{day:02d}" for day in range(1, 31)]
    bought = []
    for key in keys:
        result = dg.materialize(
            [assets[0], *assets[2:]],
            partition_key=key,
            resources={"carrier": carrier},
            instance=instance,
        )
        (event,) = result.asset_materializations_for_node("crm_enriched")
        bought.append(event.metadata["bought"].value)

    report = sandbox.control.report()
    assert set(report["charges"].values()) == {1}
    assert len(report["charges"]) <= sum(bought) == 50 + 29 * 10
    assert report["requests"]["batch-check"] + report["requests"].get("check", 0) == 30
    assert report["refusals"].keys() <= {"42200"}
    assert instance.get_materialized_partitions(dg.AssetKey("crm_enriched")) == set(keys)


def test_the_schedule_asks_for_the_day_before():
    """Every morning daily_enrichment asks for yesterday's partition, once."""
    from dagster_project.definitions import defs

    definitions = defs()
    schedule = definitions.resolve_schedule_def("daily_enrichment")
    this_morning = datetime.now(UTC).replace(hour=6, minute=0, second=0, microsecond=0)
    context = dg.build_schedule_context(
        scheduled_execution_time=this_morning, repository_def=definitions.get_repository_def()
    )
    (request,) = schedule.evaluate_tick(context).run_requests
    assert request.partition_key == (this_morning - timedelta(days=1)).date().isoformat()
    assert schedule.cron_schedule == "0 6 * * *"

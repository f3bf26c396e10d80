"""Jobs, the schedule, and the sensors."""

import dagster as dg

from carrier_enrich.dagster import (
    build_bulk_task_poller,
    build_export_sensor,
    build_jobs,
    build_settle_job,
)
from dagster_project import places
from dagster_project.defs.crm import crm_export, stages
from dagster_project.defs.daily import daily_export, daily_stages
from dagster_project.defs.new import files, new_export, new_stages


@dg.definitions
def automation() -> dg.Definitions:
    """Everything that starts runs."""
    on_demand = build_jobs(
        "enrich_crm",
        [crm_export, *stages],
        "A CRM export with carrier, number type and region beside every phone number.",
    )
    daily = build_jobs(
        "enrich_crm_daily", [daily_export, *daily_stages], "The export of a day, enriched."
    )
    new = build_jobs(
        "enrich_crm_new",
        [new_export, *new_stages],
        "A file that was put into the folder, enriched.",
    )
    settle = build_settle_job()
    pairs = (on_demand, daily, new)
    return dg.Definitions(
        jobs=[*(job for pair in pairs for job in pair), settle],
        schedules=[
            dg.build_schedule_from_partitioned_job(
                daily[0],
                name="daily_enrichment",
                description="The export of the day before, every morning.",
                hour_of_day=6,
            )
        ],
        sensors=[
            build_export_sensor(places.new_exports, new[0], files),
            build_bulk_task_poller(pairs, settle),
        ],
    )

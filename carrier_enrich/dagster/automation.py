"""Jobs and the poller: the same enrichment attached, detached, and rescued."""

# No `from __future__ import annotations`: Dagster reads the annotations of sensors as types.

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import dagster as dg

from carrier_enrich.dagster import metadata, polling
from carrier_enrich.dagster.assets import STAGE_TAG
from carrier_enrich.dagster.resource import CarrierEnrichResource
from carrier_enrich.dagster.undertaking import opened, report
from carrier_enrich.dagster.watching import told

if TYPE_CHECKING:
    # What define_asset_job gives has no public name.
    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition,
    )

Job: TypeAlias = "dg.JobDefinition | UnresolvedAssetJobDefinition"

#: Seconds after which Dagster's run monitoring ends a run that hangs or was killed.
MAX_RUNTIME_SECONDS = 86_400

_COLLECTING = ("bulk_task_results", "crm_enriched")


def build_jobs(
    name: str, assets: Sequence[dg.AssetsDefinition], description: str
) -> tuple["UnresolvedAssetJobDefinition", "UnresolvedAssetJobDefinition"]:
    """The job that sees an enrichment through, and the one that leaves its bulk tasks to a poller.

    The second is named ``{name}_detached``. No process waits while its tasks are processed; when
    they have ended, `build_bulk_task_poller`'s sensor starts the rest of the first.
    """
    selection = dg.AssetSelection.assets(*assets)
    rest = [asset.key for asset in assets if _stage(asset) in _COLLECTING]
    tags = {"dagster/max_runtime": MAX_RUNTIME_SECONDS}
    whole = dg.define_asset_job(name, selection, description=description, tags=tags)
    detached = dg.define_asset_job(
        f"{name}_detached",
        selection - dg.AssetSelection.assets(*rest),
        description=f"As {name}, but no process waits for bulk tasks: bulk_task_poller goes on "
        "when they have ended.",
        tags=tags
        | {polling.DETACHED_TAG: f"{name}:{','.join(key.to_user_string() for key in rest)}"},
    )
    return whole, detached


def build_settle_job(
    *, name: str = "settle_paid_work", resource_key: str = "carrier"
) -> dg.JobDefinition:
    """The job that collects whatever is paid for and open, and buys nothing."""

    @dg.op(name=f"{name}_op", required_resource_keys={resource_key})
    def settle(context: dg.OpExecutionContext) -> None:
        """Poll, download and record what runs that are over have paid for."""
        carrier: CarrierEnrichResource = getattr(context.resources, resource_key)
        with told(), opened(carrier.settings(), time.time) as account:
            outcome = account.engine.settle()
        sent = report(outcome)
        context.add_output_metadata(metadata.of_report(sent, sandbox=account.settings.is_loopback))
        context.log.info("settled; %s purchases are still open", len(outcome.open))

    @dg.job(
        name=name,
        description="Collect what is paid for and open; buy nothing.",
        tags={"dagster/max_runtime": MAX_RUNTIME_SECONDS},
    )
    def settle_paid_work() -> None:
        settle()

    return settle_paid_work


def build_bulk_task_poller(
    jobs: Sequence[tuple[Job, "UnresolvedAssetJobDefinition"]],
    settle_job: dg.JobDefinition,
    *,
    name: str = "bulk_task_poller",
    resource_key: str = "carrier",
    seconds: int = 30,
) -> dg.SensorDefinition:
    """The sensor that polls bulk tasks for which no process waits.

    It starts the rest of a detached run once all of its tasks have ended, and a settling run for
    tasks whose own run is over, however it ended: what is paid for comes in, nothing is bought.

    Args:
        jobs: the pairs of `build_jobs`.
        seconds: between two looks; each task has its own interval besides (spec, Limits).
    """
    values = [detached.tags[polling.DETACHED_TAG] for _, detached in jobs if detached.tags]

    @dg.sensor(
        name=name,
        jobs=[*(whole for whole, _ in jobs), settle_job],
        minimum_interval_seconds=seconds,
        required_resource_keys={resource_key},
        # Polling costs nothing, and what it starts is paid for.
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Polls bulk tasks that nobody waits for, and starts the runs that collect.",
    )
    def bulk_task_poller(
        context: dg.SensorEvaluationContext,
    ) -> dg.SensorResult | dg.SkipReason:
        carrier: CarrierEnrichResource = getattr(context.resources, resource_key)
        settings = carrier.settings_if_used()
        if settings is None:
            return dg.SkipReason("nothing was ever bought")
        ended = set(json.loads(context.cursor or "[]"))
        with opened(settings, time.time) as account:
            orphans = polling.polled(account, ended)
        active = polling.active_undertakings(context.instance)
        requests = [
            *polling.continuations(context.instance, orphans, active, values),
            *polling.rescues(context.instance, orphans, active, settle_job.name),
        ]
        known = {purchase.id for found in orphans.open.values() for purchase in found}
        cursor = json.dumps(sorted(known - orphans.running))
        if not requests:
            waiting = len(orphans.running)
            text = f"{waiting} bulk tasks are processing" if waiting else "no bulk task is open"
            return dg.SensorResult(skip_reason=dg.SkipReason(text), cursor=cursor)
        return dg.SensorResult(run_requests=requests, cursor=cursor)

    return bulk_task_poller


def _stage(asset: dg.AssetsDefinition) -> str | None:
    return asset.tags_by_key[asset.key].get(STAGE_TAG)

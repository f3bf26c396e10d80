"""Bulk tasks that nobody waits for: which have ended, and which runs should go on with them.

A poll is claimed in the ledger before it is sent, so that the poller, a step that waits and a
poller on another machine together keep the service's interval (spec, Limits).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import dagster as dg

from carrier_enrich.dagster.step import CONTINUES_TAG, ancestry
from carrier_enrich.dagster.undertaking import Account
from carrier_enrich.errors import ServiceError
from carrier_enrich.ledger import State
from carrier_enrich.ledger.history import Bought, History
from carrier_enrich.model import CallKind, TaskStatus

#: The tag of a run that leaves its bulk tasks to the poller. Its value names the job and, after a
#: colon, the assets that are still to be materialized once the tasks have ended.
DETACHED_TAG = "carrier_enrich/detached"

#: The tag of a settling run: the ledger's ids of the purchases that made it necessary.
SETTLES_TAG = "carrier_enrich/settles"

#: Runs that are started for one undertaking, at most, where they fail one after the other.
ATTEMPTS_MAX = 3

_ACTIVE = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
_PARTITION_TAG = "dagster/partition"
_RECENT = 200


@dataclass(frozen=True, slots=True)
class Orphans:
    """Open purchases that no living run takes care of, by undertaking.

    Attributes:
        open: purchases by the name of their undertaking.
        running: ids of those whose task is not known to have ended.
    """

    open: Mapping[str, tuple[Bought, ...]]
    running: Set[int]

    def waits(self, undertaking: str) -> bool:
        """Whether a task of the undertaking is still processing."""
        return any(purchase.id in self.running for purchase in self.open.get(undertaking, ()))


def polled(account: Account, ended: Set[int]) -> Orphans:
    """The orphans of an account, after a poll of each task whose turn it is.

    Args:
        ended: purchases whose task was seen at its end before; they are not polled again.
    """
    account.ledger.leases.bury(account.ledger.clock(account.clock)())
    found = History(account.ledger).orphans()
    by_undertaking: dict[str, list[Bought]] = defaultdict(list)
    for purchase in found:
        by_undertaking[purchase.budget].append(purchase)
    return Orphans(
        {name: tuple(purchases) for name, purchases in by_undertaking.items()},
        {p.id for p in found if p.id not in ended and not _has_ended(account, p)},
    )


def _has_ended(account: Account, purchase: Bought) -> bool:
    """Whether there is something to do for a purchase: its task ended, or never was confirmed."""
    if purchase.kind is not CallKind.BULK_TASK or purchase.task_id is None:
        return True
    if purchase.state is State.FINISHED:
        return True
    now, purchases = account.ledger.clock(account.clock)(), account.ledger.purchases
    current = purchases.get(purchase.id)
    if not purchases.may_poll(current, now, account.settings.poll_seconds):
        return False
    try:
        task = account.client.bulk_task(purchase.task_id)
    except ServiceError:
        # The next tick asks again.
        return False
    return task.status is not TaskStatus.PROCESSING


def active_undertakings(instance: dg.DagsterInstance) -> set[str]:
    """What runs that are queued or under way work on."""
    active = instance.get_runs(dg.RunsFilter(statuses=list(_ACTIVE)))
    return {name for run in active for name in ancestry(instance, run)}


def continuations(
    instance: dg.DagsterInstance, orphans: Orphans, active: Set[str], detached: Sequence[str]
) -> Iterable[dg.RunRequest]:
    """Runs that go on where a detached run has succeeded and its tasks have ended.

    Args:
        detached: the values of `DETACHED_TAG` to look for.
    """
    filters = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.SUCCESS], tags={DETACHED_TAG: list(detached)}
    )
    for run in instance.get_runs(filters, limit=_RECENT):
        undertakings = set(ancestry(instance, run))
        if undertakings & active or any(map(orphans.waits, undertakings)):
            continue
        earlier = instance.get_runs(dg.RunsFilter(tags={CONTINUES_TAG: run.run_id}))
        done = any(r.status is dg.DagsterRunStatus.SUCCESS for r in earlier)
        if done or len(earlier) >= ATTEMPTS_MAX:
            continue
        job, _, assets = run.tags[DETACHED_TAG].partition(":")
        yield dg.RunRequest(
            run_key=f"collect-{run.run_id}-{len(earlier)}",
            job_name=job,
            asset_selection=[dg.AssetKey.from_user_string(key) for key in assets.split(",")],
            partition_key=run.tags.get(_PARTITION_TAG),
            tags={CONTINUES_TAG: run.run_id},
        )


def rescues(
    instance: dg.DagsterInstance, orphans: Orphans, active: Set[str], settle_job: str
) -> Iterable[dg.RunRequest]:
    """One run that collects what runs which are over have paid for and left; it buys nothing."""
    left = [
        purchase
        for name, purchases in orphans.open.items()
        if name not in active and not orphans.waits(name) and not _is_detached(instance, name)
        for purchase in purchases
    ]
    if not left or any(
        run.job_name == settle_job
        for run in instance.get_runs(dg.RunsFilter(statuses=list(_ACTIVE)))
    ):
        return
    ids = "-".join(str(purchase.id) for purchase in left)
    earlier = instance.get_runs_count(dg.RunsFilter(tags={SETTLES_TAG: ids}))
    if earlier < ATTEMPTS_MAX:
        yield dg.RunRequest(
            run_key=f"settle-{ids}-{earlier}", job_name=settle_job, tags={SETTLES_TAG: ids}
        )


def _is_detached(instance: dg.DagsterInstance, undertaking: str) -> bool:
    run = instance.get_run_by_id(undertaking)
    return (
        run is not None and DETACHED_TAG in run.tags and run.status is dg.DagsterRunStatus.SUCCESS
    )

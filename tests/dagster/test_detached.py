"""Bulk tasks for which no process waits, and those whose run is gone: bulk_task_poller."""

from __future__ import annotations

from dataclasses import dataclass

import dagster as dg
import pytest

from carrier_enrich.dagster import build_bulk_task_poller, build_jobs, build_settle_job
from carrier_enrich.dagster.polling import CONTINUES_TAG
from carrier_enrich.files import write_table

TICKS = 200


@dataclass(frozen=True)
class Project:
    """Definitions with the jobs and the poller of one enrichment."""

    definitions: dg.Definitions
    instance: dg.DagsterInstance
    carrier: object

    def run(self, job, **options):
        """A run of a job in this process."""
        made = self.definitions.resolve_job_def(job)
        return made.execute_in_process(instance=self.instance, raise_on_error=False, **options)

    def tick(self, cursor=None):
        """One look of the poller."""
        context = dg.build_sensor_context(
            instance=self.instance,
            resources={"carrier": self.carrier},
            definitions=self.definitions,
            cursor=cursor,
        )
        return self.definitions.resolve_sensor_def("bulk_task_poller").evaluate_tick(context)

    def ticks_until_request(self):
        """Looks until one asks for a run."""
        cursor = None
        for _ in range(TICKS):
            found = self.tick(cursor)
            if found.run_requests:
                return found.run_requests
            cursor = found.cursor
        raise AssertionError("the poller asks for nothing")

    def follow(self, request):
        """The run that was asked for."""
        return self.run(
            request.job_name,
            asset_selection=request.asset_selection,
            tags=request.tags,
            run_config=request.run_config,
        )


@pytest.fixture
def project(graph, export, carrier, instance):
    assets = graph(export)
    jobs = build_jobs("enrich", assets, "An enrichment.")
    settle = build_settle_job()
    return Project(
        dg.Definitions(
            assets=assets,
            jobs=[*jobs, settle],
            sensors=[build_bulk_task_poller([jobs], settle)],
            resources={"carrier": carrier},
        ),
        instance,
        carrier,
    )


def one_submission(sandbox):
    (task,) = sandbox.control.report()["tasks"]
    return task["submissions"] == 1


def test_nobody_waits_while_a_detached_runs_tasks_are_processed(project, sandbox):
    """A detached run ends while its task is processing, and the poller asks for nothing yet."""
    sandbox.control.configure(task_seconds=3_600.0)
    assert project.run("enrich_detached").success
    (task,) = sandbox.control.report()["tasks"]
    assert task["status"] == "processing"

    found = project.tick()
    assert found.run_requests == []
    assert "1 bulk tasks are processing" in found.skip_message


def test_the_poller_goes_on_with_a_detached_run_when_its_tasks_have_ended(project, sandbox):
    """The rest of the run is started once, and makes the enriched file without buying again."""
    sandbox.control.configure(task_seconds=3_600.0)
    first = project.run("enrich_detached")
    sandbox.control.finish_tasks()
    (request,) = project.ticks_until_request()
    assert request.tags[CONTINUES_TAG] == first.run_id
    assert {key.to_user_string() for key in request.asset_selection} == {
        "bulk_task_results",
        "crm_enriched",
    }

    second = project.follow(request)
    assert second.success
    (event,) = second.asset_materializations_for_node("crm_enriched")
    receipt = event.metadata["receipt_json"].value
    assert receipt["adds_up"]
    assert receipt["bought"] == 1_110
    assert one_submission(sandbox)
    assert set(sandbox.control.charges().values()) == {1}
    assert project.tick().run_requests == []


def test_a_detached_run_without_bulk_tasks_is_gone_on_with_as_well(project, export, few, sandbox):
    """Where everything went through checks there is no task to wait for, but a file to make."""
    write_table(few, export)
    assert project.run("enrich_detached").success
    (request,) = project.ticks_until_request()
    assert project.follow(request).success
    assert sandbox.control.report()["tasks"] == []


def test_a_failed_detached_run_is_not_gone_on_with(project):
    """What stopped before it sent anything stays stopped."""
    config = {"ops": {"lookup_plan": {"config": {"max_cost_usd": 0.001}}}}
    assert not project.run("enrich_detached", run_config=config).success
    assert project.tick().run_requests == []


def test_a_continuation_that_fails_is_tried_again_and_not_for_ever(project, export, few):
    """The poller asks again after a failure, with another run key, three times in all."""
    project.run("enrich_detached")
    # Not what was planned for any more, so the join refuses it.
    write_table(few, export)
    keys = []
    for _ in range(3):
        (request,) = project.ticks_until_request()
        keys.append(request.run_key)
        assert not project.follow(request).success
    assert len(set(keys)) == 3
    assert project.tick().run_requests == []


def test_the_tasks_of_a_run_that_is_over_are_collected_and_nothing_is_bought(project, sandbox):
    """A run that ended between submit and collect leaves paid work, which a settling run gets."""
    selection = [dg.AssetKey(name) for name in ("crm_export", "account_balance", "lookup_plan")]
    submission = dg.AssetKey("bulk_task_submission")
    assert project.run("enrich", asset_selection=[*selection, submission]).success
    (request,) = project.ticks_until_request()
    assert request.job_name == "settle_paid_work"
    assert project.follow(request).success

    assert len(sandbox.control.charges()) > 1_000
    assert sandbox.control.report(summary=True)["requests"].get("batch-check", 0) == 0
    assert project.tick().run_requests == []
    whole = project.run("enrich")
    (event,) = whole.asset_materializations_for_node("crm_enriched")
    assert event.metadata["known"].value == 1_050
    assert set(sandbox.control.charges().values()) == {1}
    assert one_submission(sandbox)


def test_a_task_is_polled_no_more_often_than_the_service_allows(project, sandbox):
    """However often the poller looks, a task's polls keep their distance."""
    sandbox.control.configure(task_seconds=3_600.0)
    project.run("enrich_detached")
    for _ in range(20):
        project.tick()
    limits = sandbox.control.report(summary=True)["limits"]
    assert limits["early_polls"] == 0


def test_a_second_detached_run_waits_for_nobody(project, sandbox):
    """A run whose numbers another run's open task is buying submits nothing and ends at once."""
    sandbox.control.configure(task_seconds=3_600.0)
    assert project.run("enrich_detached").success
    assert project.run("enrich_detached").success
    assert len(sandbox.control.report()["tasks"]) == 1

    sandbox.control.finish_tasks()
    requests = project.ticks_until_request()
    for request in requests:
        assert project.follow(request).success
    assert set(sandbox.control.charges().values()) == {1}


def test_a_project_that_never_bought_anything_starts_no_sandbox(tmp_path):
    """The poller of a project nobody has used leaves the machine alone."""
    from carrier_enrich.dagster import CarrierEnrichResource

    carrier = CarrierEnrichResource(sandbox_folder=str(tmp_path))
    assert carrier.settings_if_used() is None
    assert list(tmp_path.iterdir()) == []

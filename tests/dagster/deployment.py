"""A deployment for tests that kill it: run by `python deployment.py run` or `rerun RUN_ID`.

Steps are processes of their own. Everything else comes from the environment: DAGSTER_HOME, EXPORT,
and the service as the package reads it.
"""

import os
import sys
from pathlib import Path

import dagster as dg

from carrier_enrich.dagster import (
    CarrierEnrichResource,
    build_enrichment_assets,
    build_export_asset,
    build_jobs,
)


def enrich() -> dg.JobDefinition:
    """The job over the export that the environment names."""
    crm_export = build_export_asset(lambda _: Path(os.environ["EXPORT"]))
    assets = [crm_export, *build_enrichment_assets(crm_export, "phone", country_column="country")]
    jobs = build_jobs("enrich", assets, "An enrichment.")
    carrier = CarrierEnrichResource.from_environment()
    # Steps start quickly from a process that has loaded everything already.
    preloaded = {"preload_modules": ["carrier_enrich.dagster.steps", "pandas"]}
    executor = dg.multiprocess_executor.configured({"start_method": {"forkserver": preloaded}})
    made = dg.Definitions(assets, jobs=jobs, resources={"carrier": carrier}, executor=executor)
    return made.resolve_job_def("enrich")


def main() -> None:
    """Run the job, or repeat a run from where it failed."""
    again = None
    with dg.DagsterInstance.get() as instance:
        if sys.argv[1] == "rerun":
            again = dg.ReexecutionOptions.from_failure(sys.argv[2], instance)
        with dg.execute_job(
            dg.reconstructable(enrich),
            instance=instance,
            reexecution_options=again,
            tags={"name": os.environ.get("NAME", "")},
        ) as result:
            sys.exit(0 if result.success else 1)


if __name__ == "__main__":
    main()

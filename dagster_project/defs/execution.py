"""How steps are run: as processes of this machine, or on Celery workers where a broker is named.

Environment: ``CRM_CELERY_BROKER`` and ``CRM_CELERY_BACKEND``.
"""

import os

import dagster as dg

_PRELOADED = ["dagster_project.definitions", "carrier_enrich.dagster.steps", "pandas", "matplotlib"]


@dg.definitions
def execution() -> dg.Definitions:
    """The executor of all jobs."""
    if os.environ.get("CRM_CELERY_BROKER"):
        return dg.Definitions(executor=_on_workers())
    # A step starts quickly from a process that has loaded everything already.
    start = {"forkserver": {"preload_modules": _PRELOADED}}
    return dg.Definitions(executor=dg.multiprocess_executor.configured({"start_method": start}))


def _on_workers() -> dg.ExecutorDefinition:
    from dagster_celery import celery_executor

    executor: dg.ExecutorDefinition = celery_executor.configured(
        {"broker": {"env": "CRM_CELERY_BROKER"}, "backend": {"env": "CRM_CELERY_BACKEND"}}
    )
    return executor

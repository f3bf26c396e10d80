"""The assets of an enrichment, for anyone's project."""

# No `from __future__ import annotations`: Dagster reads the annotations of assets as types.

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import dagster as dg

from carrier_enrich import frames
from carrier_enrich.dagster import steps
from carrier_enrich.dagster.run_config import EnrichedConfig, PlanConfig
from carrier_enrich.dagster.stages import Request
from carrier_enrich.dagster.step import Keys, Step
from carrier_enrich.dagster.watching import told
from carrier_enrich.model import micros_of_usd

if TYPE_CHECKING:
    NoValue: TypeAlias = dg.MaterializeResult[None]
else:
    # Dagster knows the bare class only as the annotation of an asset that has checks.
    NoValue = dg.MaterializeResult

#: An asset, or its key.
AssetLike: TypeAlias = dg.AssetsDefinition | dg.AssetKey | str | Sequence[str]

#: Only errors that another attempt may find mended ask for one: see watching.WORTH_A_RETRY.
RETRIES = dg.RetryPolicy(
    max_retries=2, delay=30, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)

#: What sends checks holds a place in this pool; the ledger's leases are what keeps the limits.
CHECKS_POOL = "carrier_checks"

#: The tag that says which stage an asset is: its name in the default graph.
STAGE_TAG = "carrier_enrich/stage"


def build_enrichment_assets(
    source: AssetLike,
    phone: str | Sequence[str],
    *,
    name: str = "crm_enriched",
    key_prefix: Sequence[str] = (),
    country: str | None = None,
    country_column: str | None = None,
    columns: Sequence[str] = frames.DEFAULT_COLUMNS,
    prefix: str = "",
    max_cost_usd: str | int | None = None,
    min_match_rate: float = 0.5,
    group_name: str = "carrier",
    owners: Sequence[str] | None = None,
    partitions_def: dg.PartitionsDefinition[str] | None = None,
    freshness_policy: dg.FreshnessPolicy | None = None,
    io_manager_key: str | None = None,
    account_balance: AssetLike | None = None,
    resource_key: str = "carrier",
) -> list[dg.AssetsDefinition]:
    """The stages from an asset with phone numbers to the same with carrier data beside each.

    They need a `CarrierEnrichResource`, by default under the name ``carrier``.

    Args:
        source: the asset that holds the phone numbers; it yields a DataFrame, a pyarrow Table,
            dataset or reader, or the path of a Parquet or CSV file.
        phone: its phone column, or several.
        name: of the enriched asset: the same kind of thing as `source` yields, and for a path
            the path of the enriched file.
        key_prefix: stands before all names, so that a project can hold several enrichments.
        country: ISO 3166-1 alpha-2; completes numbers written without a country code.
        country_column: does so row by row.
        columns, prefix: the columns to add, and what stands before their names.
        max_cost_usd: cap of each run; a run may set its own.
        min_match_rate: below this share of found numbers the check `match_rate` warns.
        io_manager_key: of the enriched asset.
        account_balance: another enrichment's asset of that name, to share one where both spend
            from one account.
        resource_key: name of the resource.

    Raises:
        BadInput: an amount that can't be used.
    """
    default = Request(
        phone=(phone,) if isinstance(phone, str) else tuple(phone),
        country=country,
        country_column=country_column,
        columns=tuple(columns),
        prefix=prefix,
        max_cost=None if max_cost_usd is None else micros_of_usd(max_cost_usd),
    )
    keys = _keys(source, name, list(key_prefix), account_balance)
    shared: dict[str, Any] = {
        "group_name": group_name,
        "owners": owners,
        "required_resource_keys": {resource_key},
    }
    staged: dict[str, Any] = {**shared, "partitions_def": partitions_def}
    spending: dict[str, Any] = {**staged, "retry_policy": RETRIES}

    def step(context: dg.AssetExecutionContext) -> Step:
        return Step(context, getattr(context.resources, resource_key), keys)

    @_stage("account_balance", keys.balance, kinds={"carrier_lookup"}, **shared)
    def own_balance(context: dg.AssetExecutionContext) -> dg.MaterializeResult[int]:
        """Balance of the account in micros of USD, observed again as runs spend from it."""
        return steps.read_balance(step(context))

    @_stage(
        "lookup_plan",
        keys.plan,
        ins={"export": dg.AssetIn(key=keys.export)},
        deps=[keys.balance] if account_balance is None else [],
        kinds={"parquet"},
        check_specs=[
            dg.AssetCheckSpec(
                "cost_within_balance",
                asset=keys.plan,
                blocking=True,
                description="The run costs no more than the cap and the balance allow, at most.",
            )
        ],
        **staged,
    )
    def lookup_plan(
        context: dg.AssetExecutionContext,
        config: PlanConfig,
        export: Any,
    ) -> NoValue:
        """Distinct numbers: which are known, how the others are bought, and what that costs."""
        with told():
            request = config.request(default)
        return steps.plan(step(context), export, request)

    @_stage(
        "multi_check_results",
        keys.checks,
        deps=[keys.plan],
        pool=CHECKS_POOL,
        kinds={"carrier_lookup", "parquet"},
        **spending,
    )
    def multi_check_results(context: dg.AssetExecutionContext) -> NoValue:
        """Answers to the numbers that are too few for a bulk task, by multi and single checks."""
        return steps.send_checks(step(context))

    @_stage(
        "bulk_task_submission",
        keys.submission,
        deps=[keys.plan],
        kinds={"carrier_lookup"},
        **spending,
    )
    def bulk_task_submission(context: dg.AssetExecutionContext) -> NoValue:
        """Bulk tasks submitted; their ids are in the ledger."""
        return steps.submit_tasks(step(context))

    @_stage(
        "bulk_task_results",
        keys.results,
        deps=[keys.submission],
        kinds={"carrier_lookup", "parquet"},
        **spending,
    )
    def bulk_task_results(context: dg.AssetExecutionContext) -> NoValue:
        """Answers of the bulk tasks: polled, downloaded, recorded."""
        return steps.collect_tasks(step(context))

    @_stage(
        "crm_enriched",
        keys.enriched,
        ins={"export": dg.AssetIn(key=keys.export)},
        deps=[keys.checks, keys.results],
        kinds={"parquet"},
        check_specs=_enriched_checks(keys.enriched),
        freshness_policy=freshness_policy,
        io_manager_key=io_manager_key,
        **staged,
    )
    # Dagster reads a return annotation as the types of value and checks together.
    def enriched(  # type: ignore[no-untyped-def]  # noqa: ANN202
        context: dg.AssetExecutionContext,
        config: EnrichedConfig,
        export: Any,
    ):
        """The export with carrier, number type and region beside every phone number."""
        target = Path(config.target) if config.target else None
        return steps.enrich(step(context), export, target, min_match_rate)

    return [
        *([own_balance] if account_balance is None else []),
        lookup_plan,
        multi_check_results,
        bulk_task_submission,
        bulk_task_results,
        enriched,
    ]


def _stage(
    stage: str, key: dg.AssetKey, **options: Any
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """`dg.asset` for one stage, which its tag names."""
    made: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
        key=key, tags={STAGE_TAG: stage}, **options
    )
    return made


def _keys(source: AssetLike, name: str, prefix: list[str], balance: AssetLike | None) -> Keys:
    own_balance = dg.AssetKey([*prefix, "account_balance"])
    return Keys(
        export=_key(source),
        balance=own_balance if balance is None else _key(balance),
        plan=dg.AssetKey([*prefix, "lookup_plan"]),
        checks=dg.AssetKey([*prefix, "multi_check_results"]),
        submission=dg.AssetKey([*prefix, "bulk_task_submission"]),
        results=dg.AssetKey([*prefix, "bulk_task_results"]),
        enriched=dg.AssetKey([*prefix, name]),
    )


def _key(asset: AssetLike) -> dg.AssetKey:
    match asset:
        case dg.AssetsDefinition():
            return asset.key
        case str():
            return dg.AssetKey.from_user_string(asset)
        case _:
            return dg.AssetKey.from_coercible(asset)


def _enriched_checks(key: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    described: Mapping[str, str] = {
        "rows_preserved": "Every row and column of the export is there, untouched, in its order.",
        "receipt_adds_up": "Rows, numbers and money of the receipt agree with each other.",
    }
    return [
        *(
            dg.AssetCheckSpec(name, asset=key, blocking=True, description=text)
            for name, text in described.items()
        ),
        dg.AssetCheckSpec(
            "match_rate",
            asset=key,
            description="Carrier data was found for enough of the numbers.",
        ),
    ]

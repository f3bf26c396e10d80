"""The assets of an enrichment, materialized on a real instance against the sandbox."""

from __future__ import annotations

import json

import dagster as dg
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from carrier_enrich.dagster import build_enrichment_assets

STAGES = ("lookup_plan", "multi_check_results", "bulk_task_submission", "bulk_task_results")


def materialize(assets, carrier, instance, **options):
    return dg.materialize(
        assets,
        resources={"carrier": carrier},
        instance=instance,
        raise_on_error=False,
        **options,
    )


def metadata(result, asset):
    (event,) = result.asset_materializations_for_node(asset)
    return {name: value.value for name, value in event.metadata.items()}


def failure(result):
    (event,) = result.get_step_failure_events()
    return event.step_failure_data.user_failure_data.description


def checks(result):
    return {c.check_name: c.passed for c in result.get_asset_check_evaluations()}


def source_asset(value):
    @dg.asset
    def people():
        return value

    return people


def test_a_file_is_enriched_and_every_row_has_its_own_answer(
    graph, export, contacts, carrier, instance, sandbox
):
    """A Parquet export comes back whole, with the carrier of the number beside each number."""
    result = materialize(graph(export), carrier, instance)

    assert result.success
    assert all(checks(result).values())
    out = pq.read_table(metadata(result, "crm_enriched")["file"])
    assert out.select(contacts.column_names).equals(contacts)
    carriers = dict(zip(out["phone"].to_pylist(), out["carrier"].to_pylist(), strict=True))
    for at in (0, 39):
        assert out["carrier"][at] == out["carrier"][at + 1_110]
        assert carriers[contacts["phone"][at].as_py()] == out["carrier"][at].as_py()
    assert out["lookup_status"].to_pylist()[-4:] == ["missing", "missing", "invalid", "invalid"]
    assert set(sandbox.control.charges().values()) == {1}


def test_what_an_enrichment_cost_stands_beside_it(graph, export, carrier, instance, sandbox):
    """The metadata's cost is what the service has charged, exact and as a number to plot."""
    result = materialize(graph(export), carrier, instance)

    shown = metadata(result, "crm_enriched")
    charged = sandbox.control.report(summary=True)["charged_micros"]
    assert shown["cost_micros"] == charged
    assert shown["cost_usd"] == charged / 1_000_000
    assert shown["bought"] == shown["distinct"] == 1_110
    assert 0 < shown["match_rate"] <= 1
    assert shown["receipt_json"]["adds_up"]
    assert shown["receipt_json"]["balance_agrees"]
    assert shown["picture"].startswith("![1,154 rows")


def test_numbers_go_the_way_that_the_plan_says(graph, export, carrier, instance, sandbox):
    """A country with a thousand numbers becomes one bulk task, the rest one multi check."""
    result = materialize(graph(export), carrier, instance)

    assert metadata(result, "lookup_plan")["to_buy"] == 1_110
    assert metadata(result, "multi_check_results")["bought"] == 60
    assert metadata(result, "bulk_task_submission")["open_bulk_tasks"] == 1
    assert metadata(result, "bulk_task_results")["collected"] == 1_050
    assert len(sandbox.control.report()["tasks"]) == 1


def test_a_second_run_sends_nothing_and_costs_nothing(graph, export, carrier, instance, sandbox):
    """What the first run bought is known to the second, and its receipt says so."""
    materialize(graph(export), carrier, instance)
    before = sandbox.control.report(summary=True)["requests"]
    result = materialize(graph(export), carrier, instance)

    after = sandbox.control.report(summary=True)["requests"]
    assert {kind: after[kind] - before.get(kind, 0) for kind in after if kind != "balance"} == {
        kind: 0 for kind in after if kind != "balance"
    }
    shown = metadata(result, "crm_enriched")
    assert (shown["known"], shown["bought"], shown["cost_micros"]) == (1_110, 0, 0)
    assert shown["saved_micros"] > 0


def test_the_answers_of_the_sandbox_are_marked(graph, small_export, carrier, instance):
    """Everything that the sandbox has answered carries a warning that nobody overlooks."""
    result = materialize(graph(small_export), carrier, instance)

    for asset in ("account_balance", *STAGES, "crm_enriched"):
        assert "made-up answers" in metadata(result, asset)["SANDBOX"]


def test_a_run_that_may_cost_more_than_its_cap_sends_nothing(
    graph, export, carrier, instance, sandbox
):
    """The blocking check stops a run over its cap before it sends; the plan is there to read."""
    result = materialize(
        graph(export),
        carrier,
        instance,
        run_config={"ops": {"lookup_plan": {"config": {"max_cost_usd": 0.5}}}},
    )

    assert not result.success
    assert checks(result) == {"cost_within_balance": False}
    shown = metadata(result, "lookup_plan")
    assert shown["cap_micros"] == 500_000
    assert shown["highest_cost_micros"] == 1_050 * 1_000 + 60 * 2_000
    assert sandbox.control.report(summary=True)["requests"].keys() <= {"balance"}


def test_the_code_that_spends_keeps_the_cap_by_itself(graph, export, carrier, instance, sandbox):
    """Who starts a spending step by hand, after the check has failed, meets the same cap there."""
    assets = graph(export)
    config = {"ops": {"lookup_plan": {"config": {"max_cost_usd": 0.05}}}}
    planned = materialize(assets, carrier, instance, selection=assets[:3], run_config=config)
    result = materialize(assets, carrier, instance, selection=assets[3:4])

    assert not planned.success
    assert not result.success
    assert "cap" in failure(result)
    assert sandbox.control.charges() == {}


def test_the_code_that_spends_reads_the_balance_again(graph, export, carrier, instance, sandbox):
    """A balance that is gone after the plan was made stops the step before it sends."""
    assets = graph(export)
    assert materialize(assets, carrier, instance, selection=assets[:3]).success
    sandbox.control.set_balance(1)
    result = materialize(assets, carrier, instance, selection=assets[3:4])

    assert not result.success
    assert "OutOfBalance" in failure(result)
    assert sandbox.control.charges() == {}


def test_a_balance_that_falls_in_the_middle_keeps_what_came(
    graph, carrier, instance, sandbox, tmp_path
):
    """What was bought before the money ran out is kept; topped up, only the rest is bought."""
    path = tmp_path / "british.csv"
    path.write_text("phone\n" + "".join(f"+4474001{23_000 + i}\n" for i in range(250)))
    assets = graph(path, country_column=None)
    # After the first hundred numbers somebody else has spent the rest.
    sandbox.control.fault("batch-check", "code", code=40200, times=None, after=1)
    stopped = materialize(assets, carrier, instance)
    assert not stopped.success
    assert "OutOfBalance" in failure(stopped)
    before = sandbox.control.charges()
    assert 0 < len(before) <= 100

    sandbox.control.clear_faults()
    result = materialize(assets, carrier, instance)
    assert result.success
    assert metadata(result, "lookup_plan")["known"] == len(before)
    after = sandbox.control.charges()
    assert before.items() < after.items()
    assert set(after.values()) == {1}


def test_a_step_of_another_run_goes_on_with_the_last_plan(graph, export, carrier, instance):
    """Materializing the stages one by one, each in a run of its own, gives the same."""
    assets = graph(export)
    for asset in assets:
        result = materialize([*assets], carrier, instance, selection=[asset])
        assert result.success, failure(result)
    shown = metadata(result, "crm_enriched")
    assert shown["bought"] == 1_110
    assert shown["receipt_json"]["adds_up"]


def test_a_stage_without_a_plan_says_what_to_do(graph, export, carrier, instance):
    """A stage that has nothing to go on with names the asset to materialize first."""
    assets = graph(export)
    result = materialize(assets, carrier, instance, selection=[assets[3]])

    assert not result.success
    assert "lookup_plan is not materialized" in failure(result)


def test_an_export_that_changed_after_its_plan_is_refused(
    graph, export, contacts, carrier, instance
):
    """Rows that were not planned for are never joined with answers for others."""
    assets = graph(export)
    materialize(assets, carrier, instance, selection=assets[:-1])
    pq.write_table(contacts.slice(1), export)
    result = materialize(assets, carrier, instance, selection=assets[-1:])

    assert not result.success
    assert "PlanChanged" in failure(result)


@pytest.mark.parametrize("kind", ["pandas", "arrow", "dataset", "reader", "path"])
def test_an_asset_of_any_kind_is_enriched(kind, few, carrier, instance, tmp_path):
    """Frames come back as the same kind of frame, datasets and readers as tables."""
    path = tmp_path / "few.parquet"
    pq.write_table(few, path)
    # Readers and datasets don't survive pickling, which is what the default IO manager does.
    value = {
        "pandas": few.to_pandas().set_index(pd.Index(["same"] * len(few))),
        "arrow": few,
        "dataset": pyarrow.dataset.dataset(path),
        "reader": few.to_reader(),
        "path": str(path),
    }[kind]

    class Kept(dg.IOManager):
        def handle_output(self, context, obj):
            kept[context.asset_key] = obj

        def load_input(self, context):
            found = kept[context.asset_key]
            return few.to_reader() if kind == "reader" else found

    kept: dict[dg.AssetKey, object] = {}
    people = source_asset(value)
    assets = [people, *build_enrichment_assets(people, "phone", country_column="country")]
    result = dg.materialize(
        assets, resources={"carrier": carrier, "io_manager": Kept()}, instance=instance
    )

    assert all(checks(result).values())
    out = kept[dg.AssetKey("crm_enriched")]
    if kind == "pandas":
        assert isinstance(out, pd.DataFrame)
        assert list(out.index) == ["same"] * len(few)
    table = (
        pa.Table.from_pandas(out, preserve_index=False)
        if kind == "pandas"
        else pq.read_table(out)
        if kind == "path"
        else out
    )
    statuses = table["lookup_status"].to_pylist()
    assert len(statuses) == len(few)
    assert statuses[-4:] == ["missing", "missing", "invalid", "invalid"]


def test_two_enrichments_live_in_one_project(few, carrier, instance, sandbox):
    """With a prefix of its own a second enrichment shares ledger, balance and resource."""
    people = source_asset(few)
    first = build_enrichment_assets(people, "phone", country_column="country")
    second = build_enrichment_assets(
        people, "phone", country="GB", key_prefix=["other"], account_balance=first[0]
    )
    result = materialize([people, *first, *second], carrier, instance)

    assert result.success
    assert set(sandbox.control.charges().values()) == {1}
    assert metadata(result, "other__crm_enriched")["rows"] == len(few)


def test_the_balance_is_observed_as_a_run_goes(graph, export, carrier, instance):
    """account_balance has one materialization and, from then on, an observation per batch."""
    materialize(graph(export), carrier, instance)

    key = dg.AssetKey("account_balance")
    seen = instance.fetch_observations(key, limit=100).records
    values = [
        record.asset_observation.metadata["balance_micros"].value for record in reversed(seen)
    ]
    assert len(values) >= 3
    assert values[0] == 100_000_000
    assert values[-1] < values[0]


def test_columns_carry_their_descriptions_and_where_they_come_from(
    graph, small_export, carrier, instance
):
    """Every column of the enriched file leads back to the columns that it was made from."""
    result = materialize(graph(small_export), carrier, instance)

    shown = metadata(result, "crm_enriched")
    lineage = shown["dagster/column_lineage"].deps_by_column
    assert {dep.column_name for dep in lineage["carrier"]} == {"phone", "country"}
    assert [dep.column_name for dep in lineage["id"]] == ["id"]
    described = {c.name: c.description for c in shown["dagster/column_schema"].columns}
    assert "originally allocated" in described["carrier"]
    assert described["id"] is None


def test_the_api_key_is_nowhere_in_what_dagster_keeps(graph, small_export, carrier, instance):
    """No event, log line, config or repr of a run holds the key."""
    secret = carrier.api_key
    result = materialize(graph(small_export), carrier, instance)

    entries = instance.all_logs(result.run_id)
    kept = json.dumps([entry.to_json() for entry in entries])
    assert len(entries) > 50
    assert secret not in kept
    assert secret not in repr(carrier)
    assert secret not in str(instance.get_run_by_id(result.run_id))

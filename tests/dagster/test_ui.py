"""The project as people meet it: `dg dev`, its pages in a browser, and what GraphQL tells."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.dagster_dev import dev_server

from carrier_enrich.files import write_table
from carrier_enrich.sandbox import SandboxConfig, running_sandbox

SECRET = "sk-live-THIS-IS-THE-KEY"
LOCAL = Path(__file__).parents[2] / "dagster_project" / "deploy" / "local" / "dagster.yaml"

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("crm")]

_EVENTS = """query ($id: ID!) { logsForRun(runId: $id) { ... on EventConnection { events {
  __typename ... on MessageEvent { message stepKey }
  ... on MaterializationEvent { assetKey { path } metadataEntries { label
    ... on TextMetadataEntry { text } ... on MarkdownMetadataEntry { mdStr }
    ... on JsonMetadataEntry { jsonString } ... on PathMetadataEntry { path } } }
  ... on AssetCheckEvaluationEvent { evaluation { checkName success } } } } } }"""
_RESOURCES = """{ repositoriesOrError { ... on RepositoryConnection { nodes {
  allTopLevelResourceDetails { name configuredValues { key value type } configFields {
    name defaultValueAsJson } } } } } }"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("ui")


@pytest.fixture(scope="module")
def server(place):
    """`dg dev` on a service whose key must never show."""
    home = place / "home"
    home.mkdir()
    shutil.copy(LOCAL, home)
    config = SandboxConfig(
        api_keys=(SECRET,), task_seconds=1.0, poll_seconds=0.5, multi_seconds=0.05
    )
    with (
        running_sandbox(config) as service,
        dev_server(
            place,
            DAGSTER_HOME=str(home),
            CRM_EXPORT=str(place / "export.parquet"),
            CRM_EXPORTS=str(place / "exports"),
            CRM_FIRST_DAY="2026-03-01",
            CARRIER_ENRICH_BASE_URL=service.base_url,
            CARRIER_ENRICH_API_KEY=SECRET,
            CARRIER_ENRICH_LEDGER=str(place / "ledger.db"),
            CARRIER_ENRICH_POLL_SECONDS="0.5",
            CARRIER_ENRICH_PRICE_SINGLE_USD="0.002",
            CARRIER_ENRICH_PRICE_MULTI_USD="0.002",
        ) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def crm(place):
    """An export with the columns of the project, in every place where the project looks."""
    from carrier_enrich.sandbox.crm_export import crm_export

    table = crm_export(400)
    (place / "exports" / "daily").mkdir(parents=True)
    write_table(table, place / "export.parquet")
    write_table(table.slice(0, 100), place / "exports" / "daily" / "crm_export_2026-03-01.parquet")
    write_table(table.slice(0, 50), place / "other.parquet")
    return table


def events(server, run_id):
    return server.query(_EVENTS, id=run_id)["logsForRun"]["events"]


def file_of(found):
    """The enriched file of a run's events."""
    (entry,) = (
        entry
        for event in found
        if (event.get("assetKey") or {}).get("path", [""])[-1] == "crm_enriched"
        for entry in event["metadataEntries"]
        if entry["label"] == "file"
    )
    return pq.read_table(entry["path"])


def test_the_launchpad_takes_path_columns_country_and_cap(server, place):
    """A run from the Launchpad enriches another file, by other columns, under a cap of its own."""
    config = {
        "ops": {
            "crm_export": {"config": {"path": str(place / "other.parquet")}},
            "lookup_plan": {"config": {"phone": ["mobile"], "country": "US", "max_cost_usd": 5.0}},
        }
    }
    run_id = server.launch("enrich_crm", config)
    assert server.ended(run_id) == "SUCCESS"
    out = file_of(events(server, run_id))
    assert out.num_rows == 50
    assert out.column_names[-4:] == ["carrier", "number_type", "region", "lookup_status"]


def test_a_partition_is_launched_by_graphql(server):
    """A day of the daily enrichment runs as the page or a backfill would start it."""
    run_id = server.launch("enrich_crm_daily", tags={"dagster/partition": "2026-03-01"})
    assert server.ended(run_id) == "SUCCESS"
    found = events(server, run_id)
    assert file_of(found).num_rows == 100
    checks = {
        e["evaluation"]["checkName"]: e["evaluation"]["success"] for e in found if "evaluation" in e
    }
    assert checks == {
        "cost_within_balance": True,
        "rows_preserved": True,
        "receipt_adds_up": True,
        "match_rate": True,
    }


def test_the_key_is_in_no_answer_of_graphql(server):
    """Resources, configuration, events and metadata name the key's variable at most."""
    run_id = server.launch("enrich_crm")
    assert server.ended(run_id) == "SUCCESS"
    told = json.dumps([events(server, run_id), server.query(_RESOURCES)])
    assert "CARRIER_ENRICH_API_KEY" in told
    assert "made-up answers" in told
    assert SECRET not in told


@pytest.mark.browser
def test_a_person_materializes_everything_and_sees_what_came_of_it(server, place):
    """In the browser: the graph, "Materialize all", green checks, the picture; and no errors."""
    from playwright.sync_api import expect, sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        # The pages stay blank under a POSIX locale.
        page = browser.new_page(locale="en-US", viewport={"width": 1500, "height": 1100})
        errors: list[str] = []
        rendered: list[str] = []

        def keep(name: str) -> None:
            page.screenshot(path=place / f"{name}.png", full_page=True)
            rendered.append(page.content())

        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))

        page.goto(f"{server.url}/locations/dagster_project/asset-groups/carrier/lineage")
        page.get_by_text("crm_enriched").first.wait_for(timeout=240_000)
        before = server.runs()
        page.get_by_role("button", name=re.compile("Materialize all")).click()
        assert server.ended(server.newer(before)) == "SUCCESS"
        page.wait_for_timeout(3_000)
        keep("graph")

        page.goto(f"{server.url}/assets/crm_enriched?view=overview")
        page.get_by_text("match_rate").first.wait_for(timeout=240_000)
        keep("enriched")
        picture = page.locator("img[src^='data:image/png']").first
        page.goto(f"{server.url}/assets/crm_enriched?view=events")
        # Dagster folds long markdown away behind a button.
        folded = page.get_by_role("row", name=re.compile("^picture")).get_by_text("Show Markdown")
        expect(picture.or_(folded).first).to_be_visible(timeout=240_000)
        if folded.count():
            folded.click()
        expect(picture).to_be_visible(timeout=240_000)
        assert picture.evaluate("image => image.naturalWidth") > 500
        keep("events")
        assert page.get_by_text("made-up answers").first.is_visible()

        page.goto(f"{server.url}/assets/crm_enriched?view=checks")
        page.get_by_text("rows_preserved").first.wait_for(timeout=240_000)
        keep("checks")
        page.goto(f"{server.url}/assets/account_balance?view=events")
        page.get_by_text("balance_usd").first.wait_for(timeout=240_000)
        keep("balance")
        page.goto(f"{server.url}/locations/dagster_project/jobs/enrich_crm/playground")
        page.wait_for_timeout(4_000)
        keep("launchpad")
        browser.close()
    assert errors == []
    assert len(rendered) == 6
    assert not any(SECRET in content for content in rendered)


def test_the_key_is_in_nothing_that_dagster_keeps(server, place):
    """No database, event log, captured output or server log holds the key, byte by byte."""
    run_id = server.launch("enrich_crm")
    assert server.ended(run_id) == "SUCCESS"
    files = [path for path in (place / "home").rglob("*") if path.is_file()] + [place / "dev.log"]
    assert any(path.suffix == ".db" for path in files)
    assert [path.name for path in files if SECRET.encode() in path.read_bytes()] == []

"""The component, the resource, and what both show of the API key."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster.components.testing import create_defs_folder_sandbox

from carrier_enrich.dagster import CarrierEnrichmentComponent, CarrierEnrichResource
from carrier_enrich.errors import BadSettings

SECRET = "sk-live-0123456789"


def built(attributes):
    """The definitions of a defs.yaml with these attributes."""
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=CarrierEnrichmentComponent,
            defs_yaml_contents={
                "type": "carrier_enrich.dagster.CarrierEnrichmentComponent",
                "attributes": attributes,
            },
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            return defs


def sources(*names):
    """Assets of somebody's project."""
    return dg.Definitions(
        assets=[dg.AssetSpec(dg.AssetKey.from_user_string(name)) for name in names]
    )


def whole_story(error):
    """The messages of an error and of what caused it."""
    return "" if error is None else f"{error}\n{whole_story(error.__cause__)}"


def test_a_few_lines_of_yaml_make_the_assets():
    """Source and phone column are enough; the rest has defaults."""
    defs = built({"source": "crm/contacts", "phone": ["mobile"]})
    defs = dg.Definitions.merge(defs, sources("crm/contacts"))
    keys = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}
    assert keys == {
        "crm/contacts",
        "account_balance",
        "lookup_plan",
        "multi_check_results",
        "bulk_task_submission",
        "bulk_task_results",
        "crm_enriched",
    }


def test_a_job_of_the_component_has_its_poller():
    """Naming a job gives its detached sibling, a settling job and the poller."""
    defs = built({"source": "contacts", "phone": ["mobile"], "job": "people"})
    assert {job.name for job in defs.jobs} == {"people", "people_detached", "people_settle"}
    assert [sensor.name for sensor in defs.sensors] == ["people_bulk_task_poller"]


def test_two_components_live_in_one_project():
    """Two enrichments by YAML merge without a conflict."""
    first = built({"source": "contacts", "phone": ["mobile"]})
    second = built({"source": "leads", "phone": ["phone"], "key_prefix": ["leads"]})
    merged = dg.Definitions.merge(first, second, sources("contacts", "leads"))
    assert len(merged.get_repository_def().assets_defs_by_key) == 14


@pytest.mark.parametrize(
    "attributes",
    [{}, {"source": "contacts"}, {"source": "contacts", "phone": ["mobile"], "phones": 1}],
)
def test_a_missing_or_unknown_attribute_is_refused(attributes):
    """A mistake in defs.yaml stops the project from loading, and says where."""
    with pytest.raises(Exception, match="CarrierEnrichmentComponent") as caught:
        built(attributes)
    assert "phone" in whole_story(caught.value) or "source" in whole_story(caught.value)


def test_the_model_of_the_component_can_be_made():
    """Components are listed by this model; one bad field type would hide them all."""
    model = CarrierEnrichmentComponent.get_model_cls()
    assert model is not None
    assert {"source", "phone", "api_key_env"} <= set(model.model_json_schema()["properties"])


def test_a_key_in_the_environment_is_named_and_never_held():
    """The component's resource shows the name of the key's variable, not the key."""
    code = f"""
        import dagster as dg
        from carrier_enrich.dagster import CarrierEnrichmentComponent
        from dagster._core.remote_representation.external_data import RepositorySnap

        made = CarrierEnrichmentComponent(source="contacts", phone=["mobile"], api_key_env="MY_KEY")
        own = dg.Definitions(assets=[dg.AssetSpec("contacts")])
        defs = dg.Definitions.merge(made.build_defs(None), own)
        snap = RepositorySnap.from_def(defs.get_repository_def())
        assert "{SECRET}" not in repr(snap) + repr(defs)
        print(next(iter(r for r in snap.resources if "carrier" in r.name)).configured_values)
    """
    out = run(code, MY_KEY=SECRET, CARRIER_ENRICH_BASE_URL="https://lookup.example")
    assert "MY_KEY" in out


def run(code: str, **environ: str) -> str:
    """What a fresh process without our environment prints."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CARRIER_", "DAGSTER_"))}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        env={**kept, **environ},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_project_loads_without_any_environment():
    """Definitions load with nothing set: no key, no DAGSTER_HOME, and nothing is started."""
    out = run(
        """
        from dagster_project.definitions import defs
        made = defs()
        repository = made.get_repository_def()
        print(sorted(job.name for job in repository.get_all_jobs() if not job.name.startswith("_")))
        print(sorted(sensor.name for sensor in repository.sensor_defs))
        """
    )
    assert "enrich_crm" in out
    assert "['bulk_task_poller', 'new_crm_export']" in out


def test_importing_the_package_loads_no_dagster():
    """The name alone costs nothing; Dagster loads at the first use."""
    out = run("import sys, carrier_enrich.dagster; print('dagster' in sys.modules)")
    assert out.strip() == "False"


def test_the_key_is_not_in_the_repr_of_the_resource():
    """Whoever prints the resource, or an error that holds it, sees no key and no database URL."""
    carrier = CarrierEnrichResource(
        base_url="https://lookup.example", api_key=SECRET, ledger="postgresql://u:pw@db/x"
    )
    assert SECRET not in repr(carrier)
    assert "pw" not in repr(carrier)
    assert SECRET not in repr(carrier.settings())


def test_a_key_without_an_address_is_half_a_service(tmp_path):
    """Half of what the service needs is an error, never a silent sandbox."""
    carrier = CarrierEnrichResource(api_key=SECRET, sandbox_folder=str(tmp_path))
    with pytest.raises(BadSettings, match="base URL"):
        carrier.settings()
    assert list(tmp_path.iterdir()) == []


def test_a_sandbox_is_shared_survives_and_keeps_its_address(tmp_path):
    """Processes that ask at once get one sandbox; killed, it comes back where and as it was."""
    import signal
    import urllib.request

    from carrier_enrich.dagster.local_sandbox import local_sandbox
    from carrier_enrich.sandbox import SandboxControl

    code = f"""
        from pathlib import Path
        from carrier_enrich.dagster.local_sandbox import local_sandbox
        print(local_sandbox(Path({str(tmp_path)!r})))
    """
    at_once = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    urls = {process.communicate(timeout=300)[0].strip() for process in at_once}
    (url,) = urls
    SandboxControl(url).set_balance(123)
    pid = pid_of(url)
    try:
        os.kill(pid, signal.SIGKILL)
        assert local_sandbox(tmp_path) == url
        assert SandboxControl(url).report(summary=True)["balance_micros"] == 123
        request = urllib.request.Request(url + "/api/v1/balance")
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=10)
    finally:
        os.kill(pid_of(url), signal.SIGKILL)


def pid_of(url: str) -> int:
    """The process that serves a URL, by its command line."""
    port = url.rsplit(":", 1)[1]
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            sockets = any(port_of(entry, port))
        except OSError:
            continue
        if b"carrier_enrich.sandbox" in command and sockets:
            return int(entry.name)
    raise AssertionError(f"nobody serves {url}")


def port_of(process: Path, port: str):
    """Whether a process listens on a port."""
    inodes = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{int(port):04X}") and line.split()[3] == "0A"
    }
    for link in (process / "fd").iterdir():
        yield any(f"socket:[{inode}]" == str(link.readlink()) for inode in inodes)


def test_the_component_enriches_another_assets_frame(few, sandbox, tmp_path):
    """The ten lines of the README: an own asset, the component, and carriers beside its numbers."""
    defs = built({"source": "people", "phone": ["phone"], "country_column": "country"})

    @dg.asset
    def people() -> pa.Table:
        return few

    (key,) = defs.resources
    carrier = CarrierEnrichResource(
        base_url=sandbox.base_url,
        api_key=sandbox.api_key,
        ledger=str(tmp_path / "l.db"),
        folder=str(tmp_path),
    )
    result = dg.materialize(
        [people, *defs.assets], resources={key: carrier}, instance=dg.DagsterInstance.ephemeral()
    )
    assert result.output_for_node("crm_enriched").num_rows == len(few)


def test_every_asset_of_the_project_says_what_it_is_and_whose():
    """Kinds, owner, group and description stand beside each; enriched files have a freshness."""
    from dagster_project.definitions import defs

    graph = defs().resolve_asset_graph()
    nodes = [graph.get(key) for key in graph.get_all_asset_keys()]
    assert len(nodes) == 19
    for node in nodes:
        assert list(node.owners) == ["team:crm"]
        assert node.kinds
        assert node.description
        assert node.group_name.startswith("carrier")
    fresh = {node.key.to_user_string() for node in nodes if node.freshness_policy is not None}
    assert fresh == {"crm_enriched", "daily/crm_enriched"}


def test_everything_that_the_launchpad_takes_is_described():
    """Path, phone columns, country, cap and target each say what they are for."""
    from dagster_project.definitions import defs

    job = defs().resolve_job_def("enrich_crm")
    described = {
        (node.name, name): field.description
        for node in job.nodes
        # A step without a config of its own has no fields.
        for name, field in getattr(node.definition.config_schema.config_type, "fields", {}).items()
    }
    assert {
        ("crm_export", "path"),
        ("lookup_plan", "phone"),
        ("lookup_plan", "country"),
        ("lookup_plan", "country_column"),
        ("lookup_plan", "max_cost_usd"),
        ("crm_enriched", "target"),
    } == described.keys()
    assert all(described.values())

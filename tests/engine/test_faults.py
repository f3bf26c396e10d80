"""Every failure of the design's table, done by the service over real HTTP."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest
from support.faults import ALL, BULK, CARRIER_BATCH, Fault

from carrier_enrich import errors
from carrier_enrich.errors import CarrierEnrichError
from carrier_enrich.ledger import State
from carrier_enrich.sandbox.allocation import allocation_of


def assert_right(out: pd.DataFrame, but: int = 0) -> None:
    """Every row that has an answer has its own number's; all but `but` have one."""
    found = out[out["lookup_status"] == "found"]
    assert len(out) - len(found) == but
    assert found["carrier"].tolist() == [allocation_of(n).carrier for n in found["phone"]]


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_a_fault_is_survived(make, sandbox, numbers, fault: Fault):
    """After any fault: rows right or one clear error, no number paid twice unless reported."""
    sandbox.control.fault(
        fault.on, fault.kind, times=fault.times, after=fault.after, **fault.options
    )
    frame = pd.DataFrame({"phone": numbers(fault.numbers)})
    enricher = make(**fault.settings)

    if fault.raises is None:
        out = enricher.enrich(frame, "phone")
        receipt = enricher.receipt
        assert receipt.adds_up, receipt.problems()
        assert receipt.charge_unknown_numbers == fault.unknown
        assert_right(out, but=fault.unknown if fault.numbers >= BULK else 0)
    else:
        with pytest.raises(fault.raises) as caught:
            enricher.enrich(frame, "phone")
        assert sandbox.api_key not in str(caught.value)
        assert not any(number in str(caught.value) for number in frame["phone"])

    charges = sandbox.control.charges().values()
    assert max(charges, default=0) <= (3 if fault.twice else 1)
    assert (
        len(sandbox.control.report(summary=True)["tasks"])
        <= 1 + fault.kind.startswith("task_fails") * 2
    )


@pytest.mark.parametrize(
    "fault",
    [fault for fault in ALL if fault.raises not in (None, errors.BadResultFile)],
    ids=lambda fault: fault.name,
)
def test_the_next_run_finishes_the_work(make, sandbox, numbers, fault: Fault):
    """Once the fault is gone, a second run buys only what is still unknown."""
    sandbox.control.fault(fault.on, fault.kind, times=fault.times, **fault.options)
    frame = pd.DataFrame({"phone": numbers(fault.numbers)})
    with pytest.raises(CarrierEnrichError):
        make(**fault.settings).enrich(frame, "phone")
    sandbox.control.clear_faults()
    sandbox.control.finish_tasks()

    enricher = make()
    assert_right(enricher.enrich(frame, "phone"))
    assert enricher.receipt.adds_up, enricher.receipt.problems()
    charges = sandbox.control.charges().values()
    assert set(charges) <= ({1, 2, 3} if fault.twice else {1})


def test_a_bad_result_file_keeps_file_and_task(make, sandbox, numbers):
    """A file that can't be used stays where the error says; once mended, nothing is bought."""
    sandbox.control.fault("result", "not_a_table", times=2)
    frame = pd.DataFrame({"phone": numbers(BULK)})
    first = make()
    with pytest.raises(errors.BadResultFile) as caught:
        first.enrich(frame, "phone")
    kept = list(first.settings.spool.iterdir())
    assert len(kept) == 1
    assert str(kept[0]) in str(caught.value)
    assert [p.state for p in first.open_ledger().purchases.open()] == [State.FINISHED]

    second = make()
    assert_right(second.enrich(frame, "phone"))
    assert second.receipt.collected == BULK
    assert second.receipt.estimated == 0
    assert len(sandbox.control.report(summary=True)["tasks"]) == 1


def test_rows_missing_from_a_file_are_never_bought_again_by_themselves(make, sandbox, numbers):
    """Rows that the service counts and the file lacks stay charge_unknown in later runs."""
    sandbox.control.fault("result", "rows_missing", times=None, count=7)
    frame = pd.DataFrame({"phone": numbers(BULK)})
    make().enrich(frame, "phone")
    sandbox.control.clear_faults()
    later = make()
    out = later.enrich(frame, "phone")
    assert (out["lookup_status"] == "charge_unknown").sum() == 7
    assert later.receipt.requests == {}
    assert sandbox.control.report(summary=True)["requests"]["result"] == 2


def test_numbers_that_a_task_excludes_get_a_second_look(make, sandbox, numbers):
    """What a bulk task leaves out goes once through a multi check."""
    sandbox.control.fault("bulk-submit", "exclude", count=5)
    enricher = make(**CARRIER_BATCH)
    assert_right(enricher.enrich(pd.DataFrame({"phone": numbers(BULK)}), "phone"))
    assert enricher.receipt.requests["multi_check"] == 1
    assert set(sandbox.control.charges().values()) == {1}


def test_the_second_look_stays_within_the_budget(make, sandbox, numbers):
    """Where the cap has no room for a second look, the numbers stay undetermined."""
    sandbox.control.fault("bulk-submit", "exclude", count=5)
    enricher = make(**CARRIER_BATCH, price_multi_usd="0.5")
    out = enricher.enrich(pd.DataFrame({"phone": numbers(BULK)}), "phone", max_cost_usd="1")
    assert (out["lookup_status"] == "undetermined").sum() == 5
    assert "multi_check" not in enricher.receipt.requests


def test_too_many_orders_wait_for_one_to_end(make, sandbox, numbers):
    """42900 with open tasks: the next task is submitted after one has ended, and none is lost."""
    sandbox.control.configure(max_open_tasks=1)
    phones = [n for country in ("US", "GB", "DE") for n in numbers(BULK, country)]
    enricher = make()
    assert_right(enricher.enrich(pd.DataFrame({"phone": phones}), "phone"))
    report = sandbox.control.report(summary=True)
    assert len(report["tasks"]) == 3
    assert report["limits"]["early_polls"] == 0 or enricher.settings.poll_seconds < 30
    assert set(sandbox.control.charges().values()) == {1}


def test_a_number_that_the_service_refuses_is_narrowed_down(make, sandbox, numbers):
    """A multi check refused with 40002 is narrowed to the one number, which becomes invalid."""
    for endpoint in ("batch-check", "check"):
        sandbox.control.fault(
            endpoint, "code", code=40002, http=400, times=6 if endpoint == "batch-check" else 1
        )
    out = make().enrich(pd.DataFrame({"phone": numbers(50)}), "phone")
    assert (out["lookup_status"] == "invalid").sum() == 1
    assert_right(out, but=1)


@pytest.mark.parametrize("where", ["reset_after", "html"])
def test_polls_keep_their_distance_through_failures(make, sandbox, numbers, where):
    """However often a query fails, a task is polled no more often than every 30 seconds."""
    sandbox.control.configure(task_seconds=3_600)
    sandbox.control.fault("bulk-query", where, times=3)
    polls: list[float] = []
    enricher = make(deadline_seconds=400)
    ledger = enricher.open_ledger()

    def note(_: object) -> None:
        for purchase in ledger.purchases.open():
            if purchase.polled_at is not None and purchase.polled_at not in polls:
                polls.append(purchase.polled_at)

    with pytest.raises(errors.PaidWorkOpen):
        enricher.enrich(pd.DataFrame({"phone": numbers(BULK)}), "phone", progress=note)
    gaps = [b - a for a, b in pairwise(polls)]
    assert len(gaps) > 5
    assert min(gaps) >= 30

"""The main job: a frame goes in, the right answer comes back on every row."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest

from carrier_enrich.sandbox.allocation import allocation_of

# Shape A of a check result has no underlying carrier (spec, Single check result).
FIELDS = ["carrier", "number_type", "country_code", "region", "city"]


def written(number: str, chance: random.Random) -> str:
    """The same number as people write it."""
    digits = number.removeprefix("+")
    ways = [
        number,
        f"00{digits}",
        f"011 {digits}",
        f"tel:{number}",
        f"+{digits[:2]} ({digits[2:5]}) {digits[5:8]}-{digits[8:]}",
        f" {number} ext. 12",
        ".".join([f"+{digits[:3]}", digits[3:6], digits[6:]]),
    ]
    return chance.choice(ways)


def expected(number: str | None) -> tuple[str | None, ...]:
    """What the sandbox's own tables say of a number."""
    if number is None:
        return (None,) * len(FIELDS)
    allocation = allocation_of(number)
    return tuple(getattr(allocation, field) or None for field in FIELDS)


def told(out: pd.DataFrame) -> list[tuple[str | None, ...]]:
    rows = out[FIELDS].astype(object).where(out[FIELDS].notna(), None)
    return [tuple(row) for row in rows.to_numpy().tolist()]


@pytest.mark.parametrize("shape", ["A", "B", "mixed"])
def test_every_row_is_exact_and_the_second_run_sends_nothing(make, sandbox, numbers, shape):
    """350 numbers of five countries, in disorder: four multi checks, every row exact, then none."""
    sandbox.control.configure(shape=shape)
    chance = random.Random(shape)
    distinct = [n for country in ("US", "GB", "DE", "FR", "IN") for n in numbers(70, country)]
    truth: list[str | None] = distinct + chance.choices(distinct, k=150)
    texts: list[object] = [written(number, chance) for number in truth if number]
    for junk in (None, "", "call reception", "1.41556E+10", "12"):
        truth.append(None)
        texts.append(junk)
    order = chance.sample(range(len(texts)), len(texts))
    frame = pd.DataFrame(
        {"phone": [texts[i] for i in order], "id": order}, index=[i // 3 for i in order]
    )

    enricher = make()
    out = enricher.enrich(frame, "phone", columns=FIELDS)

    pd.testing.assert_frame_equal(out[["phone", "id"]], frame)
    assert told(out) == [expected(truth[i]) for i in order]
    status = out["lookup_status"].tolist()
    assert [s for i, s in zip(order, status, strict=True) if texts[i] in (None, "")] == [
        "missing"
    ] * 2
    assert status.count("invalid") == 3
    first = enricher.receipt
    assert first.adds_up, first.problems()
    assert first.requests["multi_check"] == 4
    assert first.bought == first.distinct == 350
    assert first.charged == 350 * 2_000
    assert first.balance_agrees

    again = enricher.enrich(frame, "phone", columns=FIELDS)
    pd.testing.assert_frame_equal(again, out)
    assert enricher.receipt.requests == {}
    assert enricher.receipt.known == 350
    assert sandbox.control.report()["requests"].get("batch-check") == 4
    assert set(sandbox.control.charges().values()) == {1}


def test_a_large_country_goes_to_even_bulk_tasks(make, sandbox, numbers):
    """100,500 US numbers are two tasks of 50,250 through global_carrier_batch, every row exact."""
    texts = numbers(100_500)
    frame = pd.DataFrame({"phone": texts})
    sandbox.control.set_balance(1_000_000_000)

    enricher = make()
    out = enricher.enrich(frame, "phone", columns=FIELDS)

    tasks = sandbox.control.report(summary=True)["tasks"]
    assert [task["total"] for task in tasks] == [50_250, 50_250]
    assert {task["product"] for task in tasks} == {"global_carrier_batch"}
    assert told(out) == [expected(text) for text in texts]
    assert enricher.receipt.adds_up, enricher.receipt.problems()
    assert enricher.receipt.charged == 100_500 * 1_000


@pytest.mark.parametrize(("count", "multis", "tasks"), [(999, 10, 0), (1_000, 0, 1)])
def test_the_threshold_between_checks_and_tasks_is_1000(
    make, sandbox, numbers, count, multis, tasks
):
    """999 numbers of a country go to multi checks, 1,000 to a bulk task."""
    enricher = make()
    enricher.enrich(pd.DataFrame({"phone": numbers(count, "GB")}), "phone")
    report = sandbox.control.report(summary=True)
    assert report["requests"].get("batch-check", 0) == multis
    assert len(report["tasks"]) == tasks


def test_two_columns_share_their_numbers(make, sandbox, numbers):
    """A number in two phone columns is bought once and answered in both."""
    some = numbers(40)
    frame = pd.DataFrame({"mobile": some, "office": some[::-1]})
    enricher = make()
    out = enricher.enrich(frame, ["mobile", "office"])
    assert list(out.columns[2:]) == [
        "mobile_carrier",
        "mobile_number_type",
        "mobile_region",
        "mobile_lookup_status",
        "office_carrier",
        "office_number_type",
        "office_region",
        "office_lookup_status",
    ]
    assert out["mobile_carrier"].tolist() == out["office_carrier"].tolist()[::-1]
    assert enricher.receipt.bought == 40
    assert set(sandbox.control.charges().values()) == {1}


def test_undetermined_is_a_value_that_costs_nothing(make, sandbox, numbers):
    """What the service can't determine comes back as undetermined, uncharged, not asked again."""
    sandbox.control.configure(undetermined_share=0.3)
    enricher = make()
    frame = pd.DataFrame({"phone": numbers(50) + numbers(1, "GB")})
    out = enricher.enrich(frame, "phone")
    undetermined = int((out["lookup_status"] == "undetermined").sum())
    assert 0 < undetermined < 51
    assert enricher.receipt.charged == (51 - undetermined) * 2_000
    assert enricher.receipt.balance_agrees
    enricher.enrich(frame, "phone")
    assert enricher.receipt.requests == {}


def test_undetermined_is_asked_again_after_a_day(make, sandbox, clock, numbers):
    """A day later undetermined numbers are asked again, and nothing else is."""
    sandbox.control.configure(undetermined_share=0.3)
    enricher = make()
    frame = pd.DataFrame({"phone": numbers(50)})
    out = enricher.enrich(frame, "phone")
    sandbox.control.configure(undetermined_share=0.0)
    clock.advance(90_000)
    again = enricher.enrich(frame, "phone")
    assert (again["lookup_status"] != "undetermined").all()
    assert enricher.receipt.bought == (out["lookup_status"] == "undetermined").sum()


def test_one_left_alone_takes_a_single_check(make, sandbox, numbers):
    """One number is a single check where that is not dearer, else a multi check of one."""
    make().enrich(pd.DataFrame({"phone": numbers(1)}), "phone")
    make(price_single_usd="0.003").enrich(pd.DataFrame({"phone": numbers(1, "GB")}), "phone")
    requests = sandbox.control.report(summary=True)["requests"]
    assert (requests["check"], requests["batch-check"]) == (1, 1)


def test_both_products_answer_alike(make, sandbox, numbers, tmp_path):
    """carrier_batch, asked for by name, gives the same rows as global_carrier_batch."""
    frame = pd.DataFrame({"phone": numbers(1_200)})
    first = make().enrich(frame, "phone", columns=FIELDS)
    other = make(
        bulk_product="carrier_batch",
        price_carrier_batch_usd="0.0008",
        ledger=str(tmp_path / "b.db"),
    )
    pd.testing.assert_frame_equal(other.enrich(frame, "phone", columns=FIELDS), first)
    products = [task["product"] for task in sandbox.control.report(summary=True)["tasks"]]
    assert products == ["global_carrier_batch", "carrier_batch"]
    assert other.receipt.charged == 1_200 * 800


def test_fast_pace_uses_all_five_slots(make, sandbox, numbers):
    """In fast pace single checks go beside the multi check, and no limit is broken."""
    sandbox.control.configure(multi_seconds=0.3, single_seconds=0.02)
    enricher = make(pace="fast")
    out = enricher.enrich(pd.DataFrame({"phone": numbers(400)}), "phone")
    assert out["carrier"].tolist() == [expected(n)[0] for n in numbers(400)]
    report = sandbox.control.report(summary=True)
    assert report["requests"]["check"] > 4
    assert report["limits"]["refused_42901"] == 0
    assert enricher.receipt.adds_up, enricher.receipt.problems()


def test_the_frame_is_not_changed(make, numbers):
    """The input frame is what it was, to the dtype."""
    frame = pd.DataFrame({"phone": numbers(5), "n": np.arange(5, dtype=np.int8)})
    before = frame.copy(deep=True)
    make().enrich(frame, "phone")
    pd.testing.assert_frame_equal(frame, before)

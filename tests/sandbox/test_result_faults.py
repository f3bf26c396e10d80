"""Scripted faults of result files and their links."""

from __future__ import annotations

import csv
import io
import zipfile

import httpx
import pytest

from carrier_enrich.sandbox.spoiled_files import bomb


@pytest.fixture
def sandbox(start):
    return start()


@pytest.fixture
def spoiled(sandbox, numbers):
    """The answer to the first download of a result that a fault strikes."""

    def download(kind: str, *, product: str = "carrier_batch", **options):
        sandbox.control.fault("result", kind, **options)
        task = sandbox.caller.finished(numbers(1_000), product=product)
        return sandbox.caller.download(task)

    return download


def _rows(answer) -> list[list[str]]:
    return list(csv.reader(io.StringIO(answer.text, newline="")))[1:]


@pytest.mark.parametrize("http", [403, 404, 410])
def test_a_link_can_be_expired_at_once(spoiled, http):
    """With any of the statuses that storage services use."""
    assert spoiled("link_expired", http=http).status_code == http


def test_a_download_can_be_cut(spoiled):
    """Fewer bytes than Content-Length, then the end."""
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        spoiled("link_cut")


def test_a_link_can_expire_midway(sandbox, numbers):
    """The download is cut, and the same link does not work again; a new one does."""
    sandbox.control.fault("result", "link_expires_midway")
    task = sandbox.caller.finished(numbers(1_000))
    with pytest.raises(httpx.RemoteProtocolError):
        sandbox.caller.download(task)
    assert sandbox.caller.download(task).status_code == 410
    again = sandbox.caller.query(task["id"]).json()["data"]
    assert len(_rows(sandbox.caller.download(again))) == 1_000


def test_a_file_can_be_short_without_a_sign_of_it(spoiled):
    """The size that is declared is that of the cut: only the rows tell."""
    answer = spoiled("wrong_size", keep=0.5)
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    assert 400 < len(_rows(answer)) < 600


@pytest.mark.parametrize("product", ["carrier_batch", "global_carrier_batch"])
def test_the_next_download_is_right(sandbox, numbers, product):
    """A fault strikes a download, not the file that is kept."""
    sandbox.control.fault("result", "rows_missing", count=3)
    task = sandbox.caller.finished(numbers(1_000), product=product)
    first, second, third = (sandbox.caller.download(task).content for _ in range(3))
    assert first != second == third


def test_rows_can_be_missing(spoiled, numbers):
    """So many fewer than `success_cnt`."""
    assert [row[0] for row in _rows(spoiled("rows_missing", count=10))] == [
        number[1:] for number in numbers(990)
    ]


def test_rows_can_be_doubled(spoiled):
    """The same row twice."""
    rows = _rows(spoiled("rows_doubled", count=2))
    assert rows[1_000:] == rows[:2]


def test_rows_can_contradict_each_other(spoiled):
    """The same number with another carrier."""
    rows = _rows(spoiled("rows_contradict"))
    assert rows[1_000][0] == rows[0][0]
    assert rows[1_000][1] != rows[0][1]


def test_rows_can_be_foreign(spoiled, numbers):
    """Numbers that nobody asked for."""
    rows = _rows(spoiled("rows_foreign", count=5))
    assert len(rows) == 1_005
    assert not {row[0] for row in rows[1_000:]} & {number[1:] for number in numbers(1_000)}


def test_texts_can_look_like_nothing(spoiled):
    """Values that careless readers take for null or for a number."""
    rows = _rows(spoiled("na_text", count=3))
    assert [row[1] for row in rows[:3]] == ["NA", "null", "None"]


def test_columns_can_be_wrong_or_unnamed(spoiled):
    """No column is called identifier, or none is called anything."""
    assert spoiled("wrong_columns").text.startswith("field_0,field_1,")
    assert spoiled("no_header").text.startswith("12122000000,")


@pytest.mark.parametrize("product", ["carrier_batch", "global_carrier_batch"])
def test_the_file_can_be_a_web_page(spoiled, product):
    """A sign-in page, say."""
    assert spoiled("not_a_table", product=product).text.startswith("<!doctype html>")


def test_an_archive_can_be_encrypted(spoiled):
    """The flag is set, so a reader wants a password."""
    archive = zipfile.ZipFile(io.BytesIO(spoiled("encrypted").content))
    with pytest.raises(RuntimeError, match="encrypted"):
        archive.read("result_1.csv")


def test_an_archive_can_hold_more_than_the_table(spoiled):
    """A note to read, and what a Mac leaves."""
    content = spoiled("stray_member", product="global_carrier_batch").content
    archive = zipfile.ZipFile(io.BytesIO(content))
    assert archive.namelist() == ["README.txt", "__MACOSX/._result_1.csv", "result_1.csv"]
    assert len(archive.read("result_1.csv").splitlines()) == 1_001


def test_an_archive_can_try_to_climb_out(spoiled):
    """Its member's name leads out of any folder."""
    archive = zipfile.ZipFile(io.BytesIO(spoiled("path_tricks").content))
    assert archive.namelist() == ["../../evil.csv"]


def test_an_archive_can_be_a_bomb(spoiled):
    """It expands to about a thousand times its size, and truly so."""
    content = spoiled("bomb", bytes=64 << 20).content
    archive = zipfile.ZipFile(io.BytesIO(content))
    assert len(content) < 200_000
    assert archive.infolist()[0].file_size == 64 << 20
    assert archive.testzip() is None


def test_a_bomb_may_claim_two_gibibytes():
    """The sizes in its directory say so, at a few megabytes on the wire."""
    content = bomb(2 << 30)
    assert len(content) < 5_000_000
    assert zipfile.ZipFile(io.BytesIO(content)).infolist()[0].file_size == 2 << 30

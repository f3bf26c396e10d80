"""The service as a whole: what each endpoint answers, faults included."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from carrier_enrich.sandbox.bulk import BulkTasks, Upload, task_data
from carrier_enrich.sandbox.checks import Checks
from carrier_enrich.sandbox.config import SandboxConfig
from carrier_enrich.sandbox.downloads import Downloads
from carrier_enrich.sandbox.fault_kinds import Scene, retry_after_text, spoiled, unsettled
from carrier_enrich.sandbox.faults import FaultBook, Stage
from carrier_enrich.sandbox.refusals import BAD_KEY, BAD_REQUEST, WITH_RETRY_AFTER, Refused
from carrier_enrich.sandbox.replies import Reply, enveloped, plain, success
from carrier_enrich.sandbox.request_log import Arrival, RequestLog
from carrier_enrich.sandbox.store import Store, StoredTask
from carrier_enrich.sandbox.task_scripts import TaskScript

_UNDETERMINED_STATUS = 422


class Service:
    """One sandbox, without its sockets. All its coroutines belong to one event loop.

    Attributes:
        origin: where it is reached; ``elsewhere`` is its second origin, or the same.
    """

    def __init__(self, config: SandboxConfig, clock: Callable[[], float]) -> None:
        self.config = config
        self.clock = clock
        self.origin = self.elsewhere = ""
        self.faults = FaultBook()
        self.log = RequestLog()
        self.refusals: Counter[int] = Counter()
        self._cleanup = ExitStack()
        self.store = Store(config.state_path)
        self._cleanup.callback(self.store.close)
        for key in config.api_keys:
            self.store.open_account(account_of(key), config.balance_micros)
        folder = self._results_folder()
        self.checks = Checks(self.store, lambda: self.config)
        self.bulk = BulkTasks(self.store, lambda: self.config, folder, clock, held=self.checks.held)
        self._cleanup.callback(self.bulk.close)
        self.downloads = Downloads(self.bulk, self.store, lambda: self.config, folder, clock)

    def close(self) -> None:
        """Stop the work and let go of the files."""
        self._cleanup.close()

    def _results_folder(self) -> Path:
        """Where result files lie: beside the state, or in a folder that goes with the process."""
        state = self.config.state_path
        if state is None:
            temporary = tempfile.TemporaryDirectory(prefix="sandbox-")
            return Path(self._cleanup.enter_context(temporary))
        folder = state.with_name(f"{state.name}.results")
        folder.mkdir(exist_ok=True)
        return folder

    async def answer(self, arrival: Arrival, upload: Upload | None, target: str) -> Reply:
        """The reply to one request.

        Args:
            arrival: what came in.
            upload: the form of a bulk submit.
            target: task id of a query, token of a download.
        """
        self.log.note(arrival, self.config.api_keys, self.clock())
        self.bulk.settle()
        on = arrival.endpoint
        scene = Scene(self.clock(), self.elsewhere, arrival.path, self.config.retry_after_form)
        if arrival.origin == "elsewhere" and on != "result":
            return plain(b"", "text/plain", status=404)
        if fault := self.faults.take(on, Stage.BEFORE):
            return spoiled(fault, None, scene)
        slow = self.faults.take(on, Stage.DELAY)
        delay = float(slow.options["seconds"]) if slow else 0.0
        try:
            reply = await self._served(arrival, upload, target, delay)
        except Refused as refused:
            return self._refusal(refused)
        if reply.ok and (fault := self.faults.take(on, Stage.AFTER)):
            return spoiled(fault, reply, scene)
        return reply

    async def _served(
        self, arrival: Arrival, upload: Upload | None, target: str, delay: float
    ) -> Reply:
        on = arrival.endpoint
        if on == "result":
            await asyncio.sleep(delay)
            return await self.downloads.reply(target, self.faults)
        account = self._account(arrival.headers)
        if on in ("check", "batch-check"):
            with self.checks.slot(account, multi=on == "batch-check"):
                check = self.checks.single if on == "check" else self.checks.multi
                return success(await check(account, _json_body(arrival), delay))
        await asyncio.sleep(delay)
        if on == "balance":
            held = self.checks.held(account)
            return success({"balance_micros": self.store.balance(account) - held})
        if on == "bulk-query":
            return success(self._described(await self.bulk.query(account, target)))
        if upload is None:
            raise Refused(BAD_REQUEST, "a multipart form is needed")
        key = arrival.headers.get("idempotency-key")
        task = await self.bulk.submit(account, upload, key, self._scripted)
        return success(self._described(task))

    def _described(self, task: StoredTask) -> dict[str, object]:
        link = None
        if task.status == "success":
            origin = self.elsewhere if self.config.link_on_second_port else self.origin
            link = f"{origin}/results/{self.downloads.new_link(task.id)}"
        data = task_data(task, link)
        script = TaskScript.of(task.script)
        if task.status == "success" and 0 < task.polls <= script.preparing_polls:
            return unsettled(data, script.preparing_status)
        return data

    def _scripted(self) -> TaskScript:
        script = TaskScript()
        for fault in self.faults.take_all("bulk-submit", Stage.TASK):
            script = script.told(fault.kind, fault.options)
        return script

    def _account(self, headers: Mapping[str, str]) -> str:
        key = headers.get("x-api-key")
        if key not in self.config.api_keys:
            raise Refused(BAD_KEY, "missing or invalid API key")
        return account_of(key)

    def _refusal(self, refused: Refused) -> Reply:
        self.refusals[refused.code] += 1
        config = self.config
        status = refused.status
        envelope: dict[str, object] = {"code": refused.code, "msg": refused.msg, "data": None}
        if status == _UNDETERMINED_STATUS:
            del envelope["data"]
        elif config.error_status == "ok":
            status = 200
        headers = {}
        if refused.code in WITH_RETRY_AFTER:
            seconds, form = config.retry_after_seconds, config.retry_after_form
            headers["Retry-After"] = retry_after_text(seconds, form, self.clock())
        return enveloped(envelope, status=status, headers=headers)


def account_of(key: str) -> str:
    """The account of an API key; the key itself is not kept."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _json_body(arrival: Arrival) -> bytes:
    media = arrival.headers.get("content-type", "").partition(";")[0].strip().lower()
    return arrival.body if media == "application/json" else b""

"""Result links and what is downloaded through them (spec, Bulk task)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from carrier_enrich.sandbox.bulk import BulkTasks
from carrier_enrich.sandbox.config import SandboxConfig
from carrier_enrich.sandbox.faults import Fault, FaultBook, Stage
from carrier_enrich.sandbox.links import Links
from carrier_enrich.sandbox.replies import FileBody, Reply, file, plain
from carrier_enrich.sandbox.result_files import media_of, suffix_of, write_result
from carrier_enrich.sandbox.spoiled_files import TRANSFER_KINDS, Asked, spoiled_file
from carrier_enrich.sandbox.store import Store, StoredTask

_GONE = 410

Made = TypeVar("Made")


class Downloads:
    """Hands out links and the result files behind them; needs no key.

    A file is written once per task and form, and read from disk while it is sent.
    """

    def __init__(
        self,
        bulk: BulkTasks,
        store: Store,
        config: Callable[[], SandboxConfig],
        folder: Path,
        clock: Callable[[], float],
    ) -> None:
        self._bulk = bulk
        self._store = store
        self._config = config
        self._folder = folder
        self._links = Links(clock)
        self._writing = asyncio.Lock()

    def new_link(self, task_id: str) -> str:
        """A fresh token for a task's result."""
        return self._links.new(task_id, self._config().link_seconds)

    async def reply(self, token: str, faults: FaultBook) -> Reply:
        """What a link answers."""
        task_id = self._links.task_id(token)
        task = None if task_id is None else self._store.any_task(task_id)
        if task is None:
            return plain(b"this link has expired\n", "text/plain", status=_GONE)
        fault = faults.take("result", Stage.FILE)
        media = media_of(task.product)
        if fault is None or fault.kind in TRANSFER_KINDS:
            whole = file(await self._locked(lambda: self._written(task)), media)
            return whole if fault is None else self._transferred(fault, whole, token)
        body = await self._locked(lambda: self._spoiled(task, fault))
        return plain(body, media)

    async def _locked(self, make: Callable[[], Made]) -> Made:
        async with self._writing:
            return await asyncio.to_thread(make)

    def _written(self, task: StoredTask) -> Path:
        form = self._config()
        looks = {name: value for name, value in form.as_json().items() if "result_" in name}
        looks |= {"members": form.zip_members, "suffix": form.zip_member_suffix}
        digest = hashlib.sha256(json.dumps(looks, sort_keys=True).encode()).hexdigest()[:8]
        path = self._folder / f"{task.id}-{digest}{suffix_of(task.product)}"
        if not path.exists():
            part = path.with_suffix(".part")
            write_result(part, self._bulk.rows(task), task.product, form)
            part.replace(path)
        return path

    def _spoiled(self, task: StoredTask, fault: Fault) -> bytes:
        rows = self._bulk.rows(task)
        return spoiled_file(fault.kind, Asked(rows, task.product, self._config(), fault.options))

    def _transferred(self, fault: Fault, whole: Reply, token: str) -> Reply:
        if fault.kind == "link_expired":
            return plain(b"this link has expired\n", "text/plain", status=fault.options["http"])
        if fault.kind == "link_expires_midway":
            self._links.end(token)
        kept = int(whole.length * fault.options["keep"])
        length = kept if fault.kind == "wrong_size" else whole.length
        body = FileBody(whole.body.path, kept) if isinstance(whole.body, FileBody) else whole.body
        return replace(whole, body=body, length=length)

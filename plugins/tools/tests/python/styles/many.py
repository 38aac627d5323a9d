"""Several tools of one class, one of them asynchronous."""

import asyncio
import dataclasses
import os

from mas.runtime.contracts import ToolContract


@dataclasses.dataclass
class Point:
    x: int
    y: int


class ManyTools(ToolContract):
    def list_tools(self):
        return [{"name": name, "description": name, "parameters": {}} for name in ("now", "point", "nothing", "odd")]

    async def call_tool(self, tool_name, arguments):
        await asyncio.sleep(0)
        if tool_name == "now":
            return os.getpid()
        if tool_name == "point":
            return {"at": Point(1, 2), "tags": {"a"}, "raw": b"x"}
        if tool_name == "odd":
            return "lone \ud800 half"
        return None

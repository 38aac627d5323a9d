"""Hooks: the tool lists itself and answers to its name."""

import os
from typing import Any, Dict, List

from mas.runtime.contracts import ToolContract

from . import STARTED
from ._table import FARES


class HookTool(ToolContract):
    def __init__(self, currency: str = "crowns") -> None:
        super().__init__()
        self._currency = currency

    def on_collect_tools(self, **_: Any) -> List[Dict[str, Any]]:
        return [
            {
                "name": "fare",
                "description": "Tells a fare.",
                "parameters": {
                    "type": "object",
                    "properties": {"line": {"type": "string"}},
                    "required": ["line"],
                },
            }
        ]

    def on_execute_tool(self, tool_name: str, arguments: Dict[str, Any], **around: Any) -> Any:
        if tool_name != "fare":
            return None
        if arguments["line"] == "who":
            return {"agent": around["ctx"].agent_id, "pid": os.getpid(), "started": STARTED}
        return {"fare": FARES[arguments["line"]], "currency": self._currency, "island": "Sørøya"}

"""Hooks: the class lists its tools and answers to their names, `None` for any other."""

from mas.runtime.contracts import ToolContract

from ._isles import SAILINGS, found


class Sailings(ToolContract):
    def on_collect_tools(self, **_):
        texts = {name: {"type": "string"} for name in ("island", "day")}
        return [
            {
                "name": "lookup_sailings",
                "description": "Finds sailings.",
                "parameters": {"type": "object", "properties": texts, "required": list(texts)},
            }
        ]

    def on_execute_tool(self, tool_name, arguments, **_):
        if tool_name != "lookup_sailings":
            return None
        island, day = arguments["island"], arguments["day"]
        rows = [{"sailing": sailing} for isle, days, sailing in SAILINGS if isle == island and day in days]
        return found("sailings", rows)

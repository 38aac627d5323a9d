"""Two tools of one class, called by name. `params` of the tool document go to the constructor."""

from mas.runtime.contracts import ToolContract

from ._isles import FORECAST, SIGHTS, found


class Places(ToolContract):
    def __init__(self, most=10):
        super().__init__()
        self._most = most

    def list_tools(self):
        return [{"name": name, "description": name} for name in ("lookup_sights", "lookup_forecast")]

    def call_tool(self, tool_name, arguments):
        island = arguments["island"]
        if tool_name == "lookup_forecast":
            day = arguments["day"]
            return found("forecast", [{"weather": w} for isle, on, w in FORECAST if (isle, on) == (island, day)])
        indoors = arguments.get("indoors")
        sights = [s for isle, roof, s in SIGHTS if isle == island and indoors in (None, roof)]
        return found("sights", [{"sight": sight} for sight in sights[: self._most]])

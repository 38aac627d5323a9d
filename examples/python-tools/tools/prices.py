"""One tool, described method by method."""

from mas.runtime.contracts import ToolContract

from ._isles import PRICES, found


class Prices(ToolContract):
    def get_name(self):
        return "lookup_prices"

    def get_description(self):
        return "Finds prices."

    def get_parameters_schema(self):
        return {"type": "object", "properties": {"island": {"type": "string"}}, "required": ["island"]}

    def execute(self, **kwargs):
        rows = [{"item": item, "crowns": crowns} for isles, item, crowns in PRICES if kwargs["island"] in isles]
        return found("prices", rows)

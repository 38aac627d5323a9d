"""What the tools know of the Lantern Isles. One process serves all tools, so this is read once."""

SAILINGS = [
    ("Wickholm", {"Friday", "Saturday", "Sunday"}, "Heron, from Tidewell 08:10, at Wickholm 09:25"),
    ("Wickholm", {"Saturday", "Sunday"}, "Heron, from Wickholm 18:40, at Tidewell 19:55"),
    ("Emberay", {"Saturday"}, "Curlew, from Tidewell 09:00, at Emberay 11:15"),
]

SIGHTS = [
    ("Wickholm", True, "The lamp works, where the harbour lights are still blown by hand"),
    ("Wickholm", True, "The whale loft, a museum under the roof of the salt store"),
    ("Wickholm", False, "The cliff path to the puffin ledge"),
    ("Emberay", False, "The warm pools below the beacon"),
]

FORECAST = [
    ("Wickholm", "Saturday", "Rain until noon, then clearing, 14 degrees"),
    ("Wickholm", "Sunday", "Sunny, 18 degrees"),
    ("Emberay", "Saturday", "Fog"),
]

PRICES = [
    ({"Wickholm"}, "return sailing", 18),
    ({"Wickholm"}, "the lamp works", 7),
    ({"Wickholm", "Emberay"}, "lunch at the quay", 12.5),
    ({"Emberay"}, "return sailing", 26),
]


def found(table, rows):
    """The form in which the tools answer."""
    return {"found": bool(rows), "count": len(rows), table: rows}

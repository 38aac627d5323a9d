FARES = {"north": 12, "south": 9.5}

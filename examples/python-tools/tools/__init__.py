"""The tools of the trip planner, in Python: one class in each of the styles that there are."""

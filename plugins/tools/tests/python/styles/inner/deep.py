"""A module of an inner package, which reaches up."""

import os

from .._table import FARES


class Deep:
    """Has no base class."""

    def get_name(self):
        return "deep"

    def execute(self, factor=1, timeout_seconds=None, progress_callback=None):
        progress_callback(0.5)
        total = sum(FARES.values()) * factor
        return {"total": total, "pid": os.getpid(), "limited": timeout_seconds > 0}

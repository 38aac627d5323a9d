"""Tools in the styles of MAS Lab, in one package."""

STARTED = "by the package"

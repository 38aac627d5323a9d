class NotATool:
    pass

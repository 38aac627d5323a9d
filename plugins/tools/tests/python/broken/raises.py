def start():
    raise ValueError("no timetable")


start()

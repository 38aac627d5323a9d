class Broken:
    def get_name(self)
        return "broken"

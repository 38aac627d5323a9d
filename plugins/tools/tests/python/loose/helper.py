GREETING = "Good morning"

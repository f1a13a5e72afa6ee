"""``gauntlet bench``: run recipes, search limits, compare clients; every repetition on record."""

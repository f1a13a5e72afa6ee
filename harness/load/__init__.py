"""The load client: prompts, schedules, timed streams and the metrics of one repetition."""

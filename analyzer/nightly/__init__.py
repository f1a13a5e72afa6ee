"""What cron calls: bring in, judge, classify, find what broke and who broke it, act, tell."""

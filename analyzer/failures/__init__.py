"""What kind of failure was it? Evidence in order, rules as data, one class."""

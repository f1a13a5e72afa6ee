"""Parts of ``benchmarks/judge.py``: each gives figures beside what is wanted of them."""

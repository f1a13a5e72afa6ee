"""What engine, host and accelerators did while something was measured: sampled, kept, summed up."""

"""Engine, host, processes and accelerators, each as a source of samples."""

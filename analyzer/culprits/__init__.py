"""Which commit broke it? Probes chosen by what each may teach; nothing is said before proof."""

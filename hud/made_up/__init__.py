"""What ``gauntlet hud --demo`` shows: a made-up organisation of vLLM's size."""

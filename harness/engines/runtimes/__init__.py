"""Where engines run: one adapter for each placement, behind one port."""

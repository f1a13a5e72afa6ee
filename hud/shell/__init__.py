"""What every page is drawn with: its address, times, states, tables."""

"""What a program may do by itself: modes, guard rails, a switch that fails closed, a record."""

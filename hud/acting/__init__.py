"""What a person may do on a page: said by an auth proxy, kept as a decision."""

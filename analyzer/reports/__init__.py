"""What a night brought, for people: as Markdown, and as one message of a chat."""

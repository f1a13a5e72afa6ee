"""The error of a proof that does not hold."""

from gauntlet.core.errors import NotQualifiedError


class ProofError(NotQualifiedError):
    """A sum, a signature or a statement does not fit what it is given for."""

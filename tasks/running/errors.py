"""The errors that a person can mend."""


class UserError(Exception):
    """A problem that the user can mend: its text is one line with what happened, the value and the way out."""

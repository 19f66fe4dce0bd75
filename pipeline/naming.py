"""What a name in params says of itself."""


def kind_of(name: str) -> str:
    """The variant that a name in params stands for: with other options, `noise-wide` is another `noise`."""
    kind, _, label = name.partition("-")
    return kind if label.isalnum() and label.isascii() else name

"""Text and lengths as ClickHouse's binary formats write them."""


def encode_text(text: str) -> bytes:
    """Encode a String, or a LowCardinality(String)."""
    data = text.encode()
    return encode_length(len(data)) + data


def encode_length(number: int) -> bytes:
    """Encode a length as a varint."""
    return _LENGTHS[number] if number < len(_LENGTHS) else _varint(number)


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the top bit says that more follow."""
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


_LENGTHS = [_varint(number) for number in range(1024)]

"""Quantities as people write them."""

from __future__ import annotations

import pytest

from hourhand.cli.quantities import NotAQuantity, Reader, count, share, size_bytes


@pytest.mark.parametrize(
    ("reader", "text", "value"),
    [
        (count, "250", 250),
        (count, "250,000", 250_000),
        (count, "250_000", 250_000),
        (count, "10k", 10_000),
        (count, "10M", 10_000_000),
        (count, "10 m", 10_000_000),
        (count, "1.5B", 1_500_000_000),
        (count, ".5M", 500_000),
        (share, "30%", 0.3),
        (share, "0%", 0),
        (share, "100 %", 1),
        (share, "0.5%", 0.005),
        (size_bytes, "200B", 200),
        (size_bytes, "2KB", 2048),
        (size_bytes, "2 kib", 2048),
        (size_bytes, "1.5MB", 1_572_864),
        (size_bytes, "1GB", 1_073_741_824),
    ],
)
def test_a_quantity_is_read_as_people_write_it(reader: Reader, text: str, value: float) -> None:
    assert reader(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("reader", "text", "allowed"),
    [
        (count, "ten", "10M"),
        (count, "10Q", "10M"),
        (count, "-5", "10M"),
        (count, "", "10M"),
        (count, "1e6", "10M"),
        (share, "30", "such as 30%"),
        (share, "0.3", "such as 30%"),
        (share, "101%", "at most 100%"),
        (size_bytes, "2048", "with its unit"),
        (size_bytes, "2K", "with its unit"),
        (size_bytes, "1.2.3MB", "with its unit"),
    ],
)
def test_what_is_none_is_refused_with_what_is_allowed(
    reader: Reader, text: str, allowed: str
) -> None:
    with pytest.raises(NotAQuantity, match=allowed) as refused:
        reader(text)
    assert repr(text) in str(refused.value)

"""pytest's fixture `cairn`: a test server for each test. It is found by itself where the wheel is installed."""

from __future__ import annotations

from typing import Iterator

import pytest

from .testing import TestServer


@pytest.fixture
def cairn() -> Iterator[TestServer]:
    with TestServer() as server:
        yield server

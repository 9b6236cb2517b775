"""Makes the package's wheel and source archive by the standard library alone: a build backend of PEP 517.

    python3 packing.py FOLDER

does both by hand. Two builds of the same files are the same bytes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import pathlib
import re
import sys
import tarfile
import zipfile
from typing import Any, Dict, List, Mapping, Optional

_HERE = pathlib.Path(__file__).resolve().parent
_NAME = "cairn_client"
_TAG = "py3-none-any"
_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip can have
_LICENSES = (_HERE / "LICENSE", _HERE.parent.parent.parent / "LICENSE")


def _version() -> str:
    found = re.search(r'^__version__ = "([0-9a-z.]+)"$', (_HERE / "cairn/__init__.py").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("Expected a version in cairn/__init__.py, but there is none.")
    return found.group(1)


def _metadata() -> bytes:
    return f"""Metadata-Version: 2.1
Name: {_NAME.replace("_", "-")}
Version: {_version()}
Summary: The client and the worker of Cairn, an event-sourced workflow engine
License: MIT
Requires-Python: >=3.9
Classifier: Typing :: Typed
""".encode()


def _license() -> bytes:
    return next(path for path in _LICENSES if path.is_file()).read_bytes()


def _package() -> Dict[str, bytes]:
    """The files of the package; compiled ones are left out."""
    paths = sorted(path for path in (_HERE / "cairn").iterdir() if path.suffix == ".py" or path.name == "py.typed")
    return {f"cairn/{path.name}": path.read_bytes() for path in paths}


# --- PEP 517 --------------------------------------------------------------------------------------------------------


def get_requires_for_build_wheel(config_settings: Optional[Mapping[str, Any]] = None) -> List[str]:
    return []


def get_requires_for_build_sdist(config_settings: Optional[Mapping[str, Any]] = None) -> List[str]:
    return []


def build_wheel(wheel_directory: str, config_settings: Optional[Mapping[str, Any]] = None,
                metadata_directory: Optional[str] = None) -> str:
    """Writes the wheel into the folder, and returns its name."""
    info = f"{_NAME}-{_version()}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: cairn-packing\nRoot-Is-Purelib: true\nTag: {_TAG}\n".encode()
    plugins = b"[pytest11]\ncairn = cairn.pytest_plugin\n"
    files = {**_package(), f"{info}/LICENSE": _license(), f"{info}/METADATA": _metadata(), f"{info}/WHEEL": wheel,
             f"{info}/entry_points.txt": plugins}
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    name = f"{_NAME}-{_version()}-{_TAG}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data)
    return name


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    lines = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{own},,\n"]).encode()


def build_sdist(sdist_directory: str, config_settings: Optional[Mapping[str, Any]] = None) -> str:
    """Writes the source archive into the folder, and returns its name."""
    top = f"{_NAME}-{_version()}"
    files = {**_package(), "LICENSE": _license(), "PKG-INFO": _metadata(),
             **{name: (_HERE / name).read_bytes() for name in ("packing.py", "pyproject.toml")}}
    name = f"{top}.tar.gz"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    (pathlib.Path(sdist_directory) / name).write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return name


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: packing.py FOLDER")
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(build_wheel(sys.argv[1]))
    print(build_sdist(sys.argv[1]))

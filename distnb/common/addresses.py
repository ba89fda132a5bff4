"""Files at addresses, such as ``https://...`` and ``s3://...``: fsspec reads what is asked for."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from distnb.common.errors import explain

__all__ = [
    "check_local",
    "exists",
    "is_address",
    "local_path",
    "member_of",
    "opened",
    "queried",
    "read_range",
    "stamp_at",
    "whole_path",
]

_PROTOCOL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::.*://)")
#: What tells of a file that it was written again, as the one or the other protocol calls it.
_VERSION = (
    *("ETag", "etag", "Last-Modified", "LastModified", "last_modified", "modified", "mtime"),
    *("Content-MD5", "Digest", "generation", "created"),
)


def is_address(path: str) -> bool:
    """Tell whether a path names a protocol.

    >>> is_address("s3://bucket/x.npy"), is_address("zip::memory://x"), is_address("a/b.npy")
    (True, True, False)
    """
    return _PROTOCOL.match(path) is not None


def whole_path(path: object) -> str:
    """Return the path of a file from the root on; an address as it is."""
    if not isinstance(path, str | bytes | os.PathLike):
        got, do = f"{type(path).__name__}", "write what is open to a file that all engines see"
        raise TypeError(explain("file", got, "a name or a path", do))
    found = os.fsdecode(path)
    if not found:
        told = explain("file ''", "no name", "one of a file or a folder", "name it")
        raise FileNotFoundError(told)
    return found if is_address(found) else os.path.abspath(found)


def local_path(path: str | os.PathLike[str]) -> str:
    """Return the path of a file from the root on; raise ValueError for an address."""
    check_local(found := whole_path(path))
    return found


def check_local(path: str) -> None:
    """Raise ValueError for an address, where there has to be a file."""
    if is_address(path):
        raise ValueError(
            explain(
                f"file {path}",
                "an address",
                "a file in a folder",
                "read addresses with dnb.open; write a file, and copy it there",
            )
        )


def _system(path: str) -> tuple[Any, str]:
    """Return what fsspec has for an address, and the path there."""
    try:
        import fsspec

        fs, inner = fsspec.core.url_to_fs(path)
        return fs, inner
    except ImportError as error:
        raise ImportError(
            explain(
                f"file {path}",
                error,
                "fsspec, and what it needs for this protocol",
                'run: pip install "distnb[remote]", or [s3] or [gs]',
            )
        ) from error
    except ValueError as error:
        raise ValueError(
            explain(f"file {path}", error, "a protocol of fsspec's", "check it")
        ) from None


def member_of(path: str, name: str) -> str:
    """Return the address of a file in a folder at an address: what follows its ``?`` goes along.

    >>> member_of("https://host/x.zarr?key=1", ".zarray"), member_of("s3://b/x.zarr/", ".zarray")
    ('https://host/x.zarr/.zarray?key=1', 's3://b/x.zarr/.zarray')
    """
    folder, mark, query = path.partition("?")
    return f"{folder.rstrip('/')}/{name}{mark}{query}"


def queried(path: str) -> tuple[Any, str] | None:
    """Return a folder of the web, and fsspec's file system that sends what follows its ``?`` along.

    None if nothing does, or if it is another protocol.
    """
    folder, _, query = path.partition("?")
    if not query or not path.startswith(("http:", "https:")):
        return None
    return _web()(asynchronous=True, query=query), folder


@cache
def _web() -> Any:
    """Return fsspec's file system of the web, but that it sends a query with every request.

    fsspec keeps its instances, so that their connections are not left open.
    """
    from fsspec.implementations.http import HTTPFileSystem

    class Web(HTTPFileSystem):  # type: ignore[misc]  # fsspec has no types
        def __init__(self, *, query: str, **options: object) -> None:
            super().__init__(**options)
            self._query = query

        def encode_url(self, url: str) -> Any:
            address = super().encode_url(url)
            return type(address)(f"{address}?{self._query}", encoded=True)  # it may be signed

    return Web


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Give errors the name of the file, and one class: protocols have their own."""
    try:
        yield
    except ImportError:
        raise
    except Exception as raised:
        error = _cause(raised)
        if isinstance(error, FileNotFoundError):
            told = explain(f"file {path}", "none", "a file there", "check the address")
            raise FileNotFoundError(told) from None
        got, do = f"{type(error).__name__}: {error}", "check the address, and that engines reach it"
        kind = PermissionError if getattr(error, "status", 0) in (401, 403) else OSError
        raise kind(explain(f"file {path}", got, "an answer", do)) from None


def _cause(error: Exception) -> BaseException:
    """Return what was wrong: of HTTP whatever it is becomes a file that is not there."""
    cause = error.__cause__ if isinstance(error, FileNotFoundError) else None
    return error if cause is None or getattr(cause, "status", 0) in (404, 410) else cause


def stamp_at(path: str) -> tuple[int, int]:
    """Return what tells a file from another one: its length, and a number of its version."""
    fs, inner = _system(path)
    with _named(path):
        found = fs.info(inner)
    if found.get("type") == "directory":
        raise IsADirectoryError(
            explain(f"file {path}", "a folder", "a file", "name a file in it, or its format")
        )
    if found.get("size") is None:
        raise OSError(
            explain(f"file {path}", "no length", "one", "copy it to a folder: no part can be read")
        )
    from hashlib import sha256  # a while to import

    version = repr([found.get(key) for key in _VERSION]).encode()
    return int(found["size"]), int(sha256(version).hexdigest()[:15], 16)


def exists(path: str) -> bool:
    """Tell whether there is a file at an address."""
    fs, inner = _system(path)
    try:
        with _named(path):
            return bool(fs.info(inner)["type"] == "file")
    except (
        FileNotFoundError,
        PermissionError,
    ):  # of stores that list nothing
        return False


def read_range(path: str, start: int, stop: int) -> bytes:
    """Return bytes of a file: fewer where it ends before."""
    fs, inner = _system(path)
    with _named(path):
        found: bytes = fs.cat_file(inner, start=start, end=stop)
    # Servers that know of no ranges send all of it.
    return found if len(found) <= stop - start else found[start:stop]


def opened(path: str) -> Any:
    """Return an open file that reads parts of what is at an address; a path as it is."""
    if not is_address(path):
        return path
    fs, inner = _system(path)
    with _named(path):
        begin = fs.cat_file(inner, start=0, end=2)
        # Servers that know of no ranges send all of it.
        return io.BytesIO(begin) if len(begin) > 2 else _File(path, fs.open(inner, "rb"))


class _File(io.RawIOBase):
    """An open file at an address, whose errors are named."""

    def __init__(self, path: str, file: Any) -> None:
        self._path, self._file = path, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        found: int = self._file.seek(offset, whence)
        return found

    def tell(self) -> int:
        found: int = self._file.tell()
        return found

    def readinto(self, into: Any) -> int:
        with _named(self._path):
            some = self._file.read(len(into))
        into[: len(some)] = some
        return len(some)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

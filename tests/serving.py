"""A server of the files of a folder, which sends the parts that are asked for."""

import contextlib
import os
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class _Handler(SimpleHTTPRequestHandler):
    """Sends files, or ranges of them."""

    protocol_version = "HTTP/1.1"

    def send_head(self):
        """Answer a request; return the file from which the rest is to be sent."""
        path = self.translate_path(self.path)
        if not os.path.isfile(path):
            self.send_error(404)
            return None
        with open(path, "rb") as file:
            data = file.read()
        start, stop, code = 0, len(data), 200
        asked = self.headers.get("Range")
        if asked and self.server.ranges:
            first, last = asked.removeprefix("bytes=").split("-")
            start = int(first) if first else max(0, len(data) - int(last))
            stop = min(stop, int(last) + 1) if first and last else stop
            code = 206
        self.server.asked.append((self.command, self.path, start, stop))
        broken = self.command == "GET" and stop - start > self.server.whole
        if broken and self.server.status:
            self.send_error(self.server.status)
            return None
        self.send_response(code)
        if code == 206:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        if self.server.ranges:
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("Connection", "close")  # so that nothing outlives the server
        self.send_header("Content-Length", str(stop - start))
        self.send_header(self.server.version, f'"{os.stat(path).st_mtime_ns}"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[start : start + (stop - start) // (2 if broken else 1)])
        return None

    def log_message(self, *_):
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    """Lets many come at once."""

    daemon_threads = True
    request_queue_size = 128


@contextlib.contextmanager
def serving(folder, ranges=True, whole=1 << 60, status=0, port=0, version="ETag"):
    """Serve a folder; give its address, and what was asked for: (command, path, start, stop).

    Of more bytes than ``whole`` half are sent, or a status.
    """
    server = _Server(("127.0.0.1", port), lambda *args: _Handler(*args, directory=str(folder)))
    server.ranges, server.asked, server.whole, server.status = ranges, [], whole, status
    server.version = version
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""A headless browser, driven over the Chrome DevTools Protocol with only the standard library."""

import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 60  # a machine may be busy


def find():
    """Path of a browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser with one page. Everything it prints to its console, and every error, is kept in `console`."""

    def __init__(self, path):
        self.folder = tempfile.mkdtemp(prefix="penstock_browser_")
        flags = ["--headless=new", "--remote-debugging-port=0", "--user-data-dir=" + self.folder, "--no-sandbox",
                 "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking"]
        self.process = subprocess.Popen([path, *flags, "about:blank"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        self.socket, self.console, self.next_id, self.session, self.loads = None, [], 0, None, 0
        self._connect(*self._address())
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _address(self):
        for line in self.process.stderr:
            found = re.search(r"ws://127\.0\.0\.1:(\d+)(/\S+)", line)
            if found:
                return int(found[1]), found[2]
        raise RuntimeError("the browser does not start")

    def _connect(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        while self.stream.readline() not in (b"\r\n", b""):
            pass

    def _write(self, text):
        """One masked text frame (RFC 6455, section 5.2); the mask is zero."""
        data = text.encode()
        size = struct.pack("!B", 0x80 | len(data)) if len(data) < 126 else struct.pack("!BQ", 0xFF, len(data))
        self.socket.sendall(b"\x81" + size + bytes(4) + data)

    def _read(self):
        """One message, of one or more frames."""
        text, last = b"", False
        while not last:
            first, size = self.stream.read(2)
            if size >= 126:
                size = int.from_bytes(self.stream.read(2 if size == 126 else 8), "big")
            text += self.stream.read(size)
            last = first & 0x80
        return json.loads(text)

    def _note(self, message):
        what = message["params"]
        if message["method"] == "Runtime.exceptionThrown":
            self.console.append(what["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif message["method"] == "Runtime.consoleAPICalled":
            self.console.append(str(what["args"]))
        elif message["method"] == "Log.entryAdded":
            self.console.append(what["entry"]["text"])
        elif message["method"] == "Page.loadEventFired":
            self.loads += 1

    def send(self, method, **params):
        self.next_id += 1
        session = {"sessionId": self.session} if self.session else {}
        self._write(json.dumps({"id": self.next_id, "method": method, "params": params, **session}))
        while True:
            message = self._read()
            if message.get("id") == self.next_id:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self._note(message)

    def open(self, address):
        """Returns when the page's load event has fired."""
        before = self.loads
        self.send("Page.navigate", url=address)
        while self.loads == before:
            message = self._read()
            if "method" in message:
                self._note(message)

    def run(self, script):
        """Value of the expression, awaited."""
        out = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in out:
            raise RuntimeError(out["exceptionDetails"].get("exception", {}).get("description", script))
        return out["result"].get("value")

    def press(self, key):
        """A key of the keyboard: "Enter", "Tab", "+", ..."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        down = {"type": "keyDown", "key": key, "text": text} if text else {"type": "rawKeyDown", "key": key}
        code = {"Enter": 13, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37}.get(key, 0)
        self.send("Input.dispatchKeyEvent", windowsVirtualKeyCode=code, **down)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def wheel(self, x, y, delta, control=False):
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta,
                  modifiers=2 if control else 0)

    def screen(self, width, height, dark=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

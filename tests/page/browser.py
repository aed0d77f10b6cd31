# SPDX-License-Identifier: BSD-3-Clause
"""browser.py - a headless Chromium, driven by its DevTools protocol through two pipes."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The program, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One tab. Messages are JSON, each ended by a zero byte (--remote-debugging-pipe)."""

    def __init__(self, program, folder):
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()
        # The browser reads from 3 and writes to 4, which pass_fds cannot name.
        words = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                 "--allow-file-access-from-files", "--remote-debugging-pipe",
                 f"--user-data-dir={folder}/profile", "about:blank"]
        shell = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *words],
                                        pass_fds=(theirs_in, theirs_out),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.folder, self.number, self.rest, self.session = folder, 0, b"", None
        self.complaints = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)

    def close(self):
        os.close(self.to)
        self.process.terminate()
        self.process.wait()
        os.close(self.back)

    def _message(self):
        end = time.monotonic() + 120
        while b"\0" not in self.rest:
            if not select.select([self.back], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.back, 1 << 20)
            if not part:
                raise EOFError("the browser ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def _note(self, message):
        """Errors of the page, and what it asks the network for."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", params))
        if method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        if method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                self.complaints.append("asks for " + url)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") != self.number:
                self._note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def ask(self, script):
        """The value of a script, or of its promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script[:80]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, script):
        end = time.monotonic() + 60
        while not self.ask(script):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.02)

    def open(self, path, width, dark=False, script=True):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.navigate", url="file://" + os.path.abspath(path).replace("%", "%25")
                  .replace("#", "%23").replace("?", "%3F"))
        if script:
            self.wait("(document.documentElement || {dataset: {}}).dataset.ready === 'yes'")
        else:
            self.wait("document.readyState === 'complete'")

    def picture(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"],
                               "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def mouse(self, kind, x, y, held=False, count=0):
        self.call("Input.dispatchMouseEvent", type="mouse" + kind, x=x, y=y, clickCount=count,
                  button="left" if held or kind != "Moved" else "none",
                  buttons=1 if held else 0)

    def press(self, key, **more):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)

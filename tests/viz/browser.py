"""A headless Chromium: it opens a page, runs a program in it, and returns what that returns."""

import json
import re
import shutil
import subprocess
from html import unescape

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROGRAM = next((path for name in NAMES if (path := shutil.which(name))), None)

# The result is written into the page, which Chromium prints.  Errors of the page are results.
_PROBE = """
<script id="probe">
window.addEventListener("load", () => setTimeout(() => {
  let result;
  try { result = (() => { %s })(); } catch (error) { result = { error: String(error) }; }
  const place = document.createElement("pre");
  place.id = "probe-result";
  place.textContent = JSON.stringify(result);
  document.body.append(place);
}, 0));
</script>
"""


def run(page, program, folder, window=(1200, 900)):
    """Open a page, and return what a program in JavaScript returns there."""
    path = folder / "probe.html"
    path.write_text(page.replace("</body>", f"{_PROBE % program}</body>"), encoding="utf-8")
    arguments = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={folder / 'profile'}", f"--window-size={window[0]},{window[1]}",
        "--virtual-time-budget=5000", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    match = re.search(r'<pre id="probe-result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, done.stdout[-2000:]
    return json.loads(unescape(match[1]))

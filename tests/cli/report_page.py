#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at a page of `quarry report` as Chromium shows it, in light and dark, wide and narrow.

    report_page.py index.html [PICTURES]     PICTURES: a folder, which gets what was seen

Prints what is wrong and exits 1: messages on the console, requests, drawings without an area, text whose contrast with what is
behind it is under 4.5 to 1 (WCAG 2, 1.4.3), texts of a drawing that print over each other, a page wider than its window, tables
wider than their place where the window is no telephone's. Exits 77 where there is no Chromium, or no Selenium.
"""
import base64
import json
import os
import shutil
import sys

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    sys.exit(77)

# Relative luminance and contrast as WCAG 2 defines them; of each text that is seen, [contrast, text].
LOOK = """
for (const details of document.querySelectorAll("details")) details.open = true;
const numbers = (color) => color.match(/[0-9.]+/g).map(Number);
const luminance = (color) => {
    const [r, g, b] = numbers(color).slice(0, 3).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
    for (; element; element = element.parentElement) {
        const color = getComputedStyle(element).backgroundColor, [, , , alpha = 1] = numbers(color);
        if (alpha > 0) return color;
    }
    return "rgb(255, 255, 255)";
};
const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim(), box = element.getBoundingClientRect();
    if (!text || !box.width || element.localName === "title") continue;
    const style = getComputedStyle(element);
    const pair = [luminance(element.namespaceURI.endsWith("svg") ? style.fill : style.color), luminance(behind(element))].sort((a, b) => b - a);
    texts.push([(pair[0] + 0.05) / (pair[1] + 0.05), text]);
}
const drawings = [...document.querySelectorAll("svg")].map((svg) => {
    const box = svg.getBoundingClientRect(), marks = [...svg.querySelectorAll("use")].filter((use) => use.getBoundingClientRect().width > 0);
    return [svg.getAttribute("aria-label"), box.width, box.height, marks.length];
});
// Do two texts overlap?  Their corners, also of rotated ones, a pixel smaller; two convex shapes are apart if a side of one has all of the
// other beyond it.
const corners = (text) => {
    const box = text.getBBox(), matrix = text.getScreenCTM(), at = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
    const [left, top, right, bottom] = [box.x + 1, box.y + 1, box.x + box.width - 1, box.y + box.height - 1];
    return [at(left, top), at(right, top), at(right, bottom), at(left, bottom)];
};
const apart = (a, b) => a.some((p, i) => {
    const q = a[(i + 1) % 4], side = (r) => (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x);
    return b.every((r) => side(r) <= 0);
});
const overlaps = [...document.querySelectorAll("svg")].flatMap((svg) => {
    const found = [...svg.querySelectorAll("text")].map((text) => [text.textContent, corners(text)]);
    return found.flatMap(([name, a], i) => found.slice(i + 1).filter(([, b]) => !apart(a, b) && !apart(b, a)).map(([other]) =>
        `${svg.getAttribute("aria-label")}: '${name}' and '${other}'`));
});
const cut = [...document.querySelectorAll(".scroll")].filter((table) => table.scrollWidth > table.clientWidth)
    .map((table) => table.getAttribute("aria-label"));
return {texts, drawings, overlaps, cut, page: getComputedStyle(document.body).backgroundColor, wide: document.documentElement.scrollWidth,
        tall: document.documentElement.scrollHeight};
"""


def start(chromium, driver):
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(driver), options=options)


def requests(browser):
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]


def look(browser, url, scheme, width, pictures):
    """What is wrong, in words."""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(url)
    seen = browser.execute_script(LOOK)
    wrong = [f"on the console: {entry['message']}" for entry in browser.get_log("browser")]
    wrong += [f"a request: {other}" for other in requests(browser) if other != url and not other.startswith("data:")]
    wrong += [f"no area: {name}" for name, wide, tall, _ in seen["drawings"] if wide < 100 or tall < 60]
    wrong += [f"no point is seen: {name}" for name, _, _, marks in seen["drawings"] if not marks]
    wrong += [f"contrast {contrast:.2f}: {text}" for contrast, text in seen["texts"] if contrast < 4.5]
    wrong += [f"texts over each other: {where}" for where in seen["overlaps"]]
    wrong += [f"a table is cut: {name}" for name in seen["cut"] if width >= 900]
    if not seen["drawings"] or not seen["texts"]:
        wrong.append("no drawing, or no text")
    if seen["wide"] > width:
        wrong.append(f"{seen['wide']} pixels wide")
    if (scheme == "dark") != (max(map(int, seen["page"][4:-1].split(","))) < 128):
        wrong.append(f"the page is {seen['page']}")
    if pictures:
        clip = {"x": 0, "y": 0, "width": width, "height": min(seen["tall"], 12000), "scale": 1}
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        with open(os.path.join(pictures, f"{scheme}-{width}.png"), "wb") as file:
            file.write(base64.b64decode(shot["data"]))
    print(f"{scheme}, {width} pixels: {len(seen['drawings'])} drawings, {len(seen['texts'])} texts, least contrast "
          f"{min((contrast for contrast, _ in seen['texts']), default=0):.2f}")
    return [f"{scheme}, {width} pixels: {text}" for text in wrong]


def main():
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        return 77
    browser = start(chromium, driver)
    try:
        url = "file://" + os.path.realpath(sys.argv[1])
        wrong = [text for scheme in ("light", "dark") for width in ((1400, 900, 420) if scheme == "light" else (1400, 420))
                 for text in look(browser, url, scheme, width, sys.argv[2] if len(sys.argv) > 2 else None)]
    finally:
        browser.quit()
    print("\n".join(wrong[:20]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""The contrast of every text on a page with what is behind it, as WCAG 2.2 computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

LEAST = 4.5
"""AA for text of any size; large text may have 3, which we do not use."""

_FIND_POOR = """
(least) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const over = (layers) => {
    context.globalAlpha = 1;
    context.fillStyle = "#fff";
    context.fillRect(0, 0, 1, 1);
    for (const colour of layers) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (rgb) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.unshift(getComputedStyle(at).backgroundColor);
    }
    return layers;
  };
  const poor = [];
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || !element.checkVisibility({ visibilityProperty: true })) continue;
    // Out of reach of the rules: what cannot be used now, and what only screen readers meet.
    if (element.closest(":disabled, .sr-only, option, noscript, script, .skip-link")) continue;
    seen += 1;
    const ground = behind(element);
    const ratio = contrast(over([...ground, getComputedStyle(element).color]), over(ground));
    const name = element.className || element.tagName;
    if (ratio < least) poor.push(`${ratio.toFixed(2)} ${name}: ${text.slice(0, 40)}`);
  }
  return { poor: [...new Set(poor)], seen };
}
"""


def poor_texts(page: Page) -> list[str]:
    """Return each text of the page whose contrast is too low, with its ratio.

    Fails on a page without texts: there, nothing would be proven.
    """
    # A transition would be measured half-way.
    page.emulate_media(reduced_motion="reduce")
    found = page.evaluate(_FIND_POOR, LEAST)
    assert found["seen"] > 0, "There is no text on this page."
    poor: list[str] = found["poor"]
    return poor

"""What axe-core finds wrong with a page for screen readers, keyboards and colours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

_SOURCE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")

_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

_RUN = """async (tags) => {
  const { violations, passes } = await axe.run(document, { runOnly: tags });
  return { violations, passes: passes.length };
}"""


def violations(page: Page) -> list[str]:
    """Return each rule that the page breaks, with the elements that break it.

    Fails if no rule applied: on such a page nothing would be proven.
    """
    # A transition would be measured half-way.
    page.emulate_media(reduced_motion="reduce")
    # Evaluated by the browser's debugger, because the policy of the page forbids other scripts.
    page.evaluate(f"() => {{ {_SOURCE}\n; }}")
    found = page.evaluate(_RUN, _RULES)
    assert found["passes"] > 0, "No rule of axe-core applied to this page."
    return [_told(violation) for violation in found["violations"]]


def _told(violation: dict[str, Any]) -> str:
    places = [str(node["html"])[:160] for node in violation["nodes"][:5]]
    return f"{violation['id']}: {violation['help']}: {' | '.join(places)}"

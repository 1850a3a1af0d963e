// A table whose rows can be walked with j and k, opened with Enter and selected with x.
import { html, useEffect, useRef, useState } from "./html.js";
import { visible } from "./format.js";
import { useKey } from "./keys.js";
import { address, navigate } from "./router.js";

/** The id of a job in a row, as a link: in one line, cut where it is long. Pointing at it shows it whole; copying copies all of it. */
export function JobId({ id }) {
  return html`<a class="id" title=${visible(id)} href=${address(["jobs", id])}>${visible(id)}</a>`;
}

/**
 * Show rows. On a phone each row becomes a card, with the columns' titles beside the values.
 *
 *   columns: [{title, cell: (row) => markup, isNumber?, className?, isHiddenOnPhone?}]
 *   rows, rowKey: (row) => id, rowHref?: (row) => address that Enter opens
 *   sections?: [{title, rows, note?}] in place of rows; each begins with a row that shows its title
 *   caption: what the table is, for screen readers
 *   selection?: a Set of row keys, with onSelect(Set); adds check boxes
 */
export function Table({ columns, rows: given, sections, rowKey, rowHref, caption, selection, onSelect, className = "" }) {
  const [cursor, setCursor] = useState(-1);
  const frame = useRef(null);
  const parts = sections ?? [{ rows: given }];
  const rows = parts.flatMap((part) => part.rows);
  const keys = rows.map(rowKey);
  const at = Math.min(cursor, rows.length - 1);
  const move = (step) => setCursor(Math.max(0, Math.min(at + step, rows.length - 1)));
  const toggle = (key) => {
    const next = new Set(selection);
    if (!next.delete(key)) next.add(key);
    onSelect(next);
  };
  useKey("j", "next row", () => move(1));
  useKey("k", "previous row", () => move(-1));
  useKey("Enter", "open the row", () => {
    const target = at >= 0 ? rowHref?.(rows[at]) : null;
    if (target) navigate(target);
  });
  useKey("x", "select the row", () => at >= 0 && selection && toggle(keys[at]));
  useEffect(() => {
    if (cursor >= 0) frame.current?.querySelector(".row-at")?.scrollIntoView({ block: "nearest" });
  }, [cursor]);
  const isAll = rows.length > 0 && keys.every((key) => selection?.has(key));
  const cells = columns.length + (selection ? 1 : 0);
  const row = (shown) => {
    const key = rowKey(shown);
    return html`<tr key=${key} class=${rowClass(at >= 0 && key === keys[at], selection?.has(key))}>
      ${selection && html`<td class="cell-check">
        <input type="checkbox" aria-label=${`Select ${key}`} checked=${selection.has(key)} onChange=${() => toggle(key)} />
      </td>`}
      ${columns.map(({ title, cell, isNumber, className = "", isHiddenOnPhone }) => html`<td key=${title}
        data-title=${title} class=${`${className} ${isNumber ? "number" : ""} ${isHiddenOnPhone ? "not-on-phone" : ""}`}>
        ${cell(shown)}</td>`)}
    </tr>`;
  };
  return html`<div class="table-frame" ref=${frame}><table class=${`table table-cards ${className}`}>
    <caption class="sr-only">${caption}</caption>
    <thead><tr>
      ${selection && html`<th scope="col" class="cell-check">
        <input type="checkbox" aria-label="Select all rows of this page" checked=${isAll}
          onChange=${() => onSelect(new Set(isAll ? [] : keys))} />
      </th>`}
      ${columns.map(({ title, isNumber, className = "" }) => html`<th key=${title} scope="col"
        class=${`${className} ${isNumber ? "number" : ""}`}>${title}</th>`)}
    </tr></thead>
    ${parts.map((part) => html`<tbody key=${part.title ?? ""}>
      ${part.title && html`<tr class="table-section"><th scope="rowgroup" colspan=${cells}>
        <span class="table-section-title">${part.title}</span> ${part.note}</th></tr>`}
      ${part.rows.map(row)}
    </tbody>`)}
  </table></div>`;
}

function rowClass(isAt, isSelected) {
  return `${isAt ? "row-at" : ""} ${isSelected ? "row-selected" : ""}`;
}

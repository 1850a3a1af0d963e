// JSON Schema, as far as forms and people need it. Pure.
//
// A form has one field for each property of an object. What a field cannot hold (nested objects, lists,
// alternatives) is JSON in a field of its own; what is no plain object at all has no form.
import { parseExact, pretty } from "./exact_json.js";
import { jsonFault } from "./json_fault.js";

const MOST_REFERENCES = 20;
const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

/**
 * Return the fields of a payload's form, or null if the schema has no form. Each: {name, kind, isRequired,
 * initial, choices, hint}. `kind`: text, number, flag, choice or json; `initial` is the text of the default.
 */
export function fieldsOf(schema) {
  const root = resolve(schema, schema);
  const hasAlternatives = ["oneOf", "anyOf", "allOf", "if", "patternProperties", "not"].some((word) => word in root);
  if (root.type !== "object" || !root.properties || hasAlternatives) return null;
  const required = new Set(root.required ?? []);
  return Object.entries(root.properties).map(([name, property]) => fieldOf(name, property, schema, required.has(name)));
}

/** Return a type in words: "text", "list of whole number", "one of EUR, USD". */
export function typeWords(schema, root) {
  const { schema: inner, isNullable } = withoutNull(resolve(schema, root), root);
  return isNullable ? `${plainType(inner, root)} or null` : plainType(inner, root);
}

/** Return the bounds of a value in words: ["at least 1", "at most 64 characters"]. */
export function boundsWords(schema, root) {
  const { schema: inner } = withoutNull(resolve(schema, root), root);
  const words = [
    ["minimum", (n) => `at least ${n}`],
    ["exclusiveMinimum", (n) => `more than ${n}`],
    ["maximum", (n) => `at most ${n}`],
    ["exclusiveMaximum", (n) => `less than ${n}`],
    ["multipleOf", (n) => `a multiple of ${n}`],
    ["minLength", (n) => `at least ${n} characters`],
    ["maxLength", (n) => `at most ${n} characters`],
    ["pattern", (text) => `matches ${text}`],
    ["format", (text) => text],
    ["minItems", (n) => `at least ${n} entries`],
    ["maxItems", (n) => `at most ${n} entries`],
  ];
  return words.filter(([name]) => inner[name] !== undefined).map(([name, say]) => say(inner[name]));
}

/** Return the properties of an object's schema as rows for people, or null if it is none. */
export function rowsOf(schema) {
  const root = resolve(schema, schema);
  if (root.type !== "object" || !root.properties) return null;
  const required = new Set(root.required ?? []);
  return Object.entries(root.properties).map(([name, property]) => {
    const resolved = resolve(property, schema);
    return {
      name,
      isRequired: required.has(name),
      type: typeWords(property, schema),
      bounds: boundsWords(property, schema),
      hasDefault: "default" in resolved,
      standard: resolved.default,
      description: resolved.description ?? "",
    };
  });
}

/** Return the texts that a form shows for a payload, or null if the form cannot hold it. */
export function textsOf(fields, payloadText) {
  if (jsonFault(payloadText)) return null;
  const payload = parseExact(payloadText);
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return null;
  const names = new Set(fields.map(({ name }) => name));
  if (Object.keys(payload).some((name) => !names.has(name))) return null;
  const texts = {};
  for (const field of fields) {
    const has = Object.hasOwn(payload, field.name);
    const text = has ? textOf(field, payload[field.name]) : "";
    if (text === null) return null;
    texts[field.name] = text;
  }
  return texts;
}

/** Return the texts of an empty form, the defaults filled in. */
export function initialTexts(fields) {
  return Object.fromEntries(fields.map(({ name, initial }) => [name, initial]));
}

/** Return the payload that a form holds, as JSON. An empty field is left out. Numbers stay as they were typed. */
export function payloadOf(fields, texts) {
  const members = fields
    .map((field) => [field.name, valueText(field, texts[field.name] ?? "")])
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${value.replaceAll("\n", "\n  ")}`);
  return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n}`;
}

function fieldOf(name, property, root, isRequired) {
  const resolved = resolve(property, root);
  const { schema, isNullable } = withoutNull(resolved, root);
  const choices = choicesOf(schema);
  const kind = choices ? "choice" : isNullable && resolved.default !== undefined && resolved.default !== null ? "json" : kindOf(schema);
  const field = { name, kind, isRequired, choices: choices ?? [], initial: "" };
  const about = kind === "text" ? boundsWords(property, root) : [typeWords(property, root), ...boundsWords(property, root)];
  const hint = [resolved.description, about.join(", ")].filter(Boolean).join(" · ");
  const standard = resolved.default;
  return { ...field, hint, initial: standard === undefined || standard === null ? "" : (textOf(field, standard) ?? "") };
}

function kindOf(schema) {
  if (schema.type === "string") return "text";
  if (schema.type === "integer" || schema.type === "number") return "number";
  return schema.type === "boolean" ? "flag" : "json";
}

/** Return the scalar values of an enumeration, or null if there is none. */
function choicesOf(schema) {
  const values = "const" in schema ? [schema.const] : schema.enum;
  if (!Array.isArray(values) || values.some((value) => value !== null && typeof value === "object")) return null;
  return values.filter((value) => value !== null);
}

/** Return a value as the text of its field, or null if the field cannot hold it. */
function textOf({ kind, choices }, value) {
  switch (kind) {
    case "choice": return choices.some((one) => one === value) ? JSON.stringify(value) : null;
    // An empty text field is left out, so it cannot hold an empty text.
    case "text": return typeof value === "string" && value !== "" && !/[\r\n]/.test(value) ? value : null;
    case "flag": return typeof value === "boolean" ? String(value) : null;
    case "number": {
      const text = JSON.stringify(value) ?? "";
      return NUMBER.test(text) ? text : null;
    }
    default: return pretty(value);
  }
}

/** Return the JSON of a field's text, or null for an empty field. */
function valueText({ kind }, text) {
  if (text.trim() === "") return null;
  if (kind === "text") return JSON.stringify(text);
  if (kind === "number") return NUMBER.test(text.trim()) ? text.trim() : JSON.stringify(text.trim());
  // Broken JSON must break the whole: "1, \"other\": 2" would be two members of it.
  return kind === "json" && jsonFault(text) ? `!${text}` : text;
}

function plainType(schema, root) {
  const choices = choicesOf(schema);
  if (choices) return choices.length === 1 ? `always ${JSON.stringify(choices[0])}` : `one of ${choices.map(String).join(", ")}`;
  if (schema.type === "array") return schema.items ? `list of ${typeWords(schema.items, root)}` : "list";
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return alternatives.map((one) => typeWords(one, root)).join(" or ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => plainType({ type }, root)).join(" or ");
  const names = { string: "text", integer: "whole number", number: "number", boolean: "true or false", null: "null" };
  return names[schema.type] ?? (schema.type === "object" ? schema.title ?? "object" : "any JSON");
}

/** Follow references within the document. What stands beside a reference applies, too. */
function resolve(schema, root, left = MOST_REFERENCES) {
  if (typeof schema !== "object" || schema === null) return {};
  const { $ref: reference, ...beside } = schema;
  if (reference === undefined) {
    const isWrapped = Array.isArray(schema.allOf) && schema.allOf.length === 1;
    if (!isWrapped || left === 0) return schema;
    const { allOf, ...rest } = schema;
    return { ...resolve(allOf[0], root, left - 1), ...rest };
  }
  if (left === 0 || !reference.startsWith("#/")) return beside;
  const steps = reference.slice(2).split("/").map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const found = steps.reduce((at, step) => (at && Object.hasOwn(at, step) ? at[step] : undefined), root);
  return { ...resolve(found, root, left - 1), ...beside };
}

/** Return a schema without the alternative null, and whether it had that. */
function withoutNull(schema, root) {
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) {
    const others = alternatives.filter((one) => resolve(one, root).type !== "null");
    if (others.length === alternatives.length) return { schema, isNullable: false };
    const { anyOf, oneOf, ...beside } = schema;
    if (others.length !== 1) return { schema: { ...beside, anyOf: others }, isNullable: true };
    return { schema: { ...resolve(others[0], root), ...beside }, isNullable: true };
  }
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const types = schema.type.filter((type) => type !== "null");
    return { schema: { ...schema, type: types.length === 1 ? types[0] : types }, isNullable: true };
  }
  return { schema, isNullable: false };
}

/**
 * The kinds of upstreams and their fields, from the schemas that validate vexel.yaml. The console renders its forms
 * from them.
 */
import { z } from "zod";
import type { FormField, UpstreamKind } from "../../contract/admin.ts";
import { secretFieldsOf } from "../config/entities/secret-fields.ts";
import { upstreamOf } from "../config/validate/schema.ts";
import { runInSteps } from "../lib/tasks.ts";
import type { Kind } from "../upstream/adapter.ts";
import { kindTitle } from "../upstream/kind-titles.ts";
import { kinds } from "../upstream/kinds.ts";

/** The parts of JSON Schema that the schemas of upstreams use. */
interface FieldSchema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  /** Of `.meta()`: the value has line breaks. */
  readonly multiline?: boolean;
  /** The members of an object with known members. Each is a field of its own. */
  readonly properties?: Readonly<Record<string, FieldSchema>>;
}

let shown: Promise<readonly UpstreamKind[]> | undefined;

/** By title. The kinds never change while the process runs, and their schemas take 50 ms. */
export function upstreamKinds(): Promise<readonly UpstreamKind[]> {
  shown ??= runInSteps(showKinds());
  return shown;
}

const kindsOfStep = 5;

function* showKinds(): Generator<void, readonly UpstreamKind[]> {
  const found: UpstreamKind[] = [];
  for (const kind of kinds.values()) {
    const title = kindTitle(kind.name);
    if (title === undefined) continue;
    found.push(showKind(kind, title));
    if (found.length % kindsOfStep === 0) yield;
  }
  return found.sort((a, b) => a.title.localeCompare(b.title, "en"));
}

const showKind = (kind: Kind, title: string): UpstreamKind => ({
  object: "upstream_kind",
  kind: kind.name,
  title,
  serves: kind.serves ?? null,
  fields: fieldsOf(kind),
  needs_one_of: kind.needsOneOf ?? null,
});

/** Members that the console renders itself, not from this list of fields. */
const notInForm: ReadonlySet<string> = new Set(["id", "kind", "limits"]);
const usualOrder = ["baseUrl", "apiKey"];

function fieldsOf(kind: Kind): readonly FormField[] {
  const { properties = {}, required = [] } = z.toJSONSchema(upstreamOf(kind), {
    io: "input",
    unrepresentable: "any",
  }) as { properties?: Record<string, FieldSchema>; required?: readonly string[] };
  const isRequired = (name: string): boolean =>
    kind.needs.includes(name) || required.includes(name);
  const fields = Object.entries(properties)
    .filter(([name]) => !notInForm.has(name))
    .flatMap(([name, schema]) =>
      schema.properties
        ? Object.entries(schema.properties).map(([member, inside]) =>
            showField(`${name}.${member}`, inside, false, kind),
          )
        : [showField(name, schema, isRequired(name), kind)],
    );
  // Required fields first, then the address and the key, then the options of the kind, and the headers last.
  const rank = ({ name, required: isNeeded }: FormField): number =>
    (isNeeded ? 0 : 10) + (usualOrder.includes(name) ? usualOrder.indexOf(name) : 5);
  const last = ({ name }: FormField): number => Number(name === "headers");
  return fields.sort((a, b) => last(a) - last(b) || rank(a) - rank(b));
}

const showField = (
  name: string,
  schema: FieldSchema,
  required: boolean,
  kind: Kind,
): FormField => ({
  name,
  type: typeOf(name, schema),
  required,
  secret: secretFieldsOf("upstream").some((field) => field === name || field === `${name}.*`),
  default: name === "baseUrl" ? (kind.baseUrl ?? null) : defaultOf(schema),
  description: schema.description ?? "",
  choices: schema.enum ?? null,
});

function typeOf(
  name: string,
  { type, format, enum: choices, multiline }: FieldSchema,
): FormField["type"] {
  if (choices) return "choice";
  if (multiline) return "lines";
  if (name === "baseUrl" || format === "uri") return "url";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  return type === "object" ? "pairs" : "text";
}

const defaultOf = ({ default: value }: FieldSchema): FormField["default"] =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : null;

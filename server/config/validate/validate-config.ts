/** Validates a whole `vexel.yaml`, or one entity of the store as if it were an entry of the file. */
import type { Upstream } from "../../upstream/contract.ts";
import { kinds } from "../../upstream/kinds.ts";
import { configuredLimits } from "../build/limits-and-budgets.ts";
import { builtInUpstreams, type ProvisionedUpstream } from "../sources/provisioned-upstreams.ts";
import type { Note } from "../yaml/problem.ts";
import { explainIssue, valueAt } from "./error-messages.ts";
import { type ConfigFile, entrySchemas, fileSchema } from "./schema.ts";
import { type InspectFolder, upstreamProblems, validateReferences } from "./validate-references.ts";
import { validateRest } from "./validate-rest.ts";

export interface Config extends Omit<ConfigFile, "upstreams"> {
  readonly upstreams: readonly Upstream[];
}

export interface ValidationOptions {
  /** Upstreams that environment variables provision, with their models. */
  readonly provisioned?: readonly ProvisionedUpstream[];
  /** Quotes a value of the configuration in a message. */
  readonly show: (text: string) => string;
  /** Checks the folders of local models, so that a problem shows before the first request. */
  readonly inspectFolder?: InspectFolder | undefined;
}

interface ValidatedConfig {
  /** Undefined if the schema refuses the configuration. A config that the schema accepts may have notes, too. */
  readonly config: Config | undefined;
  /** All problems with the schema and with references. */
  readonly notes: readonly Note[];
}

export function validateConfig(
  raw: unknown,
  { provisioned = [], show, inspectFolder = () => [] }: ValidationOptions,
): ValidatedConfig {
  const parsed = fileSchema.safeParse(raw);
  const available = [
    ...(valueAt(raw, ["environment"]) === false ? [] : provisioned),
    ...(valueAt(raw, ["builtInModels"]) === false ? [] : builtInUpstreams),
  ];
  const { data, error } = parsed;
  const referencesOf = (file: ConfigFile) =>
    validateReferences(file, available, show, inspectFolder);
  if (!data) {
    const notes = error.issues.flatMap((issue) => explainIssue(issue, raw, show));
    const availableIds = available.map(({ upstream: { id } }) => id);
    const rest = validateRest(raw, error.issues, { validate: referencesOf, availableIds });
    return { config: undefined, notes: [...notes, ...rest] };
  }
  return {
    config: { ...data, upstreams: data.upstreams.map(asUpstream) },
    notes: referencesOf(data),
  };
}

/** The rows of each list, as the schema returns them. */
export interface ConfigRows {
  readonly upstreams: Upstream;
  readonly models: ConfigFile["models"][number];
  readonly projects: ConfigFile["projects"][number];
  readonly webhooks: ConfigFile["webhooks"][number];
  readonly alerts: ConfigFile["alerts"][number];
}

type ValidatedEntry<List extends keyof ConfigRows> =
  | { readonly row: ConfigRows[List] }
  /** The first problem, with a path that begins in the entry. */
  | { readonly note: Note };

/** Validates what depends neither on other entries nor on folders. */
export function validateEntry<List extends keyof ConfigRows>(
  list: List,
  value: unknown,
  { show }: Pick<ValidationOptions, "show">,
): ValidatedEntry<List> {
  const { data, error } = entrySchemas[list].safeParse(value);
  if (error) {
    const [first] = error.issues;
    const issue = first && { ...first, path: [list, 0, ...first.path] };
    const [note] = issue ? explainIssue(issue, { [list]: [value] }, show) : [];
    return {
      note: note ? { ...note, path: note.path.slice(2) } : { path: [], message: "is invalid" },
    };
  }
  if (list !== "upstreams") return { row: data as ConfigRows[List] };
  const row = data as ConfigFile["upstreams"][number];
  const [note] = upstreamProblems(row, () => []);
  return note ? { note } : { row: asUpstream(row) as ConfigRows[List] };
}

export function asUpstream(row: ConfigFile["upstreams"][number]): Upstream {
  const { id, kind, baseUrl = kinds.get(kind)?.baseUrl, apiKey, headers, limits, ...options } = row;
  return {
    id,
    kind,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKey !== undefined && { apiKey }),
    headers,
    ...configuredLimits(limits),
    options,
  };
}

/**
 * Whether a database is one of this version: the migrations that it records, in `schema_migrations`, are compared by
 * name with those of this version. Their number says nothing about databases of another line of versions.
 */
import { version as ownVersion } from "../../package.json";

/** What a database records about its schema. */
export interface SchemaRecord {
  /** The rows of `schema_migrations`, in any order. None: no migration was applied, or the table does not exist. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** It has tables besides `schema_migrations`. */
  readonly hasTables: boolean;
}

/** More rows than any version has migrations: `schema_migrations` may be the table of another program. */
export const maxRecordedRows = 1000;

/** Why this version cannot use the database, with both versions and what to do. Undefined if it can. */
export function schemaMismatch(
  { rows, hasTables }: SchemaRecord,
  known: readonly { readonly name: string }[],
  /** Whether a database with more migrations than this version has can be used. */
  mayBeNewer: boolean,
): string | undefined {
  if (rows.length === 0) return hasTables ? unknownOrigin : undefined;
  const applied = rows.flatMap(({ number, name, version }) =>
    typeof name === "string" && typeof version === "string"
      ? [{ number: Number(number), name, version }]
      : [],
  );
  if (applied.length < rows.length) return unknownOrigin;
  applied.sort((a, b) => a.number - b.number);
  if (applied.some(({ number }, at) => number !== at + 1)) return unknownOrigin;
  const unknown = applied.find(({ name }, at) => name !== known[at]?.name);
  if (unknown === undefined) return undefined;
  const isNewer = applied.indexOf(unknown) === known.length;
  if (isNewer && mayBeNewer) return undefined;
  const theirs = applied.at(-1)?.version;
  if (theirs === ownVersion) {
    return `another build of Vexel ${ownVersion} migrated it last: this build does not have its migration "${unknown.name}"; start that build, or restore a backup that this build has made.`;
  }
  return `Vexel ${theirs} migrated it last, and this version (${ownVersion}) does not have its migration "${unknown.name}"; start Vexel ${theirs}, or restore a backup that Vexel ${ownVersion} has made.`;
}

const unknownOrigin = `its tables are not those of this version of Vexel (${ownVersion}) but of an unknown version, or of another program; restore a backup that Vexel ${ownVersion} has made, or use an empty one.`;

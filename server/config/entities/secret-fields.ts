/**
 * The secret fields of stored entities: write-only secrets. They are encrypted in the store, and reads return a
 * placeholder.
 */
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type { EntityKey, JsonObject } from "../../storage/sql/config-entity-store.ts";

/**
 * By kind of entity. `headers.*`: every header, because any may hold a token. The URL of a webhook may hold one, too.
 */
const secretFields: Readonly<Record<string, readonly string[]>> = {
  upstream: [
    "apiKey",
    "auth.certificate",
    "auth.clientSecret",
    "headers.*",
    "privateKey",
    "secretAccessKey",
    "serviceAccount",
    "sessionToken",
  ],
  webhook: ["secret", "url"],
};

export const secretFieldsOf = (kind: string): readonly string[] => secretFields[kind] ?? [];

/** A read returns this placeholder instead of a secret. A write with the placeholder keeps the stored secret. */
const secretPlaceholder = { $secret: true } as const;
const encryptedMember = "$encrypted";

type Entity = EntityKey & { readonly value: JsonObject };

export const encryptSecrets = (entity: Entity, secrets: SecretBox): JsonObject =>
  mapSecrets(entity, (value, path) => ({
    [encryptedMember]: secrets.encrypt(JSON.stringify(value), contextOf(entity, path)),
  }));

/** Throws DecryptionError. */
export const decryptSecrets = (entity: Entity, secrets: SecretBox): JsonObject =>
  mapSecrets(entity, (value, path) => {
    const envelope = envelopeOf(value);
    return envelope === undefined
      ? value
      : (JSON.parse(secrets.decrypt(envelope, contextOf(entity, path))) as unknown);
  });

export const hideSecrets = (entity: Entity): JsonObject =>
  mapSecrets(entity, () => secretPlaceholder);

/** A placeholder with the last characters of the secret, so that people can tell which one is stored. */
interface MaskedSecret {
  readonly $secret: true;
  /** If absent, the secret is too short, or contains spaces. */
  readonly lastFour?: string;
}

/** As `hideSecrets`, for an entity whose secrets are in plain text. */
export const maskSecrets = (entity: Entity): JsonObject =>
  mapSecrets(entity, (value): MaskedSecret => {
    // Of a short secret, four characters would be a large part.
    const isLong = typeof value === "string" && /^[\x21-\x7e]{16,}$/.test(value);
    return { ...secretPlaceholder, ...(isLong && { lastFour: value.slice(-4) }) };
  });

const isPlaceholder = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "$secret" in value && value.$secret === true;

/** Replaces each placeholder by the secret at the same path in `before`. Throws MissingSecret if there is none. */
export const restoreSecrets = (entity: Entity, before: JsonObject): JsonObject =>
  mapSecrets(entity, (value, path) => {
    if (!isPlaceholder(value)) return value;
    const secret = valueAt(before, path);
    if (secret === undefined) throw new MissingSecret(path.join("."));
    return secret;
  });

/** A placeholder stands for a secret that is not stored. */
export class MissingSecret extends Error {
  override readonly name = "MissingSecret";
  readonly field: string;

  constructor(field: string) {
    super(
      `${JSON.stringify(secretPlaceholder)} stands for a stored secret, and there is none: write the secret itself`,
    );
    this.field = field;
  }
}

/** Whether every secret of a stored entity is encrypted with the present key. */
export function usesCurrentKey(entity: Entity, secrets: SecretBox): boolean {
  let isCurrent = true;
  mapSecrets(entity, (value) => {
    const envelope = envelopeOf(value);
    isCurrent &&= envelope !== undefined && secrets.isCurrent(envelope);
    return value;
  });
  return isCurrent;
}

type Path = readonly [name: string, member?: string];

/** Authenticated with the encrypted secret, so that it cannot be copied to another entity or another field. */
const contextOf = ({ kind, id }: EntityKey, path: Path): string =>
  JSON.stringify([kind, id, ...path]);

function envelopeOf(value: unknown): string | undefined {
  const envelope = (value as Record<string, unknown> | null)?.[encryptedMember];
  return typeof envelope === "string" ? envelope : undefined;
}

const valueAt = (value: JsonObject, [name, member]: Path): unknown =>
  member === undefined ? value[name] : (value[name] as JsonObject | undefined)?.[member];

function mapSecrets(
  { kind, value }: Entity,
  change: (value: unknown, path: Path) => unknown,
): JsonObject {
  const changed: Record<string, unknown> = { ...value };
  for (const field of secretFieldsOf(kind)) {
    const [name = "", secret] = field.split(".");
    const found = changed[name];
    if (found === undefined) continue;
    if (secret === undefined) changed[name] = change(found, [name]);
    else if (typeof found === "object" && found !== null) {
      changed[name] = Object.fromEntries(
        Object.entries(found).map(([member, entry]) => [
          member,
          secret === "*" || secret === member ? change(entry, [name, member]) : entry,
        ]),
      );
    }
  }
  return changed;
}

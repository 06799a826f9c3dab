/** Values of forms: inputs hold text, and an empty input means that the member is absent. */

export type Texts = Readonly<Record<string, string>>;

/** The members that are text, numbers or booleans, as text. */
export const textsOf = (value: object | undefined): Texts =>
  Object.fromEntries(
    Object.entries(value ?? {})
      .filter(([, member]) => ["string", "number", "boolean"].includes(typeof member))
      .map(([name, member]) => [name, String(member)]),
  );

/** The members that are not empty, as numbers. Undefined: all are empty. */
export function numbersOf(
  texts: Texts,
  names: readonly string[],
): Record<string, number> | undefined {
  const entries = names
    .filter((name) => (texts[name] ?? "").trim() !== "")
    .map((name): [string, number] => [name, Number(texts[name])]);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

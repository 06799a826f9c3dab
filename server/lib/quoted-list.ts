/** Lists of values in error messages. */

/** OpenAI's form: 'low' and 'high'; 'low', 'medium', and 'high'. Each value is listed once. */
export function quotedList(values: readonly string[]): string {
  const quoted = [...new Set(values)].map((value) => `'${value}'`);
  if (quoted.length < 3) return quoted.join(" and ");
  return `${quoted.slice(0, -1).join(", ")}, and ${quoted.at(-1)}`;
}

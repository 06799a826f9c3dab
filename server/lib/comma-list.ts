/** A list in a setting or a header: entries separated by commas, without spaces around them and without empty ones. */
export const commaList = (text: string): string[] =>
  text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");

/** Finds the options of a combobox that contain every word of a text, in any order and case. */
interface Searchable {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
}

/** Options whose labels begin with the text come first, in the order that they have. */
export function searchOptions<Option extends Searchable>(
  options: readonly Option[],
  text: string,
): readonly Option[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return options;
  const words = wanted.split(/\s+/);
  const found = options.filter(({ value, label, hint = "" }) => {
    const searched = `${label} ${value} ${hint}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
  const startsWith = ({ label }: Option): boolean => label.toLowerCase().startsWith(wanted);
  return [...found.filter(startsWith), ...found.filter((option) => !startsWith(option))];
}

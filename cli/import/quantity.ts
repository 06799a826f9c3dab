/** A count with its noun, such as `2 keys`. */
export const quantity = (count: number, noun: string): string =>
  `${count} ${count === 1 ? noun : pluralOf(noun)}`;

const pluralOf = (noun: string): string =>
  /[^aeo]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;

/** Joins class names and leaves out those that do not apply. */
export const classNames = (...names: (string | false | undefined)[]): string =>
  names.filter(Boolean).join(" ");

/** Joins class names. False and undefined names are left out. */
export const classNames = (...names: (string | false | undefined)[]): string =>
  names.filter(Boolean).join(" ");

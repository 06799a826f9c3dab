/** The surface of all parts that float above the page. A file of its own: charts need it, and no popover. */
export const floatingStyle =
  "z-40 rounded-md border border-line bg-surface text-sm text-ink shadow-xl";

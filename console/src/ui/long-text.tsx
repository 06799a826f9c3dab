/**
 * A name in a table, in one line: a long one ends with an ellipsis, and its title has all of it. On phones, where every
 * row is a card, it is wrapped.
 */
export const LongText = ({ text, title = text }: { text: string; title?: string }) => (
  <span
    title={title}
    className="block max-w-56 truncate max-sm:max-w-full max-sm:wrap-anywhere max-sm:whitespace-normal"
  >
    {text}
  </span>
);

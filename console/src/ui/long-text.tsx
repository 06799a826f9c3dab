/**
 * A name in a table, in one line: a long one ends with an ellipsis, and its title has all of it. On phones, where every
 * row is a card, it is wrapped.
 */
export const LongText = ({ text }: { text: string }) => (
  <span
    title={text}
    className="block max-w-56 truncate max-sm:max-w-full max-sm:wrap-anywhere max-sm:whitespace-normal"
  >
    {text}
  </span>
);

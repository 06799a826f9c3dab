/** A name in a table. A long one without spaces is wrapped, so that it does not push the other columns aside. */
export const LongText = ({ text }: { text: string }) => (
  <span className="block max-w-80 break-words max-sm:wrap-anywhere">{text}</span>
);

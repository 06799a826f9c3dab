/** A text of the server in which names and values are between backticks, as in Markdown. */
import { Fragment } from "react";

export const CodeText = ({ text }: { text: string }) =>
  text.split("`").map((part, at) =>
    at % 2 === 1 ? (
      <code key={at} className="rounded bg-sunken px-1 font-mono text-[0.9em] break-words">
        {part}
      </code>
    ) : (
      <Fragment key={at}>{part}</Fragment>
    ),
  );

/** The method of a request, in the color of what it does. */
const colors: Readonly<Record<string, string>> = {
  GET: "text-good",
  POST: "text-accent",
  DELETE: "text-bad",
};

export const Method = ({ method }: { method: string }) => (
  <span
    className={`w-12 shrink-0 font-mono text-xs font-semibold ${colors[method] ?? "text-warn"}`}
  >
    {method}
  </span>
);

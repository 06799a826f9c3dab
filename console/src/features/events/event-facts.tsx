/** The data of an event, as names and values. */
export const EventFacts = ({ data }: { data: Readonly<Record<string, unknown>> }) => (
  <dl className="flex flex-wrap gap-x-4 gap-y-0.5 text-xs">
    {Object.entries(data)
      .filter(([, value]) => value !== null && value !== "")
      .map(([name, value]) => (
        <div key={name} className="flex min-w-0 gap-1.5">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">{textOf(value)}</dd>
        </div>
      ))}
  </dl>
);

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

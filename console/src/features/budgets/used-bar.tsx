interface UsedBarProps {
  readonly label: string;
  readonly used: number;
  readonly limit: number;
  readonly format: (value: number) => string;
}

/**
 * The share of a budget or limit that is used, as a bar and in numbers. The element `meter` is for screen readers only:
 * in the dark theme, browsers draw its empty part in a light color, and it looks full.
 */
export function UsedBar({ label, used, limit, format }: UsedBarProps) {
  const share = limit > 0 ? Math.min(1, used / limit) : 1;
  return (
    <span className="flex items-center gap-2 max-sm:flex-wrap">
      <meter
        aria-label={label}
        min={0}
        max={limit}
        value={Math.min(used, limit)}
        className="sr-only"
      />
      <span
        aria-hidden="true"
        className="h-2.5 w-20 shrink-0 overflow-hidden rounded-full bg-sunken ring-1 ring-line"
      >
        <span className={`block h-full ${toneOf(share)}`} style={{ width: `${share * 100}%` }} />
      </span>
      <span className="tabular-nums whitespace-nowrap">
        {format(used)} / {format(limit)}
      </span>
    </span>
  );
}

function toneOf(share: number): string {
  if (share >= 0.95) return "bg-bad";
  return share >= 0.8 ? "bg-warn" : "bg-good";
}

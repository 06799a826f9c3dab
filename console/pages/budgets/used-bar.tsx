interface UsedBarProps {
  readonly label: string;
  readonly used: number;
  readonly limit: number;
  readonly format: (value: number) => string;
}

/** The share of a budget or limit that is used, as a bar and in numbers. */
export const UsedBar = ({ label, used, limit, format }: UsedBarProps) => (
  <span className="flex items-center gap-2">
    <meter
      aria-label={label}
      min={0}
      max={limit}
      low={limit * 0.8}
      high={limit * 0.95}
      optimum={0}
      value={Math.min(used, limit)}
      className="w-28"
    />
    <span className="tabular-nums whitespace-nowrap">
      {format(used)} / {format(limit)}
    </span>
  </span>
);

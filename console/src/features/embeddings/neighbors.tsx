/** The entries nearest to one entry, for each model side by side, and how far the models agree. */
import { useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { Badge } from "../../ui/badge.tsx";
import type { Entry } from "./entries.ts";
import { EntryName } from "./entry-name.tsx";
import { neighborCount } from "./ranking-quality.ts";
import { type Neighbor, neighborsOf } from "./vectors.ts";

/** Of each list. The rest is hardly similar. */
const maxShown = 50;

interface NeighborsProps {
  readonly entries: readonly Entry[];
  readonly matrices: readonly { readonly model: string; readonly matrix: Float32Array }[];
  readonly selected: number;
  readonly onSelect: (index: number) => void;
}

export function Neighbors({ entries, matrices, selected, onSelect }: NeighborsProps) {
  const t = useT();
  const lists = matrices.map(({ model, matrix }) => ({
    model,
    neighbors: neighborsOf(matrix, entries.length, selected).slice(0, maxShown),
  }));
  // The models are compared by their nearest neighbors only.
  const compared = Math.min(neighborCount(entries.length), maxShown);
  const reference = new Set(lists[0]?.neighbors.slice(0, compared).map(({ index }) => index));
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3">
      <p>
        <span className="text-muted">{t("embeddings.nearestTo")}</span>{" "}
        <strong className="font-medium">
          <EntryName entry={entries[selected] ?? ""} />
        </strong>
      </p>
      <div
        className={classNames(
          "grid min-h-0 flex-1 gap-x-6 gap-y-4",
          lists.length > 1 && "sm:grid-cols-2",
        )}
      >
        {lists.map(({ model, neighbors }, column) => (
          <section key={model} className="flex min-h-0 min-w-0 flex-col" aria-label={model}>
            <h3 className="mb-1 flex flex-wrap items-center gap-2 font-mono text-xs text-muted">
              {model}
              {column > 0 && (
                <Badge>
                  {t("embeddings.agreement", {
                    shared: neighbors.slice(0, compared).filter(({ index }) => reference.has(index))
                      .length,
                    count: compared,
                    model: lists[0]?.model ?? "",
                  })}
                </Badge>
              )}
            </h3>
            <ol
              className={classNames(
                // As high as the map beside it, or else as the window.
                "-mx-1 flex max-h-[max(24rem,calc(100dvh-10rem))] min-h-0 flex-1 flex-col overflow-y-auto px-1",
                lists.length === 1 && "@2xl:max-h-none",
              )}
            >
              {neighbors.map((neighbor, rank) => (
                <NeighborRow
                  key={neighbor.index}
                  neighbor={neighbor}
                  entry={entries[neighbor.index] ?? ""}
                  differs={column > 0 && rank < compared && !reference.has(neighbor.index)}
                  onSelect={onSelect}
                />
              ))}
            </ol>
          </section>
        ))}
      </div>
    </div>
  );
}

interface NeighborRowProps {
  readonly neighbor: Neighbor;
  readonly entry: Entry;
  /** The entry is not among the neighbors of the first model. */
  readonly differs: boolean;
  readonly onSelect: (index: number) => void;
}

function NeighborRow({
  neighbor: { index, similarity },
  entry,
  differs,
  onSelect,
}: NeighborRowProps) {
  const t = useT();
  return (
    <li>
      <button
        type="button"
        onClick={() => onSelect(index)}
        className={classNames(
          "flex w-full items-baseline gap-2 rounded px-1 py-0.5 text-left hover:bg-sunken",
          differs && "text-warn",
        )}
      >
        <span className="w-14 shrink-0 tabular-nums text-muted">{similarity.toFixed(4)}</span>
        <span className="min-w-0 truncate">
          <EntryName entry={entry} />
        </span>
        {differs && <span className="sr-only">{t("embeddings.differs")}</span>}
      </button>
    </li>
  );
}

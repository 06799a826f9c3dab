/** The texts nearest to one text, for each model side by side. */
import { useT } from "../../i18n/messages.ts";
import { type Neighbor, neighborsOf } from "./vectors.ts";

interface NeighborsProps {
  readonly texts: readonly string[];
  readonly matrices: readonly { readonly model: string; readonly matrix: Float32Array }[];
  readonly selected: number;
  readonly onSelect: (index: number) => void;
}

const shownCount = 10;

export function Neighbors({ texts, matrices, selected, onSelect }: NeighborsProps) {
  const t = useT();
  return (
    <div className="flex flex-col gap-3">
      <p>
        <span className="text-muted">{t("embeddings.nearestTo")}</span>{" "}
        <strong className="font-medium">{texts[selected]}</strong>
      </p>
      <div className="grid gap-4 sm:grid-cols-2">
        {matrices.map(({ model, matrix }) => (
          <section key={model}>
            <h3 className="mb-1 font-mono text-xs text-muted">{model}</h3>
            <ol className="flex flex-col">
              {neighborsOf(matrix, texts.length, selected)
                .slice(0, shownCount)
                .map((neighbor) => (
                  <NeighborRow
                    key={neighbor.index}
                    neighbor={neighbor}
                    text={texts[neighbor.index] ?? ""}
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

const NeighborRow = ({
  neighbor: { index, similarity },
  text,
  onSelect,
}: {
  neighbor: Neighbor;
  text: string;
  onSelect: (index: number) => void;
}) => (
  <li>
    <button
      type="button"
      onClick={() => onSelect(index)}
      className="flex w-full items-baseline gap-2 rounded px-1 py-0.5 text-left hover:bg-sunken"
    >
      <span className="w-14 shrink-0 tabular-nums text-muted">{similarity.toFixed(4)}</span>
      <span className="min-w-0 truncate">{text}</span>
    </button>
  </li>
);

/** How an image was made: model, options, time and cost. */
import type { ReactNode } from "react";
import { useT } from "../../i18n/messages.ts";
import { dollars, milliseconds } from "../../lib/format.ts";
import { RequestLink } from "../../ui/request-link.tsx";
import { Time } from "../../ui/time.tsx";
import type { GalleryEntry } from "./gallery-store.ts";
import { optionLabel, valueLabel } from "./option-labels.ts";

interface Fact {
  readonly name: string;
  readonly value: string;
  /** In place of the value, such as a link. */
  readonly shown?: ReactNode;
}

function useFacts(entry: GalleryEntry): readonly Fact[] {
  const t = useT();
  const { model, prompt, options } = entry.parameters;
  const created = new Date(entry.at).toISOString();
  return [
    { name: t("requests.model"), value: model },
    { name: t("images.prompt"), value: prompt },
    ...Object.entries(options)
      .filter(([name]) => name !== "stream")
      .map(([name, value]) => ({ name: optionLabel(name, t), value: valueLabel(value, t) })),
    ...(entry.references.length > 0
      ? [{ name: t("images.references"), value: String(entry.references.length) }]
      : []),
    { name: t("requests.latency"), value: milliseconds(entry.durationMs) },
    { name: t("figure.cost"), value: dollars(entry.cost) },
    { name: t("images.created"), value: created, shown: <Time iso={created} /> },
    {
      name: t("request.title"),
      value: entry.requestId,
      shown: <RequestLink id={entry.requestId} />,
    },
  ];
}

interface ImageFactsProps {
  readonly entry: GalleryEntry;
  /** The image beside it: what differs is emphasized. */
  readonly other?: GalleryEntry;
}

export function ImageFacts({ entry, other }: ImageFactsProps) {
  const facts = useFacts(entry);
  const others = new Map(useFacts(other ?? entry).map(({ name, value }) => [name, value]));
  return (
    <dl className="grid grid-cols-[7rem_1fr] gap-x-3 gap-y-1.5 text-sm">
      {facts.map(({ name, value, shown }) => (
        <div key={name} className="col-span-2 grid grid-cols-subgrid">
          <dt className="text-muted">{name}</dt>
          <dd
            className={others.get(name) === value ? "wrap-anywhere" : "font-semibold wrap-anywhere"}
          >
            {shown ?? value}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Models that the upstream lists. A ticked model is created with this upstream as its target. */

import { useState } from "react";
import type { DiscoveredModel } from "../../../../contract/admin.ts";
import type { ModelKind } from "../../../../contract/model-kinds.ts";
import { useT } from "../../i18n/messages.ts";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";

/** The kind of each ticked model, by the upstream's name. */
export type TickedModels = Readonly<Record<string, ModelKind>>;

interface DiscoveredModelsProps {
  readonly models: readonly DiscoveredModel[];
  readonly ticked: TickedModels;
  readonly onChange: (ticked: TickedModels) => void;
  /** The id with which a ticked model is created. */
  readonly idOf: (model: string) => string;
}

export function DiscoveredModels({ models, ticked, onChange, idOf }: DiscoveredModelsProps) {
  const t = useT();
  const [search, setSearch] = useState("");
  const [showsAll, setShowsAll] = useState(false);
  const hasKnownKind = ({ kind }: DiscoveredModel): boolean => kind !== null;
  const hasOthers = models.some(hasKnownKind) && !models.every(hasKnownKind);
  const visible = models.filter(
    (model) =>
      model.id.toLowerCase().includes(search.trim().toLowerCase()) &&
      (showsAll || !hasOthers || search !== "" || hasKnownKind(model) || model.id in ticked),
  );
  const toggle = ({ id, kind }: DiscoveredModel): void => {
    const { [id]: before, ...others } = ticked;
    onChange(before ? others : { ...ticked, [id]: kind ?? "embedding" });
  };
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-xs font-semibold">{t("upstreams.discovered")}</legend>
      <p className="text-xs text-muted">{t("upstreams.discovered.hint")}</p>
      <Input
        type="search"
        aria-label={t("models.search")}
        placeholder={t("models.search")}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <ul className="max-h-56 overflow-y-auto rounded-md border border-line p-2">
        {visible.length === 0 && <li className="text-muted">{t("models.none")}</li>}
        {visible.map((model) => (
          <li key={model.id} className="flex flex-wrap items-center justify-between gap-2 py-0.5">
            <label className="flex min-w-0 items-center gap-2">
              <input type="checkbox" checked={model.id in ticked} onChange={() => toggle(model)} />
              <span className="font-mono text-xs break-all">{model.id}</span>
            </label>
            {ticked[model.id] && (
              <span className="w-32 shrink-0">
                <Select
                  aria-label={t("upstreams.kindOf", { model: model.id })}
                  value={ticked[model.id] ?? "embedding"}
                  onChange={(kind) => onChange({ ...ticked, [model.id]: kind })}
                  options={[
                    { value: "embedding", label: t("model.kind.embedding") },
                    { value: "image", label: t("model.kind.image") },
                  ]}
                />
              </span>
            )}
            {ticked[model.id] && idOf(model.id) !== model.id && (
              <p role="status" className="w-full text-xs break-words text-warn">
                {t("upstreams.createdAs", { model: model.id, id: idOf(model.id) })}
              </p>
            )}
          </li>
        ))}
      </ul>
      {hasOthers && (
        <label className="flex items-center gap-2 text-xs">
          <input
            type="checkbox"
            checked={showsAll}
            onChange={({ target }) => setShowsAll(target.checked)}
          />
          {t("upstreams.discovered.all", { count: models.length })}
        </label>
      )}
    </fieldset>
  );
}

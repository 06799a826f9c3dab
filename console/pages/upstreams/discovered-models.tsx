/** Models that the upstream lists. A ticked model is created with this upstream as its target. */
import { useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { Input } from "../../ui/input.tsx";

interface DiscoveredModelsProps {
  readonly models: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

export function DiscoveredModels({ models, chosen, onChange }: DiscoveredModelsProps) {
  const t = useT();
  const [search, setSearch] = useState("");
  const visible = models.filter((id) => id.toLowerCase().includes(search.trim().toLowerCase()));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-xs font-medium text-muted">{t("upstreams.discovered")}</legend>
      <Input
        type="search"
        aria-label={t("models.search")}
        placeholder={t("models.search")}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <ul className="max-h-48 overflow-y-auto rounded-md border border-line p-2">
        {visible.map((id) => (
          <li key={id}>
            <label className="flex items-center gap-2 py-0.5">
              <input
                type="checkbox"
                checked={chosen.includes(id)}
                onChange={({ target }) =>
                  onChange(
                    target.checked ? [...chosen, id] : chosen.filter((other) => other !== id),
                  )
                }
              />
              <span className="font-mono text-xs break-all">{id}</span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

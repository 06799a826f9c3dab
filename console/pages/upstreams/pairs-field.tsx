/** Names and values, such as extra headers. Stored secret values are kept until they are replaced. */
import type { FormField } from "../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Input } from "../../ui/input.tsx";
import { isSecretValue, type Pair } from "./upstream-values.ts";

interface PairsFieldProps {
  readonly field: FormField;
  readonly pairs: readonly Pair[];
  readonly error: string | undefined;
  readonly onChange: (pairs: readonly Pair[]) => void;
}

export function PairsField({ field, pairs, error, onChange }: PairsFieldProps) {
  const t = useT();
  const replace = (at: number, pair: Pair): void =>
    onChange(pairs.map((each, index) => (index === at ? pair : each)));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="text-xs font-medium text-muted">{field.name}</legend>
      <p className="text-xs text-muted">{field.description}</p>
      {pairs.map(([name, value], at) => (
        <div key={at} className="flex gap-2">
          <Input
            aria-label={t("upstreams.pairName", { field: field.name, number: at + 1 })}
            value={name}
            onChange={({ target }) => replace(at, [target.value, value])}
          />
          <Input
            aria-label={t("upstreams.pairValue", { field: field.name, number: at + 1 })}
            type={field.secret ? "password" : "text"}
            autoComplete="new-password"
            placeholder={
              isSecretValue(value) ? t("upstreams.secretSet", { ending: value.lastFour ?? "" }) : ""
            }
            value={isSecretValue(value) ? "" : value}
            onChange={({ target }) => replace(at, [name, target.value])}
          />
          <Button onClick={() => onChange(pairs.filter((_, index) => index !== at))}>
            {t("action.remove")}
          </Button>
        </div>
      ))}
      {error !== undefined && (
        <p role="alert" className="text-xs text-bad">
          {error}
        </p>
      )}
      <div>
        <Button size="small" onClick={() => onChange([...pairs, ["", ""]])}>
          {t("upstreams.addPair")}
        </Button>
      </div>
    </fieldset>
  );
}

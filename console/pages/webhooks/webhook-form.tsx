/** The form of a webhook: its URL, its signing secret and the events that are sent. */
import { useState } from "react";
import type { WebhookEntity } from "../../../contract/admin.ts";
import { eventTypes } from "../../../contract/events.ts";
import { saveEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { EntityForm } from "../../ui/entity-form.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { useFormProblem } from "../../ui/use-form-problem.ts";

interface WebhookFormProps {
  readonly webhook: WebhookEntity | undefined;
  readonly onSaved: () => unknown;
}

export function WebhookForm({ webhook, onSaved }: WebhookFormProps) {
  const t = useT();
  const [name, setName] = useState(webhook?.name ?? "");
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState("");
  const [events, setEvents] = useState((webhook?.events ?? ["*"]).join(", "));
  const problem = useFormProblem(["name", "url", "secret", "events"]);
  const save = async (): Promise<void> => {
    const globs = events.split(",").map((glob) => glob.trim());
    await saveEntity("/webhooks", webhook, {
      ...(!webhook && name.trim() !== "" && { name: name.trim() }),
      // What is stored stays, unless it is typed again.
      url: url.trim() === "" && webhook ? webhook.value.url : url.trim(),
      secret: secret === "" && webhook ? webhook.value.secret : secret.trim(),
      events: globs.filter((glob) => glob !== ""),
    });
    await onSaved();
  };
  return (
    <EntityForm problem={problem} save={save}>
      <Field label={t("webhooks.name")} error={problem.of("name")}>
        {(ids) => (
          <Input
            {...ids}
            value={name}
            disabled={webhook !== undefined}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <Field label={t("webhooks.url")} required={!webhook} error={problem.of("url")}>
        {(ids) => (
          <Input
            {...ids}
            value={url}
            placeholder={webhook?.url}
            onChange={({ target }) => setUrl(target.value)}
          />
        )}
      </Field>
      <Field
        label={t("webhooks.secret")}
        hint={t("webhooks.secretHint")}
        required={!webhook}
        error={problem.of("secret")}
      >
        {(ids) => (
          <div className="flex gap-2">
            <Input
              {...ids}
              value={secret}
              autoComplete="off"
              placeholder={webhook ? t("upstreams.secretSet", { ending: "" }) : undefined}
              onChange={({ target }) => setSecret(target.value)}
            />
            <Button onClick={() => setSecret(newSecret())}>{t("webhooks.generate")}</Button>
            {secret !== "" && <CopyButton text={secret} />}
          </div>
        )}
      </Field>
      <Field
        label={t("webhooks.events")}
        hint={t("webhooks.eventsHint")}
        error={problem.of("events")}
      >
        {(ids) => (
          <Input {...ids} value={events} onChange={({ target }) => setEvents(target.value)} />
        )}
      </Field>
      <details className="text-xs text-muted">
        <summary className="cursor-pointer">{t("webhooks.types")}</summary>
        <p className="mt-1 font-mono break-words">{Object.keys(eventTypes).join(", ")}</p>
      </details>
    </EntityForm>
  );
}

/** Standard Webhooks: `whsec_` and 32 random bytes in base64. */
const newSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

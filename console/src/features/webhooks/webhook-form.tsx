/** The form of a webhook: its URL, its signing secret and the events that are sent. */
import { useWatch } from "react-hook-form";
import type { WebhookEntity } from "../../../../contract/admin.ts";
import { eventTypes } from "../../../../contract/events.ts";
import { name } from "../../../../contract/schemas/names.ts";
import { webhook as webhookSchema } from "../../../../contract/schemas/webhooks.ts";
import { saveEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { SchemaForm, useSchemaForm } from "../../ui/form.tsx";
import { ListField, TextField } from "../../ui/form-fields.tsx";

const newWebhook = webhookSchema.extend({ name: name.optional() });
/** The stored URL and secret are kept unless the user types new ones. */
const changedWebhook = newWebhook.partial({ url: true, secret: true });

interface WebhookFormProps {
  readonly webhook: WebhookEntity | undefined;
  readonly onSaved: () => unknown;
}

export function WebhookForm({ webhook, onSaved }: WebhookFormProps) {
  const t = useT();
  const form = useSchemaForm(webhook ? changedWebhook : newWebhook, {
    name: webhook?.name ?? undefined,
    events: [...(webhook?.events ?? ["*"])],
  });
  const secret = useWatch({ control: form.control, name: "secret" });
  return (
    <SchemaForm
      form={form}
      save={async (values) => {
        const { url, secret: storedSecret } = webhook?.value ?? {};
        await saveEntity("/webhooks", webhook, { url, secret: storedSecret, ...values });
        await onSaved();
      }}
    >
      <TextField name="name" label={t("webhooks.name")} disabled={webhook !== undefined} />
      <TextField
        name="url"
        label={t("webhooks.url")}
        required={!webhook}
        placeholder={webhook?.url}
      />
      <TextField
        name="secret"
        label={t("webhooks.secret")}
        hint={t("webhooks.secretHint")}
        required={!webhook}
        autoComplete="off"
        placeholder={webhook ? t("upstreams.secretSet", { ending: "" }) : undefined}
      >
        <Button onClick={() => form.setValue("secret", newSecret())}>
          {t("webhooks.generate")}
        </Button>
        {secret && <CopyButton text={secret} />}
      </TextField>
      <ListField name="events" label={t("webhooks.events")} hint={t("webhooks.eventsHint")} />
      <details className="text-xs text-muted">
        <summary className="cursor-pointer">{t("webhooks.types")}</summary>
        <p className="mt-1 font-mono break-words">{Object.keys(eventTypes).join(", ")}</p>
      </details>
    </SchemaForm>
  );
}

/** Standard Webhooks: `whsec_` and 32 random bytes in base64. */
const newSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

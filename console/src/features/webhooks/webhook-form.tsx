/** The form of a webhook: Slack, Microsoft Teams, e-mail or a server, and the events that are sent. */
import { useFormContext, useWatch } from "react-hook-form";
import { z } from "zod";
import type { WebhookEntity } from "../../../../contract/admin.ts";
import { webhook as webhookSchema } from "../../../../contract/schemas/webhooks.ts";
import { saveEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { MultiComboboxField } from "../../ui/combobox-fields.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { SelectField } from "../../ui/select-field.tsx";
import { eventOptions } from "../events/event-options.ts";

const formats = ["standard", "slack", "teams", "email"] as const;
type Format = (typeof formats)[number];

/** E-mail is a `mailto:` URL on the server, and a format of its own here. */
const newWebhook = webhookSchema.extend({ format: z.enum(formats) });
/** The stored URL and secret are kept unless the user types new ones. */
const changedWebhook = newWebhook.partial({ url: true });

interface WebhookFormProps {
  readonly webhook: WebhookEntity | undefined;
  /** Of a new webhook. The default is all events. */
  readonly events?: readonly string[];
  readonly format?: Format;
  readonly onSaved: () => unknown;
}

export function WebhookForm(props: WebhookFormProps) {
  const { webhook, events = ["*"], format: firstFormat = "standard", onSaved } = props;
  const t = useT();
  const form = useSchemaForm<z.input<typeof changedWebhook>>(
    webhook ? changedWebhook : newWebhook,
    {
      name: webhook?.name ?? undefined,
      format: webhook?.format ?? firstFormat,
      events: [...(webhook?.events ?? events)],
    },
  );
  const format = useWatch({ control: form.control, name: "format" });
  return (
    <Form
      form={form}
      save={async ({ format: chosen, secret, ...values }) => {
        const isSigned = chosen === "standard";
        const { url, secret: storedSecret } = webhook?.value ?? {};
        await saveEntity("/webhooks", webhook, {
          url,
          ...values,
          ...(isSigned && { secret: secret ?? storedSecret }),
          ...(chosen !== "email" && { format: chosen }),
        });
        await onSaved();
      }}
    >
      <SelectField
        name="format"
        label={t("webhooks.format")}
        options={formats.map((each) => ({ value: each, label: t(`webhooks.format.${each}`) }))}
        disabled={webhook !== undefined}
      />
      <TextField name="name" label={t("webhooks.name")} disabled={webhook !== undefined} />
      <AddressField format={format} webhook={webhook} />
      {format === "standard" && <SecretField isStored={webhook !== undefined} />}
      <MultiComboboxField
        name="events"
        label={t("webhooks.events")}
        hint={t("webhooks.eventsHint")}
        allowsOther
        options={[{ value: "*", label: "*" }, ...eventOptions]}
      />
    </Form>
  );
}

interface AddressFieldProps {
  readonly format: Format;
  readonly webhook: WebhookEntity | undefined;
}

function AddressField({ format, webhook }: AddressFieldProps) {
  const t = useT();
  const isMail = format === "email";
  return (
    <TextField
      name="url"
      label={isMail ? t("webhooks.addresses") : t(`webhooks.url.${format}`)}
      hint={isMail ? t("webhooks.addressesHint") : t(`webhooks.hint.${format}`)}
      required={!webhook}
      placeholder={webhook?.url.replace(/^mailto:/, "")}
      read={isMail ? mailUrl : (text) => text.trim()}
    />
  );
}

const mailUrl = (text: string): string =>
  `mailto:${text
    .replace(/^mailto:/, "")
    .split(/[\s,;]+/)
    .filter(Boolean)
    .join(",")}`;

function SecretField({ isStored }: { isStored: boolean }) {
  const t = useT();
  const { setValue } = useFormContext();
  const secret = useWatch({ name: "secret" });
  const generate = () => setValue("secret", newSecret(), { shouldDirty: true });
  return (
    <TextField
      name="secret"
      label={t("webhooks.secret")}
      hint={t("webhooks.secretHint")}
      required={!isStored}
      autoComplete="off"
      placeholder={isStored ? t("upstreams.secretSet", { ending: "" }) : undefined}
    >
      <Button onClick={generate}>{t("webhooks.generate")}</Button>
      {secret && <CopyButton text={secret} />}
    </TextField>
  );
}

/** Standard Webhooks: `whsec_` and 32 random bytes in base64. */
const newSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

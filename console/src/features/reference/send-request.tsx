/** A form that sends the operation to this gateway: with the user's key, or to the admin API with the session. */
import { useState } from "react";
import { checkSession, csrfHeader } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { bytes, milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Field } from "../../ui/field.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import type { exampleBody } from "./example-body.ts";
import type { Api, Operation } from "./openapi-document.ts";

interface SendRequestProps {
  readonly api: Api;
  readonly operation: Operation;
  readonly example: ReturnType<typeof exampleBody>;
  /** Of the model API. It stays in this page. */
  readonly apiKey: string;
  readonly onApiKey: (key: string) => void;
}

interface Result {
  readonly status: number;
  readonly durationMs: number;
  readonly text: string;
}

/** A longer response is cut: it would fill the page. */
const maxShown = 20_000;

export function SendRequest(props: SendRequestProps) {
  const { api, operation, example, apiKey, onApiKey } = props;
  const t = useT();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({
    ...example.form?.fields,
  });
  const [files, setFiles] = useState<Readonly<Record<string, File>>>({});
  const [body, setBody] = useState(
    example.body === undefined ? "" : JSON.stringify(example.body, undefined, 2),
  );
  const [result, setResult] = useState<Result>();
  const [failure, setFailure] = useState<string>();
  const [isSending, setSending] = useState(false);
  const needsKey = api === "models" && operation.security?.length !== 0;
  const texts = [
    ...(operation.parameters ?? []).map(({ name, required = false }) => ({ name, required })),
    ...Object.keys(example.form?.fields ?? {}).map((name) => ({ name, required: true })),
  ];
  const send = async (): Promise<void> => {
    setSending(true);
    setFailure(undefined);
    const startedAt = performance.now();
    try {
      const { url, ...options } = requestOf(props, values, files, body);
      const response = await fetch(url, options);
      if (response.status === 401 && api === "admin") checkSession();
      const text = await textOf(response);
      setResult({ status: response.status, durationMs: performance.now() - startedAt, text });
    } catch (error) {
      setFailure(String(error));
    } finally {
      setSending(false);
    }
  };
  return (
    <Card title={t("reference.try")}>
      <form
        className="flex flex-col gap-3 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {needsKey && (
          <Field label={t("reference.key")}>
            {(ids) => (
              <Input
                {...ids}
                type="password"
                autoComplete="off"
                value={apiKey}
                onChange={(event) => onApiKey(event.target.value)}
              />
            )}
          </Field>
        )}
        {texts.map(({ name, required }) => (
          <Field key={name} label={name} required={required}>
            {(ids) => (
              <Input
                {...ids}
                required={required}
                value={values[name] ?? ""}
                onChange={(event) => setValues({ ...values, [name]: event.target.value })}
              />
            )}
          </Field>
        ))}
        {(example.form?.files ?? []).map((name) => (
          <Field key={name} label={name} required>
            {(ids) => (
              <input
                {...ids}
                type="file"
                required
                onChange={({ target }) => {
                  const [file] = target.files ?? [];
                  if (file) setFiles({ ...files, [name]: file });
                }}
              />
            )}
          </Field>
        ))}
        {example.body !== undefined && (
          <Field label={t("reference.body.json")}>
            {(ids) => (
              <TextArea
                {...ids}
                rows={Math.min(12, body.split("\n").length + 1)}
                spellCheck={false}
                className="font-mono text-xs"
                value={body}
                onChange={(event) => setBody(event.target.value)}
              />
            )}
          </Field>
        )}
        <FormError message={failure} />
        <Button look="primary" type="submit" disabled={isSending} className="self-start">
          {t("reference.send")}
        </Button>
        {result && (
          <section aria-label={t("reference.result")} className="flex flex-col gap-2">
            <p className="flex items-center gap-2 text-xs text-muted">
              <Badge tone={result.status < 400 ? "good" : "bad"}>{result.status}</Badge>
              {milliseconds(result.durationMs)}
            </p>
            <div className="[&_section]:max-h-96">
              <CodeBlock label={t("reference.result")} code={result.text} />
            </div>
          </section>
        )}
      </form>
    </Card>
  );
}

function requestOf(
  { api, operation, apiKey, example }: SendRequestProps,
  values: Readonly<Record<string, string>>,
  files: Readonly<Record<string, File>>,
  body: string,
): RequestInit & { readonly url: string } {
  const { method, path, parameters = [] } = operation;
  const given = parameters.filter(({ name }) => (values[name] ?? "") !== "");
  const query = new URLSearchParams(
    given.filter((each) => each.in === "query").map(({ name }) => [name, values[name] ?? ""]),
  );
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? ""),
  );
  const headers = {
    ...(api === "admin" ? csrfHeader() : apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(example.body !== undefined && { "content-type": "application/json" }),
    ...Object.fromEntries(
      given.filter((each) => each.in === "header").map(({ name }) => [name, values[name] ?? ""]),
    ),
  };
  const url = query.size === 0 ? filled : `${filled}?${query}`;
  if (!example.form) return { url, method, headers, ...(example.body !== undefined && { body }) };
  const form = new FormData();
  for (const name of Object.keys(example.form.fields)) form.set(name, values[name] ?? "");
  for (const [name, file] of Object.entries(files)) form.set(name, file);
  return { url, method, headers, body: form };
}

/** JSON with line breaks, other text as it is, and of anything else its size. */
async function textOf(response: Response): Promise<string> {
  const type = response.headers.get("content-type") ?? "";
  if (!/json|text|javascript/.test(type)) {
    const { size } = await response.blob();
    return size === 0 ? response.statusText : `${type}, ${bytes(size)}`;
  }
  const text = await response.text();
  const shown = type.includes("application/json")
    ? JSON.stringify(JSON.parse(text), undefined, 2)
    : text;
  return shown.length > maxShown ? `${shown.slice(0, maxShown)}\n…` : shown;
}

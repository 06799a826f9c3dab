/** Sends a request to the data plane with an API key that the user types in. The key stays in this tab. */
import { useState } from "react";
import { errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Field } from "../../ui/field.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import type { Operation } from "./openapi.ts";

interface Outcome {
  readonly status: number;
  readonly durationMs: number;
  readonly text: string;
}

const keyName = "vexel.tryIt.key";
const maxShown = 20_000;

export function TryIt({ operation }: { operation: Operation }) {
  const t = useT();
  const [key, setKey] = useState(() => sessionStorage.getItem(keyName) ?? "");
  const [path, setPath] = useState(operation.path);
  const [body, setBody] = useState(() =>
    operation.example === undefined ? "" : JSON.stringify(operation.example, null, 2),
  );
  const [outcome, setOutcome] = useState<Outcome>();
  const [problem, setProblem] = useState<string>();
  const send = async (): Promise<void> => {
    sessionStorage.setItem(keyName, key);
    const startedAt = performance.now();
    try {
      const response = await fetch(path, {
        method: operation.method.toUpperCase(),
        headers: {
          authorization: `Bearer ${key}`,
          ...(body !== "" && { "content-type": "application/json" }),
        },
        ...(body !== "" && { body }),
      });
      const text = (await response.text()).slice(0, maxShown);
      setOutcome({ status: response.status, durationMs: performance.now() - startedAt, text });
      setProblem(undefined);
    } catch (error) {
      setProblem(errorText(error));
    }
  };
  return (
    <form
      className="flex flex-col gap-3 rounded-md border border-line p-3"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <h3 className="font-semibold">{t("reference.tryIt")}</h3>
      <Field label={t("reference.key")} hint={t("reference.keyHint")}>
        {(ids) => (
          <Input
            {...ids}
            type="password"
            autoComplete="off"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        )}
      </Field>
      {operation.path.includes("{") && (
        <Field label={t("reference.path")}>
          {(ids) => (
            <Input {...ids} value={path} onChange={(event) => setPath(event.target.value)} />
          )}
        </Field>
      )}
      {operation.requestBody && (
        <Field label={t("reference.body")} error={problem}>
          {(ids) => (
            <TextArea
              {...ids}
              rows={6}
              className="font-mono text-xs"
              value={body}
              onChange={(event) => setBody(event.target.value)}
            />
          )}
        </Field>
      )}
      <div>
        <Button type="submit">{t("reference.send")}</Button>
      </div>
      {outcome && (
        <div className="flex flex-col gap-2" aria-live="polite">
          <span>
            <Badge tone={outcome.status < 400 ? "good" : "bad"}>{outcome.status}</Badge>{" "}
            <span className="text-xs text-muted">{milliseconds(outcome.durationMs)}</span>
          </span>
          <CodeBlock label={t("reference.response")} code={outcome.text} />
        </div>
      )}
    </form>
  );
}

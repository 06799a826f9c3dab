/**
 * Sends a request as the user typed it: to the data plane with an API key, which stays in this tab; to the admin API
 * with the session.
 */
import { useState } from "react";
import { useForm } from "react-hook-form";
import { checkSession, csrfHeader, errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Field } from "../../ui/field.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import type { Operation } from "./openapi.ts";

interface TriedResponse {
  readonly status: number;
  readonly durationMs: number;
  readonly text: string;
}

const keyName = "vexel.tryIt.key";
const maxShown = 20_000;

export function TryIt({ operation }: { operation: Operation }) {
  const t = useT();
  const isAdmin = operation.path.startsWith("/admin/api");
  const { register, handleSubmit, formState, setError } = useForm({
    defaultValues: {
      key: sessionStorage.getItem(keyName) ?? "",
      path: operation.path,
      body: operation.example === undefined ? "" : JSON.stringify(operation.example, null, 2),
    },
  });
  const [outcome, setOutcome] = useState<TriedResponse>();
  const send = handleSubmit(async ({ key, path, body }) => {
    if (!isAdmin) sessionStorage.setItem(keyName, key);
    const startedAt = performance.now();
    try {
      const response = await fetch(path, {
        method: operation.method.toUpperCase(),
        headers: {
          ...(isAdmin ? csrfHeader() : { authorization: `Bearer ${key}` }),
          ...(body !== "" && { "content-type": "application/json" }),
        },
        ...(body !== "" && { body }),
      });
      if (isAdmin && response.status === 401) checkSession();
      const text = (await response.text()).slice(0, maxShown);
      setOutcome({ status: response.status, durationMs: performance.now() - startedAt, text });
    } catch (error) {
      setError("root", { message: errorText(error) });
    }
  });
  return (
    <form className="flex flex-col gap-3 rounded-md border border-line p-3" onSubmit={send}>
      <h3 className="font-semibold">{t("reference.tryIt")}</h3>
      {isAdmin ? (
        <p className="text-xs text-muted">{t("reference.session")}</p>
      ) : (
        <Field label={t("reference.key")} hint={t("reference.keyHint")}>
          {(ids) => <Input {...ids} type="password" autoComplete="off" {...register("key")} />}
        </Field>
      )}
      {operation.path.includes("{") && (
        <Field label={t("reference.path")}>
          {(ids) => <Input {...ids} {...register("path")} />}
        </Field>
      )}
      {operation.requestBody && (
        <Field label={t("reference.body")}>
          {(ids) => (
            <TextArea {...ids} rows={6} className="font-mono text-xs" {...register("body")} />
          )}
        </Field>
      )}
      <div>
        <Button type="submit">{t("reference.send")}</Button>
      </div>
      <FormError message={formState.errors.root?.message} />
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

/** Tests the connection to an upstream, and says what each step found. */

import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { ConnectionStep, ConnectionTest } from "../../../../contract/admin.ts";
import { type ModelKind, modelKinds } from "../../../../contract/model-kinds.ts";
import { call, errorText } from "../../api/client.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { milliseconds } from "../../lib/format.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";

interface PaidModel {
  /** The upstream's name of it. */
  readonly model: string;
  /** Undefined if the gateway guesses it by the name. */
  readonly modelKind?: ModelKind;
}

interface ConnectionTestPanelProps {
  readonly path: string;
  /** The body of the request. The default is an empty one. */
  readonly body?: () => object;
  /** Whether a request can be sent. If not, the form has said what is missing. */
  readonly isReady?: () => boolean;
  /** The model for a test that may cost. Undefined if the user names one. */
  readonly paidModel?: PaidModel | undefined;
  /** The user has asked for the first test already, in a menu. */
  readonly runsAtOnce?: boolean;
  readonly onResult?: (test: ConnectionTest) => void;
}

export function ConnectionTestPanel(props: ConnectionTestPanelProps) {
  const { path, body, isReady, paidModel, runsAtOnce = false, onResult } = props;
  const t = useT();
  const test = useMutation({
    mutationFn: (more: object) =>
      call<ConnectionTest>(path, { method: "POST", body: { ...body?.(), ...more } }),
    onSuccess: (result) => onResult?.(result),
  });
  const hasRun = useRef(!runsAtOnce);
  const { data, error, isPending, mutate } = test;
  useEffect(() => {
    if (!hasRun.current) mutate({});
    hasRun.current = true;
  }, [mutate]);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Button
          size="small"
          onClick={() => (isReady?.() ?? true) && mutate({})}
          disabled={isPending}
        >
          {isPending ? t("upstreams.test.running") : t("upstreams.test")}
        </Button>
        {data?.credential === "unverified" && data.reachable && (
          <PaidTest
            known={paidModel}
            onConfirm={(model) => test.mutateAsync({ mayCost: true, ...model })}
          />
        )}
      </div>
      <div aria-live="polite" className="flex flex-col gap-2">
        {error && <p className="text-sm text-bad">{errorText(error)}</p>}
        {data && <TestResult test={data} />}
      </div>
    </div>
  );
}

interface PaidTestProps {
  readonly known: PaidModel | undefined;
  readonly onConfirm: (model: PaidModel) => Promise<unknown>;
}

function PaidTest({ known, onConfirm }: PaidTestProps) {
  const t = useT();
  const [named, setNamed] = useState("");
  const [modelKind, setKind] = useState<ModelKind>("embedding");
  const model = known ?? { model: named.trim(), modelKind };
  return (
    <>
      {!known && (
        <>
          <Input
            aria-label={t("upstreams.test.paid.model")}
            placeholder={t("upstreams.test.paid.model")}
            className="w-44! h-7!"
            value={named}
            onChange={({ target }) => setNamed(target.value)}
          />
          <div className="w-32">
            <Select
              aria-label={t("models.kind")}
              value={modelKind}
              onChange={setKind}
              options={modelKinds.map((kind) => ({
                value: kind,
                label: t(`model.kind.${kind}`),
              }))}
            />
          </div>
        </>
      )}
      {model.model !== "" && (
        <ConfirmButton
          label={t("upstreams.test.paid")}
          title={t("upstreams.test.paid.title")}
          description={t("upstreams.test.paid.description", { model: model.model })}
          onConfirm={() => onConfirm(model)}
        />
      )}
    </>
  );
}

const tones: Readonly<Record<ConnectionStep["result"], Tone>> = {
  passed: "good",
  failed: "bad",
  skipped: "neutral",
  unknown: "warn",
};

function outcomeOf({ reachable, credential, problem }: ConnectionTest): MessageKey {
  if (!reachable) return "upstreams.test.failed";
  if (problem !== null && credential !== "refused") return "upstreams.test.problem";
  return `upstreams.credential.${credential}`;
}

function TestResult({ test }: { test: ConnectionTest }) {
  const t = useT();
  const failed = test.steps.find(({ result }) => result === "failed");
  const isBad = !test.reachable || test.problem !== null;
  const goodTone = test.credential === "unverified" ? "warn" : "good";
  return (
    <>
      <p className="flex flex-wrap items-center gap-2 text-sm">
        <Badge tone={isBad ? "bad" : goodTone}>{t(outcomeOf(test))}</Badge>
        <span className="text-muted">{milliseconds(test.duration_ms)}</span>
      </p>
      {failed && (
        <p className="text-sm break-words text-bad">{serverText(failed.detail, failed.i18n)}</p>
      )}
      <ul className="flex flex-col gap-1">
        {test.steps.map(({ step, result, detail, i18n }) => (
          <li key={step} className="flex flex-wrap items-center gap-2">
            <Badge tone={tones[result]}>
              {t("text.pair", {
                name: t(`upstreams.step.${step}`),
                value: t(`upstreams.result.${result}`),
              })}
            </Badge>
            <span className="min-w-0 text-xs break-words text-muted">
              {serverText(detail, i18n)}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

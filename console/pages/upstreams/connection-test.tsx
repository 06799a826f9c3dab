/** Tests the connection to an upstream, and says what the test found. */
import { useMutation } from "@tanstack/react-query";
import type { ConnectionTest } from "../../../contract/admin.ts";
import { call, errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";

interface ConnectionTestButtonProps {
  readonly path: string;
  readonly body?: () => unknown;
  readonly onResult?: (test: ConnectionTest) => void;
}

export function ConnectionTestButton({ path, body, onResult }: ConnectionTestButtonProps) {
  const t = useT();
  const test = useMutation({
    mutationFn: () => call<ConnectionTest>(path, { method: "POST", body: body?.() ?? {} }),
    onSuccess: (result) => onResult?.(result),
  });
  return (
    <span className="flex flex-wrap items-center gap-2">
      <Button size="small" onClick={() => test.mutate()} disabled={test.isPending}>
        {t("upstreams.test")}
      </Button>
      <span aria-live="polite">
        {test.error && <Badge tone="bad">{errorText(test.error)}</Badge>}
        {test.data && <Outcome test={test.data} />}
      </span>
    </span>
  );
}

function Outcome({ test }: { test: ConnectionTest }) {
  const t = useT();
  if (!test.reachable || test.credential === "refused")
    return <Badge tone="bad">{test.problem ?? t("upstreams.test.failed")}</Badge>;
  return (
    <Badge tone={test.credential === "accepted" ? "good" : "warn"}>
      {test.credential === "accepted" ? t("upstreams.test.ok") : t("upstreams.test.unchecked")} ·{" "}
      {milliseconds(test.duration_ms)}
    </Badge>
  );
}

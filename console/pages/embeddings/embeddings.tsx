/** The embeddings playground: embed texts with one or more models, and see what the vectors mean. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { ModelChoice } from "../models/model-choice.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { embed } from "./embed.ts";
import { readTexts } from "./read-texts.ts";
import { Results, type Run } from "./results.tsx";
import { sampleTexts } from "./sample-texts.ts";
import { TextInput } from "./text-input.tsx";

export function EmbeddingsPage() {
  const t = useT();
  const query = useQuery(modelsQuery);
  const models = query.data?.data.filter(({ kind }) => kind === "embedding") ?? [];
  const [content, setContent] = useState(sampleTexts);
  const [chosen, setChosen] = useState<readonly string[]>();
  const selected = chosen ?? models.slice(0, 1).map(({ id }) => id);
  const { texts } = readTexts(content);
  const abort = useRef<AbortController>(null);
  const run = useMutation({
    mutationFn: (): Promise<Run> => {
      abort.current = new AbortController();
      return embedWithAll(selected, texts, abort.current.signal);
    },
  });
  return (
    <Page title={t("nav.embeddings")} description={t("embeddings.description")}>
      <Card>
        <div className="flex flex-col gap-4 p-4">
          <TextInput content={content} onChange={setContent} />
          <QueryView query={query}>
            {() => <ModelChoice models={models} selected={selected} onChange={setChosen} />}
          </QueryView>
          <div className="flex gap-2">
            <Button
              look="primary"
              onClick={() => run.mutate()}
              disabled={run.isPending || selected.length === 0 || texts.length === 0}
            >
              {run.isPending ? t("embeddings.running") : t("embeddings.run")}
            </Button>
            {run.isPending && (
              <Button onClick={() => abort.current?.abort()}>{t("action.cancel")}</Button>
            )}
          </div>
        </div>
      </Card>
      {run.data && <Results key={run.submittedAt} run={run.data} />}
    </Page>
  );
}

/** One model that fails does not hide the results of the others. */
async function embedWithAll(
  models: readonly string[],
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Run> {
  const outcomes = await Promise.all(
    models.map((model) =>
      embed(model, texts, signal).catch((error: unknown) => ({
        model,
        reason: errorText(error),
      })),
    ),
  );
  return {
    texts,
    results: outcomes.filter((outcome) => "vectors" in outcome),
    failures: outcomes.filter((outcome) => "reason" in outcome),
  };
}

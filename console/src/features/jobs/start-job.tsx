/** Starts a batch with a file of the browser: texts to embed, or prompts of images. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { ApiKey, JobDetail, JobEstimate } from "../../../../contract/admin.ts";
import { errorText, pathWithQuery, type Query } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";
import { upload } from "../../api/upload.ts";
import { useT } from "../../i18n/messages.ts";
import { percent } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { FileInput } from "../../ui/file-input.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Input } from "../../ui/input.tsx";
import { optionsOf } from "../../ui/select.tsx";
import { QueryView } from "../../ui/states.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { batchFile, type JobEndpoint } from "./batch-file.ts";
import { JobEstimateView } from "./job-estimate.tsx";

/** A gateway may have thousands of keys: the server searches them. */
const keysQuery = (search: string) => ({
  ...listQuery<ApiKey>("/keys", { search: search.trim(), limit: 100 }),
  placeholderData: keepPreviousData,
});

export function StartJob({ endpoint }: { endpoint: JobEndpoint }) {
  const models = useQuery(modelsQuery);
  const keys = useQuery(keysQuery(""));
  const kind = endpoint === "/v1/embeddings" ? "embedding" : "image";
  return (
    <QueryView query={models}>
      {({ data }) => (
        <QueryView query={keys}>
          {(page) => (
            <StartForm
              endpoint={endpoint}
              models={data.filter((model) => model.kind === kind).map(({ id }) => id)}
              firstKeys={page.data.filter(isUsable)}
            />
          )}
        </QueryView>
      )}
    </QueryView>
  );
}

interface StartFormProps {
  readonly endpoint: JobEndpoint;
  readonly models: readonly string[];
  readonly firstKeys: readonly ApiKey[];
}

const isUsable = ({ state }: ApiKey): boolean => state === "active" || state === "expiring";

function StartForm({ endpoint, models, firstKeys }: StartFormProps) {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [model, setModel] = useState(models[0] ?? "");
  const [search, setSearch] = useState("");
  const found = useQuery(keysQuery(search)).data?.data.filter(isUsable) ?? firstKeys;
  const [key, setKey] = useState(firstKeys[0]);
  const keyId = key?.id ?? "";
  const [file, setFile] = useState<File>();
  const [name, setName] = useState("");
  const [estimate, setEstimate] = useState<JobEstimate>();
  const [execution, setExecution] = useState<JobEstimate["execution"]>("now");
  const [sent, setSent] = useState<number>();
  const [error, setError] = useState<string>();
  /** What was estimated is for another file, model or key. */
  const changed =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      set(value);
      setEstimate(undefined);
    };
  const send = async <Result,>(path: string, query: Query, chosen: File): Promise<Result> => {
    const input = await batchFile(chosen, endpoint, model);
    if (!input) throw new Error(t("jobs.start.emptyFile"));
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", input, chosen.name);
    return upload<Result>(
      pathWithQuery(path, { endpoint, key_id: keyId, ...query }),
      form,
      setSent,
    );
  };
  /** The lines and the price first, and then the job. What was typed stays if one of them fails. */
  const submit = async (chosen: File): Promise<void> => {
    setError(undefined);
    setSent(0);
    try {
      if (!estimate) {
        const found = await send<JobEstimate>("/jobs/estimates", {}, chosen);
        setEstimate(found);
        setExecution(found.execution);
        return;
      }
      const { id } = await send<JobDetail>("/jobs", { execution, name: name.trim() }, chosen);
      await queryClient.invalidateQueries({ queryKey: ["/jobs"] });
      await navigate({ to: "/jobs/$id", params: { id } });
    } catch (reason) {
      setError(errorText(reason));
    } finally {
      setSent(undefined);
    }
  };
  return (
    <div className="flex flex-col gap-3">
      <Field label={t("requests.model")}>
        {(ids) => (
          <Combobox
            {...ids}
            value={model}
            onChange={changed(setModel)}
            options={optionsOf(models)}
          />
        )}
      </Field>
      <Field label={t("jobs.start.key")} hint={t("jobs.start.key.hint")}>
        {(ids) => (
          <Combobox
            {...ids}
            value={keyId}
            onOpen={() => setSearch("")}
            onSearch={setSearch}
            onChange={changed((id: string) => setKey(found.find((each) => each.id === id) ?? key))}
            options={[...new Set([...(key ? [key] : []), ...found])].map(({ id, name }) => ({
              value: id,
              label: name,
            }))}
          />
        )}
      </Field>
      <Field label={t("jobs.start.file")} hint={t("jobs.start.file.hint")}>
        {({ id }) => (
          <div className="flex flex-col gap-1">
            <FileInput
              id={id}
              accept=".txt,.jsonl,text/plain"
              onFiles={changed(([first]: readonly File[]) => {
                setFile(first);
                setName(first?.name ?? "");
              })}
            />
            {file && <span className="text-xs break-all">{file.name}</span>}
          </div>
        )}
      </Field>
      {file && (
        <Field label={t("jobs.name")}>
          {(ids) => (
            <Input
              {...ids}
              value={name}
              maxLength={200}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
      )}
      {estimate && (
        <JobEstimateView estimate={estimate} execution={execution} onChoose={setExecution} />
      )}
      {sent !== undefined && (
        <div className="flex items-center gap-2">
          <progress aria-label={t("jobs.start.uploading")} max={1} value={sent} className="grow" />
          <span className="tabular-nums">{percent(sent)}</span>
        </div>
      )}
      <FormError message={error} />
      <div className="flex justify-end">
        <Button
          look="primary"
          disabled={
            !file ||
            model === "" ||
            keyId === "" ||
            sent !== undefined ||
            estimate?.valid_lines === 0
          }
          onClick={() => file && submit(file)}
        >
          {t(estimate ? "jobs.start" : "jobs.check")}
        </Button>
      </div>
    </div>
  );
}

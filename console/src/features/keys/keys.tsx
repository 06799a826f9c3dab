/** The API keys: create, change, rotate and revoke them. The value of a new key is shown once. */
import { useInfiniteQuery, useQueries, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiKey, CreatedApiKey, KeyReview } from "../../../../contract/admin.ts";
import { pagedQuery } from "../../api/lists.ts";
import { useProjectScope } from "../../api/project-scope.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Input } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { Select } from "../../ui/select.tsx";
import { KeyActions } from "./key-actions.tsx";
import { keyColumns } from "./key-columns.tsx";
import { KeyForm } from "./key-form.tsx";
import { keyUseQuery } from "./key-use-query.ts";
import { NewKey } from "./new-key.tsx";
import { RotateForm } from "./rotate-form.tsx";

type Review = KeyReview | "";
const reviews = ["", "unused", "expiring"] as const satisfies readonly Review[];

const keysQuery = (search: string, review: Review, project: string | undefined) =>
  pagedQuery<ApiKey>("/keys", { search: search.trim(), review, project });

export function KeysPage() {
  const t = useT();
  const [search, setSearch] = useState("");
  const [review, setReview] = useState<Review>("");
  const query = useInfiniteQuery(keysQuery(search, review, useProjectScope()));
  const pages = query.data?.pages.filter(({ data }) => data.length > 0) ?? [];
  const loaded = useQueries({ queries: pages.map(keyUseQuery) });
  const uses = new Map(loaded.flatMap(({ data }) => data?.data ?? []).map((use) => [use.id, use]));
  const queryClient = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedApiKey>();
  const reload = () => queryClient.invalidateQueries({ queryKey: ["/keys"] });
  const [edited, setEdited] = useState<ApiKey>();
  const [rotated, setRotated] = useState<ApiKey>();
  return (
    <Page
      title={t("nav.keys")}
      description={t("keys.description")}
      actions={
        <Button look="primary" onClick={() => setCreating(true)}>
          {t("keys.create")}
        </Button>
      }
    >
      <div className="flex flex-wrap gap-2">
        <Input
          type="search"
          aria-label={t("keys.search")}
          placeholder={t("keys.search")}
          value={search}
          maxLength={200}
          onChange={(event) => setSearch(event.target.value)}
          className="max-w-sm"
        />
        <div className="w-52">
          <Select
            aria-label={t("keys.review")}
            value={review}
            onChange={setReview}
            options={reviews.map((each) => ({
              value: each as Review,
              label: t(`keys.review.${each === "" ? "all" : each}`),
            }))}
          />
        </div>
      </div>
      <Card>
        <PagedTable
          label={t("nav.keys")}
          query={query}
          rowKey={({ id }) => id}
          empty={t(search.trim() === "" && review === "" ? "keys.none" : "keys.noMatch")}
          columns={[
            ...keyColumns(t, (id) => uses.get(id)),
            {
              key: "actions",
              header: t("column.actions"),
              cell: (key) => (
                <KeyActions
                  apiKey={key}
                  onEdit={() => setEdited(key)}
                  onRotate={() => setRotated(key)}
                  onRevoked={reload}
                />
              ),
            },
          ]}
        />
      </Card>
      <Dialog title={t("keys.create")} isOpen={isCreating} onClose={() => setCreating(false)}>
        <KeyForm<CreatedApiKey>
          apiKey={undefined}
          onSaved={async (key) => {
            setCreating(false);
            setCreated(key);
            await reload();
          }}
        />
      </Dialog>
      <Dialog
        title={t("keys.edit.title", { name: edited?.name ?? "" })}
        isOpen={edited !== undefined}
        onClose={() => setEdited(undefined)}
      >
        {edited && (
          <KeyForm<ApiKey>
            apiKey={edited}
            onSaved={async () => {
              setEdited(undefined);
              await reload();
            }}
          />
        )}
      </Dialog>
      <Dialog
        title={t("keys.rotate.title", { name: rotated?.name ?? "" })}
        description={t("keys.rotate.description")}
        isOpen={rotated !== undefined}
        onClose={() => setRotated(undefined)}
      >
        {rotated && (
          <RotateForm
            apiKey={rotated}
            onRotated={async (key) => {
              setRotated(undefined);
              setCreated(key);
              await reload();
            }}
          />
        )}
      </Dialog>
      <NewKey created={created} onClose={() => setCreated(undefined)} />
    </Page>
  );
}

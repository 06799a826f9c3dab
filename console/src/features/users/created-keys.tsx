/** The active keys that a user created, before the user is disabled or deleted: to revoke them, or to move them. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiKey, User } from "../../../../contract/admin.ts";
import { call, errorText } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { ProjectLink } from "../../ui/entity-links.tsx";
import { Select } from "../../ui/select.tsx";

const maxListed = 200;

export function CreatedKeys({ user, users }: { user: User; users: readonly User[] }) {
  const t = useT();
  const queryClient = useQueryClient();
  const query = useQuery(listQuery<ApiKey>("/keys", { created_by: user.id, limit: maxListed }));
  const others = users.filter(({ id, status }) => id !== user.id && status !== "disabled");
  const [to, setTo] = useState(others[0]?.id ?? "");
  const [error, setError] = useState<unknown>();
  const keys = query.data?.data.filter(({ revoked_at }) => revoked_at === null) ?? [];
  if (keys.length === 0) return null;
  const change = async (method: "PUT" | "DELETE", body?: object): Promise<void> => {
    setError(undefined);
    try {
      await call(`/users/${user.id}/keys`, { method, ...(body && { body }) });
      await queryClient.invalidateQueries({ queryKey: ["/keys"] });
    } catch (reason) {
      setError(reason);
    }
  };
  return (
    <section aria-label={t("users.keys")} className="mb-4 rounded-md border border-line p-3">
      <h3 className="text-sm font-medium">{t("users.keys")}</h3>
      <p className="mt-1 text-sm text-muted">{t("users.keys.stay")}</p>
      <ul className="my-2 max-h-48 overflow-y-auto">
        {keys.map(({ id, name, hint, project }) => (
          <li key={id} className="flex flex-wrap gap-2">
            {name} <code className="font-mono text-xs text-muted">{hint}…</code>
            {project !== null && <ProjectLink id={project} />}
          </li>
        ))}
      </ul>
      {query.data?.next_cursor && (
        <p className="text-sm text-muted">{t("users.keys.more", { count: maxListed })}</p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        {others.length > 0 && (
          <>
            <div className="w-44">
              <Select
                aria-label={t("users.keys.moveTo")}
                value={to}
                onChange={setTo}
                options={others.map(({ id, name }) => ({ value: id, label: name }))}
              />
            </div>
            <Button onClick={() => change("PUT", { to })}>{t("users.keys.move")}</Button>
          </>
        )}
        <Button onClick={() => change("DELETE")}>{t("users.keys.revokeAll")}</Button>
      </div>
      {error !== undefined && (
        <p role="alert" className="mt-2 text-bad">
          {errorText(error)}
        </p>
      )}
    </section>
  );
}

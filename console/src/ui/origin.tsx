/** Marks entities that are defined outside the console, and says where. */
import { Lock } from "lucide-react";
import type { Origin } from "../../../contract/admin.ts";
import { useT } from "../i18n/messages.ts";
import { Badge } from "./badge.tsx";

export function OriginBadge({ origin: { source, location } }: { origin: Origin }) {
  const t = useT();
  if (source === "store") return null;
  const text = location ?? t(`origin.${source}`);
  return (
    <Badge>
      <Lock size={12} />
      <span
        className="max-w-44 truncate max-sm:whitespace-normal max-sm:wrap-anywhere"
        title={text}
      >
        {text}
      </span>
    </Badge>
  );
}

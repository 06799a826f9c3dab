/** The mark of the kind of an upstream. The ledger has the id of the upstream only, and the models know its kind. */
import { useQuery } from "@tanstack/react-query";
import { KindMark } from "../../ui/kind-mark.tsx";
import { modelsQuery } from "../models/models-query.ts";

export function UpstreamMark({ upstream }: { upstream: string }) {
  const { data: kind } = useQuery({
    ...modelsQuery,
    staleTime: 60_000,
    select: ({ data }) =>
      data.flatMap(({ targets }) => targets).find((target) => target.upstream === upstream)
        ?.upstream_kind,
  });
  return kind !== undefined && <KindMark kind={kind} />;
}

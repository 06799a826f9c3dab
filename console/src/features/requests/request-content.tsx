/** What the client sent and received, for models that store it: parameters, uploaded images, and the response. */
import { useQuery } from "@tanstack/react-query";
import type { RequestContent } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { saveFile } from "../../lib/save-file.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { QueryView } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { imagesIn, shortened } from "./content-values.ts";

export function ContentCard({ id, expiresAt }: { id: string; expiresAt: string }) {
  const t = useT();
  const query = useQuery({
    queryKey: ["request-content", id],
    queryFn: ({ signal }) =>
      call<RequestContent>(`/requests/${encodeURIComponent(id)}/content`, { signal }),
    // The content is not kept in the memory of the page after it is closed.
    gcTime: 0,
  });
  return (
    <Card
      title={t("content.title")}
      actions={
        query.data && (
          <Button
            size="small"
            onClick={() => saveFile(`${id}.json`, new Blob([JSON.stringify(query.data, null, 2)]))}
          >
            {t("content.download")}
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-4 p-4">
        <p className="rounded-md bg-warn-soft p-3 text-sm text-warn">
          {t("content.warning")} {t("content.expires")} <Time iso={expiresAt} />
        </p>
        <QueryView query={query}>{(content) => <Content content={content} />}</QueryView>
      </div>
    </Card>
  );
}

function Content({ content: { request, files, response } }: { content: RequestContent }) {
  const t = useT();
  return (
    <>
      <Section title={t("content.request")}>
        <CodeBlock code={shortened(request)} label={t("content.request")} />
        <ul className="flex flex-wrap gap-3">
          {files.map(({ field, filename, type, data }, at) => (
            <li key={at} className="flex flex-col gap-1 text-xs text-muted">
              {data === null ? (
                <span>{t("content.tooLarge")}</span>
              ) : (
                <Image source={`data:${type};base64,${data}`} alt={filename || field} />
              )}
              <span>
                {field} {filename}
              </span>
            </li>
          ))}
        </ul>
      </Section>
      <Section title={t("content.response")}>
        {response.end !== "complete" && (
          <p className="text-sm text-warn">{t(`content.end.${response.end}`)}</p>
        )}
        {response.body !== null && (
          <>
            <div className="flex flex-wrap gap-3">
              {imagesIn(response.body).map((base64, at) => (
                <Image
                  key={at}
                  source={`data:image/png;base64,${base64}`}
                  alt={t("content.image", { number: at + 1 })}
                />
              ))}
            </div>
            <CodeBlock code={shortened(response.body)} label={t("content.response")} />
          </>
        )}
      </Section>
    </>
  );
}

const Section = ({ title, children }: { title: string; children: React.ReactNode }) => (
  <section className="flex min-w-0 flex-col gap-2">
    <h3 className="text-xs font-semibold">{title}</h3>
    {children}
  </section>
);

const Image = ({ source, alt }: { source: string; alt: string }) => (
  <img src={source} alt={alt} className="max-h-64 max-w-full rounded-md border border-line" />
);

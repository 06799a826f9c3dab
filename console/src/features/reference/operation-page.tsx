/** One operation: what it does, its parameters and bodies, as code in three languages, and a form that sends it. */
import type { ModelKind } from "../../../../contract/model-kinds.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { exampleBody } from "./example-body.ts";
import { Method } from "./method.tsx";
import {
  type Api,
  apis,
  bodySchemaOf,
  bodyTypeOf,
  type OpenApiDocument,
  type Operation,
} from "./openapi-document.ts";
import { type HttpRequest, requestLanguages, requestSample } from "./request-samples.ts";
import { SchemaField, SchemaFields } from "./schema-fields.tsx";
import { SendRequest } from "./send-request.tsx";

interface OperationPageProps {
  readonly api: Api;
  readonly document: OpenApiDocument;
  readonly operation: Operation;
  /** The models of this gateway, by kind. */
  readonly models: Readonly<Record<ModelKind, string | undefined>>;
  readonly apiKey: string;
  readonly onApiKey: (key: string) => void;
}

export function OperationPage(props: OperationPageProps) {
  const { api, document, operation, models } = props;
  const t = useT();
  const { parameters = [], responses } = operation;
  const role = operation["x-role"];
  const body = bodySchemaOf(operation);
  const example = exampleBody(document, operation, models);
  return (
    <article className="grid min-w-0 items-start gap-4 xl:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]">
      <div className="flex min-w-0 flex-col gap-4">
        <header className="flex flex-col gap-1">
          <h2 className="flex items-baseline gap-2 font-mono text-sm font-semibold">
            <Method method={operation.method} />
            <span className="min-w-0 break-all">{operation.path}</span>
          </h2>
          <p>{operation.summary}</p>
          {role !== undefined && role !== "anyone" && (
            <p className="text-xs text-muted">{t("reference.role", { role })}</p>
          )}
        </header>
        {parameters.length > 0 && (
          <Card title={t("reference.parameters")}>
            <ul className="divide-y divide-line px-4">
              {parameters.map(({ name, in: place, schema, description, required = false }) => (
                <SchemaField
                  key={`${place} ${name}`}
                  name={name}
                  isRequired={required}
                  document={document}
                  schema={schema}
                  description={[t(`reference.in.${place}`), description].filter(Boolean).join(". ")}
                />
              ))}
            </ul>
          </Card>
        )}
        {body && (
          <Card
            title={t(
              bodyTypeOf(operation) === "json" ? "reference.body.json" : "reference.body.form",
            )}
          >
            <div className="px-4 py-2">
              <SchemaFields document={document} schema={body} />
            </div>
          </Card>
        )}
        {Object.entries(responses).map(([status, { description, content = {} }]) => (
          <Card
            key={status}
            title={t(status === "default" ? "reference.error" : "reference.response", { status })}
          >
            <div className="px-4 py-2">
              <p className="py-1 text-muted">{description}</p>
              {Object.entries(content).map(([type, { schema }]) => (
                <section key={type} aria-label={type}>
                  <p className="font-mono text-xs text-muted">{type}</p>
                  {schema && <SchemaFields document={document} schema={schema} />}
                </section>
              ))}
            </div>
          </Card>
        ))}
      </div>
      <div className="flex min-w-0 flex-col gap-4 xl:sticky xl:top-4">
        <Card title={t("reference.samples")}>
          <div className="p-4">
            <Tabs
              label={t("reference.samples")}
              tabs={requestLanguages.map((name) => ({
                name,
                content: (
                  <CodeBlock
                    label={name}
                    code={requestSample(name, requestOf(api, operation, example))}
                  />
                ),
              }))}
            />
          </div>
        </Card>
        <SendRequest {...props} example={example} />
      </div>
    </article>
  );
}

function requestOf(
  api: Api,
  operation: Operation,
  example: ReturnType<typeof exampleBody>,
): HttpRequest {
  const { method, path, security, responses } = operation;
  return {
    method,
    baseUrl: location.origin,
    // A value in braces would be a pattern for curl.
    path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase()),
    token: security?.length === 0 ? undefined : apis[api].token,
    ...example,
    isJson: Object.values(responses).some(({ content }) => content?.["application/json"]),
  };
}

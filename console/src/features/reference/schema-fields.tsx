/** The members of an object, with their types. The members of an inner object are shown on demand. */
import { useState } from "react";
import { useT } from "../../i18n/messages.ts";
import type { OpenApiDocument, Schema } from "./openapi-document.ts";
import { objectsIn, typeText } from "./schema.ts";

interface SchemaFieldsProps {
  readonly document: OpenApiDocument;
  readonly schema: Schema;
}

export function SchemaFields({ document, schema }: SchemaFieldsProps) {
  const objects = objectsIn(document, schema);
  if (objects.length === 0)
    return <p className="font-mono text-xs text-muted">{typeText(document, schema)}</p>;
  return objects.map((object, at) => (
    <ul key={at} className="divide-y divide-line">
      {Object.entries(object.properties ?? {}).map(([name, member]) => (
        <SchemaField
          key={name}
          name={name}
          isRequired={object.required?.includes(name) ?? false}
          document={document}
          schema={member}
        />
      ))}
    </ul>
  ));
}

interface SchemaFieldProps extends SchemaFieldsProps {
  readonly name: string;
  readonly isRequired: boolean;
  /** The default is that of the schema. */
  readonly description?: string | undefined;
}

export function SchemaField(props: SchemaFieldProps) {
  const { name, isRequired, document, schema, description = schema.description } = props;
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  const hasMembers = objectsIn(document, schema).length > 0;
  return (
    <li className="flex flex-col gap-0.5 py-2">
      <p className="flex flex-wrap items-baseline gap-x-2">
        <code className="font-mono text-xs font-semibold">{name}</code>
        <span className="font-mono text-xs break-words text-muted">
          {typeText(document, schema)}
        </span>
        {isRequired && <span className="text-xs text-warn">{t("reference.required")}</span>}
      </p>
      {description !== undefined && <p className="text-muted">{description}</p>}
      {hasMembers && (
        // A schema may contain itself: its members are drawn when they are opened.
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="text-xs text-accent">{t("reference.members", { name })}</summary>
          <div className="mt-1 border-l border-line pl-3">
            {isOpen && <SchemaFields document={document} schema={schema} />}
          </div>
        </details>
      )}
    </li>
  );
}

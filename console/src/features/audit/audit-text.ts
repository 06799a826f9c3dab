/** The messages of the audit log, which only its page loads: no other page needs them. */
import { enAudit } from "../../i18n/en-audit.ts";
import { formatter, type Language } from "../../i18n/messages.ts";
import { zhAudit } from "../../i18n/zh-audit.ts";

export type AuditKey = keyof typeof enAudit;
export type AuditText = ReturnType<typeof formatter<AuditKey>>;

export const isAuditKey = (key: string): key is AuditKey => Object.hasOwn(enAudit, key);

const catalogs = { en: enAudit, zh: zhAudit };

export const auditText = (language: Language): AuditText =>
  formatter<AuditKey>(catalogs[language], language);

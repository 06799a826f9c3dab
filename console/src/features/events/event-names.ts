/** Event types in words. Only the pages that list events load them. */
import type { EventType } from "../../../../contract/events.ts";
import type { Language } from "../../i18n/messages.ts";

const names: Readonly<Record<EventType, Readonly<Record<Language, string>>>> = {
  "budget.threshold": { en: "Budget threshold", zh: "预算阈值" },
  "target.ejected": { en: "Target ejected", zh: "目标已熔断" },
  "target.recovered": { en: "Target recovered", zh: "目标已恢复" },
  "target.drifted": { en: "Vectors drifted", zh: "向量漂移" },
  "target.realigned": { en: "Vectors match again", zh: "向量恢复一致" },
  "alert.firing": { en: "Alert firing", zh: "告警触发" },
  "alert.resolved": { en: "Alert resolved", zh: "告警恢复" },
  "key.created": { en: "API key created", zh: "API 密钥已创建" },
  "key.revoked": { en: "API key revoked", zh: "API 密钥已吊销" },
  "key.expiring": { en: "API key expires soon", zh: "API 密钥即将过期" },
  "config.reloaded": { en: "Configuration changed", zh: "配置已变更" },
  "config.rejected": { en: "Configuration rejected", zh: "配置被拒绝" },
  "ledger.unwritable": { en: "Ledger not writable", zh: "账本无法写入" },
  "ledger.recovered": { en: "Ledger recovered", zh: "账本已恢复" },
  "database.unavailable": { en: "Database unavailable", zh: "数据库不可用" },
  "database.recovered": { en: "Database recovered", zh: "数据库已恢复" },
  "redis.unavailable": { en: "Redis unavailable", zh: "Redis 不可用" },
  "redis.recovered": { en: "Redis recovered", zh: "Redis 已恢复" },
  "object_store.unavailable": { en: "Object store unavailable", zh: "对象存储不可用" },
  "object_store.recovered": { en: "Object store recovered", zh: "对象存储已恢复" },
  "webhook.test": { en: "Webhook test", zh: "Webhook 测试" },
};

/** A newer gateway may send a type that this page does not know. */
const isKnown = (type: string): type is EventType => Object.hasOwn(names, type);

export const eventName = (type: string, language: Language): string =>
  isKnown(type) ? names[type][language] : type;

/** Texts of the gateway in Simplified Chinese. The type requires every message id that the gateway can send. */
import type { ServerTexts } from "../server-text.ts";
import { zhAdminErrors } from "./admin-errors.ts";
import { zhErrors } from "./errors.ts";
import { zhFieldHelp } from "./field-help.ts";
import { zhSchemaMessages } from "./schema-messages.ts";
import { zhSettings } from "./settings.ts";
import { zhStatusMessages } from "./status-messages.ts";
import { zhStepMessages } from "./step-messages.ts";

export const zhServer: ServerTexts = {
  messages: {
    ...zhAdminErrors,
    ...zhErrors,
    ...zhSchemaMessages,
    ...zhStatusMessages,
    ...zhStepMessages,
    type_invalid: "“{param}” 的类型错误",
    value_unsupported: "“{param}” 无效。支持的值：{values}",
    too_small: "“{param}” 过小或过短：至少为 {minimum}",
    too_large: "“{param}” 过大或过长：最多为 {maximum}",
    parameter_unknown: "未知参数：“{param}”",
  },
  fieldHelp: zhFieldHelp,
  settings: zhSettings,
};

/** The messages of changes of many projects, which only their list loads. */
import { enManyProjects } from "../../i18n/en-many-projects.ts";
import { formatter, useLanguage } from "../../i18n/messages.ts";
import { zhManyProjects } from "../../i18n/zh-many-projects.ts";

const texts = { en: formatter(enManyProjects, "en"), zh: formatter(zhManyProjects, "zh") };

export const useManyProjectsText = () => texts[useLanguage().language];

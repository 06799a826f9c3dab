/** Settings and tables of LiteLLM that are not carried. */
import type { Report } from "../report.ts";
import { environmentSection, type LitellmSource, objectOf } from "./source.ts";

export function reportOtherParts(source: LitellmSource, report: Report): void {
  for (const [section, settings] of source.otherSettings) reportSection(section, settings, report);
  for (const [table, rows] of source.otherTables)
    if (rows > 0)
      report
        .about(table)
        .dropped("", `${rows} ${rows === 1 ? "row" : "rows"}: Vexel has no such entities`);
}

function reportSection(section: string, settings: unknown, report: Report): void {
  const about = report.about(section);
  if (Array.isArray(settings)) {
    const entries = settings.length === 1 ? "entry" : "entries";
    about.dropped("", `${settings.length} ${entries}: Vexel does not import this list`);
    return;
  }
  if (typeof settings !== "object" || settings === null) {
    about.dropped("", "a setting of LiteLLM's process");
    return;
  }
  for (const name of Object.keys(objectOf(settings)))
    if (section === environmentSection)
      about.carried(name, `the value of os.environ/${name} (--yaml: set the variable)`);
    else about.dropped(name, "a setting of LiteLLM's process");
}

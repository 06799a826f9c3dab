/** The title of a chart. It says that the axis is logarithmic: equal distances are equal factors. */
import { useT } from "../i18n/messages.ts";

interface ChartTitleProps {
  readonly title: string;
  readonly isLogarithmic?: boolean | undefined;
}

export function ChartTitle({ title, isLogarithmic = false }: ChartTitleProps) {
  const t = useT();
  return (
    <>
      {title}
      {isLogarithmic && (
        <span className="ml-2 text-xs font-normal text-muted">{t("chart.logarithmic")}</span>
      )}
    </>
  );
}

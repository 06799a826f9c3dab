/** Reports once that the collector does not accept spans or metrics, and once that it accepts them again. */

interface ExportReports {
  onFailed(reason: string | undefined): void;
  onRecovered(): void;
}

export function reportExports({
  onFailed,
  onRecovered,
}: ExportReports): (isExported: boolean, error: Error | undefined) => void {
  let wasExported = true;
  return (isExported, error) => {
    if (isExported === wasExported) return;
    wasExported = isExported;
    if (isExported) onRecovered();
    else onFailed(error?.message);
  };
}

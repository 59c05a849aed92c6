/** What page and worker can both say about the browser, so that the service can compare the two. */

export interface Facts {
  readonly userAgent: string;
  readonly platform: string;
  readonly hardwareConcurrency: number;
  readonly language: string;
  readonly timezone: string;
}

export function readFacts(): Facts {
  const { userAgent, platform, hardwareConcurrency, language } = navigator;
  return { userAgent, platform, hardwareConcurrency, language, timezone: readTimezone() };
}

function readTimezone(): string {
  try {
    return new Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  } catch {
    return "";
  }
}

/** What page, frame and worker can all say about the browser, so that the service can compare them. */

export interface Facts {
  readonly userAgent: string;
  readonly platform: string;
  readonly hardwareConcurrency: number;
  readonly language: string;
  readonly languages: readonly string[] | undefined;
  readonly timezone: string;
}

export function readFacts(
  from: NavigatorID & NavigatorLanguage & NavigatorConcurrentHardware = navigator,
  intl: typeof Intl = Intl,
): Facts {
  const { userAgent, platform, hardwareConcurrency, language, languages } = from;
  return {
    userAgent,
    platform,
    hardwareConcurrency,
    language,
    languages: languages && [...languages],
    timezone: readTimezone(intl),
  };
}

function readTimezone({ DateTimeFormat }: typeof Intl): string {
  try {
    return new DateTimeFormat().resolvedOptions().timeZone || "";
  } catch {
    return "";
  }
}

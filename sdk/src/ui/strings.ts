/** The words of the widget. English is here; the other languages are files that are fetched when they are needed. */

export const ENGLISH = {
  title: "Security check",
  checking: "Checking…",
  verified: "Verified",
  failed: "Check failed",
  offline: "Check unavailable",
  expired: "Check expired",
  retry: "Try again",
  confirm: "Confirm you are human",
  hint: "Press the button, wait a moment, press it again.",
  wait: "One moment…",
  continue: "Continue",
  cancel: "Cancel",
  trouble: "Having trouble?",
  help: "Try again, or contact the owner of this site.",
  quote: "Quote this ID: {id}",
  canceled: "Check canceled",
  why: "Why am I seeing this?",
  reason: "This visit looks a little like a bot. Pressing the button shows that you are human.",
  assistant: "A program controls this browser. Press the button yourself.",
};

export type Word = keyof typeof ENGLISH;
export type Strings = Record<Word, string>;

const PACKS =
  /^(ar|bg|ca|cs|da|de|el|es|fa|fi|fr|he|hi|hr|hu|id|it|ja|ko|nb|nl|pl|pt|ro|ru|sk|sv|th|tr|uk|ur|vi|zh-CN|zh-TW)$/;
export const RIGHT_TO_LEFT = /^(ar|fa|he|ur)$/;

/** The pack of a language tag: `zh-Hant-HK` is in `zh-TW`; English where there is none. */
export function choosePack(tag: string): string {
  let code = /^[a-z]*/i.exec(tag)![0];
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    code = language;
    if (code === "zh") code = script === "Hant" ? "zh-TW" : "zh-CN";
    if (code === "no" || code === "nn") code = "nb";
  } catch {
    // Not a language tag, such as `pt_BR`: its beginning has to do.
  }
  return PACKS.test(code) ? code : "en";
}

let cached: { readonly url: string; readonly strings: Promise<Strings> } | undefined;

/** Fetch a pack, once; English where it cannot be had, also for single words that it lacks. */
export function loadStrings(folder: string, code: string): Promise<Strings> {
  const url = folder + code + ".json";
  if (cached?.url !== url) cached = { url, strings: fetchStrings(code === "en" ? "" : url) };
  return cached.strings;
}

async function fetchStrings(url: string): Promise<Strings> {
  const strings = { ...ENGLISH } as Strings;
  try {
    const words = url ? ((await (await fetch(url)).json()) as string[]) : [];
    // A pack is the bare words, in the order in which they stand above.
    let at = 0;
    for (const word in ENGLISH) strings[word as Word] = words[at++] ?? strings[word as Word];
  } catch {
    // English it is.
  }
  return strings;
}

/** Put a number into the sentence that asks to quote it. */
export function quote(strings: Strings, id: string): string {
  const [, before, after] = /^(.*)\{id\}(.*)$/.exec(strings.quote) ?? [];
  return `${before ?? ""}${id}${after ?? ""}`;
}

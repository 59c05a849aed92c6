/** The one file that connects a proxy: three answers, the file with what to set marked, the rest behind a choice. */

import type { SiteDetail } from "../api/types.gen";
import { t } from "../lib/words";
import { Code, Failure, Field } from "../ui/parts";
import { NAMES } from "./snippets";
import { useAdapter } from "./unavailable";

type Answers = Record<"upstream" | "listen", string>;

export const NO_ANSWERS: Answers = { upstream: "", listen: "" };

const typed = (event: Event) => (event.currentTarget as HTMLInputElement).value.trim();

export function ProxyFile({
  proxy,
  site,
  secret,
  answers,
  onAnswer,
}: {
  proxy: string;
  site: SiteDetail;
  secret: string;
  answers: Answers;
  onAnswer: (answers: Answers) => void;
}) {
  const { data, error, reload } = useAdapter(site, proxy, answers);
  const files = data?.proxy === proxy ? data.files : [];
  const of = (use: string) => files.filter((file) => file.use === use);
  const filled = (text: string) => (secret ? text.replaceAll(data!.placeholder, secret) : text);
  const host = answers.upstream.replace(/^https?:\/\//, "") || "127.0.0.1:3000";
  const show = (file: (typeof files)[number]) => (
    <Code
      key={file.name}
      name={file.path}
      text={filled(file.text)}
      marks={[secret || data!.placeholder, host, answers.listen]}
    />
  );
  return (
    <div class="stack">
      <div class="cols">
        <Field
          id="upstream"
          label={t("install.upstream")}
          help={t("install.upstreamHelp")}
          placeholder="http://127.0.0.1:3000"
          defaultValue={answers.upstream}
          onChange={(event: Event) => onAnswer({ ...answers, upstream: typed(event) })}
        />
        <Field
          id="listen"
          label={t("install.listen")}
          help={t("install.listenHelp", { stack: NAMES[proxy] ?? proxy })}
          placeholder={t("install.listenUsual")}
          defaultValue={answers.listen}
          onChange={(event: Event) => onAnswer({ ...answers, listen: typed(event) })}
        />
      </div>
      {error && <Failure error={error} retry={reload} />}
      {of("main").map(show)}
      {files.length > 0 && (
        <p class="s soft">
          {t(secret ? "install.marked" : "install.markedSecret")} {t(`install.unavailable.${site.mode}`)}
        </p>
      )}
      {of("with").map(show)}
      {of("existing").length > 0 && (
        <details>
          <summary>{t("install.existing", { stack: NAMES[proxy] ?? proxy })}</summary>
          <div class="stack">
            <p class="s soft">{t("install.existingHelp")}</p>
            {of("existing").map(show)}
          </div>
        </details>
      )}
    </div>
  );
}

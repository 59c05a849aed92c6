/** The parts that pages are made of. Each takes data and gives the markup of the reference's components. */

import type { ComponentChildren } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import type { Outcome } from "../api/types.gen";
import { absolute, count, percent, relative } from "../lib/format";
import { docsOf, type Topic } from "../lib/docs";
import { ENOUGH } from "../lib/outcomes";
import { t } from "../lib/words";
import { Icon, type IconName } from "./icons";
import { announce } from "./toasts";

export type Tone = "allow" | "challenge" | "block" | "drop" | "info";

const SIGNS: Record<Outcome, IconName> = { allow: "check", challenge: "ask", block: "no", drop: "fall" };

/** What became of a request; `would` is what enforce would have done. */
export function OutcomeBadge({ outcome, would }: { outcome: Outcome; would?: boolean }) {
  return (
    <span class={would ? "out would" : "out"} data-o={outcome}>
      <Icon name={SIGNS[outcome]} />
      {t(would ? `would.${outcome}` : `outcome.${outcome}`)}
    </span>
  );
}

/** A route of the site; what no route names is said in words. */
export function RouteName({ route }: { route: string }) {
  return route === "*" ? <span class="soft">{t("route.other")}</span> : <code>{route}</code>;
}

/** A label of a decision: its source, then the rest. `hit` when the rule asked for it. */
export function LabelPill({ label, hit }: { label: string; hit?: Tone }) {
  const [source, ...rest] = label.split(".");
  return (
    <span class={hit ? "pill hit" : "pill"} data-o={hit}>
      <i>{source}</i>
      <span>{rest.join(".")}</span>
    </span>
  );
}

// Lists show their times anew once a minute, together.
const minute = signal(0);
setInterval(() => minute.value++, 60_000);

/** A moment: relative, with the absolute one on hover. */
export function Time({ at, full }: { at: string; full?: boolean }) {
  void minute.value;
  return (
    <time dateTime={at} title={absolute(at)}>
      {full ? absolute(at) : relative(at)}
    </time>
  );
}

/** A link to the documentation. `of` names what it explains, where the page has several. */
export function Learn({ topic, of }: { topic: Topic; of?: string }) {
  return <DocsLink page={topic} of={of} />;
}

function DocsLink({ page, of }: { page: string; of?: string }) {
  return (
    <a class="s nw" href={`/docs/${page}`} target="_blank" rel="noopener">
      {t("nav.learn")}
      {of && <span class="vh">: {of}</span>}
    </a>
  );
}

/** The head of a page: its title, one true sentence, its actions. The title is focused when the route changes. */
export function Head({
  title,
  children,
  actions,
}: {
  title: string;
  children?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title} · AgentGate`;
  }, [title]);
  const docs = docsOf(location.pathname);
  return (
    <div class="head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {(children || docs) && (
          <p>
            {children} {docs && <DocsLink page={docs} />}
          </p>
        )}
      </div>
      {actions && <div class="row acts">{actions}</div>}
    </div>
  );
}

export function Card({
  title,
  lead,
  side,
  footer,
  children,
  label,
}: {
  title?: string;
  lead?: ComponentChildren;
  side?: ComponentChildren;
  footer?: ComponentChildren;
  label?: string;
  children: ComponentChildren;
}) {
  return (
    <section class="card" aria-label={label ?? title}>
      {title && (
        <header>
          <h2>{title}</h2>
          {side}
          {lead && <p>{lead}</p>}
        </header>
      )}
      {children}
      {footer && <footer>{footer}</footer>}
    </section>
  );
}

export function Note({
  tone,
  children,
  action,
}: {
  tone: Tone;
  children: ComponentChildren;
  action?: ComponentChildren;
}) {
  const sign: IconName = tone === "allow" ? "check" : tone === "info" ? "info" : "alert";
  return (
    <div class="note" data-o={tone}>
      <Icon name={sign} />
      <div>
        <p>{children}</p>
        {action}
      </div>
    </div>
  );
}

/** A list that has nothing: says what will be here, and the one thing that brings it. */
export function Empty({
  icon,
  title,
  children,
  actions,
  alert,
}: {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
  actions?: ComponentChildren;
  alert?: boolean;
}) {
  return (
    <div class="empty" role={alert ? "alert" : undefined}>
      <Icon name={icon} />
      <p class="b">{title}</p>
      {children && <p>{children}</p>}
      {actions && <div class="row">{actions}</div>}
    </div>
  );
}

/** What went wrong, what still works, and another try. */
export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  const forbidden = error.code === "forbidden";
  return (
    <Empty
      icon={forbidden ? "key" : "alert"}
      title={t(forbidden ? "failure.forbidden" : error.code === "offline" ? "failure.offline" : "failure.title")}
      alert
      actions={
        <>
          {retry && !forbidden && (
            <button class="btn" onClick={retry}>
              {t("failure.retry")}
            </button>
          )}
          <span class="xs faint">
            {error.code}
            {error.requestId && ` · ${error.requestId}`}
          </span>
        </>
      }
    >
      {error.message}
    </Empty>
  );
}

/** Copies a text, and says so. */
export function CopyButton({
  text,
  label,
  quiet,
  square,
}: {
  text: string;
  label?: string;
  quiet?: boolean;
  square?: boolean;
}) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    announce(t("copy.done"));
    setTimeout(() => setDone(false), 2000);
  };
  const words = done ? t("copy.done") : (label ?? t("copy.do"));
  return (
    <button
      type="button"
      class={`btn ${square ? "sq quiet" : quiet ? "quiet" : ""}`}
      onClick={() => void copy()}
      aria-label={square ? words : undefined}
    >
      <Icon name={done ? "check" : "copy"} />
      {!square && words}
    </button>
  );
}

/** Code with its name, and a button that copies all of it. What is in `marks` is highlighted. */
export function Code({
  name,
  text,
  extra,
  marks,
}: {
  name: string;
  text: string;
  extra?: ComponentChildren;
  marks?: string[];
}) {
  return (
    <div class="code">
      <header>
        {name}
        <span class="push" />
        {extra}
        <CopyButton text={text} quiet />
      </header>
      <pre tabIndex={0} role="region" aria-label={name}>
        {marks ? marked(text, marks) : text}
      </pre>
    </div>
  );
}

function marked(text: string, marks: string[]): ComponentChildren[] {
  const [mark, ...rest] = marks.filter(Boolean);
  if (!mark) return [text];
  return text.split(mark).flatMap((part, index) => {
    const inner = marked(part, rest);
    return index ? [<mark key={index}>{mark}</mark>, ...inner] : inner;
  });
}

/** One of several, as a row of radio buttons. */
export function Segments<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: { value: T; label: ComponentChildren }[];
  onChange: (value: T) => void;
}) {
  const name = label.replace(/\W/g, "");
  return (
    <fieldset class="seg">
      <legend class="vh">{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChange(option.value)} />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}

/** A field with its label, help and error. With `rows`, a text of several lines. */
export function Field({
  id,
  label,
  help,
  error,
  type,
  rows,
  topic,
  onText,
  ...input
}: {
  id: string;
  label: string;
  help?: string;
  error?: string;
  type?: "text" | "email" | "password" | "number" | "search";
  rows?: number;
  /** Where the documentation explains the field. */
  topic?: Topic;
  onText?: (text: string) => void;
  [attribute: string]: unknown;
}) {
  const attributes = {
    ...input,
    ...(onText && { onInput: (event: InputEvent) => onText((event.currentTarget as HTMLInputElement).value) }),
    id,
    "aria-invalid": error ? "true" : undefined,
    "aria-describedby": error ? `${id}-e` : help ? `${id}-h` : undefined,
  } as object;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows ? (
        <textarea class="mono" rows={rows} spellcheck={false} {...attributes} />
      ) : (
        <input {...({ type: type ?? "text", ...attributes } as object)} />
      )}
      {error ? (
        <p class="error" id={`${id}-e`}>
          <Icon name="alert" />
          {error}
        </p>
      ) : (
        help && (
          <p class="help">
            <span id={`${id}-h`}>{help}</span> {topic && <Learn topic={topic} of={label} />}
          </p>
        )
      )}
    </div>
  );
}

/** A row of a list with bars. */
export interface Bar {
  name: ComponentChildren;
  key: string;
  count: number;
  /** How many more would have been counted in enforce mode. */
  would?: number;
  tone?: Tone;
  href?: string;
}

/** A bar behind each name; what happened is solid, what would have happened is dashed. */
export function Bars({ items, total, empty }: { items: Bar[]; total?: number; empty: string }) {
  const most = Math.max(1, ...items.map((item) => item.count + (item.would ?? 0)));
  const sum = total ?? items.reduce((all, item) => all + item.count + (item.would ?? 0), 0);
  const part = (value: number) => `${((value / most) * 100).toFixed(1)}%`;
  if (items.length === 0) return <p class="faint">{empty}</p>;
  return (
    <ul class="bars">
      {items.map((item) => (
        <li key={item.key} data-o={item.tone}>
          <svg aria-hidden="true">
            <rect width={part(item.count)} height="100%" />
            {!!item.would && (
              <rect class="would" x={part(item.count)} width={part(item.would)} y="1" height="calc(100% - 2px)" />
            )}
          </svg>
          {item.href ? <a href={item.href}>{item.name}</a> : <span>{item.name}</span>}
          <span class="n">
            {item.would ? (
              <>
                {item.count > 0 && `${count(item.count)} + `}
                <span class="would">{count(item.would)}</span>
                <span class="vh"> {t("overview.wouldN", { n: item.would })}</span>
              </>
            ) : (
              count(item.count)
            )}
          </span>
          <span class="n">{sum >= ENOUGH ? percent((item.count + (item.would ?? 0)) / sum) : ""}</span>
        </li>
      ))}
    </ul>
  );
}

/** Rows in the shape of what comes. */
export function SkeletonRows({ rows, columns }: { rows: number; columns: number }) {
  return (
    <>
      {Array.from({ length: rows }, (_, row) => (
        <tr key={row}>
          {Array.from({ length: columns }, (_unused, column) => (
            <td key={column}>
              <span class={`skel ${column % 2 ? "long" : "short"}`} />
            </td>
          ))}
        </tr>
      ))}
    </>
  );
}

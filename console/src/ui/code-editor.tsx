/** An editor for text by lines: numbers, marks where something is wrong, completion of words. A textarea underneath. */

import { useRef, useState } from "preact/hooks";
import { t } from "../lib/words";
import type { Tone } from "./parts";

export interface Mark {
  line: number;
  column?: number;
  tone: Tone;
  text: string;
}

const LINE_EM = 1.65;
const SHOWN = 8;

/** The word before the caret. */
function wordAt(text: string, caret: number): string {
  return /[\w./-]*$/.exec(text.slice(0, caret))?.[0] ?? "";
}

export function CodeEditor({
  label,
  value,
  onChange,
  marks,
  words,
  readOnly,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  marks: Mark[];
  /** What can be completed, each with what it means. */
  words: { word: string; meaning: string }[];
  readOnly?: boolean;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [caret, setCaret] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [asked, setAsked] = useState(false);
  const lines = value.split("\n");
  const typed = wordAt(value, caret);
  const found =
    typed.length > 1 || asked ? words.filter(({ word }) => word.includes(typed) && word !== typed).slice(0, SHOWN) : [];
  const look = () => {
    setCaret(area.current?.selectionStart ?? 0);
    setChosen(0);
  };
  const take = (word: string) => {
    const start = caret - typed.length;
    onChange(value.slice(0, start) + word + value.slice(caret));
    setAsked(false);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(start + word.length, start + word.length);
      look();
    });
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      setAsked(true);
    } else if (found.length > 0 && (event.key === "ArrowDown" || event.key === "ArrowUp") && event.altKey) {
      event.preventDefault();
      setChosen((chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length);
    } else if (found.length > 0 && event.key === "Enter" && (event.altKey || asked)) {
      event.preventDefault();
      take(found[chosen]!.word);
    } else if (event.key === "Escape") setAsked(false);
  };
  const jump = (mark: Mark) => {
    const start =
      lines.slice(0, mark.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + (mark.column ?? 1) - 1;
    area.current?.focus();
    area.current?.setSelectionRange(start, start);
    box.current?.scrollTo({ top: Math.max(0, (mark.line - 4) * LINE_EM * 13) });
  };
  return (
    <div class="stack tight">
      <div class="editor" ref={box}>
        <div class="gutter" aria-hidden="true">
          {lines.map((_, at) => {
            const mark = marks.find(({ line }) => line === at + 1);
            return (
              <span key={at} data-o={mark?.tone} title={mark?.text}>
                {at + 1}
              </span>
            );
          })}
        </div>
        <textarea
          ref={area}
          aria-label={label}
          aria-describedby="editor-help"
          aria-invalid={marks.some(({ tone }) => tone === "block") ? "true" : undefined}
          value={value}
          rows={lines.length}
          cols={Math.max(20, ...lines.map((line) => line.length + 1))}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          readOnly={readOnly}
          onInput={(event) => {
            onChange(event.currentTarget.value);
            look();
          }}
          onKeyDown={keys}
          onKeyUp={(event) => /Arrow|Home|End/.test(event.key) && !event.altKey && look()}
          onClick={look}
        />
      </div>
      <div class="row s" aria-live="polite">
        {found.length > 0 ? (
          found.map(({ word, meaning }, at) => (
            <button
              key={word}
              type="button"
              class="chip"
              aria-pressed={at === chosen}
              title={meaning}
              onClick={() => take(word)}
            >
              <code>{word}</code>
            </button>
          ))
        ) : (
          <span class="faint xs" id="editor-help">
            {t("editor.help")}
          </span>
        )}
      </div>
      {marks.length > 0 && (
        <ul class="stack tight">
          {marks.map((mark) => (
            <li key={`${mark.line}:${mark.column}:${mark.text}`} class="note" data-o={mark.tone}>
              <div>
                <p>
                  {mark.line > 0 && <b>{t("editor.at", { line: mark.line, column: mark.column ?? 1 })} </b>}
                  {mark.text}
                </p>
                {mark.line > 0 && (
                  <button type="button" class="btn" onClick={() => jump(mark)}>
                    {t("editor.go")}
                  </button>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

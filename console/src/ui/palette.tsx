/** The command palette and the sheet of keys. */

import { signal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { known } from "../lib/keys";
import { t } from "../lib/words";
import { Dialog } from "./dialogs";
import { Icon, type IconName } from "./icons";

export interface Command {
  icon: IconName;
  label: string;
  group: string;
  href?: string;
  key?: string;
  run?: () => void;
}

export const PALETTE_KEYS = [/Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl", "K"];
export const paletteOpen = signal(false);
export const keysOpen = signal(false);

/** `commands` are made anew for each search: what was typed may itself be something to open. */
export function Palette({ commands }: { commands: (typed: string) => Command[] }) {
  const { route } = useLocation();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const find = (text: string) => {
    const wanted = text.trim().toLowerCase();
    return commands(text.trim()).filter((each) => each.label.toLowerCase().includes(wanted) || each.key === "always");
  };
  const found = find(typed);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const close = () => {
    paletteOpen.value = false;
    setTyped("");
    setAt(0);
  };
  const open = (command: Command | undefined) => {
    if (!command) return;
    close();
    if (command.href) route(command.href);
    command.run?.();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setAt((chosen + step + found.length) % Math.max(1, found.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      // Whoever types fast presses Enter before the last letters were drawn.
      const { value } = event.currentTarget as HTMLInputElement;
      open(value === typed ? found[chosen] : find(value)[0]);
    }
  };
  const groups = [...new Set(found.map(({ group }) => group))];
  return (
    <Dialog open={paletteOpen.value} onClose={close} label={t("palette.label")} className="palette">
      <div class="search">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={found.length ? `palette-${chosen}` : undefined}
          aria-label={t("palette.label")}
          placeholder={t("palette.hint")}
          value={typed}
          autofocus
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div role="listbox" id="palette-list" ref={list} aria-label={t("palette.results")} tabIndex={-1}>
        {groups.map((group) => (
          <div role="group" aria-label={group} key={group}>
            <span aria-hidden="true">{group}</span>
            {found.map((command, index) =>
              command.group === group ? (
                <div
                  role="option"
                  id={`palette-${index}`}
                  aria-selected={index === chosen}
                  key={command.label}
                  onMouseMove={() => setAt(index)}
                  onClick={() => open(command)}
                >
                  <Icon name={command.icon} />
                  <span>{command.label}</span>
                  {command.key && command.key !== "always" && <kbd>{command.key.toUpperCase()}</kbd>}
                </div>
              ) : null,
            )}
          </div>
        ))}
        {found.length === 0 && <p class="pad faint">{t("palette.nothing")}</p>}
      </div>
      <footer>
        <kbd>↑</kbd>
        <kbd>↓</kbd> {t("palette.move")} <kbd>↵</kbd> {t("palette.open")} <kbd>esc</kbd> {t("palette.close")}
      </footer>
    </Dialog>
  );
}

/** All keys of the page, as they are now. */
export function KeySheet() {
  return (
    <Dialog open={keysOpen.value} onClose={() => (keysOpen.value = false)} label={t("keys.title")} className="sheet">
      <header>
        <h2>{t("keys.title")}</h2>
        <p>{t("keys.note")}</p>
      </header>
      <div class="in">
        <dl class="rows">
          <div>
            <dt>
              {PALETTE_KEYS.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{t("keys.palette")}</dd>
          </div>
          {known().map((row) => (
            <div key={row.key}>
              <dt>
                {row.key.split(" ").map((part) => (
                  <kbd key={part}>{part.length === 1 ? part.toUpperCase() : part}</kbd>
                ))}
              </dt>
              <dd>{row.help}</dd>
            </div>
          ))}
        </dl>
      </div>
      <footer>
        <button class="btn" onClick={() => (keysOpen.value = false)}>
          {t("toasts.close")}
        </button>
      </footer>
    </Dialog>
  );
}

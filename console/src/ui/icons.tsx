/** Icons: one path each, on a grid of 16. An icon never stands alone without a label beside it or on its button. */

export const PATHS = {
  agent: "M3 6.5h10v7H3zM8 6.5v-3M8 3.5a1 1 0 1 0 0-2 1 1 0 0 0 0 2ZM6 9.5v1M10 9.5v1M1.5 9v2M14.5 9v2",
  alert: "M8 2.2 14.5 13.5h-13zM8 6.5v3M8 11.5h.01",
  ask: "M5.7 6a2.3 2.3 0 1 1 3.3 2.1c-.7.4-1 .8-1 1.6M8 12h.01",
  book: "M8 4c-1.5-1-3.5-1.3-6-1.2v9.7c2.5-.1 4.5.2 6 1.2 1.5-1 3.5-1.3 6-1.2V2.8C11.5 2.7 9.5 3 8 4ZM8 4v9.7",
  box: "M8 1.8 13.8 5v6L8 14.2 2.2 11V5zM2.2 5 8 8.2 13.8 5M8 8.2v6",
  chart: "M2 13.5h12M4 11V8M7 11V4M10 11V6.5M13 11V3",
  check: "M3 8.5l3.2 3.2L13 5",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 5v3l2 1.5",
  cog:
    "M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4ZM8 1.8v1.7M8 12.5v1.7" +
    "M14.2 8h-1.7M3.5 8H1.8M12.4 3.6l-1.2 1.2M4.8 11.2l-1.2 1.2M12.4 12.4l-1.2-1.2M4.8 4.8 3.6 3.6",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  door: "M3 14V2.5h7V14M1.5 14h13M10 5h3v9M7.5 8.5h.01",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  down: "M4 6l4 4 4-4",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Z",
  fall: "M8 3v10M4 9l4 4 4-4",
  filter: "M2 4h12M4.5 8h7M6.5 12h3",
  flask: "M6 2h4M6.5 2v4L3 13.5h10L9.5 6V2M4.5 10.5h7",
  get: "M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11",
  globe: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c2 2 2.5 4 2.5 6S10 12 8 14c-2-2-2.5-4-2.5-6S6 4 8 2Z",
  hook: "M8 5.8a2.3 2.3 0 1 0-1.2 0L4.6 9.9M8.6 5.5l2.2 4.1M11.6 14a2.3 2.3 0 1 0-1.5-4M4.1 14a2.3 2.3 0 0 0 2.2-2.3h3",
  inbox: "M2 9.5 4 3h8l2 6.5v4H2zM2 9.5h3.5l1 2h3l1-2H14",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 7.5V11M8 5h.01",
  key: "M10 9.5a3.75 3.75 0 1 0-3.6-2.7L2 11.2V14h2.8v-1.8h1.8v-1.8l.9-.9A3.7 3.7 0 0 0 10 9.5ZM10.9 5.1h.01",
  list: "M5.5 4H14M5.5 8H14M5.5 12H14M2 4h.5M2 8h.5M2 12h.5",
  mail: "M2 3.5h12v9H2zM2 4.5l6 4.5 6-4.5",
  menu: "M2 4.5h12M2 8h12M2 11.5h12",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a5.8 5.8 0 1 0 7 7Z",
  no: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM4 12 12 4",
  out: "M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11.5 9v4.5h-9v-9H7",
  people:
    "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5a4.5 4.5 0 0 1 9 0" +
    "M10.5 2.8a2.5 2.5 0 0 1 0 4.4M12 9.6a4.5 4.5 0 0 1 2.5 3.9",
  plus: "M8 3v10M3 8h10",
  right: "M6 4l4 4-4 4",
  rules: "M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6M10 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM6 13.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14",
  server: "M2.5 2.5h11v4.5h-11zM2.5 9h11v4.5h-11zM5 4.7h.01M5 11.2h.01",
  spin: "M13.5 8A5.5 5.5 0 1 1 11 3.4M11 1v2.5H8.5",
  tag: "M2 2.5h6L14 8.5 8.5 14 2 8zM5 5.5h.01",
  updown: "M5 6l3-3 3 3M5 10l3 3 3-3",
  x: "M4 4l8 8M12 4l-8 8",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg viewBox="0 0 22 22" aria-hidden="true">
      <rect class="logo-a" width="22" height="22" rx="6" />
      <path class="logo-b" d="M5.5 17V10.5a5.5 5.5 0 0 1 11 0V17M11 17v-5.5" />
    </svg>
  );
}
